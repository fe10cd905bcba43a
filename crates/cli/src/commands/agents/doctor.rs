//! `agents doctor`: checks that an agent really calls Hookwright, and that a guard's deny would hold on this machine as
//! it is. Each link of the chain and each further note is one line, with a hint below it.

mod guard_calls;
mod live;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use hookwright_bridge::install::{load_wiring, targets_read_by};
use hookwright_bridge::{Host, TimeoutPolicy};
use hookwright_settings::ProcessEnv;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::coverage::CoverageRun;
use super::detection::{self, DetectedAgent};
use super::explain::{format_seconds, host_compatibility};
use super::guard_chain::{ChainVerdict, GuardChain, LinkState, LinkStatus};
use super::list::install_state_json;
use super::{AgentInstallState, own_program_path, trial_record};
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::output::{self, BAD, BOLD, GOOD, NOTE, WARN, paint};
pub(super) use live::GuardTrialResult;
use live::LiveOutput;

/// A remark that does not decide the verdict.
struct DoctorNote {
    is_warning: bool,
    summary: String,
    hint: Option<String>,
}

impl DoctorNote {
    fn info(summary: impl Into<String>) -> DoctorNote {
        DoctorNote { is_warning: false, summary: summary.into(), hint: None }
    }

    fn warning(summary: impl Into<String>) -> DoctorNote {
        DoctorNote { is_warning: true, summary: summary.into(), hint: None }
    }

    fn with_hint(self, hint: impl Into<String>) -> DoctorNote {
        DoctorNote { hint: Some(hint.into()), ..self }
    }
}

/// The result for one agent.
struct DoctorReport {
    verdict: ChainVerdict,
    json: Value,
}

/// Checks these agents; without any, those that have entries.
pub(super) fn run(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    hosts: &[Host],
    live: bool,
    as_json: bool,
) -> anyhow::Result<u8> {
    let project = toolbox.loaded.project.root.clone();
    let wired =
        |host: &Host| AgentInstallState::inspect_all(*host, world, &project).iter().any(|one| one.has_entries());
    let all: Vec<Host> = if hosts.is_empty() { Host::all().filter(wired).collect() } else { hosts.to_vec() };
    if all.is_empty() {
        match as_json {
            true => output::print_json(&json!({"ok": false, "agents": []}))?,
            false => {
                output::error("no agent calls Hookwright")?;
                output::hint("`hookwright agents install AGENT` makes an agent run your hooks")?;
            }
        }
        return Ok(exit::ERROR);
    }
    let mut reports = Vec::new();
    for (nth, agent) in detection::detect_agents(&all, world, &project)?.into_iter().enumerate() {
        if !as_json && all.len() > 1 {
            let gap = if nth > 0 { "\n" } else { "" };
            writeln!(output::stdout(), "{gap}{}", paint(BOLD, agent.host.title()))?;
        }
        reports.push(check_agent(toolbox, world, &agent, live, as_json)?);
    }
    let verdict = reports.iter().map(|report| report.verdict).max().unwrap_or(ChainVerdict::No);
    if as_json {
        let mut values: Vec<Value> = reports.into_iter().map(|report| report.json).collect();
        match hosts.len() {
            1 => output::print_json(&values.remove(0))?,
            _ => output::print_json(&json!({"ok": verdict == ChainVerdict::Yes, "agents": values}))?,
        }
    }
    Ok(verdict.exit_code())
}

fn check_agent(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    agent: &DetectedAgent,
    live: bool,
    as_json: bool,
) -> anyhow::Result<DoctorReport> {
    let (started, host) = (Instant::now(), agent.host);
    let project = toolbox.loaded.project.root.clone();
    let states = AgentInstallState::inspect_all(host, world, &project);
    let last_trial = trial_record::read_one(world, &project, host);
    let mut chain = GuardChain::inspect(agent, &states, toolbox, world, last_trial.as_ref());
    let mut notes = handwritten_notes(&states);
    notes.extend(duplicate_notes(host, &states, world, &project));
    notes.extend(hook_notes(toolbox, host));
    notes.extend(host.blind_spots().iter().map(|spot| DoctorNote::warning(spot.summary).with_hint(spot.remedy)));
    let coverage = coverage_notes(host, world);
    let is_overruled = coverage.iter().any(|note| note.is_overruled);
    notes.extend(coverage.into_iter().map(|found| found.note));
    if !as_json {
        print_checks(&chain, &notes, live)?;
    }
    let trial = match live {
        true => {
            let hookwright = own_program_path(world, &project)?;
            let shown = if as_json { LiveOutput::Silent } else { LiveOutput::Report };
            match live::run(agent, toolbox, world, &hookwright, started, shown) {
                Ok(trial) => {
                    chain = GuardChain::inspect(agent, &states, toolbox, world, Some(&trial.record));
                    Some(trial.json)
                }
                // One agent that can't be tried does not keep the others from it.
                Err(error) => {
                    output::error(format!("{error:#}"))?;
                    Some(json!({"holds": false, "error": format!("{error:#}")}))
                }
            }
        }
        false => None,
    };
    let is_tried = trial.as_ref().is_some_and(|trial| trial.get("error").is_none());
    let verdict = if is_overruled || live && !is_tried { ChainVerdict::No } else { chain.verdict() };
    if !as_json {
        let style = match chain.verdict() {
            ChainVerdict::Yes => GOOD,
            ChainVerdict::Unproven => WARN,
            ChainVerdict::No => BAD,
        };
        writeln!(output::stdout(), "{}", paint(style, output::one_line(&chain.headline())))?;
    }
    let checks: Vec<Value> = chain
        .links
        .iter()
        .map(|link| json!({"state": link_label(link), "what": link.summary, "todo": link.hint}))
        .chain(notes.iter().map(|note| json!({"state": note_label(note), "what": note.summary, "todo": note.hint})))
        .collect();
    let mut value = json!({
        "ok": verdict == ChainVerdict::Yes, "agent": host.name(), "version": agent.version, "chain": chain.to_json(), "checks": checks,
        "live": trial,
    });
    for state in &states {
        value[state.target.scope.as_str()] = install_state_json(state);
    }
    Ok(DoctorReport { verdict, json: value })
}

/// The links of an agent after a live trial, and what the guards did in it.
pub(super) struct AgentProof {
    pub(super) agent: DetectedAgent,
    pub(super) chain: GuardChain,
    /// Empty if there was no trial.
    pub(super) guards: Vec<GuardTrialResult>,
    /// The trial hooks that were obeyed, and all of them; `None` if there was no trial.
    pub(super) obeyed: Option<(u64, u64)>,
    /// Why there was no trial.
    pub(super) error: Option<String>,
}

impl AgentProof {
    /// Returns the verdict, which only a trial that was made now makes a yes.
    pub(super) fn verdict(&self) -> ChainVerdict {
        if self.obeyed.is_some() { self.chain.verdict() } else { self.chain.verdict().max(ChainVerdict::Unproven) }
    }

    /// Returns whether this trial showed that every link holds.
    pub(super) fn is_proven(&self) -> bool {
        self.verdict() == ChainVerdict::Yes
    }
}

/// Tries an agent live, without printing; without `on_trial_end`, only its links are inspected.
pub(super) fn prove_agent(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    agent: &DetectedAgent,
    on_trial_end: Option<&dyn Fn()>,
) -> anyhow::Result<AgentProof> {
    let project = toolbox.loaded.project.root.clone();
    let hookwright = own_program_path(world, &project)?;
    let trial = on_trial_end.map(|on_trial_end| {
        live::run(agent, toolbox, world, &hookwright, Instant::now(), LiveOutput::Progress(on_trial_end))
    });
    let states = AgentInstallState::inspect_all(agent.host, world, &project);
    let last_trial = trial_record::read_one(world, &project, agent.host);
    let inspect = |trial| GuardChain::inspect(agent, &states, toolbox, world, trial);
    let agent = agent.clone();
    Ok(match trial {
        Some(Ok(trial)) => AgentProof {
            agent,
            chain: inspect(Some(&trial.record)),
            obeyed: Some((trial.record.held, trial.record.total)),
            guards: trial.guards,
            error: None,
        },
        Some(Err(error)) => {
            let error = Some(format!("{error:#}"));
            AgentProof { agent, chain: inspect(last_trial.as_ref()), guards: Vec::new(), obeyed: None, error }
        }
        None => {
            AgentProof { agent, chain: inspect(last_trial.as_ref()), guards: Vec::new(), obeyed: None, error: None }
        }
    })
}

fn link_label(link: &LinkStatus) -> &'static str {
    match link.state {
        LinkState::Holds => "ok",
        LinkState::Unproven => "warn",
        LinkState::Broken => "FAIL",
    }
}

fn note_label(note: &DoctorNote) -> &'static str {
    if note.is_warning { "warn" } else { "ok" }
}

fn print_checks(chain: &GuardChain, notes: &[DoctorNote], live: bool) -> anyhow::Result<()> {
    use super::guard_chain::ChainLink;
    let mut stdout = output::stdout();
    // A recorded trial says nothing if another one follows.
    let links = chain.links.iter().filter(|link| !live || link.link != ChainLink::LiveTrial);
    let links = links.map(|link| (link_label(link), &link.summary, &link.hint));
    let notes = notes.iter().map(|note| (note_label(note), &note.summary, &note.hint));
    for (label, summary, hint) in links.chain(notes) {
        let style = match label {
            "ok" => GOOD,
            "warn" => WARN,
            _ => BAD,
        };
        writeln!(stdout, "{} {}", paint(style, format!("{label:>4}")), output::one_line(summary))?;
        if let Some(todo) = hint {
            writeln!(stdout, "       {} {}", paint(NOTE, "to do:"), output::one_line(todo))?;
        }
    }
    Ok(())
}

/// What the agent's transcripts of the last day show.
struct CoverageNote {
    note: DoctorNote,
    /// Whether a call ran that a hook had refused.
    is_overruled: bool,
}

/// Compares the agent's transcripts of the last day with the journal.
fn coverage_notes(host: Host, world: &ProcessEnv) -> Vec<CoverageNote> {
    let now = Timestamp::now();
    let since = now.checked_sub(SignedDuration::from_hours(24)).unwrap_or(now);
    let hint = format!("hookwright agents coverage {} --since 1d", host.name());
    let note = |text: String, is_overruled| CoverageNote {
        note: DoctorNote::warning(text).with_hint(hint.clone()),
        is_overruled,
    };
    let report = match CoverageRun::compare(&[host], world, since, now) {
        Ok(run) => run.report,
        Err(error) => {
            return vec![note(format!("the transcripts of the last day can't be compared: {error:#}"), false)];
        }
    };
    // Without a journal there is nothing to compare with; an agent without hooks has none.
    if report.is_journal_empty {
        return Vec::new();
    }
    let mut notes = Vec::new();
    if !report.overruled.is_empty() {
        let count = report.overruled.len();
        notes.push(note(format!("calls of the last day that a hook refused and that ran: {count}"), true));
    }
    if !report.uncovered.is_empty() {
        let count = report.uncovered.len();
        notes.push(note(format!("calls of the last day that no hook was asked about: {count}"), false));
    }
    if !report.problems.is_empty() {
        let count = report.problems.len();
        notes.push(note(format!("parts of the last day's transcripts that could not be read: {count}"), false));
    }
    notes
}

/// Notes entries that the user wrote by hand.
fn handwritten_notes(states: &[AgentInstallState]) -> Vec<DoctorNote> {
    let mut notes = Vec::new();
    for state in states {
        let Ok(wiring) = &state.wiring else { continue };
        let events: Vec<&str> = wiring.handwritten().map(|found| found.event.as_str()).collect();
        if !events.is_empty() {
            let text = format!("{}: entries written by hand for {}", state.target.file.display(), events.join(", "));
            notes.push(DoctorNote::warning(text).with_hint(
                "remove them: Hookwright does not update them, and calls pass where hookwright can't be run",
            ));
        }
    }
    notes
}

/// Notes hooks that run twice for an event.
fn duplicate_notes(host: Host, states: &[AgentInstallState], world: &ProcessEnv, project: &Path) -> Vec<DoctorNote> {
    let mut notes = Vec::new();
    let wired: Vec<&str> =
        states.iter().filter(|state| state.has_entries()).map(|state| state.target.scope.owner()).collect();
    if wired.len() > 1 {
        let text = format!("both {} settings have entries: every hook runs twice", wired.join(" and "));
        let todo = format!("`hookwright agents uninstall {host}`, with or without `--project`");
        notes.push(DoctorNote::warning(text).with_hint(todo));
    }
    for borrowed in targets_read_by(host, world, project) {
        if !load_wiring(&borrowed).is_ok_and(|wiring| wiring.has_entries()) {
            continue;
        }
        let (file, other, title) = (borrowed.file.display(), borrowed.host.title(), host.title());
        notes.push(match wired.is_empty() {
            false => DoctorNote::info(format!(
                "{title} may read {file} too: the bridge ignores the entries there, which are for {other}"
            )),
            true => DoctorNote::warning(format!("{title} may read {file}, but the entries there are for {other}"))
                .with_hint(format!("`hookwright agents install {host}` writes its own entries")),
        });
    }
    notes
}

/// Notes hooks that get less time under the agent.
fn hook_notes(toolbox: &LoadedProject, host: Host) -> Vec<DoctorNote> {
    let entries = toolbox.entries();
    let mut notes = Vec::new();
    for hook in entries.iter().map(|entry| entry.hook.as_ref()) {
        if let Some(longest) = host_compatibility(host, hook).shortened_timeout {
            let (own, longest) = (format_seconds(hook.timeout), format_seconds(longest));
            let name = output::truncate_columns(hook.id(), 60);
            let title = host.title();
            let text = format!("`{name}` may run for {own} s, but under {title} it is stopped after {longest} s");
            notes.push(DoctorNote::warning(text));
        }
    }
    if host.info().on_timeout == TimeoutPolicy::FailsOpen && !entries.is_empty() {
        let title = host.title();
        notes.push(DoctorNote::info(format!(
            "{title} lets a call run when a hook times out; the bridge answers before that"
        )));
    }
    notes
}
