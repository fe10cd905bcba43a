//! `journal show`: one line, whole.

use std::io::Write;

use hookwright_journal::{Entry, EventEntry, JournalLine, Reader};
use serde_json::Value;

use super::{line_by_number, mispredicted_command, own_line, verdict_style};
use crate::exit;
use crate::output::{self, BOLD, DIM, WARN, paint};

pub(super) fn run(reader: &Reader, number: u64, as_json: bool) -> anyhow::Result<u8> {
    let line = line_by_number(reader, number)?;
    if as_json {
        output::print_json(&serde_json::to_value(&line)?)?;
        return Ok(exit::OK);
    }
    let mut stdout = output::stdout();
    writeln!(stdout, "{} {}", paint(BOLD, format!("line {number}")), paint(DIM, &line.time))?;
    for (name, text) in fields(&line) {
        writeln!(stdout, "{}  {}", paint(DIM, format!("{name:>11}")), text)?;
    }
    if let Some(content) = &line.content {
        for key in ["input", "effects", "changes", "message", "context"] {
            if let Some(value) = content.get(key).filter(|value| !value.is_null()) {
                let text = serde_json::to_string_pretty(value)?;
                writeln!(stdout, "{}\n{}", paint(BOLD, key), output::sanitize(&text))?;
            }
        }
    }
    stdout.flush()?;
    Ok(exit::OK)
}

fn fields(line: &JournalLine) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    match &line.entry {
        Entry::Event(event) => event_fields(event, line, &mut fields),
        Entry::Call(call) => {
            fields.push(("call", format!("{} {}", call.tool, call.call)));
            fields.push(("result", call.result.as_str().to_owned()));
            fields.extend(call.refused_by.clone().map(|by| ("refused by", by)));
            let policy = call.policy.as_ref().map(|policy| format!("{}, by {}", policy.verdict.as_str(), policy.by));
            fields.extend(policy.map(|text| ("policy", text)));
            fields.push(("took", format!("{} ms", call.ms)));
            fields.push(("session", call.session.clone()));
        }
        Entry::Request(request) => fields.push(("model", request.model.clone())),
        Entry::Misprediction { project, refused } => {
            fields.push(("misprediction", mispredicted_command(line).to_owned()));
            fields.push(("refused", refused.join(", ")));
            fields.push(("project", project.clone()));
        }
        other => fields.push(("journal", own_line(other))),
    }
    fields.into_iter().map(|(name, text)| (name, output::sanitize(&text))).collect()
}

fn event_fields(event: &EventEntry, line: &JournalLine, fields: &mut Vec<(&'static str, String)>) {
    let mut add = |name: &'static str, text: String| {
        if !text.is_empty() {
            fields.push((name, text));
        }
    };
    let host = event.host_event.as_ref().map(|name| format!(" ({name} of {})", event.agent)).unwrap_or_default();
    add("event", format!("{}{host}", event.event));
    add("agent", [event.agent.as_str(), event.agent_version.as_deref().unwrap_or_default()].join(" "));
    add("tool", event.tool.clone().or_else(|| event.host_tool.clone()).unwrap_or_default());
    add("project", event.project.clone());
    add("session", event.session.clone());
    add("call", event.call.clone().unwrap_or_default());
    add("verdict", paint(verdict_style(event.verdict), event.verdict.as_str()));
    add("by", event.decided_by.join(", "));
    add("reason", line.content.as_ref().and_then(|content| content["reason"].as_str()).unwrap_or_default().to_owned());
    for (at, hook) in event.hooks.iter().enumerate() {
        let run = line.content.as_ref().map_or(&Value::Null, |content| &content["runs"][at]);
        let mut text = format!("{} ({}, {}): {}", hook.hook, hook.hook_type, hook.source, hook.status);
        for (word, value) in [
            ("", hook.decision.as_deref()),
            ("failed: ", hook.failure.as_deref()),
            ("matched ", run["matched"].as_str().or(hook.matched.as_deref())),
            ("", run["reason"].as_str()),
            ("", run["error"].as_str()),
        ] {
            text.extend(value.map(|value| format!(", {word}{value}")));
        }
        let mode = hook.mode.as_ref().map(|_| ", in shadow: it decided nothing").unwrap_or_default();
        add("hook", format!("{text}, {} ms{mode}", hook.ms));
    }
    add("confined", event.confined.join("; "));
    add("told", event.told.as_ref().map(|told| format!("{} (exit {})", told.verdict, told.exit)).unwrap_or_default());
    event.lost.iter().for_each(|loss| add("lost", format!("{} became {}", loss.wanted, loss.became)));
    event.left_out.iter().for_each(|hook| add("left out", hook.clone()));
    event.unarmed.iter().for_each(|guard| add("not asked", guard.clone()));
    add("refused as", event.refusal.map(|cause| cause.description().to_owned()).unwrap_or_default());
    add("took", format!("{} ms", event.ms));
    add("content", event.withheld.as_ref().map(|why| paint(WARN, format!("not recorded: {why}"))).unwrap_or_default());
}
