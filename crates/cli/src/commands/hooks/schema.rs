//! `hooks schema`: prints the JSON Schemas of the settings and of events, for editors and authors of hooks.

use hookwright_hooks::{EventKind, schema};
use serde_json::json;

use crate::{exit, output};

pub(crate) fn run(event: Option<EventKind>, input: bool, output: bool) -> anyhow::Result<u8> {
    let document = match event {
        None => schema::settings(),
        Some(event) if input => schema::hook_input(event),
        Some(event) if output => schema::hook_output(event),
        Some(event) => json!({"input": schema::hook_input(event), "output": schema::hook_output(event)}),
    };
    output::print_json(&document)?;
    Ok(exit::OK)
}
