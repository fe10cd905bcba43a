//! Tests of the parser, by a compact form of the tree.

mod commands;
mod fuzz;
mod posix;
mod printer;
mod problems;
mod redirections;
mod words;

use super::parse;
use crate::budget::Budget;
use crate::syntax::{Dialect, Script};

fn bash(text: &str) -> Script {
    parse(text, Dialect::Bash, &Budget::default())
}

/// The compact form of a script without problems.
#[track_caller]
fn tree(text: &str) -> String {
    let script = bash(text);
    assert!(script.problems.is_empty(), "{text:?}: {:?}", script.problems);
    printer::print(&script)
}

/// Checks each script against its compact form.
#[track_caller]
fn assert_trees(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(tree(text), *expected, "{text:?}");
    }
}
