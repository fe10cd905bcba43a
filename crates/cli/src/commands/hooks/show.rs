//! `hooks show NAME`: prints everything about one hook.

use std::io::Write;

use hookwright_agent::session::{ArmedState, HookListEntry, hook_json};
use hookwright_hooks::{Action, Dialect, OnError};
use serde_json::Value;

use super::{HookTrustedFiles, LoadedProject};
use crate::exit;
use crate::output::{self, BOLD, paint};

pub(crate) fn run(toolbox: &LoadedProject, name: &str, json: bool) -> anyhow::Result<u8> {
    let entries: Vec<HookListEntry> = toolbox.entries().into_iter().filter(|entry| entry.hook.id() == name).collect();
    if entries.is_empty() {
        return Err(toolbox.unknown_hook_error(name));
    }
    let covered = toolbox.trusted_files(&entries);
    if json {
        let hooks = entries.iter().zip(&covered).map(|(entry, covered)| {
            let mut hook = hook_json(entry);
            covered.add_json_fields(&mut hook);
            hook
        });
        output::print_json(&Value::Array(hooks.collect()))?;
        return Ok(exit::OK);
    }
    let mut stdout = output::stdout();
    for (at, (entry, covered)) in entries.iter().zip(&covered).enumerate() {
        if at > 0 {
            writeln!(stdout)?;
        }
        for (label, value) in hook_rows(entry).into_iter().chain(trusted_file_rows(covered)) {
            writeln!(stdout, "{}{value}", paint(BOLD, format!("{label:<13}")))?;
        }
    }
    Ok(exit::OK)
}

/// Formats the files that trust in the hook extends to.
fn trusted_file_rows(covered: &HookTrustedFiles) -> Vec<(&'static str, String)> {
    const MAX_LISTED_FILES: usize = 20;
    let mut lines: Vec<_> =
        covered.files.iter().take(MAX_LISTED_FILES).map(|file| ("runs", output::one_line(file))).collect();
    if covered.files.len() > MAX_LISTED_FILES {
        lines.push(("runs", format!("and {} more", covered.files.len() - MAX_LISTED_FILES)));
    }
    if !covered.is_complete {
        lines.push(("not sure", HookTrustedFiles::INCOMPLETE_NOTE.to_owned()));
    }
    lines
}

/// The keys that only some types of hooks have.
const TYPE_SPECIFIC_KEYS: [&str; 7] =
    ["package", "start", "concurrency", "idleTimeout", "maxMemoryMb", "url", "headers"];

/// Formats the properties of a hook that are set.
fn hook_rows(entry: &HookListEntry) -> Vec<(&'static str, String)> {
    let hook = &entry.hook;
    let mut lines = vec![("name", output::one_line(hook.id())), ("event", hook.event.to_string())];
    let mut add = |label, value: Option<String>| lines.extend(value.map(|value| (label, output::one_line(&value))));
    add("description", hook.description.clone());
    add("matcher", hook.matcher_text.clone().filter(|text| !text.is_empty()));
    add("when", hook.when_text());
    if let Action::Rule(rule) = &hook.action {
        add("rule", Some(format!("{}: {}", rule.decision_word(), rule.reason)));
        add("only", rule.only.as_ref().map(|only| only.text().to_owned()));
    }
    add("type", (hook.type_name() != "command").then(|| hook.type_name().to_owned()));
    add("command", hook.command().filter(|command| *command != hook.id()).map(str::to_owned));
    let own = hook.fingerprint_fields().into_iter().filter(|(key, _)| TYPE_SPECIFIC_KEYS.contains(key));
    own.filter(|(_, value)| value != hook.id()).for_each(|(key, value)| add(key, Some(value)));
    add("dialect", (hook.dialect() != Dialect::default()).then(|| hook.dialect().as_str().to_owned()));
    add("if", hook.run_condition.if_rule.as_ref().map(|rule| rule.text().to_owned()));
    add("once", hook.run_condition.once.then(|| "yes".to_owned()));
    add("source", Some(hook.source.to_string()));
    add("declared at", hook.location.as_ref().map(ToString::to_string));
    add("timeout", Some(format!("{} ms", hook.timeout.as_millis())));
    add("onError", on_error_text(&hook.on_error));
    // The names alone: values may be secrets, and the variables in them are already substituted.
    let env: Vec<&str> = hook.env().iter().map(|(name, _)| name.as_str()).collect();
    add("env", (!env.is_empty()).then(|| env.join(", ")));
    add("chunks", hook.chunks.map(|chunks| chunks.to_string()));
    add("sequential", hook.sequential.then(|| "yes".to_owned()));
    add("locked", hook.locked.then(|| "yes".to_owned()));
    add("async", hook.is_background().then(|| "yes".to_owned()));
    add("mode", hook.is_shadow().then(|| "shadow: it is asked and recorded, and decides nothing".to_owned()));
    add("guard", hook.is_guard().then(|| if hook.required { "yes, required by settings" } else { "yes" }.to_owned()));
    add("state", Some(entry.describe()));
    if let ArmedState::Inert(problem) = &entry.state {
        add("to do", Some(problem.hint()));
    }
    lines
}

/// Formats what happens on failure: one word where it is the same for every cause.
fn on_error_text(on_error: &OnError) -> Option<String> {
    let mut set = on_error.configured().peekable();
    let (_, first) = *set.peek()?;
    if *on_error == OnError::for_all_causes(first) {
        return Some(first.as_str().to_owned());
    }
    Some(set.map(|(cause, action)| format!("{cause}: {}", action.as_str())).collect::<Vec<_>>().join(", "))
}
