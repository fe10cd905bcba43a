//! Hook tests: what a `*.hooktest.toml` file says, how a case is run, what is compared. Printing is `hooks/test.rs`.

mod check;
mod file;
mod runner;
mod sandbox;

pub(crate) use check::ExpectationFailure;
pub(crate) use file::find_test_files;
pub(crate) use runner::{HookTestCaseResult, HookTestFileResult, run_file};
