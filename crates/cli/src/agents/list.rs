//! `agents list`: the agents on this machine in a table.

use std::path::Path;

use hookwright_bridge::Host;
use hookwright_bridge::install::{Scope, Trust};
use hookwright_settings::World;
use serde_json::{Value, json};

use super::State;
use super::found::{self, Presence};
use super::record::{self, Verified};
use crate::exit;
use crate::out::{self, BAD, BOLD, DIM, GOOD, PLAIN, Table, WARN};

struct Row {
    presence: Presence,
    user: State,
    project: State,
    verified: Option<Verified>,
}

impl Row {
    /// Whether there is anything to say about it: the agent is here, or somebody wired it.
    fn is_here(&self) -> bool {
        self.presence.is_any() || self.user.is_any() || self.project.is_any()
    }
}

pub(super) fn run(project: &Path, world: &World, as_json: bool) -> anyhow::Result<u8> {
    let hosts: Vec<Host> = Host::all().collect();
    let verified = record::read(world);
    let row = |presence: Presence| Row {
        user: State::of(presence.host, Scope::User, world, project),
        project: State::of(presence.host, Scope::Project, world, project),
        verified: verified.iter().find(|(host, _)| *host == presence.host).map(|(_, verified)| verified.clone()),
        presence,
    };
    let rows: Vec<Row> = found::find(&hosts, world, project)?.into_iter().map(row).collect();
    if as_json {
        out::json(&json!({"agents": rows.iter().map(in_json).collect::<Vec<_>>()}))?;
        return Ok(exit::OK);
    }
    let (here, missing): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.is_here());
    if !here.is_empty() {
        let mut table = Table::new(&["AGENT", "VERSION", "USER", "PROJECT", "TRUSTED BY IT", "VERIFIED"]);
        here.iter().for_each(|row| table.row(cells(row)));
        table.print(&mut out::stdout())?;
    }
    for row in &here {
        for state in [&row.user, &row.project] {
            if let Err(error) = &state.wiring {
                out::warn(format!("{}: {error}", row.presence.host.title()))?;
            }
        }
    }
    let names: Vec<&str> = missing.iter().map(|row| row.presence.host.name()).collect();
    if !names.is_empty() {
        out::note(format!("not found here: {}", names.join(", ")))?;
    }
    if !here.is_empty() && !here.iter().any(|row| row.user.is_any() || row.project.is_any()) {
        out::hint("`hookwright agents install AGENT` has one ask your hooks")?;
    }
    Ok(exit::OK)
}

fn cells(row: &Row) -> Vec<(anstyle::Style, String)> {
    let wired = |state: &State| {
        let style = match state.word() {
            "wired" => GOOD,
            "no" => DIM,
            "unreadable" => BAD,
            _ => WARN,
        };
        (style, state.word().to_owned())
    };
    let presence = &row.presence;
    let version = match (&presence.version, &presence.program) {
        (Some(version), _) => (PLAIN, version.clone()),
        (None, Some(_)) => (WARN, "does not say".to_owned()),
        (None, None) => (DIM, "no program".to_owned()),
    };
    vec![
        (BOLD, presence.host.name().to_owned()),
        version,
        wired(&row.user),
        wired(&row.project),
        trusted(row),
        verified(row),
    ]
}

/// What the agent says of the entries that are there.
fn trusted(row: &Row) -> (anstyle::Style, String) {
    let states: Vec<&State> = [&row.user, &row.project].into_iter().filter(|state| state.is_any()).collect();
    let worst = states.iter().map(|state| &state.trust).max_by_key(|trust| match trust {
        Trust::Yes | Trust::NotAsked => 0,
        Trust::Unknown => 1,
        Trust::Partly(..) => 2,
        Trust::No => 3,
    });
    let style = match worst {
        None => DIM,
        Some(Trust::Yes | Trust::NotAsked) => GOOD,
        Some(Trust::Unknown) => WARN,
        Some(Trust::Partly(..) | Trust::No) => BAD,
    };
    let words: Vec<&str> = states.iter().map(|state| state.trust.as_str()).collect();
    (style, if words.is_empty() { "-".to_owned() } else { words.join(", ") })
}

fn verified(row: &Row) -> (anstyle::Style, String) {
    match &row.verified {
        None => (DIM, "never".to_owned()),
        Some(verified) => {
            let day = verified.at.split('T').next().unwrap_or_default();
            let stale = verified.version != row.presence.version;
            let other = if stale {
                format!(", with {}", verified.version.as_deref().unwrap_or("another version"))
            } else {
                String::new()
            };
            let style = match verified.held == verified.of {
                true if !stale => GOOD,
                true => WARN,
                false => BAD,
            };
            (style, format!("{day}: {} of {} held{other}", verified.held, verified.of))
        }
    }
}

fn in_json(row: &Row) -> Value {
    let presence = &row.presence;
    json!({
        "name": presence.host.name(), "title": presence.host.title(), "found": presence.is_any(),
        "program": presence.program, "folder": presence.folder, "version": presence.version,
        "known_version": presence.host.info().known_version,
        "user": state_json(&row.user), "project": state_json(&row.project),
        "verified": row.verified.as_ref().map(|one| json!({"at": one.at, "version": one.version, "held": one.held, "of": one.of})),
    })
}

pub(super) fn state_json(state: &State) -> Value {
    let mut value = json!({"file": state.target.file, "wired": state.word()});
    match &state.wiring {
        Ok(wiring) => {
            value["missing"] = json!(wiring.missing);
            value["outdated"] = json!(wiring.outdated);
            value["by_hand"] = json!(wiring.by_hand().map(|found| &found.event).collect::<Vec<_>>());
            value["calls"] = json!(wiring.program());
            value["trusted"] = if wiring.is_any() { json!(state.trust.as_str()) } else { Value::Null };
        }
        Err(error) => value["error"] = json!(error.to_string()),
    }
    value
}
