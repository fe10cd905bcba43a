//! `env`: variables, a directory, and a command.

use crate::interpreter::Lookup;
use crate::programs::call::Call;
use crate::value::{Argument, Value};

pub(super) fn run(call: &mut Call<'_, '_>) {
    let mut state = call.state.clone();
    if let Some(directory) = call.parsed.values("-C").next_back() {
        // The kernel resolves it, link by link.
        let path = directory.text().and_then(|text| state.path(text));
        state.cwd = path.map(|path| crate::paths::physical(call.interpreter.environment.disk, &path).into());
    }
    // `-` is `-i`.
    if call.parsed.operands.first().and_then(Argument::text) == Some("-") {
        call.parsed.operands.remove(0);
    }
    let is_assignment = |text: &str| text.contains('=') && !text.starts_with('=');
    let count = call.parsed.operands.iter().take_while(|word| is_assignment(word.beginning())).count();
    for word in &call.parsed.operands[..count] {
        let (name, value) = word.beginning().split_once('=').unwrap_or_default();
        let value = match word.text() {
            Some(_) => Value::known(value),
            None => Value::unknown(word.value.taint),
        };
        if crate::interpreter::steers_shell(name) {
            call.interpreter.unsure_all(format!("it sets {name}, which changes what commands mean"));
        }
        state.set(name, Some(value));
        state.export(name);
    }
    let command = &call.parsed.operands[count..];
    if command.is_empty() {
        let taint = call.interpreter.environment_printed();
        call.interpreter.read_taint = call.interpreter.read_taint.and(taint);
        return;
    }
    call.interpreter.run(command, Lookup::Programs, false, state, call.io);
}
