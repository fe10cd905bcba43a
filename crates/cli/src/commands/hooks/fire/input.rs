//! The input of `hooks fire`: the given fields, and sample values for the others.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};
use hookwright_hooks::{
    EventKind, MatcherSubject, canonical_tool_name, sample_args, sample_input, sample_subject, strict_json,
};
use serde_json::{Map, Value};

use super::LoadedProject;
use crate::args::HookFireArgs;

/// Returns the event's own fields, from the option that gives them or from a sample.
pub(super) fn event_fields(toolbox: &LoadedProject, fire: &HookFireArgs) -> anyhow::Result<Map<String, Value>> {
    if let Some(path) = &fire.input {
        return read_fields(path);
    }
    if fire.tool.is_some() && fire.event.info().subject != MatcherSubject::ToolName {
        bail!("--tool is for BeforeTool and AfterTool, not for {}", fire.event);
    }
    let hooks = toolbox.loaded.registry.hooks();
    let usual = sample_subject(fire.event, hooks.iter().map(|hook| &**hook));
    let subject = fire.tool.as_deref().map(canonical_tool_name).or(usual);
    let mut fields = sample_input(fire.event, subject);
    if let Some(tool) = &fire.tool {
        let args: Map<String, Value> = match &fire.args {
            Some(args) => {
                let read = strict_json::object_from_slice(args.as_bytes());
                read.map_err(|why| anyhow!("--args is not a JSON object: {why}"))?
            }
            None => sample_args(tool),
        };
        fields.insert("tool_input".to_owned(), Value::Object(args));
    }
    if let Some(prompt) = &fire.prompt {
        if !matches!(fire.event, EventKind::BeforeAgent | EventKind::AfterAgent) {
            bail!("--prompt is for BeforeAgent and AfterAgent, not for {}", fire.event);
        }
        fields.insert("prompt".to_owned(), Value::String(prompt.clone()));
    }
    Ok(fields)
}

/// The size limit of an event.
const MAX_EVENT_INPUT_BYTES: u64 = 64 << 20;

fn read_fields(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().take(MAX_EVENT_INPUT_BYTES + 1).read_to_string(&mut text).context("can't read stdin")?;
        ensure!(
            text.len() as u64 <= MAX_EVENT_INPUT_BYTES,
            "the piped input is larger than {} MiB",
            MAX_EVENT_INPUT_BYTES >> 20
        );
    } else {
        text = hookwright_disk::read_text(path, MAX_EVENT_INPUT_BYTES)
            .with_context(|| format!("can't read {}", path.display()))?;
    }
    strict_json::object_from_slice(text.trim_start_matches('\u{feff}').as_bytes()).map_err(|why| {
        let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
        anyhow!("{name} does not hold a JSON object: {why}")
    })
}

/// Returns the value that the event's matchers are tested against.
pub(super) fn matcher_subject(event: EventKind, fields: &Map<String, Value>) -> Option<String> {
    let name = match event.info().subject {
        MatcherSubject::ToolName => "tool_name",
        MatcherSubject::Field { name, .. } => name,
        MatcherSubject::Nothing => return None,
    };
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn invalid_input_text(event: EventKind) -> String {
    format!("this is not a valid input for {event}; `hookwright hooks fire {event} --print-input` shows one")
}
