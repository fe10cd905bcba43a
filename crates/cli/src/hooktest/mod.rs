//! Hook tests: what a `*.hooktest.toml` file says, how a case is run, what is compared. Printing is `hooks/test.rs`.

mod check;
mod file;
mod lay_out;
mod run;

pub(crate) use check::Failure;
pub(crate) use file::find;
pub(crate) use run::{CaseResult, FileResult, run_file};
