//! `hooks doctor`: could every enabled hook really run, and what to do about those that could not.

use std::io::Write;

use hookwright_agent::session::{Armed, HookEntry, hook_json, unarmed_json};
use hookwright_hooks::{EventKind, Severity, Subject, did_you_mean, tool_help};
use hookwright_settings::World;
use hookwright_settings::trust::all_pending;
use serde_json::json;

use super::Toolbox;
use super::canary::{self, Canary};
use crate::exit;
use crate::out::{self, BAD, BOLD, GOOD, NOTE, WARN, paint};

pub(crate) fn run(toolbox: &Toolbox, world: &World, as_json: bool) -> anyhow::Result<u8> {
    let entries = toolbox.entries();
    let diagnostics = toolbox.loaded.registry.diagnostics();
    let inert = entries.iter().filter(|entry| matches!(entry.state, Armed::Inert(_) | Armed::Idle(_))).count();
    let dropped = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    let unarmed = toolbox.unarmed();
    let loaded = &toolbox.loaded;
    let changed = all_pending(&loaded.paths, &loaded.project.root, loaded.guard_files(&[]));
    let starved = starved_servers(toolbox);
    let agents = crate::agents::wired_in_words(world, &loaded.project.root);
    let canaries = canary::ask_all(toolbox, &entries)?;
    let asleep = canaries.iter().flatten().filter(|canary| canary.failure().is_some()).count();
    let code = if inert + dropped + unarmed.len() + changed.len() + asleep == 0 { exit::OK } else { exit::ERROR };
    if as_json {
        let hooks: Vec<_> =
            entries.iter().zip(&canaries).map(|(entry, asked)| with_advice(toolbox, entry, asked.as_ref())).collect();
        let changed: Vec<_> = changed.iter().map(|change| change.file.path.display().to_string()).collect();
        out::json(
            &json!({"ok": code == exit::OK, "hooks": hooks, "diagnostics": diagnostics, "unarmed": unarmed.iter().map(unarmed_json).collect::<Vec<_>>(), "changed_by_agent": changed, "agents": agents, "servers_without_variables": starved.iter().map(|(name, unset)| json!({"name": name, "unset_variables": unset})).collect::<Vec<_>>()}),
        )?;
        return Ok(code);
    }
    toolbox.say_what_is_wrong()?;
    let mut stdout = out::stdout();
    for (entry, canary) in entries.iter().zip(&canaries) {
        let (style, word) = match entry.state {
            Armed::Yes if canary.as_ref().is_some_and(|canary| canary.failure().is_some()) => (BAD, "FAIL"),
            Armed::Yes => (GOOD, "ok"),
            Armed::Disabled(_) => (out::DIM, "off"),
            Armed::Untrusted(_) => (WARN, "held"),
            Armed::Inert(_) | Armed::Idle(_) => (BAD, "FAIL"),
        };
        let hook = &entry.hook;
        writeln!(
            stdout,
            "{} {} {} ({}{})",
            paint(style, format!("{word:>4}")),
            hook.event,
            paint(BOLD, out::shorten(hook.id(), 60)),
            hook.source,
            if hook.is_guard() { ", guard" } else { "" }
        )?;
        if let Some(reason) = entry.state.reason().or(canary.as_ref().map(Canary::words)) {
            writeln!(stdout, "       {reason}")?;
        }
        if let Some(advice) = advice(entry) {
            writeln!(stdout, "       {} {advice}", paint(NOTE, "to do:"))?;
        }
        for name in unset(toolbox, entry) {
            writeln!(stdout, "       {} {}", paint(WARN, "never set:"), never_set(&name))?;
        }
    }
    let armed = entries.iter().filter(|entry| matches!(entry.state, Armed::Yes)).count();
    let others = entries.len() - armed - inert;
    let plural = if dropped == 1 { "" } else { "s" };
    writeln!(stdout, "{armed} armed, {inert} inert, {others} off or held, {dropped} broken declaration{plural}")?;
    for guard in &unarmed {
        writeln!(stdout, "{} {guard}", paint(BAD, "FAIL"))?;
        writeln!(stdout, "       {} {}", paint(NOTE, "to do:"), guard.advice())?;
    }
    for (name, unset) in &starved {
        let unset: Vec<String> = unset.iter().map(|name| never_set(name)).collect();
        writeln!(
            stdout,
            "{} MCP server {}, never set: {}",
            paint(WARN, "warn"),
            out::one_line(name),
            unset.join(", ")
        )?;
    }
    for change in &changed {
        let path = change.file.path.display();
        writeln!(stdout, "{} {path} was changed by an agent, and nobody has trusted that", paint(BAD, "FAIL"))?;
        writeln!(stdout, "       {} look at it with `hookwright hooks trust`", paint(NOTE, "to do:"))?;
    }
    let guards = entries.iter().filter(|entry| entry.hook.is_guard() && matches!(entry.state, Armed::Yes)).count();
    if guards + unarmed.len() > 0 {
        writeln!(stdout, "guards: {guards} armed, {} not armed", unarmed.len())?;
    }
    if !agents.is_empty() {
        writeln!(
            stdout,
            "agents that ask these hooks: {}; `hookwright agents doctor AGENT` checks one",
            agents.join(", ")
        )?;
    }
    Ok(code)
}

fn advice(entry: &HookEntry) -> Option<String> {
    let event = entry.hook.event;
    match &entry.state {
        Armed::Inert(problem) => Some(problem.advice()),
        Armed::Idle(matcher) => Some(format!("correct its matcher: {}", matcher_help(event, matcher))),
        Armed::Untrusted(_) => {
            Some("look at it, then `hookwright hooks trust NAME`, or `--folder` for the whole folder".to_owned())
        }
        Armed::Yes | Armed::Disabled(_) => None,
    }
}

/// What somebody who wrote a matcher that matches nothing may have meant.
fn matcher_help(event: EventKind, matcher: &str) -> String {
    match event.info().subject {
        Subject::ToolName => tool_help(matcher.split('|').next().unwrap_or(matcher)),
        Subject::Field { values, .. } => {
            did_you_mean(matcher, values.iter().copied(), &format!("one of {}", values.join(", ")))
        }
        Subject::Nothing => "leave it out".to_owned(),
    }
}

/// The variables that a hook reads and nothing sets. They may be meant to be empty, so they are said and no failure.
fn unset(toolbox: &Toolbox, entry: &HookEntry) -> Vec<String> {
    match entry.state {
        Armed::Disabled(_) => Vec::new(),
        _ => toolbox.loaded.unset_for(&entry.hook),
    }
}

/// MCP servers whose declarations name variables that nothing sets.
fn starved_servers(toolbox: &Toolbox) -> Vec<(String, Vec<String>)> {
    let servers = toolbox.loaded.mcp_servers().servers.into_iter();
    servers.filter(|server| !server.unset.is_empty()).map(|server| (server.name, server.unset)).collect()
}

fn never_set(name: &str) -> String {
    match name {
        "CLAUDE_PLUGIN_ROOT" => "$CLAUDE_PLUGIN_ROOT, which only the hooks of an extension have".to_owned(),
        name => format!("${}", out::one_line(name)),
    }
}

fn with_advice(toolbox: &Toolbox, entry: &HookEntry, canary: Option<&Canary>) -> serde_json::Value {
    let mut value = hook_json(entry);
    value["canary"] = json!(canary.map(Canary::json));
    value["advice"] = json!(advice(entry));
    value["unset_variables"] = json!(unset(toolbox, entry));
    value
}
