//! The `words` property: any text as a hook's command. A command that is started without a shell gets the words that a
//! shell would have made, and a placeholder's value is never more than text within its word.

use std::ffi::OsString;

use hookwright_analysis::budget::Budget;
use hookwright_analysis::command_parts::sole_command;
use hookwright_analysis::syntax::{CommandKind, Dialect, Operation, Piece, Script};
use hookwright_hooks::fuzzing::preview_launch;

use crate::shell_shape::{PLACEHOLDER, render_shape};

/// A path with characters that are special to a shell.
const HOSTILE_PATH: &str = "/a b;'\"`$(x)\n#";

/// Checks one input: the command and the value of `${extensionPath}`, with a record separator between them.
pub fn words(input: &[u8]) {
    let [command, value] = crate::split_fields(input);
    let (Ok(command), Ok(value)) = (std::str::from_utf8(command), std::str::from_utf8(value)) else { return };
    // Inputs that contain the test's own markers prove nothing.
    if command.contains(PLACEHOLDER) || value.contains(PLACEHOLDER) || command.contains("extensionPath=") {
        return;
    }
    let value = format!("/{value}");
    let with = |value: &str| preview_launch(command, &[("extensionPath".to_owned(), value.to_owned())]);
    let started = with(&value);
    check_words_match_shell(&started.shell_text, started.argv.as_deref());
    match strip_variable_prefix(&started.shell_text, &value) {
        // Then only the variable's value may depend on the path.
        Some(rest) => assert_eq!(Some(rest), strip_variable_prefix(&with(HOSTILE_PATH).shell_text, HOSTILE_PATH)),
        None => {
            if let Some(expected) = render_shape(&with(&format!("/{PLACEHOLDER}")).shell_text, &value[1..]) {
                assert_eq!(
                    render_shape(&started.shell_text, ""),
                    Some(expected),
                    "{command:?} as {:?}",
                    started.shell_text
                );
            }
        }
    }
}

/// Returns the command after the assignment of the value to a variable, if there is one.
fn strip_variable_prefix<'s>(shell: &'s str, value: &str) -> Option<&'s str> {
    let quoted = value.replace('\'', r"'\''");
    shell.strip_prefix(&format!("extensionPath='{quoted}'; "))
}

fn check_words_match_shell(shell: &str, words: Option<&[OsString]>) {
    let Some(words) = words else { return };
    let script = Script::parse(shell, Dialect::Bash, &Budget::default());
    // Control characters are not the same to everybody who reads them, so they are never understood.
    if shell.contains(|char: char| char.is_control() && !matches!(char, '\n' | '\t')) {
        return;
    }
    assert!(script.problems.is_empty(), "not understood: {shell:?}");
    let [statement] = script.list.as_slice() else { panic!("not one command: {shell:?}") };
    let [command] = statement.first.commands.as_slice() else { panic!("not one command: {shell:?}") };
    let CommandKind::Simple { assignments, words: found } = &command.kind else { panic!("not words: {shell:?}") };
    assert!(assignments.is_empty() && command.redirections.is_empty(), "more than words: {shell:?}");
    let read: Vec<OsString> = found.iter().map(|word| word.pieces.iter().map(piece_text).collect()).collect();
    assert_eq!(read, words, "{shell:?}");
    let expands = found.iter().flat_map(|word| &word.pieces).any(|piece| !piece.is_text());
    assert!(expands || shell.contains(char::is_control) || sole_command(shell).is_some(), "{shell:?}");
}

/// Returns the text of a piece within a word.
fn piece_text(piece: &Piece) -> OsString {
    match piece {
        Piece::Literal(text) => {
            assert!(!text.contains(['*', '?', '~', '{', '[']), "a pattern that is not expanded: {text:?}");
            text.into()
        }
        Piece::Quoted(text) => text.into(),
        Piece::Parameter { parameter, quoted: true } if parameter.operation == Operation::Plain => {
            format!("${}", parameter.name).into()
        }
        other => panic!("an expansion that is not done: {other:?}"),
    }
}
