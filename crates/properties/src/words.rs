//! Any text as a hook's command: where no shell is asked, the words are those that a shell would have made of it, and a
//! placeholder's value is never more than text where it stands.

use std::ffi::OsString;

use hookwright_hooks::fuzzing::start;
use hookwright_hooks::shell::{Piece, sole_command};

use crate::shape::{MARK, shape};

/// A path that would be a lot to a shell.
const STRANGE: &str = "/a b;'\"`$(x)\n#";

/// A record separator stands between the command and the path that `${extensionPath}` is.
pub fn words(input: &[u8]) {
    let [command, value] = crate::fields(input);
    let (Ok(command), Ok(value)) = (std::str::from_utf8(command), std::str::from_utf8(value)) else { return };
    // What would be taken for the work of the program itself proves nothing.
    if command.contains(MARK) || value.contains(MARK) || command.contains("extensionPath=") {
        return;
    }
    let value = format!("/{value}");
    let with = |value: &str| start(command, &[("extensionPath".to_owned(), value.to_owned())]);
    let started = with(&value);
    as_a_shell_would(&started.shell, started.words.as_deref());
    match by_variable(&started.shell, &value) {
        // Then nothing but the variable depends on it.
        Some(rest) => assert_eq!(Some(rest), by_variable(&with(STRANGE).shell, STRANGE)),
        None => {
            if let Some(expected) = shape(&with(&format!("/{MARK}")).shell, &value[1..]) {
                assert_eq!(shape(&started.shell, ""), Some(expected), "{command:?} as {:?}", started.shell);
            }
        }
    }
}

/// The command behind the variable that holds the value, if one does.
fn by_variable<'s>(shell: &'s str, value: &str) -> Option<&'s str> {
    let quoted = value.replace('\'', r"'\''");
    shell.strip_prefix(&format!("extensionPath='{quoted}'; "))
}

fn as_a_shell_would(shell: &str, words: Option<&[OsString]>) {
    let Some(words) = words else { return };
    let script = hookwright_hooks::shell::parse(shell);
    let commands = script.commands();
    assert!(script.certain && commands.len() == 1, "not surely one command: {shell:?}");
    let command = commands[0];
    assert!(command.assignments.is_empty() && command.redirections.is_empty(), "more than words: {shell:?}");
    let read: Vec<OsString> = command.words.iter().map(|word| word.pieces.iter().map(text).collect()).collect();
    assert_eq!(read, words, "{shell:?}");
    let expands =
        command.words.iter().flat_map(|word| &word.pieces).any(|piece| matches!(piece, Piece::Variable { .. }));
    assert!(expands || shell.contains(char::is_control) || sole_command(shell).is_some(), "{shell:?}");
}

/// A piece as a word of its own would show it.
fn text(piece: &Piece) -> OsString {
    match piece {
        Piece::Plain(text) => {
            assert!(!text.contains(['*', '?', '~', '{', '[']), "a pattern that nobody expands: {text:?}");
            text.into()
        }
        Piece::Quoted(text) => text.into(),
        Piece::Variable { name, default: None, quoted: true } => format!("${name}").into(),
        other => panic!("an expansion that nobody does: {other:?}"),
    }
}
