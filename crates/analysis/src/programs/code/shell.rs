//! Shells: `sh -c TEXT`, `bash FILE`, and a shell that reads its input.

use crate::interpreter::Io;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Depth};
use crate::syntax::Dialect;
use crate::value::{Argument, Text};

/// `bash`, `sh` and their kin. Their options are parsed by the table; `-c` is the mode `code`.
pub(super) fn run(call: &mut Call<'_, '_>) {
    let dialect = match call.name {
        "bash" => Dialect::Bash,
        "sh" | "dash" | "ash" => Dialect::Posix,
        // Others read much as sh does, but split and expand words in their own way.
        other => return call.interpreter.unsure_all(format!("{other} reads commands in its own way")),
    };
    let operands = call.parsed.operands.clone();
    let data = call.interpreter.read_taint.and(call.io.stdin.taint);
    match operands.split_first() {
        Some((text, rest)) if call.parsed.is_set("code") => {
            call.interpreter.runs_data(text.value.taint, call.name);
            run_text(call, text, rest.get(1..).unwrap_or_default(), dialect);
        }
        Some((file, rest)) if !call.parsed.is_set("input") => {
            call.touch(Access::Read, file, Depth::Itself);
            let _ = rest;
            call.interpreter.unsure_all(format!("what {} does is not known", file.shown));
        }
        _ => {
            call.interpreter.runs_data(data, call.name);
            match &call.io.stdin.text {
                Text::Known(text) => {
                    let text = Argument::known(text.clone());
                    run_text(call, &text, &operands, dialect);
                }
                _ => call.interpreter.unsure_all(format!("what {} reads from its input is not known", call.name)),
            }
        }
    }
}

fn run_text(call: &mut Call<'_, '_>, text: &Argument, parameters: &[Argument], dialect: Dialect) {
    let Some(code) = text.text() else {
        return call.interpreter.unsure_all(format!("what {} runs is only known then", call.name));
    };
    let mut state = call.interpreter.child_state(&call.state, dialect);
    state.parameters = parameters.iter().all(|word| !word.many).then(|| parameters.into());
    let io = Io { stdin: Default::default(), stdout: call.io.stdout.clone() };
    call.interpreter.script_text(&code.to_owned(), state, &io);
}

/// A word that another program hands to `sh -c`.
pub(crate) fn text(call: &mut Call<'_, '_>, word: &Argument) {
    call.interpreter.runs_data(word.value.taint, call.name);
    run_text(call, word, &[], Dialect::Posix);
}
