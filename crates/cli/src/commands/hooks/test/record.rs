//! `hooks test --record` and `--from-journal`: turns a recorded event into a case of a hook-test file.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use hookwright_agent::transcript;
use hookwright_disk::{FilePrivacy, SymlinkPolicy};
use hookwright_hooks::EventKind;
use hookwright_journal::{JournalLine, Query, Reader};
use hookwright_model::PartKind;
use hookwright_settings::{ConfigPaths, ProcessEnv};
use serde_json::{Map, Value};

use crate::commands::hook_test;
use crate::commands::journal::{line_by_number, recorded_input};
use crate::{exit, output};

/// The event that becomes a case.
struct RecordedEvent {
    event: EventKind,
    /// What the case is about, in one line.
    title: String,
    /// The lines of the case that give the event's input.
    input: String,
}

/// The event that the user wants as a case.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventSelection {
    /// The last tool call, or else the last prompt, of the project's last session, of any agent.
    Last,
    /// The event of this line of the journal.
    Line(u64),
}

/// Adds the case to a file, with the decision that the project's hooks take now as the expectation.
pub(super) fn run(world: &ProcessEnv, project: &Path, file: &Path, selection: EventSelection) -> anyhow::Result<u8> {
    let file = project.join(file);
    let recorded = match selection {
        EventSelection::Last => last_recorded_event(world, project)?,
        EventSelection::Line(number) => {
            let line = line_by_number(&Reader::new(&ConfigPaths::new(world).journal), number)?;
            event_of_line(&line).with_context(|| format!("line {number} can't become a case"))?
        }
    };
    let before = match file.exists() {
        true => hookwright_disk::read_text(&file, hook_test::MAX_TEST_FILE_BYTES)
            .with_context(|| format!("can't read {}", file.display()))?,
        false => String::new(),
    };
    let name = unused_name(&before, &recorded.title);
    let write = |decision: &str| {
        let event = recorded.event;
        let case = format!(
            "[[case]]\nname = {}\nevent = \"{event}\"\n{}[case.expect]\ndecision = \"{decision}\"\n",
            toml_value(&Value::String(name.clone())),
            recorded.input
        );
        let gap = if before.is_empty() { "" } else { "\n" };
        std::fs::create_dir_all(file.parent().unwrap_or(project))?;
        let text = format!("{before}{gap}{case}");
        hookwright_disk::write_atomic(&file, text.as_bytes(), FilePrivacy::Shared, SymlinkPolicy::Follow)
            .with_context(|| format!("can't write {}", file.display()))
    };
    // The file is run once to learn the decision.
    write("allow")?;
    let runtime = crate::runtime::start(1)?;
    let result = runtime.block_on(hook_test::run_file(&file, project, &world.env, Some(&name)))?;
    let case = result.cases.first();
    let differs = |failure: &&hook_test::ExpectationFailure| failure.what == "decision";
    let decision = case.and_then(|case| case.failures.iter().find(differs)).map_or("allow", |failure| &failure.actual);
    write(decision)?;
    let shown = file.strip_prefix(project).unwrap_or(&file);
    writeln!(output::stdout(), "{}: case `{name}`, which expects {decision}", shown.display())?;
    if case.is_some_and(|case| case.runs.iter().any(|run| run.failure.is_some())) {
        output::warn("a hook failed, so the case does not pass as it is")?;
    }
    if recorded.input.contains("***") {
        output::warn("secrets were removed from the recorded input: it has *** in their place")?;
    }
    output::hint("check the expectation, then run `hookwright hooks test`")?;
    Ok(exit::OK)
}

/// Returns the last event of the project's last session: of the journal, which has those of other agents too, or of a
/// transcript, which has those without hooks too.
fn last_recorded_event(world: &ProcessEnv, project: &Path) -> anyhow::Result<RecordedEvent> {
    let paths = ConfigPaths::new(world);
    let sessions = transcript::list(&paths.chats_dir(project))?;
    let newest = sessions.iter().max_by_key(|session| session.updated);
    let line = last_line(&Reader::new(&paths.journal), project)?;
    let line_time = line.as_ref().and_then(|line| line.time.parse::<jiff::Timestamp>().ok());
    let Some(newest) = newest.filter(|newest| line_time.is_none_or(|time| newest.updated >= time)) else {
        let line = line.context("there is no session of this project to record from; `hookwright` starts one")?;
        return event_of_line(&line).with_context(|| format!("line {} can't become a case", line.seq));
    };
    let recorded = last_event(&newest.path, project)?;
    recorded.with_context(|| format!("session {} has no tool call and no prompt", newest.id))
}

/// Returns the line of the project's last tool call, or else of its last prompt.
fn last_line(reader: &Reader, project: &Path) -> anyhow::Result<Option<JournalLine>> {
    let now = jiff::Timestamp::now();
    for event in [EventKind::BeforeTool, EventKind::BeforeAgent] {
        let mut query = Query::default();
        query.add(&format!("event={event}"), now)?;
        query.add(&format!("project={}", project.display()), now)?;
        if let Some(mut line) = reader.select(&query, 1)?.lines.pop() {
            reader.resolve(&mut line);
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Fields that every event has, and those that a case has no use for.
const BASE_FIELDS: [&str; 12] = [
    "session_id",
    "transcript_path",
    "cwd",
    "hook_event_name",
    "timestamp",
    "turn_id",
    "agent_id",
    "agent_name",
    "agent_transcript_path",
    "approval_mode",
    "host",
    "tool_use_id",
];

/// Returns the event of a line of the journal.
///
/// # Errors
/// If its input is not on record, or if it is no event that hooks are asked about here.
fn event_of_line(line: &JournalLine) -> anyhow::Result<RecordedEvent> {
    let input = recorded_input(line).map_err(anyhow::Error::msg)?;
    let entry = line.event().context("it is no event")?;
    let event = EventKind::from_name(&entry.event).context("the event is not known here")?;
    let portable = |value: &Value| match entry.project.is_empty() {
        true => value.clone(),
        false => portable_value(value, &entry.project),
    };
    let mut fields: Map<String, Value> = input
        .iter()
        .filter(|(key, _)| !BASE_FIELDS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), portable(value)))
        .collect();
    if fields.get("requested_by").is_some_and(|by| by == "model") {
        fields.shift_remove("requested_by");
    }
    let mut lines = String::new();
    let mut about = event.name().to_owned();
    if let Some(Value::String(tool)) = fields.shift_remove("tool_name") {
        let args = fields.shift_remove("tool_input").unwrap_or_default();
        let first = args.as_object().and_then(|args| args.values().find_map(Value::as_str)).unwrap_or_default();
        about = format!("{tool} {first}");
        lines = format!("tool = {}\nargs = {}\n", toml_value(&Value::String(tool)), toml_value(&args));
    } else if let Some(prompt @ Value::String(_)) = fields.shift_remove("prompt") {
        about = prompt.as_str().unwrap_or_default().to_owned();
        lines = format!("prompt = {}\n", toml_value(&prompt));
    }
    fields.retain(|_, value| !value.is_null());
    if !fields.is_empty() {
        lines += &format!("input = {}\n", toml_value(&Value::Object(fields)));
    }
    Ok(RecordedEvent { event, title: output::truncate_columns(&format!("recorded: {about}"), 70), input: lines })
}

/// Returns the last tool call of a session, or else its last prompt.
fn last_event(transcript: &Path, project: &Path) -> anyhow::Result<Option<RecordedEvent>> {
    let session = transcript::load(transcript)?;
    let parts = session.history.iter().rev().flat_map(|content| content.parts.iter().rev());
    let call = parts.into_iter().find_map(|part| match &part.kind {
        PartKind::FunctionCall(call) => Some(call),
        _ => None,
    });
    let in_project = |value: &Value| portable_value(value, &project.to_string_lossy());
    if let Some(call) = call {
        let args: Map<String, Value> = call.args.iter().map(|(key, value)| (key.clone(), in_project(value))).collect();
        let about = args.values().find_map(Value::as_str).unwrap_or_default();
        return Ok(Some(RecordedEvent {
            event: EventKind::BeforeTool,
            title: output::truncate_columns(&format!("recorded: {} {about}", call.name), 70),
            input: format!(
                "tool = {}\nargs = {}\n",
                toml_value(&Value::String(call.name.clone())),
                toml_value(&Value::Object(args))
            ),
        }));
    }
    Ok(session.last_prompt.map(|prompt| RecordedEvent {
        event: EventKind::BeforeAgent,
        title: output::truncate_columns(&format!("recorded: {prompt}"), 70),
        input: format!("prompt = {}\n", toml_value(&in_project(&Value::String(prompt)))),
    }))
}

/// Returns the value with `${PROJECT}` in place of the project's path.
fn portable_value(value: &Value, project: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(project, "${PROJECT}")),
        Value::Array(list) => list.iter().map(|value| portable_value(value, project)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), portable_value(value, project))).collect(),
        other => other.clone(),
    }
}

/// Returns the title, with a number if a case has that name already.
fn unused_name(file: &str, title: &str) -> String {
    let names = std::iter::once(title.to_owned()).chain((2..).map(|number| format!("{title} ({number})")));
    let is_used = |name: &String| file.contains(&format!("name = {}", toml_value(&Value::String(name.clone()))));
    names.into_iter().find(|name| !is_used(name)).unwrap_or_default()
}

/// Returns a value in TOML, on one line. TOML has no null; a key without a value is left out.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pair =
                |(key, value): (&String, &Value)| format!("{} = {}", Value::String(key.clone()), toml_value(value));
            let pairs: Vec<String> = map.iter().filter(|(_, value)| !value.is_null()).map(pair).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        // A string of JSON is a basic string of TOML.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_toml() {
        let args = json!({"command": "echo \"a\\b\"\nls é", "n": 3, "deep": {"x": [1.5, true]}, "gone": null});
        let text = format!("args = {}", toml_value(&args));
        let table: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(table["args"]["command"].as_str(), args["command"].as_str());
        assert_eq!(table["args"]["deep"]["x"][1].as_bool(), Some(true));
        assert!(table["args"].get("gone").is_none());
        let named = "name = \"recorded: ls\"\n";
        assert_eq!(unused_name(named, "recorded: ls"), "recorded: ls (2)");
    }
}
