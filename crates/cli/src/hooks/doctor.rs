//! `hooks doctor`: could every enabled hook really run, and what to do about those that could not.

use std::io::Write;

use hookwright_hooks::Severity;
use serde_json::json;

use super::Toolbox;
use super::state::{self, State};
use crate::exit;
use crate::out::{self, BAD, BOLD, GOOD, NOTE, WARN, paint};

pub(crate) fn run(toolbox: &Toolbox, as_json: bool) -> anyhow::Result<u8> {
    let entries = toolbox.entries();
    let diagnostics = toolbox.loaded.registry.diagnostics();
    let inert = entries.iter().filter(|entry| matches!(entry.state, State::Inert(_))).count();
    let dropped = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    let code = if inert + dropped == 0 { exit::OK } else { exit::ERROR };
    if as_json {
        let hooks: Vec<_> = entries.iter().map(with_advice).collect();
        out::json(&json!({"ok": code == exit::OK, "hooks": hooks, "diagnostics": diagnostics}))?;
        return Ok(code);
    }
    toolbox.say_what_is_wrong()?;
    let mut stdout = out::stdout();
    for entry in &entries {
        let (style, word) = match entry.state {
            State::Armed => (GOOD, "ok"),
            State::Disabled(_) => (out::DIM, "off"),
            State::Untrusted(_) => (WARN, "held"),
            State::Inert(_) => (BAD, "FAIL"),
        };
        let hook = &entry.hook;
        writeln!(
            stdout,
            "{} {} {} ({})",
            paint(style, format!("{word:>4}")),
            hook.event,
            paint(BOLD, out::shorten(hook.id(), 60)),
            hook.source
        )?;
        if let Some(reason) = entry.state.reason() {
            writeln!(stdout, "       {reason}")?;
        }
        if let Some(advice) = advice(&entry.state) {
            writeln!(stdout, "       {} {advice}", paint(NOTE, "to do:"))?;
        }
    }
    let armed = entries.iter().filter(|entry| matches!(entry.state, State::Armed)).count();
    let others = entries.len() - armed - inert;
    writeln!(stdout, "{armed} armed, {inert} inert, {others} off or held, {dropped} broken declarations")?;
    Ok(code)
}

fn advice(state: &State) -> Option<String> {
    match state {
        State::Inert(problem) => Some(problem.advice()),
        State::Untrusted(_) => {
            Some("look at it, then `hookwright hooks trust NAME`, or `--folder` for the whole folder".to_owned())
        }
        State::Armed | State::Disabled(_) => None,
    }
}

fn with_advice(entry: &state::Entry) -> serde_json::Value {
    let mut value = state::json(entry);
    value["advice"] = json!(advice(&entry.state));
    value
}
