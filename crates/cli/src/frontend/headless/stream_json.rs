//! The output format for programs that follow a run: one JSON object per line, as events happen.

use std::io::{self, Write};
use std::time::Instant;

use hookwright_agent::session::SessionStatistics;
use hookwright_agent::{AgentEvent, AgentNotice, HookEvent, ModelEvent, ToolEnd, ToolEvent, TurnEnd, TurnEvent};
use hookwright_hooks::SubAgent;
use hookwright_tools::CommandEnd;
use serde_json::{Map, Value, json};

use super::{EventPrinter, turn_error};
use crate::output;
use crate::presentation::session_stats::short_statistics_json;

pub(crate) struct StreamJsonPrinter {
    started: Instant,
}

impl StreamJsonPrinter {
    pub(crate) fn new(session_id: &str, model: &str) -> io::Result<Self> {
        print_line("init", json!({"session_id": session_id, "model": model}))?;
        Ok(StreamJsonPrinter { started: Instant::now() })
    }
}

impl EventPrinter for StreamJsonPrinter {
    fn print_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        if let AgentEvent::SubAgent { agent, call_id, event } = event {
            print_subagent_turn(agent, call_id, event)?;
        }
        let (agent, event) = event.unwrap_subagent();
        let of = |fields: Value| with_subagent(agent, fields);
        match event {
            AgentEvent::Tool(ToolEvent::Requested { call_id, name, args }) => {
                print_line("tool_use", of(json!({"tool_name": name, "tool_id": call_id, "parameters": args})))
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => print_line("tool_result", of(tool_result(end))),
            AgentEvent::Notice(AgentNotice::Warning(text)) => {
                print_line("error", of(json!({"severity": "warning", "message": text})))
            }
            AgentEvent::Turn(TurnEvent::Retried { reason, .. }) => {
                let message = format!("Agent execution blocked: {reason}");
                print_line("error", of(json!({"severity": "warning", "message": message})))
            }
            // A sub-agent's text is not part of the answer: its report is the result of the call that started it.
            _ if agent.is_some() => Ok(()),
            AgentEvent::Turn(TurnEvent::Started { prompt, .. }) => {
                print_line("message", json!({"role": "user", "content": prompt}))
            }
            AgentEvent::Model(ModelEvent::Text(text)) => {
                print_line("message", json!({"role": "assistant", "content": text, "delta": true}))
            }
            AgentEvent::Hook(HookEvent::Finished { report, .. }) => print_line("hook", json!(report)),
            AgentEvent::Hook(HookEvent::Message { hook, text, .. }) => {
                output::stderr_line(&format!("Hook system message: {text}"))?;
                print_line("error", json!({"severity": "info", "hook": hook, "message": text}))
            }
            AgentEvent::Hook(HookEvent::Warning { hook, text, .. }) => {
                print_line("error", json!({"severity": "warning", "hook": hook, "message": text}))
            }
            _ => Ok(()),
        }
    }

    fn record_warning(&mut self, text: String) -> io::Result<()> {
        print_line("error", json!({"severity": "warning", "message": text}))
    }

    fn print_answer(&mut self, text: &str) -> io::Result<()> {
        print_line("message", json!({"role": "assistant", "content": text}))
    }

    fn finish(&mut self, end: Option<&TurnEnd>, stats: &SessionStatistics) -> io::Result<()> {
        let mut result = json!({"status": "success", "stats": short_statistics_json(stats, self.started.elapsed())});
        if let Some((end, (kind, message))) = end.and_then(|end| Some((end, turn_error(end)?))) {
            let severity = if matches!(end, TurnEnd::Blocked(_) | TurnEnd::Stopped(_)) { "warning" } else { "error" };
            print_line("error", json!({"severity": severity, "message": message}))?;
            if severity == "error" {
                result["status"] = json!("error");
                result["error"] = json!({"type": kind, "message": message});
            }
        }
        print_line("result", result)
    }
}

/// Prints the beginning and the end of a sub-agent's work.
fn print_subagent_turn(agent: &SubAgent, call_id: &str, event: &AgentEvent) -> io::Result<()> {
    let fields = match event {
        AgentEvent::Turn(TurnEvent::Started { prompt, .. }) => {
            json!({"status": "started", "tool_id": call_id, "objective": prompt})
        }
        AgentEvent::Turn(TurnEvent::Finished(end)) => {
            json!({"status": end.kind().unwrap_or("finished"), "tool_id": call_id})
        }
        _ => return Ok(()),
    };
    print_line("agent", with_subagent(Some(agent), fields))
}

/// Adds the sub-agent's name and id, if the event belongs to a sub-agent.
fn with_subagent(agent: Option<&SubAgent>, mut fields: Value) -> Value {
    if let Some(agent) = agent {
        fields["agent_name"] = json!(agent.name);
        fields["agent_id"] = json!(agent.id);
    }
    fields
}

fn tool_result(end: &ToolEnd) -> Value {
    let failed = end.failed_command();
    let mut object = json!({
        "tool_id": end.call_id,
        "status": if end.error.is_some() || failed.is_some() { "error" } else { "success" },
        "output": end.display.to_text(),
    });
    if let Some(code) = end.command.and_then(CommandEnd::code) {
        object["exit_code"] = json!(code);
    }
    if let Some(error) = &end.error {
        object["error"] = json!({"type": error.kind.as_str(), "message": error.message});
    } else if let Some(message) = failed {
        object["error"] = json!({"type": "command_failed", "message": message});
    }
    if !end.metadata.is_empty() {
        object["metadata"] = Value::Object(end.metadata.clone());
    }
    object
}

/// Prints the lines for a session that does not start.
pub(crate) fn print_refused_start(error: Value) -> io::Result<()> {
    print_line("error", json!({"severity": "error", "message": error["message"]}))?;
    print_line("result", json!({"status": "error", "error": error}))
}

/// Prints one line: the kind, the time, then the other fields.
fn print_line(kind: &str, fields: Value) -> io::Result<()> {
    let mut object = Map::new();
    object.insert("type".to_owned(), kind.into());
    object.insert("timestamp".to_owned(), format!("{:.3}", jiff::Timestamp::now()).into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    let mut stdout = output::stdout();
    writeln!(stdout, "{}", Value::Object(object))?;
    stdout.flush()
}
