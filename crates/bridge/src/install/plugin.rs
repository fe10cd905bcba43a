//! opencode has no command hooks: a plugin is generated that asks the bridge and does what it answers. The file is ours whole.

use std::path::Path;

use hookwright_hooks::BridgeCall;
use hookwright_settings::edit::EditError;
use hookwright_settings::edit::seam;
use serde_json::{Map, Value, json};

use super::entry::{Caller, patience, wired};
use super::text::{Found, Wiring};
use crate::host::Host;

/// The first line, by which the file is known again.
const MARK: &str = "// written by hookwright agents install: changes here are lost when that is run again\n";
const PROGRAM: &str = "const PROGRAM = ";

/// The file.
fn generated(caller: &Caller) -> String {
    let times: Map<String, Value> = wired(Host::Opencode)
        .map(|event| (event.name.to_owned(), json!(patience(Host::Opencode, event).as_secs_f64())))
        .collect();
    let program = Value::from(caller.program()).to_string();
    let text = include_str!("plugin.js");
    let text = text.replace("\"@PROGRAM@\"", &program).replace("@PATIENCE@", &Value::Object(times).to_string());
    format!("{MARK}{text}")
}

pub(super) fn survey(text: &str) -> Wiring {
    let Some(caller) = caller(text) else {
        return Wiring { missing: wired(Host::Opencode).map(|event| event.name).collect(), ..Wiring::default() };
    };
    let call = |event: &str| BridgeCall {
        program: caller.program().to_owned(),
        host: Host::Opencode.name().to_owned(),
        event: Some(event.to_owned()),
        patience: None,
        installed: true,
    };
    let found: Vec<Found> =
        wired(Host::Opencode).map(|event| Found::whole_file(event.name, call(event.name))).collect();
    let outdated = match text == generated(&caller) {
        true => Vec::new(),
        false => found.iter().map(|found| found.event.clone()).collect(),
    };
    Wiring { found, missing: Vec::new(), outdated }
}

/// Whoever our file calls; nothing if it is not ours.
fn caller(text: &str) -> Option<Caller> {
    if !text.starts_with(MARK) {
        return None;
    }
    let line = text.lines().find_map(|line| line.strip_prefix(PROGRAM))?;
    serde_json::from_str::<String>(line).ok().map(|program| Caller::of(&program))
}

pub(super) fn installed(file: &Path, old: &str, caller: &Caller) -> Result<String, EditError> {
    ours_or_nothing(file, old)?;
    Ok(generated(caller))
}

pub(super) fn uninstalled(file: &Path, old: &str) -> Result<Option<String>, EditError> {
    ours_or_nothing(file, old)?;
    Ok(old.trim().is_empty().then(|| old.to_owned()))
}

fn ours_or_nothing(file: &Path, text: &str) -> Result<(), EditError> {
    if text.trim().is_empty() || text.starts_with(MARK) {
        return Ok(());
    }
    Err(seam::refused(file, "this file was not written by `hookwright agents install`", "move it out of the way first"))
}
