//! `agents list`: the agents on this machine in a table.

use hookwright_bridge::Host;
use hookwright_bridge::install::{HostTrust, InstallScope};
use hookwright_settings::ProcessEnv;
use serde_json::{Value, json};

use super::AgentInstallState;
use super::detection::{self, DetectedAgent};
use super::guard_chain::{ChainVerdict, GuardChain};
use super::trial_record::{self, TrialRecord};
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, PLAIN, TextTable, WARN};

struct AgentRow {
    agent: DetectedAgent,
    states: Vec<AgentInstallState>,
    last_trial: Option<TrialRecord>,
    chain: GuardChain,
}

impl AgentRow {
    fn has_entries(&self) -> bool {
        self.states.iter().any(AgentInstallState::has_entries)
    }

    /// Whether the agent is installed here or has entries.
    fn is_listed(&self) -> bool {
        self.agent.is_present() || self.has_entries()
    }
}

pub(super) fn run(toolbox: &LoadedProject, world: &ProcessEnv, as_json: bool) -> anyhow::Result<u8> {
    let hosts: Vec<Host> = Host::all().collect();
    let project = &toolbox.loaded.project.root;
    let trials = trial_record::read(world, project);
    let row = |agent: DetectedAgent| {
        let states = AgentInstallState::inspect_all(agent.host, world, project);
        let last_trial = trials.iter().find(|(host, _)| *host == agent.host).map(|(_, trial)| trial.clone());
        let chain = GuardChain::inspect(&agent, &states, toolbox, world, last_trial.as_ref());
        AgentRow { agent, states, last_trial, chain }
    };
    let rows: Vec<AgentRow> = detection::detect_agents(&hosts, world, project)?.into_iter().map(row).collect();
    if as_json {
        output::print_json(&json!({"agents": rows.iter().map(row_json).collect::<Vec<_>>()}))?;
        return Ok(exit::OK);
    }
    let (here, missing): (Vec<&AgentRow>, Vec<&AgentRow>) = rows.iter().partition(|row| row.is_listed());
    if !here.is_empty() {
        let mut table =
            TextTable::new(&["AGENT", "VERSION", "USER", "PROJECT", "TRUSTED BY AGENT", "TRIED", "GUARDED"]);
        here.iter().for_each(|row| table.add_row(row_cells(row)));
        table.print(&mut output::stdout())?;
    }
    for row in &here {
        for state in &row.states {
            if let Err(error) = &state.wiring {
                output::warn(format!("{}: {error}", row.agent.host.title()))?;
            }
        }
    }
    let names: Vec<&str> = missing.iter().map(|row| row.agent.host.name()).collect();
    if !names.is_empty() {
        output::note(format!("not found here: {}", names.join(", ")))?;
    }
    match here.iter().any(|row| row.has_entries()) {
        false if !here.is_empty() => output::hint("`hookwright agents install AGENT` makes an agent run your hooks")?,
        true if here.iter().any(|row| row.has_entries() && row.chain.verdict() != ChainVerdict::Yes) => {
            output::hint("`hookwright agents doctor` says what is missing, and `--live` tries it")?;
        }
        _ => {}
    }
    Ok(exit::OK)
}

fn row_cells(row: &AgentRow) -> Vec<(anstyle::Style, String)> {
    let presence = &row.agent;
    let version = match (&presence.version, &presence.program) {
        (Some(version), _) => (PLAIN, version.clone()),
        (None, Some(_)) => (WARN, "unknown".to_owned()),
        (None, None) => (DIM, "no program".to_owned()),
    };
    let guarded = match row.chain.verdict() {
        _ if !row.has_entries() => (DIM, "no".to_owned()),
        ChainVerdict::Yes => (GOOD, row.chain.label()),
        ChainVerdict::Unproven => (WARN, row.chain.label()),
        ChainVerdict::No => (BAD, row.chain.label()),
    };
    vec![
        (BOLD, presence.host.name().to_owned()),
        version,
        wired_cell(row, &[InstallScope::User, InstallScope::Machine]),
        wired_cell(row, &[InstallScope::Project]),
        trust_cell(row),
        last_trial_cell(row),
        guarded,
    ]
}

/// Formats the state of the entries of these scopes: of the first that has any. The machine's are marked as such.
fn wired_cell(row: &AgentRow, scopes: &[InstallScope]) -> (anstyle::Style, String) {
    let states = || row.states.iter().filter(|state| scopes.contains(&state.target.scope));
    let state = states().find(|state| state.label() != "no").or_else(|| states().next());
    let label = state.map_or("no", AgentInstallState::label);
    let style = match label {
        "wired" => GOOD,
        "no" => DIM,
        "unreadable" => BAD,
        _ => WARN,
    };
    let is_machine = state.is_some_and(|state| state.target.scope == InstallScope::Machine) && label != "no";
    (style, if is_machine { format!("{label} (machine)") } else { label.to_owned() })
}

/// Formats whether the agent trusts its entries; the colour is that of the worst state.
fn trust_cell(row: &AgentRow) -> (anstyle::Style, String) {
    let states: Vec<&AgentInstallState> = row.states.iter().filter(|state| state.has_entries()).collect();
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
    match both {
        false => trust.to_owned(),
        true => format!("{}: {trust}", state.target.scope.as_str()),
    }
}

fn last_trial_cell(row: &AgentRow) -> (anstyle::Style, String) {
    match &row.last_trial {
        None => (DIM, "never".to_owned()),
        Some(verified) => {
            let day = verified.day();
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
    let mut value = json!({
        "name": presence.host.name(), "title": presence.host.title(), "found": presence.is_present(),
        "program": presence.program, "folder": presence.folder, "version": presence.version,
        "known_version": presence.host.info().known_version,
        "verified": row.last_trial.as_ref().map(trial_record::trial_json), "chain": row.chain.to_json(),
    });
    for state in &row.states {
        value[state.target.scope.as_str()] = install_state_json(state);
    }
    value
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
