//! `hooks doctor`: checks that every enabled hook could run, and hints at what to do about those that could not.

use std::io::Write;

use hookwright_agent::session::{ArmedState, HookListEntry, hook_json, unarmed_json};
use hookwright_hooks::{Action, EventKind, MatcherSubject, Severity, did_you_mean, tool_help};
use hookwright_settings::ProcessEnv;
use hookwright_settings::trust::all_pending_changes;
use serde_json::{Value, json};

use super::LoadedProject;
use super::canary::{self, CanaryResult};
use crate::exit;
use crate::output::{self, BAD, BOLD, GOOD, NOTE, WARN, paint};

pub(crate) fn run(toolbox: &LoadedProject, world: &ProcessEnv, as_json: bool) -> anyhow::Result<u8> {
    let entries = toolbox.entries();
    let canaries = canary::probe_all(toolbox, &entries)?;
    let examinations: Vec<HookExamination> =
        entries.into_iter().zip(canaries).map(|(entry, canary)| HookExamination { entry, canary }).collect();
    let diagnostics = toolbox.loaded.registry.diagnostics();
    let broken = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    let counts = HookStateCounts::count(&examinations, broken);
    let unarmed = toolbox.unarmed_guards();
    let loaded = &toolbox.loaded;
    let changed = all_pending_changes(&loaded.paths, &loaded.project.root, loaded.guard_files(&[]));
    let servers_with_unset = servers_with_unset_variables(toolbox);
    let agents = crate::commands::agents::wired_agents_summary(world, &loaded.project.root);
    let confinement = crate::commands::run::probe(world);
    let wrong = counts.inert + counts.failing + counts.broken + unarmed.len() + changed.len();
    let code = if wrong == 0 { exit::OK } else { exit::ERROR };
    if as_json {
        let hooks: Vec<_> = examinations.iter().map(|examination| examination.to_json(toolbox)).collect();
        let failing = examinations.iter().filter(|examination| examination.is_failing_guard());
        let unarmed: Vec<_> =
            unarmed.iter().map(unarmed_json).chain(failing.map(HookExamination::unarmed_json)).collect();
        let changed: Vec<_> = changed.iter().map(|change| change.file.path.display().to_string()).collect();
        output::print_json(
            &json!({"ok": code == exit::OK, "counts": counts, "hooks": hooks, "diagnostics": diagnostics, "unarmed": unarmed, "changed_by_agent": changed, "agents": agents, "confinement": confinement.to_json(), "servers_without_variables": servers_with_unset.iter().map(|(name, unset)| json!({"name": name, "unset_variables": unset})).collect::<Vec<_>>()}),
        )?;
        return Ok(code);
    }
    toolbox.print_problems()?;
    let mut stdout = output::stdout();
    examinations.iter().try_for_each(|examination| examination.print(&mut stdout, toolbox))?;
    writeln!(stdout, "{counts}")?;
    for guard in &unarmed {
        writeln!(stdout, "{} {guard}", paint(BAD, "FAIL"))?;
        writeln!(stdout, "       {} {}", paint(NOTE, "to do:"), guard.advice())?;
    }
    for (name, unset) in &servers_with_unset {
        let unset: Vec<String> = unset.iter().map(|name| unset_variable_text(name)).collect();
        writeln!(
            stdout,
            "{} MCP server {}, never set: {}",
            paint(WARN, "warn"),
            output::one_line(name),
            unset.join(", ")
        )?;
    }
    for change in &changed {
        let path = change.file.path.display();
        writeln!(stdout, "{} {path} was changed by an agent, and the change is not trusted", paint(BAD, "FAIL"))?;
        writeln!(stdout, "       {} look at it with `hookwright hooks trust`", paint(NOTE, "to do:"))?;
    }
    if let Some(words) = guards_summary(&examinations, unarmed.len()) {
        writeln!(stdout, "{words}")?;
    }
    writeln!(stdout, "{confinement}")?;
    if !agents.is_empty() {
        writeln!(
            stdout,
            "agents that run these hooks: {}; `hookwright agents doctor AGENT` checks one",
            agents.join(", ")
        )?;
    }
    Ok(code)
}

/// Describes how many guards are armed, if there are any. A guard that fails its canary blocks every
/// event it should judge.
fn guards_summary(examinations: &[HookExamination], unarmed: usize) -> Option<String> {
    let armed =
        examinations.iter().filter(|examination| examination.entry.hook.is_guard() && examination.is_armed()).count();
    let failing = examinations.iter().filter(|examination| examination.is_failing_guard()).count();
    let why = match failing {
        0 => String::new(),
        1 => " (1 failed its test call and does not work)".to_owned(),
        many => format!(" ({many} failed their test calls and do not work)"),
    };
    let unarmed = unarmed + failing;
    (armed + unarmed > 0).then(|| format!("guards: {armed} armed, {unarmed} not armed{why}"))
}

/// The number of hooks in each state.
#[derive(serde::Serialize)]
struct HookStateCounts {
    armed: usize,
    inert: usize,
    /// Hooks that could start, but failed their canary.
    failing: usize,
    /// Hooks that are asked and decide nothing.
    #[serde(skip_serializing_if = "is_zero")]
    shadow: usize,
    off_or_held: usize,
    broken: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl HookStateCounts {
    fn count(examinations: &[HookExamination], broken: usize) -> HookStateCounts {
        let count = |is_meant: fn(&HookExamination) -> bool| {
            examinations.iter().filter(|examination| is_meant(examination)).count()
        };
        let armed = count(HookExamination::is_armed);
        let inert =
            count(|examination| matches!(examination.entry.state, ArmedState::Inert(_) | ArmedState::NeverMatches(_)));
        let failing = count(|examination| examination.failure().is_some());
        let shadow = count(|examination| matches!(examination.entry.state, ArmedState::Shadow));
        let off_or_held = examinations.len() - armed - inert - failing - shadow;
        HookStateCounts { armed, inert, failing, shadow, off_or_held, broken }
    }
}

impl std::fmt::Display for HookStateCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let HookStateCounts { armed, inert, failing, shadow, off_or_held, broken } = self;
        write!(f, "{armed} armed, {inert} inert, ")?;
        match failing {
            0 => {}
            1 => write!(f, "1 failed its test call, ")?,
            many => write!(f, "{many} failed their test calls, ")?,
        }
        if *shadow > 0 {
            write!(f, "{shadow} in shadow, ")?;
        }
        write!(f, "{off_or_held} off or held, {broken} broken declaration{}", if *broken == 1 { "" } else { "s" })
    }
}

/// A hook, and the result of its canary if it got one.
struct HookExamination {
    entry: HookListEntry,
    canary: Option<CanaryResult>,
}

impl HookExamination {
    fn failure(&self) -> Option<&str> {
        self.canary.as_ref().and_then(CanaryResult::failure)
    }

    /// Whether the hook could start and did not fail a canary.
    fn is_armed(&self) -> bool {
        matches!(self.entry.state, ArmedState::Armed) && self.failure().is_none()
    }

    fn is_failing_guard(&self) -> bool {
        self.entry.hook.is_guard() && self.failure().is_some()
    }

    /// Returns why the hook is not armed, or how its canary went.
    fn reason(&self) -> Option<String> {
        self.entry.state.reason().or(self.canary.as_ref().map(CanaryResult::summary))
    }

    fn hint(&self) -> Option<String> {
        let HookListEntry { hook, state, .. } = &self.entry;
        match state {
            ArmedState::Inert(problem) => Some(problem.hint()),
            ArmedState::NeverMatches(matcher) => {
                Some(format!("correct its matcher: {}", matcher_hint(hook.event, matcher)))
            }
            ArmedState::Untrusted(_) => Some(
                "look at it, then run `hookwright hooks trust NAME`, or `--folder` for the whole folder".to_owned(),
            ),
            ArmedState::Armed if self.failure().is_some() => {
                let remedy = match hook.action {
                    Action::Http(_) => "check that its service is up and accepts the request",
                    _ => "correct its program",
                };
                Some(format!("{remedy}; `hookwright hooks fire {}` runs it again", hook.event))
            }
            ArmedState::Shadow => Some("`hookwright hooks arm NAME` makes it decide".replace("NAME", hook.id())),
            ArmedState::Armed | ArmedState::Disabled(_) => None,
        }
    }

    fn print(&self, stdout: &mut impl Write, toolbox: &LoadedProject) -> std::io::Result<()> {
        let (style, word) = match self.entry.state {
            ArmedState::Armed if self.failure().is_some() => (BAD, "FAIL"),
            ArmedState::Armed => (GOOD, "ok"),
            ArmedState::Shadow => (WARN, "shadow"),
            ArmedState::Disabled(_) => (output::DIM, "off"),
            ArmedState::Untrusted(_) => (WARN, "held"),
            ArmedState::Inert(_) | ArmedState::NeverMatches(_) => (BAD, "FAIL"),
        };
        let hook = &self.entry.hook;
        let (name, guard) = (output::truncate_columns(hook.id(), 60), if hook.is_guard() { ", guard" } else { "" });
        let word = paint(style, format!("{word:>4}"));
        writeln!(stdout, "{word} {} {} ({}{guard})", hook.event, paint(BOLD, name), hook.source)?;
        if let Some(reason) = self.reason() {
            writeln!(stdout, "       {reason}")?;
        }
        if let Some(advice) = self.hint() {
            writeln!(stdout, "       {} {advice}", paint(NOTE, "to do:"))?;
        }
        for name in unset_variables(toolbox, &self.entry) {
            writeln!(stdout, "       {} {}", paint(WARN, "never set:"), unset_variable_text(&name))?;
        }
        Ok(())
    }

    fn to_json(&self, toolbox: &LoadedProject) -> Value {
        let mut value = hook_json(&self.entry);
        if self.failure().is_some() {
            value["armed"] = json!(false);
            value["state"] = json!("failing");
            value["reason"] = json!(self.reason());
        }
        value["canary"] = json!(self.canary.as_ref().map(CanaryResult::to_json));
        value["advice"] = json!(self.hint());
        value["unset_variables"] = json!(unset_variables(toolbox, &self.entry));
        value
    }

    /// Formats a failing guard with the same keys as the unarmed ones.
    fn unarmed_json(&self) -> Value {
        let hook = hook_json(&self.entry);
        json!({"name": hook["name"], "file": hook["file"], "line": hook["line"], "why": "failed_sample", "reason": self.reason(), "advice": self.hint()})
    }
}

/// Returns a correction for a matcher that matches nothing.
fn matcher_hint(event: EventKind, matcher: &str) -> String {
    match event.info().subject {
        MatcherSubject::ToolName => tool_help(matcher.split('|').next().unwrap_or(matcher)),
        MatcherSubject::Field { values, .. } => {
            did_you_mean(matcher, values.iter().copied(), &format!("one of {}", values.join(", ")))
        }
        MatcherSubject::Nothing => "leave it out".to_owned(),
    }
}

/// Returns the variables that a hook reads and nothing sets. They may be meant to be empty, so they are no failure.
fn unset_variables(toolbox: &LoadedProject, entry: &HookListEntry) -> Vec<String> {
    match entry.state {
        ArmedState::Disabled(_) => Vec::new(),
        _ => toolbox.loaded.unset_variables_of(&entry.hook),
    }
}

/// Returns the MCP servers whose declarations name variables that nothing sets.
fn servers_with_unset_variables(toolbox: &LoadedProject) -> Vec<(String, Vec<String>)> {
    let servers = toolbox.loaded.mcp_servers().servers.into_iter();
    servers
        .filter(|server| !server.unset_variables.is_empty())
        .map(|server| (server.name, server.unset_variables))
        .collect()
}

fn unset_variable_text(name: &str) -> String {
    match name {
        "CLAUDE_PLUGIN_ROOT" => "$CLAUDE_PLUGIN_ROOT, which is set only for the hooks of an extension".to_owned(),
        name => format!("${}", output::one_line(name)),
    }
}
