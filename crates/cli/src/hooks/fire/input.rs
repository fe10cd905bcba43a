//! What `hooks fire` fires: the fields that were given, and a sample for what was not.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};
use hookwright_hooks::{EventKind, Subject, canonical_tool_name, sample, sample_args, sample_subject, strict_json};
use serde_json::{Map, Value};

use super::Toolbox;
use crate::args::Fire;

/// The event's own fields, from whichever option gave them.
pub(super) fn fields(toolbox: &Toolbox, fire: &Fire) -> anyhow::Result<Map<String, Value>> {
    if let Some(path) = &fire.input {
        return read_fields(path);
    }
    if fire.tool.is_some() && fire.event.info().subject != Subject::ToolName {
        bail!("--tool is for BeforeTool and AfterTool, not for {}", fire.event);
    }
    let hooks = toolbox.loaded.registry.hooks();
    let usual = sample_subject(fire.event, hooks.iter().map(|hook| &**hook));
    let subject = fire.tool.as_deref().map(canonical_tool_name).or(usual);
    let mut fields = sample(fire.event, subject);
    if let Some(tool) = &fire.tool {
        let args: Map<String, Value> = match &fire.args {
            Some(args) => {
                let read = strict_json::object_from_slice(args.as_bytes());
                read.map_err(|why| anyhow!("--args is no JSON object: {why}"))?
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

/// The most that is read of an event.
const LARGEST: u64 = 64 << 20;

fn read_fields(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().take(LARGEST + 1).read_to_string(&mut text).context("can't read stdin")?;
        ensure!(text.len() as u64 <= LARGEST, "what is piped in is larger than {} MiB", LARGEST >> 20);
    } else {
        text = hookwright_disk::read_text(path, LARGEST).with_context(|| format!("can't read {}", path.display()))?;
    }
    strict_json::object_from_slice(text.trim_start_matches('\u{feff}').as_bytes()).map_err(|why| {
        let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
        anyhow!("{name} holds no JSON object: {why}")
    })
}

/// What the event's matcher will be tested against.
pub(super) fn subject(event: EventKind, fields: &Map<String, Value>) -> Option<String> {
    let name = match event.info().subject {
        Subject::ToolName => "tool_name",
        Subject::Field { name, .. } => name,
        Subject::Nothing => return None,
    };
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn needs(event: EventKind) -> String {
    format!("this is no input for {event}; `hookwright hooks fire {event} --print-input` shows one")
}
