//! Any text as a command: reading it must not crash, a text that is one command for sure names one program, and whoever
//! judges commands is shown that program.

use hookwright_hooks::shell::{parse, parts, sole_program};

/// Reads the text as a shell would.
pub fn shell(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let script = parse(text);
    let parts = parts(text);
    assert!(script.certain || !parts.certain, "the parts of an uncertain text are certain");
    if let Some(program) = sole_program(text) {
        assert!(script.certain && script.commands().len() == 1 && !program.is_empty());
        // What quoted subscripts would run is shown before it.
        let shown = parts.commands.iter().any(|part| part.words.first() == Some(&Some(program.clone())));
        // A test runs nothing, so there is nothing to judge.
        let tests = program == "[[" && parts.commands.is_empty();
        assert!(tests || shown, "whoever judges it is shown something else: {:?}", parts.commands);
    }
}
