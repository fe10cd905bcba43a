//! `hookwright demo`: a small hook for every event, the prompts that make each of them fire, and a summary.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use hookwright_agent::session::SessionCommand;
use hookwright_agent::{AgentEvent, HookEvent, TurnEvent};
use hookwright_hooks::{Decision, EventKind};
use serde_json::{Map, Value, json};

use super::DemoScript;
use super::sandbox::DemoSandbox;
use crate::output::{self, DIM, GOOD, paint};

/// Event, matcher, name and script of each hook.
///
/// The scripts read their input and answer as any hook would.
const DEMO_HOOKS: [(EventKind, &str, &str, &str); 13] = [
    (
        EventKind::SessionStart,
        "startup",
        "project-facts",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"additionalContext": "This project ships on Friday."}}'"#,
    ),
    (
        EventKind::BeforeAgent,
        "",
        "branch-context",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"additionalContext": "The branch is called main."}}'"#,
    ),
    (
        EventKind::BeforeModel,
        "",
        "sober-model",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"llm_request": {"config": {"temperature": 0}}}}'"#,
    ),
    (
        EventKind::BeforeToolSelection,
        "",
        "tool-filter",
        r#"cat >/dev/null
echo '{"hookSpecificOutput": {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["write_file", "run_shell_command"]}}}'"#,
    ),
    (
        EventKind::AfterModel,
        "",
        "redactor",
        r#"# This piece's text, with its escapes, stands right ahead of the text so far.
piece=$(sed -nE 's/.*"content":"(([^"\\]|\\.)*)","full_content".*/\1/p')
case $piece in
*ada@example.org*)
    redacted=$(printf '%s' "$piece" | sed 's/ada@example\.org/[redacted]/g')
    printf '{"hookSpecificOutput": {"llm_response": {"text": "%s"}}}\n' "$redacted"
    ;;
esac"#,
    ),
    (
        EventKind::BeforeTool,
        "run_shell_command",
        "danger-guard",
        r#"case $(cat) in
*'rm -rf /'*)
    echo 'this would delete everything' >&2
    exit 2
    ;;
esac"#,
    ),
    (
        EventKind::BeforeTool,
        "*",
        WORKER_HOOK,
        r#"# Started once: one request a line, one answer a line.
while IFS= read -r line; do
    id=${line#'{"id":'}
    id=${id%%,*}
    case $line in
    *.ssh/*) printf '{"id":%s,"output":{"decision":"deny","reason":"keys stay where they are"}}\n' "$id" ;;
    *) printf '{"id":%s}\n' "$id" ;;
    esac
done"#,
    ),
    (
        EventKind::BeforeTool,
        "run_shell_command",
        "safe-delete",
        r#"case $(cat) in
*'rm build/notes.txt'*)
    echo '{"hookSpecificOutput": {"tool_input": {"command": "mv build/notes.txt build/notes.txt.deleted"}}}'
    ;;
esac"#,
    ),
    (
        EventKind::Notification,
        "ToolPermission",
        "bell",
        r#"cat >/dev/null
echo '{"systemMessage": "ring, ring"}'"#,
    ),
    (
        EventKind::AfterTool,
        "*",
        "audit-log",
        r#"cat >> audit.jsonl
echo >> audit.jsonl
echo '{"suppressOutput": true}'"#,
    ),
    (
        EventKind::AfterAgent,
        "",
        "answer-checker",
        r#"case $(cat) in
*'"stop_hook_active":true'*) ;;
*'"prompt_response":"TODO'*)
    echo 'say The useful thing is that hooks can demand a better answer.' >&2
    exit 2
    ;;
esac"#,
    ),
    (
        EventKind::PreCompress,
        "manual",
        "save-history",
        r#"cat >/dev/null
echo '{"systemMessage": "the transcript keeps everything"}'"#,
    ),
    (
        EventKind::SessionEnd,
        "",
        "goodbye",
        r#"cat >/dev/null
echo '{"systemMessage": "see you"}'"#,
    ),
];

/// The hook that runs as a worker for the whole session.
const WORKER_HOOK: &str = "key-keeper";

/// The prompts that a user would type.
const EVENT_PROMPTS: [&str; 3] = [
    "call write_file {\"file_path\": \"build/notes.txt\", \"content\": \"three bugs left\\n\"}\n\
     call run_shell_command {\"command\": \"rm -rf /\"}\n\
     call run_shell_command {\"command\": \"rm build/notes.txt\"}\n\
     say Done. Questions go to ada@example.org.",
    "say TODO: say something useful",
    "say Good night.",
];

/// Counts and times of what happened in the demo.
#[derive(Default)]
pub(super) struct EventsDemo {
    fired: BTreeSet<EventKind>,
    hooks: u32,
    hook_time: Duration,
    /// How long hook commands took at BeforeTool, and how long the worker took.
    command_times: Vec<Duration>,
    worker_times: Vec<Duration>,
    denied: u32,
    rewritten: u32,
    redacted: u32,
    retried: u32,
}

impl DemoScript for EventsDemo {
    fn write_files(&self, stage: &DemoSandbox) -> anyhow::Result<()> {
        let mut events: Map<String, Value> = Map::new();
        for (event, matcher, name, script) in DEMO_HOOKS {
            stage.write(&format!("project/.gemini/hooks/{name}.sh"), &format!("#!/bin/sh\n{script}\n"))?;
            let command = format!("sh \"$GEMINI_PROJECT_DIR/.gemini/hooks/{name}.sh\"");
            let kind = if name == WORKER_HOOK { "worker" } else { "command" };
            let hook = json!({"type": kind, "name": name, "command": command});
            let mut definition = json!({"hooks": [hook]});
            if !matcher.is_empty() {
                definition["matcher"] = json!(matcher);
            }
            let list = events.entry(event.name()).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().context("every event has a list")?.push(definition);
        }
        stage.write("project/.gemini/settings.json", &format!("{:#}\n", json!({"hooks": events})))
    }

    fn session_commands(&self) -> Vec<SessionCommand> {
        EVENT_PROMPTS
            .iter()
            .map(|prompt| SessionCommand::Prompt((*prompt).to_owned()))
            .chain([SessionCommand::Compress])
            .collect()
    }

    fn count_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Hook(HookEvent::Finished { report, .. }) => {
                self.fired.insert(report.event);
                self.hooks += 1;
                self.hook_time += report.duration;
                if report.event == EventKind::BeforeTool {
                    let times =
                        if report.hook_type == "worker" { &mut self.worker_times } else { &mut self.command_times };
                    times.push(report.duration);
                }
                self.rewritten += u32::from(report.answer.tool_input.is_some());
                self.redacted +=
                    u32::from(report.event == EventKind::AfterModel && report.answer.llm_response.is_some());
                let refused = report.event == EventKind::BeforeTool && report.decision() == Some(Decision::Deny);
                self.denied += u32::from(refused);
            }
            AgentEvent::Turn(TurnEvent::Retried { .. }) => self.retried += 1,
            _ => {}
        }
    }

    fn is_complete(&self) -> bool {
        self.fired.len() == EventKind::COUNT
    }

    fn print_summary(&self, elapsed: Duration) -> std::io::Result<()> {
        let EventsDemo { denied, rewritten, redacted, retried, hooks, .. } = self;
        let events = format!("{} of {} events fired", self.fired.len(), EventKind::COUNT);
        let mut stdout = output::stdout();
        writeln!(
            stdout,
            "\n{}: {denied} call blocked, {rewritten} rewritten, {redacted} piece redacted, {retried} answer retried",
            paint(GOOD, events)
        )?;
        let times = format!("{hooks} hook runs took {} ms of {} ms", self.hook_time.as_millis(), elapsed.as_millis());
        writeln!(stdout, "{}", paint(DIM, times))?;
        // The worker's first time is left out because it includes the start of its process.
        if let (Some(command), Some(worker)) =
            (median(&self.command_times), median(self.worker_times.get(1..).unwrap_or_default()))
        {
            let [command, worker] = [command, worker].map(|time| time.as_secs_f64() * 1000.0);
            let text = format!(
                "at BeforeTool a command took {command:.2} ms, {WORKER_HOOK}, which stays for the session, {worker:.2} ms"
            );
            writeln!(stdout, "{}", paint(DIM, text))?;
        }
        writeln!(
            stdout,
            "\nNext: `hookwright demo ecosystem`, or `hookwright hooks new my-hook --event BeforeTool` in a project of yours."
        )
    }
}

fn median(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied()
}
