//! The `shell` property: any text as a command. Parsing must not panic, a text that is certainly one command names one
//! program, and that program is among the commands that policies judge.

use hookwright_analysis::budget::Budget;
use hookwright_analysis::command_parts::{parts, sole_program};
use hookwright_analysis::syntax::{Dialect, Script};

/// Checks the text as a shell command.
pub fn shell(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let script = Script::parse(text, Dialect::Bash, &Budget::default());
    let parts = parts(text);
    assert!(script.problems.is_empty() || !parts.certain, "the parts of an uncertain text are certain");
    if let Some(program) = sole_program(text) {
        assert!(script.problems.is_empty() && script.list.len() == 1 && !program.is_empty());
        let shown = parts.commands.iter().any(|part| part.words.first() == Some(&Some(program.clone())));
        assert!(shown, "policies are shown something else: {:?}", parts.commands);
    }
}
