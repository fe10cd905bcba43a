//! `agents list`: the agents on this machine in a table.

use std::path::Path;

use hookwright_bridge::Host;
use hookwright_bridge::install::{HostTrust, InstallScope};
use hookwright_settings::ProcessEnv;
use serde_json::{Value, json};

use super::AgentInstallState;
use super::detection::{self, DetectedAgent};
use super::trial_record::{self, TrialRecord};
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, TextTable, WARN};

struct AgentRow {
    agent: DetectedAgent,
    user: AgentInstallState,
    project: AgentInstallState,
    last_trial: Option<TrialRecord>,
}

impl AgentRow {
    /// Whether the agent is installed here or has entries.
    fn is_listed(&self) -> bool {
        self.agent.is_present() || self.user.has_entries() || self.project.has_entries()
    }
}

pub(super) fn run(project: &Path, world: &ProcessEnv, as_json: bool) -> anyhow::Result<u8> {
    let hosts: Vec<Host> = Host::all().collect();
    let verified = trial_record::read(world);
    let row = |presence: DetectedAgent| AgentRow {
        user: AgentInstallState::inspect(presence.host, InstallScope::User, world, project),
        project: AgentInstallState::inspect(presence.host, InstallScope::Project, world, project),
        last_trial: verified.iter().find(|(host, _)| *host == presence.host).map(|(_, verified)| verified.clone()),
        agent: presence,
    };
    let rows: Vec<AgentRow> = detection::detect_agents(&hosts, world, project)?.into_iter().map(row).collect();
    if as_json {
        output::print_json(&json!({"agents": rows.iter().map(row_json).collect::<Vec<_>>()}))?;
        return Ok(exit::OK);
    }
    let (here, missing): (Vec<&AgentRow>, Vec<&AgentRow>) = rows.iter().partition(|row| row.is_listed());
    if !here.is_empty() {
        let mut table = TextTable::new(&["AGENT", "VERSION", "USER", "PROJECT", "TRUSTED BY AGENT", "VERIFIED"]);
        here.iter().for_each(|row| table.add_row(row_cells(row)));
        table.print(&mut output::stdout())?;
    }
    for row in &here {
        for state in [&row.user, &row.project] {
            if let Err(error) = &state.wiring {
                output::warn(format!("{}: {error}", row.agent.host.title()))?;
            }
        }
    }
    let names: Vec<&str> = missing.iter().map(|row| row.agent.host.name()).collect();
    if !names.is_empty() {
        output::note(format!("not found here: {}", names.join(", ")))?;
    }
    if !here.is_empty() && !here.iter().any(|row| row.user.has_entries() || row.project.has_entries()) {
        output::hint("`hookwright agents install AGENT` makes an agent run your hooks")?;
    }
    Ok(exit::OK)
}

fn row_cells(row: &AgentRow) -> Vec<(anstyle::Style, String)> {
    let wired = |state: &AgentInstallState| {
        let style = match state.label() {
            "wired" => GOOD,
            "no" => DIM,
            "unreadable" => BAD,
            _ => WARN,
        };
        (style, state.label().to_owned())
    };
    let presence = &row.agent;
    let version = match (&presence.version, &presence.program) {
        (Some(version), _) => (PLAIN, version.clone()),
        (None, Some(_)) => (WARN, "unknown".to_owned()),
        (None, None) => (DIM, "no program".to_owned()),
    };
    vec![
        (BOLD, presence.host.name().to_owned()),
        version,
        wired(&row.user),
        wired(&row.project),
        trust_cell(row),
        last_trial_cell(row),
    ]
}

/// Formats whether the agent trusts its entries; the colour is that of the worst state.
fn trust_cell(row: &AgentRow) -> (anstyle::Style, String) {
    let states: Vec<&AgentInstallState> =
        [&row.user, &row.project].into_iter().filter(|state| state.has_entries()).collect();
    let worst = states.iter().map(|state| &state.trust).max_by_key(|trust| match trust {
        HostTrust::Yes | HostTrust::NotAsked => 0,
        HostTrust::Unknown => 1,
        HostTrust::Partly(..) => 2,
        HostTrust::No => 3,
    });
    let style = match worst {
        None => DIM,
        Some(HostTrust::Yes | HostTrust::NotAsked) => GOOD,
        Some(HostTrust::Unknown) => WARN,
        Some(HostTrust::Partly(..) | HostTrust::No) => BAD,
    };
    let words: Vec<String> = states.iter().map(|state| trust_text(state, states.len() > 1)).collect();
    (style, if words.is_empty() { "-".to_owned() } else { words.join(", ") })
}

/// Formats whether the agent trusts the entries of one scope, which is named if both have entries.
fn trust_text(state: &AgentInstallState, both: bool) -> String {
    let trust = match &state.trust {
        HostTrust::NotAsked => "not needed",
        trust => trust.as_str(),
    };
    match state.target.scope {
        _ if !both => trust.to_owned(),
        InstallScope::User => format!("user: {trust}"),
        InstallScope::Project => format!("project: {trust}"),
    }
}

fn last_trial_cell(row: &AgentRow) -> (anstyle::Style, String) {
    match &row.last_trial {
        None => (DIM, "never".to_owned()),
        Some(verified) => {
            let day = verified.time.split('T').next().unwrap_or_default();
            let stale = verified.version != row.agent.version;
            let other = if stale {
                format!(", with {}", verified.version.as_deref().unwrap_or("another version"))
            } else {
                String::new()
            };
            let style = match verified.held == verified.total {
                true if !stale => GOOD,
                true => WARN,
                false => BAD,
            };
            (style, format!("{day}: {} of {} held{other}", verified.held, verified.total))
        }
    }
}

fn row_json(row: &AgentRow) -> Value {
    let presence = &row.agent;
    json!({
        "name": presence.host.name(), "title": presence.host.title(), "found": presence.is_present(),
        "program": presence.program, "folder": presence.folder, "version": presence.version,
        "known_version": presence.host.info().known_version,
        "user": install_state_json(&row.user), "project": install_state_json(&row.project),
        "verified": row.last_trial.as_ref().map(|one| json!({"at": one.time, "version": one.version, "held": one.held, "of": one.total})),
    })
}

pub(super) fn install_state_json(state: &AgentInstallState) -> Value {
    let mut value = json!({"file": state.target.file, "wired": state.label()});
    match &state.wiring {
        Ok(wiring) => {
            value["missing"] = json!(wiring.missing);
            value["outdated"] = json!(wiring.outdated);
            value["by_hand"] = json!(wiring.handwritten().map(|found| &found.event).collect::<Vec<_>>());
            value["calls"] = json!(wiring.program());
            value["trusted"] = if wiring.has_entries() { json!(state.trust.as_str()) } else { Value::Null };
        }
        Err(error) => value["error"] = json!(error.to_string()),
    }
    value
}
