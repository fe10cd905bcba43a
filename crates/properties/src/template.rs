//! Any text as a custom command, with any arguments: in a shell command they are text in the word where they stand and
//! never more, and nothing that they say is read as a template.

use std::path::Path;

use hookwright_agent::commands::check;
use hookwright_agent::fuzzing::expand;
use hookwright_hooks::Source;
use hookwright_settings::commands::Command;
use hookwright_settings::fuzzing::command;

use crate::shape::{MARK, shape};

/// A record separator stands between the file's text, or a prompt if that is no command file, and the arguments.
pub fn template(input: &[u8]) {
    let [text, args] = crate::fields(input);
    let (Ok(text), Ok(args)) = (std::str::from_utf8(text), std::str::from_utf8(args)) else { return };
    if text.contains(MARK) || args.contains(MARK) {
        return;
    }
    match command(Path::new("c.toml"), text) {
        Ok(command) => expanded(&command, args),
        Err(wrong) => {
            let lines = text.matches('\n').count() + 1;
            let place = wrong.span.as_ref().map_or(1, |span| span.line);
            assert!((1..=lines).contains(&place) && !wrong.to_string().is_empty());
            expanded(&prompt(text), args);
        }
    }
}

fn prompt(text: &str) -> Command {
    let (name, path) = ("c".to_owned(), "c.toml".into());
    Command { name, description: None, prompt: text.to_owned(), source: Source::User, path }
}

fn expanded(command: &Command, args: &str) {
    let (found, marked) = match (expand(command, args), expand(command, MARK)) {
        (Ok(found), Ok(marked)) => (found, marked),
        (found, marked) => {
            let why = found.expect_err("whether a command is well-formed is not for its arguments to say");
            assert_eq!(marked.expect_err("as before"), why);
            assert_eq!(check(command), Err(why));
            return;
        }
    };
    check(command).expect("what can be expanded is well-formed");
    assert_eq!(found.shells.len(), marked.shells.len(), "arguments made a command");
    for (shell, marked) in found.shells.iter().zip(&marked.shells) {
        // Nothing is no word.
        if args.is_empty() {
            continue;
        }
        // What the reader does not understand it cannot judge.
        if let Some(expected) = shape(marked, args) {
            assert_eq!(shape(shell, ""), Some(expected), "{marked:?} became {shell:?}");
        }
    }
}
