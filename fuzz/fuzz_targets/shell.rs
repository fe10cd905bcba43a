//! Any text as a command: reading it must not crash, and a text that is one command for sure names one program.

#![no_main]

use hookwright_hooks::shell::{parse, sole_program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let script = parse(text);
    let commands = script.commands();
    if let Some(program) = sole_program(text) {
        assert!(script.certain && commands.len() == 1 && !program.is_empty());
    }
});
