//! Hook tests: the format of `*.hooktest.toml` files, the runner of their cases, and the
//! checks. `hooks/test.rs` prints results.

mod check;
mod file;
mod runner;
mod sandbox;

pub(crate) use check::ExpectationFailure;
pub(crate) use file::{ExpectedDecision, HookTestCase, HookTestFile, MAX_TEST_FILE_BYTES, find_test_files};
pub(crate) use runner::{HookTestCaseResult, HookTestFileResult, run_file};
