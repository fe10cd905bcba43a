//! `hooks doctor`: could every enabled hook really run, and what to do about those that could not.

use std::io::Write;

use hookwright_agent::session::{Armed, HookEntry, hook_json, unarmed_json};
use hookwright_hooks::{Action, EventKind, Severity, Subject, did_you_mean, tool_help};
use hookwright_settings::World;
use hookwright_settings::trust::all_pending;
use serde_json::{Value, json};

use super::Toolbox;
use super::canary::{self, Canary};
use crate::exit;
use crate::out::{self, BAD, BOLD, GOOD, NOTE, WARN, paint};

pub(crate) fn run(toolbox: &Toolbox, world: &World, as_json: bool) -> anyhow::Result<u8> {
    let entries = toolbox.entries();
    let canaries = canary::ask_all(toolbox, &entries)?;
    let patients: Vec<Patient> =
        entries.into_iter().zip(canaries).map(|(entry, canary)| Patient { entry, canary }).collect();
    let diagnostics = toolbox.loaded.registry.diagnostics();
    let broken = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    let counts = Counts::of(&patients, broken);
    let unarmed = toolbox.unarmed();
    let loaded = &toolbox.loaded;
    let changed = all_pending(&loaded.paths, &loaded.project.root, loaded.guard_files(&[]));
    let starved = starved_servers(toolbox);
    let agents = crate::agents::wired_in_words(world, &loaded.project.root);
    let wrong = counts.inert + counts.failing + counts.broken + unarmed.len() + changed.len();
    let code = if wrong == 0 { exit::OK } else { exit::ERROR };
    if as_json {
        let hooks: Vec<_> = patients.iter().map(|patient| patient.json(toolbox)).collect();
        let failing = patients.iter().filter(|patient| patient.is_failing_guard());
        let unarmed: Vec<_> = unarmed.iter().map(unarmed_json).chain(failing.map(Patient::unarmed_json)).collect();
        let changed: Vec<_> = changed.iter().map(|change| change.file.path.display().to_string()).collect();
        out::json(
            &json!({"ok": code == exit::OK, "counts": counts, "hooks": hooks, "diagnostics": diagnostics, "unarmed": unarmed, "changed_by_agent": changed, "agents": agents, "servers_without_variables": starved.iter().map(|(name, unset)| json!({"name": name, "unset_variables": unset})).collect::<Vec<_>>()}),
        )?;
        return Ok(code);
    }
    toolbox.say_what_is_wrong()?;
    let mut stdout = out::stdout();
    patients.iter().try_for_each(|patient| patient.print(&mut stdout, toolbox))?;
    writeln!(stdout, "{counts}")?;
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
    if let Some(words) = guards_in_words(&patients, unarmed.len()) {
        writeln!(stdout, "{words}")?;
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

/// How many guards are armed, if there is any. One that fails its sample blocks what it should judge.
fn guards_in_words(patients: &[Patient], unarmed: usize) -> Option<String> {
    let armed = patients.iter().filter(|patient| patient.entry.hook.is_guard() && patient.is_armed()).count();
    let failing = patients.iter().filter(|patient| patient.is_failing_guard()).count();
    let why = match failing {
        0 => String::new(),
        1 => " (1 failed its sample and does not do its work)".to_owned(),
        many => format!(" ({many} failed their samples and do not do their work)"),
    };
    let unarmed = unarmed + failing;
    (armed + unarmed > 0).then(|| format!("guards: {armed} armed, {unarmed} not armed{why}"))
}

/// How many hooks there are of each kind.
#[derive(serde::Serialize)]
struct Counts {
    armed: usize,
    inert: usize,
    /// Those that could start, and failed their sample.
    failing: usize,
    off_or_held: usize,
    broken: usize,
}

impl Counts {
    fn of(patients: &[Patient], broken: usize) -> Counts {
        let count = |is_meant: fn(&Patient) -> bool| patients.iter().filter(|patient| is_meant(patient)).count();
        let armed = count(Patient::is_armed);
        let inert = count(|patient| matches!(patient.entry.state, Armed::Inert(_) | Armed::Idle(_)));
        let failing = count(|patient| patient.failure().is_some());
        Counts { armed, inert, failing, off_or_held: patients.len() - armed - inert - failing, broken }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { armed, inert, failing, off_or_held, broken } = self;
        write!(f, "{armed} armed, {inert} inert, ")?;
        match failing {
            0 => {}
            1 => write!(f, "1 failed its sample, ")?,
            many => write!(f, "{many} failed their samples, ")?,
        }
        write!(f, "{off_or_held} off or held, {broken} broken declaration{}", if *broken == 1 { "" } else { "s" })
    }
}

/// A hook, and what came of a sample where only that can tell whether it is awake.
struct Patient {
    entry: HookEntry,
    canary: Option<Canary>,
}

impl Patient {
    fn failure(&self) -> Option<&str> {
        self.canary.as_ref().and_then(Canary::failure)
    }

    /// Whether it could start, and nothing shows that this would not help.
    fn is_armed(&self) -> bool {
        matches!(self.entry.state, Armed::Yes) && self.failure().is_none()
    }

    fn is_failing_guard(&self) -> bool {
        self.entry.hook.is_guard() && self.failure().is_some()
    }

    /// Why it is not armed, or how its sample went.
    fn reason(&self) -> Option<String> {
        self.entry.state.reason().or(self.canary.as_ref().map(Canary::words))
    }

    fn advice(&self) -> Option<String> {
        let HookEntry { hook, state, .. } = &self.entry;
        match state {
            Armed::Inert(problem) => Some(problem.advice()),
            Armed::Idle(matcher) => Some(format!("correct its matcher: {}", matcher_help(hook.event, matcher))),
            Armed::Untrusted(_) => {
                Some("look at it, then `hookwright hooks trust NAME`, or `--folder` for the whole folder".to_owned())
            }
            Armed::Yes if self.failure().is_some() => {
                let whose = match hook.action {
                    Action::Http(_) => "see that its service is up and lets it in",
                    _ => "correct its program",
                };
                Some(format!("{whose}; `hookwright hooks fire {}` asks it again", hook.event))
            }
            Armed::Yes | Armed::Disabled(_) => None,
        }
    }

    fn print(&self, stdout: &mut impl Write, toolbox: &Toolbox) -> std::io::Result<()> {
        let (style, word) = match self.entry.state {
            Armed::Yes if self.failure().is_some() => (BAD, "FAIL"),
            Armed::Yes => (GOOD, "ok"),
            Armed::Disabled(_) => (out::DIM, "off"),
            Armed::Untrusted(_) => (WARN, "held"),
            Armed::Inert(_) | Armed::Idle(_) => (BAD, "FAIL"),
        };
        let hook = &self.entry.hook;
        let (name, guard) = (out::shorten(hook.id(), 60), if hook.is_guard() { ", guard" } else { "" });
        let word = paint(style, format!("{word:>4}"));
        writeln!(stdout, "{word} {} {} ({}{guard})", hook.event, paint(BOLD, name), hook.source)?;
        if let Some(reason) = self.reason() {
            writeln!(stdout, "       {reason}")?;
        }
        if let Some(advice) = self.advice() {
            writeln!(stdout, "       {} {advice}", paint(NOTE, "to do:"))?;
        }
        for name in unset(toolbox, &self.entry) {
            writeln!(stdout, "       {} {}", paint(WARN, "never set:"), never_set(&name))?;
        }
        Ok(())
    }

    fn json(&self, toolbox: &Toolbox) -> Value {
        let mut value = hook_json(&self.entry);
        if self.failure().is_some() {
            value["armed"] = json!(false);
            value["state"] = json!("failing");
            value["reason"] = json!(self.reason());
        }
        value["canary"] = json!(self.canary.as_ref().map(Canary::json));
        value["advice"] = json!(self.advice());
        value["unset_variables"] = json!(unset(toolbox, &self.entry));
        value
    }

    /// As a guard that is not armed, with the same keys as the others.
    fn unarmed_json(&self) -> Value {
        let hook = hook_json(&self.entry);
        json!({"name": hook["name"], "file": hook["file"], "line": hook["line"], "why": "failed_sample", "reason": self.reason(), "advice": self.advice()})
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
