//! The `shell` property: any text as a command. Parsing must not panic, a text that is certainly one command names one
//! program, and that program is among the commands that policies judge.

use hookwright_hooks::shell::{parse, parts, sole_program};

/// Checks the text as a shell command.
pub fn shell(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let script = parse(text);
    let parts = parts(text);
    assert!(script.certain || !parts.certain, "the parts of an uncertain text are certain");
    if let Some(program) = sole_program(text) {
        assert!(script.certain && script.commands().len() == 1 && !program.is_empty());
        // Commands of quoted subscripts are listed before the program.
        let shown = parts.commands.iter().any(|part| part.words.first() == Some(&Some(program.clone())));
        // A test runs no command, so there is nothing to judge.
        let tests = program == "[[" && parts.commands.is_empty();
        assert!(tests || shown, "whoever judges it is shown something else: {:?}", parts.commands);
    }
}
