//! Shells: `sh -c TEXT`, `bash FILE`, and a shell that reads its input.

use crate::interpreter::Io;
use crate::observer::Aspects;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Depth};
use crate::syntax::Dialect;
use crate::value::Argument;

/// `bash`, `sh` and their kin. Their options are parsed by the table; `-c` is the mode `code`.
pub(super) fn run(call: &mut Call<'_, '_>) {
    let dialect = match call.name {
        "bash" => Dialect::Bash,
        "sh" | "dash" | "ash" => Dialect::Posix,
        // Others read much as bash does, but split and expand words in their own way.
        other => {
            call.interpreter.unsure_all(format!("{other} reads commands in its own way"));
            Dialect::Bash
        }
    };
    let operands = call.parsed.operands.clone();
    let data = call.interpreter.read_taint.and(call.io.stdin.taint);
    if call.parsed.is_set("check") {
        // It only reads the commands.
        if !call.parsed.is_set("code") {
            operands.iter().take(1).for_each(|file| call.touch(Access::Read, file, Depth::Itself));
        }
        return;
    }
    // `bash - FILE`: a dash alone ends the options.
    let operands = match operands.split_first() {
        Some((dash, rest)) if dash.text() == Some("-") && call.parsed.dashes.is_none() => rest.to_vec(),
        _ => operands,
    };
    match operands.split_first() {
        None if call.parsed.is_set("code") => call.interpreter.unsure_all(format!("{} -c without commands", call.name)),
        Some((text, rest)) if call.parsed.is_set("code") => {
            call.interpreter.runs_data(text.value.taint, call.name);
            run_text(call, text, rest.get(1..).unwrap_or_default(), dialect);
        }
        Some((file, _)) if !call.parsed.is_set("input") && !is_input(file) => {
            call.touch(Access::Read, file, Depth::Itself);
            call.interpreter.note_run(&file.shown);
            call.interpreter.unsure_program(Aspects::ALL, format!("what {} does is not known", file.shown));
        }
        _ => {
            call.interpreter.runs_data(data, call.name);
            match call.interpreter.input(call.io) {
                Some(text) => {
                    let has_lines = text.trim_end().contains('\n');
                    let text = Argument::known(text);
                    // A file that is the input is no parameter.
                    let named = usize::from(!call.parsed.is_set("input") && !operands.is_empty());
                    let outer = std::mem::replace(&mut call.interpreter.script_is_input, has_lines);
                    run_text(call, &text, &operands[named..], dialect);
                    call.interpreter.script_is_input = outer;
                }
                None => call.interpreter.unsure_all(format!("what {} reads from its input is not known", call.name)),
            }
        }
    }
}

fn run_text(call: &mut Call<'_, '_>, text: &Argument, parameters: &[Argument], dialect: Dialect) {
    let Some(code) = text.text().filter(|_| !call.is_found_name(text)) else {
        return call.interpreter.unsure_all(format!("what {} runs is only known then", call.name));
    };
    let mut state = call.interpreter.child_state(&call.state, dialect);
    state.parameters = parameters.iter().all(|word| !word.many).then(|| parameters.into());
    let io = Io { stdin: Default::default(), stdout: call.io.stdout.clone(), stderr: call.io.stderr.clone() };
    call.interpreter.script_text(code, state, &io);
}

/// A word that another program hands to `sh -c`.
pub(crate) fn text(call: &mut Call<'_, '_>, word: &Argument) {
    call.interpreter.runs_data(word.value.taint, call.name);
    run_text(call, word, &[], Dialect::Posix);
}

/// Whether a script's file is the input: `-`, `/dev/stdin`, `/proc/self/fd/0`.
fn is_input(file: &Argument) -> bool {
    let Some(text) = file.text() else { return false };
    let name = text.rsplit('/').next().unwrap_or(text);
    let numbered = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    text == "-" || name == "stdin" || numbered || text.starts_with("/dev/") || text.starts_with("/proc/")
}

/// `make`: its file may be the input, and its variables may be commands.
pub(super) fn make(call: &mut Call<'_, '_>) {
    let from_input = ["-f", "--file", "--makefile"].iter().any(|name| call.parsed.values(name).any(is_input));
    let is_command = |word: &Argument| {
        let text = word.beginning();
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        matches!(name.trim_end_matches([':', '?', '+', '!']), "SHELL" | "MAKE" | "MAKEFLAGS" | ".SHELLFLAGS")
            || value.contains([';', '|', '&', '`', '$', '\n'])
    };
    if from_input || call.parsed.operands.iter().any(is_command) {
        call.interpreter.unsure_all("make is given commands by its words or its input");
    }
    call.by_file();
}
