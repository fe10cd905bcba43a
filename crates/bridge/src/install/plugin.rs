//! Generates a plugin for opencode, which has no command hooks: the plugin calls the bridge and applies its answer. The
//! whole file is Hookwright's.

use std::path::Path;

use hookwright_hooks::BridgeCall;
use hookwright_settings::edit::EditError;
use hookwright_settings::edit::json_splice;
use serde_json::{Map, Value, json};

use super::entry::{EntryProgram, entry_timeout, wired_events};
use super::settings_text::{BridgeEntry, HostWiring};
use crate::host::Host;

/// The first line, by which a generated file is recognised.
const GENERATED_HEADER: &str =
    "// written by hookwright agents install: changes here are lost when that is run again\n";
const PROGRAM_LINE_PREFIX: &str = "const PROGRAM = ";

/// Returns the text of the plugin file.
fn render_plugin(caller: &EntryProgram) -> String {
    let times: Map<String, Value> = wired_events(Host::Opencode)
        .map(|event| (event.name.to_owned(), json!(entry_timeout(Host::Opencode, event).as_secs_f64())))
        .collect();
    let program = Value::from(caller.as_command()).to_string();
    let text = include_str!("plugin.js");
    let text = text.replace("\"@PROGRAM@\"", &program).replace("@PATIENCE@", &Value::Object(times).to_string());
    format!("{GENERATED_HEADER}{text}")
}

pub(super) fn read_wiring(text: &str) -> HostWiring {
    let Some(caller) = installed_program(text) else {
        return HostWiring {
            missing: wired_events(Host::Opencode).map(|event| event.name).collect(),
            ..HostWiring::default()
        };
    };
    let call = |event: &str| BridgeCall {
        program: caller.as_command().to_owned(),
        host: Host::Opencode.name().to_owned(),
        event: Some(event.to_owned()),
        timeout: None,
        installed: true,
    };
    let found: Vec<BridgeEntry> =
        wired_events(Host::Opencode).map(|event| BridgeEntry::for_whole_file(event.name, call(event.name))).collect();
    let outdated = match text == render_plugin(&caller) {
        true => Vec::new(),
        false => found.iter().map(|found| found.event.clone()).collect(),
    };
    HostWiring { entries: found, missing: Vec::new(), outdated }
}

/// Returns the program that a generated file calls; `None` if the file is not a generated one.
fn installed_program(text: &str) -> Option<EntryProgram> {
    if !text.starts_with(GENERATED_HEADER) {
        return None;
    }
    let line = text.lines().find_map(|line| line.strip_prefix(PROGRAM_LINE_PREFIX))?;
    serde_json::from_str::<String>(line).ok().map(|program| EntryProgram::from_command(&program))
}

pub(super) fn with_entries(file: &Path, old: &str, caller: &EntryProgram) -> Result<String, EditError> {
    check_generated_or_empty(file, old)?;
    Ok(render_plugin(caller))
}

pub(super) fn without_entries(file: &Path, old: &str) -> Result<Option<String>, EditError> {
    check_generated_or_empty(file, old)?;
    Ok(old.trim().is_empty().then(|| old.to_owned()))
}

fn check_generated_or_empty(file: &Path, text: &str) -> Result<(), EditError> {
    if text.trim().is_empty() || text.starts_with(GENERATED_HEADER) {
        return Ok(());
    }
    Err(json_splice::refusal(
        file,
        "this file was not written by `hookwright agents install`",
        "move it out of the way first",
    ))
}
