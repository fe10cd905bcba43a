//! A realistic input for every event, for trying hooks.
//!
//! The samples are harmless: a hook that executes them deletes, sends and overwrites nothing of value.

use serde_json::{Map, Value, json};

use crate::event::{EventKind, MatcherSubject};
use crate::hook::Hook;
use crate::matching::tool_names::known_tools;

const SAMPLE_PROMPT: &str = "What does this project do?";
const SAMPLE_ANSWER: &str = "It greets whoever starts it.";

/// A sample of an event's own fields, for the given subject of the matcher or else for a default one.
pub fn sample_input(kind: EventKind, subject: Option<&str>) -> Map<String, Value> {
    let subject = subject.map(str::to_owned).or_else(|| default_subject(kind).map(str::to_owned));
    let mut fields = match kind {
        EventKind::SessionStart | EventKind::SessionEnd | EventKind::PreCompress => json!({}),
        EventKind::BeforeAgent => json!({"prompt": SAMPLE_PROMPT}),
        EventKind::AfterAgent => {
            json!({"prompt": SAMPLE_PROMPT, "prompt_response": SAMPLE_ANSWER, "stop_hook_active": false})
        }
        EventKind::BeforeModel | EventKind::BeforeToolSelection => json!({"llm_request": sample_request()}),
        EventKind::AfterModel => {
            json!({"llm_request": sample_request(), "llm_response": sample_response(), "content": SAMPLE_ANSWER, "full_content": SAMPLE_ANSWER})
        }
        EventKind::BeforeTool | EventKind::AfterTool => {
            json!({"tool_input": sample_args(subject.as_deref().unwrap_or_default())})
        }
        EventKind::Notification => json!({
            "message": "Tool Shell requires execution",
            "details": {"type": "exec", "title": "Confirm Shell Command", "command": "echo hello", "rootCommand": "echo"},
        }),
    };
    if kind == EventKind::AfterTool {
        fields["tool_response"] = json!({"llmContent": "hello", "returnDisplay": "hello"});
    }
    let Value::Object(mut fields) = fields else { return Map::new() };
    let name = match kind.info().subject {
        MatcherSubject::ToolName => Some("tool_name"),
        MatcherSubject::Field { name, .. } => Some(name),
        MatcherSubject::Nothing => None,
    };
    if let Some((name, subject)) = name.zip(subject) {
        fields.shift_insert(0, name.to_owned(), Value::String(subject));
    }
    fields
}

/// The subject of the matcher for a sample: one for which one of these hooks runs, if there is one.
pub fn sample_subject<'h>(kind: EventKind, hooks: impl Iterator<Item = &'h Hook> + Clone) -> Option<&'static str> {
    let is_met = |subject: &&'static str| hooks.clone().any(|hook| hook.event == kind && hook.matcher.matches(subject));
    let usual = default_subject(kind)?;
    let others: Vec<&'static str> = match kind.info().subject {
        MatcherSubject::ToolName => known_tools().collect(),
        MatcherSubject::Field { values, .. } => values.to_vec(),
        MatcherSubject::Nothing => Vec::new(),
    };
    std::iter::once(usual).chain(others).find(is_met).or(Some(usual))
}

fn default_subject(kind: EventKind) -> Option<&'static str> {
    match kind.info().subject {
        MatcherSubject::ToolName => Some("run_shell_command"),
        MatcherSubject::Field { values, .. } => values.first().copied(),
        MatcherSubject::Nothing => None,
    }
}

/// The arguments of a small, harmless call of a built-in tool; empty for other tools.
pub fn sample_args(tool: &str) -> Map<String, Value> {
    let args = match crate::matching::tool_names::canonical_tool_name(tool) {
        "read_file" => json!({"file_path": "README.md"}),
        "read_many_files" => json!({"include": ["*.md"]}),
        "write_file" => json!({"file_path": "notes.txt", "content": "hello\n"}),
        "replace" => json!({"file_path": "notes.txt", "instruction": "greet everybody",
            "old_string": "hello\n", "new_string": "hello, everybody\n"}),
        "list_directory" => json!({"dir_path": "."}),
        "glob" => json!({"pattern": "**/*.md"}),
        "search_file_content" => json!({"pattern": "hello"}),
        "run_shell_command" => json!({"command": "echo hello", "description": "say hello"}),
        "web_fetch" => json!({"prompt": "summarize https://example.com/"}),
        "google_web_search" => json!({"query": "what are hooks"}),
        "write_todos" => json!({"todos": [{"description": "say hello", "status": "pending"}]}),
        "save_memory" => json!({"fact": "greetings are in lower case"}),
        "read_mcp_resource" => json!({"uri": "file:///README.md"}),
        "delegate_to_agent" => json!({"agent_name": "reviewer", "objective": "look at notes.txt"}),
        "activate_skill" => json!({"name": "greeting"}),
        _ => json!({}),
    };
    if let Value::Object(args) = args { args } else { Map::new() }
}

fn sample_request() -> Value {
    json!({
        "model": "gemini-2.5-pro",
        "messages": [{"role": "user", "content": SAMPLE_PROMPT}],
        "config": {"temperature": 0.2},
        "toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["read_file", "run_shell_command", "write_file"]},
    })
}

fn sample_response() -> Value {
    json!({
        "text": SAMPLE_ANSWER,
        "candidates": [{"content": {"role": "model", "parts": [SAMPLE_ANSWER]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 7, "totalTokenCount": 19},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::input::AnyEvent;
    use crate::matching::Matcher;

    #[test]
    fn every_event_has_a_sample_that_reads_as_one() {
        for kind in EventKind::all() {
            let event = AnyEvent::from_fields(kind, sample_input(kind, None));
            let event = event.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(event.subject().is_some(), kind.info().subject != MatcherSubject::Nothing, "{kind}");
        }
    }

    #[test]
    fn every_tool_with_arguments_has_some() {
        for tool in known_tools().filter(|tool| *tool != "list_mcp_resources") {
            assert!(!sample_args(tool).is_empty(), "{tool}");
        }
        assert_eq!(sample_args("WriteFileTool"), sample_args("write_file"));
        assert!(sample_args("mcp__git__push").is_empty());
    }

    #[test]
    fn the_subject_is_one_that_a_hook_runs_for() {
        let hook = |text: &str| {
            let mut hook = Hook::from_function(EventKind::AfterTool, "h", |_| async { Err(String::new()) });
            hook.matcher = Matcher::compile(MatcherSubject::ToolName, Some(text)).0;
            hook
        };
        let of = |hooks: &[Hook]| sample_subject(EventKind::AfterTool, hooks.iter());
        assert_eq!(of(&[hook("glob")]), Some("glob"));
        assert_eq!(of(&[hook("glob"), hook("")]), Some("run_shell_command"));
        assert_eq!(of(&[hook("run_shell_comand")]), Some("run_shell_command"));
        assert_eq!(of(&[]), Some("run_shell_command"));
        assert_eq!(sample_subject(EventKind::BeforeTool, [hook("glob")].iter()), Some("run_shell_command"));
        assert_eq!(sample_subject(EventKind::BeforeAgent, [].iter()), None);
    }
}
