//! For programs that follow along: one JSON object per line, as things happen.

use std::io::{self, Write};
use std::time::Instant;

use hookwright_agent::{AgentEvent, TurnEnd};
use serde_json::{Map, Value, json};

use super::{Printer, error_of};
use crate::out;
use crate::stats::Stats;

pub(crate) struct StreamJson {
    started: Instant,
}

impl StreamJson {
    pub(crate) fn new(session_id: &str, model: &str) -> io::Result<Self> {
        line("init", json!({"session_id": session_id, "model": model}))?;
        Ok(StreamJson { started: Instant::now() })
    }
}

impl Printer for StreamJson {
    fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::PromptStarted { prompt, .. } => line("message", json!({"role": "user", "content": prompt})),
            AgentEvent::Text(text) => line("message", json!({"role": "assistant", "content": text, "delta": true})),
            AgentEvent::ToolRequested { call_id, name, args } => {
                line("tool_use", json!({"tool_name": name, "tool_id": call_id, "parameters": args}))
            }
            AgentEvent::ToolFinished(end) => {
                let mut object = json!({
                    "tool_id": end.call_id,
                    "status": if end.error.is_some() { "error" } else { "success" },
                    "output": end.display.summary(),
                });
                if let Some(error) = &end.error {
                    object["error"] = json!({"type": error.kind.as_str(), "message": error.message});
                }
                if !end.metadata.is_empty() {
                    object["metadata"] = Value::Object(end.metadata.clone());
                }
                line("tool_result", object)
            }
            AgentEvent::HookFinished { report, .. } => line(
                "hook",
                json!({
                    "name": report.hook,
                    "event": report.event,
                    "event_id": report.id.event.to_string(),
                    "run_id": report.id.to_string(),
                    "turn_id": report.belongs.turn_id.as_deref(),
                    "tool_use_id": report.belongs.tool_use_id.as_deref(),
                    "source": report.source.to_string(),
                    "decision": if report.answer.stop { json!("stop") } else { json!(report.decision()) },
                    "status": report.status,
                    "exit_code": report.exit_code,
                    "duration_ms": (report.duration.as_secs_f64() * 1e6).round() / 1e3,
                    "error": report.error,
                }),
            ),
            AgentEvent::HookMessage { hook, text, .. } => {
                out::stderr_line(&format!("Hook system message: {text}"))?;
                line("error", json!({"severity": "info", "hook": hook, "message": text}))
            }
            AgentEvent::HookWarning { hook, text, .. } => {
                line("error", json!({"severity": "warning", "hook": hook, "message": text}))
            }
            AgentEvent::Warning(text) => line("error", json!({"severity": "warning", "message": text})),
            AgentEvent::AgentRetry { reason, .. } => {
                line("error", json!({"severity": "warning", "message": format!("Agent execution blocked: {reason}")}))
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, text: &str) -> io::Result<()> {
        line("message", json!({"role": "assistant", "content": text}))
    }

    fn finish(&mut self, end: Option<&TurnEnd>, stats: &Stats) -> io::Result<()> {
        let mut result = json!({"status": "success", "stats": stats.to_short_json(self.started.elapsed())});
        if let Some((end, (kind, message))) = end.and_then(|end| Some((end, error_of(end)?))) {
            let severity = if matches!(end, TurnEnd::Blocked(_) | TurnEnd::Stopped(_)) { "warning" } else { "error" };
            line("error", json!({"severity": severity, "message": message}))?;
            if severity == "error" {
                result["status"] = json!("error");
                result["error"] = json!({"type": kind, "message": message});
            }
        }
        line("result", result)
    }
}

/// A session that does not start.
pub(crate) fn refused(error: Value) -> io::Result<()> {
    line("error", json!({"severity": "error", "message": error["message"]}))?;
    line("result", json!({"status": "error", "error": error}))
}

/// One line: the kind, the time, then the rest.
fn line(kind: &str, fields: Value) -> io::Result<()> {
    let mut object = Map::new();
    object.insert("type".to_owned(), kind.into());
    object.insert("timestamp".to_owned(), format!("{:.3}", jiff::Timestamp::now()).into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    let mut stdout = out::stdout();
    writeln!(stdout, "{}", Value::Object(object))?;
    stdout.flush()
}
