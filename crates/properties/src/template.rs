//! The `template` property: any text as a custom command, with any arguments. In a shell command the arguments stay
//! text within their word, and nothing in them is parsed as a template.

use std::path::Path;

use hookwright_agent::commands::check_command;
use hookwright_agent::fuzzing::expand_command;
use hookwright_hooks::Source;
use hookwright_settings::commands::CustomCommand;
use hookwright_settings::fuzzing::parse_command;

use crate::shell_shape::{PLACEHOLDER, render_shape};

/// Checks one input: the file's text (or a prompt, if it is not a command file) and the arguments, with a record
/// separator between them.
pub fn template(input: &[u8]) {
    let [text, args] = crate::split_fields(input);
    let (Ok(text), Ok(args)) = (std::str::from_utf8(text), std::str::from_utf8(args)) else { return };
    if text.contains(PLACEHOLDER) || args.contains(PLACEHOLDER) {
        return;
    }
    match parse_command(Path::new("c.toml"), text) {
        Ok(command) => check_expansion(&command, args),
        Err(wrong) => {
            let lines = text.matches('\n').count() + 1;
            let place = wrong.span.as_ref().map_or(1, |span| span.line);
            assert!((1..=lines).contains(&place) && !wrong.to_string().is_empty());
            check_expansion(&prompt_command(text), args);
        }
    }
}

fn prompt_command(text: &str) -> CustomCommand {
    let (name, path) = ("c".to_owned(), "c.toml".into());
    CustomCommand { name, description: None, prompt: text.to_owned(), source: Source::User, path }
}

fn check_expansion(command: &CustomCommand, args: &str) {
    let (found, marked) = match (expand_command(command, args), expand_command(command, PLACEHOLDER)) {
        (Ok(found), Ok(marked)) => (found, marked),
        (found, marked) => {
            let why = found.expect_err("whether a command is well-formed is not for its arguments to say");
            assert_eq!(marked.expect_err("as before"), why);
            assert_eq!(check_command(command), Err(why));
            return;
        }
    };
    check_command(command).expect("what can be expanded is well-formed");
    assert_eq!(found.shell_commands.len(), marked.shell_commands.len(), "arguments made a command");
    for (shell, marked) in found.shell_commands.iter().zip(&marked.shell_commands) {
        // Empty arguments make no word, and control characters are never understood.
        if args.is_empty() || args.contains(|char: char| char.is_control() && !matches!(char, '\n' | '\t')) {
            continue;
        }
        // The shape is only known if the parse is certain.
        if let Some(expected) = render_shape(marked, args) {
            assert_eq!(render_shape(shell, ""), Some(expected), "{marked:?} became {shell:?}");
        }
    }
}
