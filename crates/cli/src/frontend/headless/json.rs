//! The output format for scripts: one JSON object at the end.
//!
//! Messages of hooks still go to stderr.

use std::io;

use hookwright_agent::{AgentEvent, AgentNotice, HookEvent, ModelEvent, ToolEvent, TurnEnd, TurnEvent};
use hookwright_hooks::about_hook;
use serde_json::json;

use super::{EventPrinter, command_failure, exit_code, turn_error};
use crate::presentation::session_stats::SessionStats;
use crate::{exit, output};

pub(crate) struct JsonPrinter {
    session_id: String,
    response: String,
    warnings: Vec<String>,
}

impl JsonPrinter {
    pub(crate) fn new(session_id: &str) -> Self {
        JsonPrinter { session_id: session_id.to_owned(), response: String::new(), warnings: Vec::new() }
    }
}

impl EventPrinter for JsonPrinter {
    fn print_event(&mut self, event: &AgentEvent) -> io::Result<()> {
        match event {
            AgentEvent::Model(ModelEvent::Text(text)) => self.response.push_str(text),
            // The response is the text after the last tool call, or after the last rejected answer.
            AgentEvent::Tool(ToolEvent::Requested { .. }) | AgentEvent::Model(ModelEvent::AnswerDropped { .. }) => {
                self.response.clear()
            }
            AgentEvent::Turn(TurnEvent::Retried { reason, .. }) => {
                self.response.clear();
                self.warnings.push(format!("Agent execution blocked: {reason}"));
            }
            AgentEvent::Hook(HookEvent::Message { text, .. }) => {
                return output::stderr_line(&format!("Hook system message: {text}"));
            }
            AgentEvent::Hook(HookEvent::Warning { event, hook, source, text }) => {
                self.warnings.push(about_hook(format_args!("{hook} ({source}, {event})"), text));
            }
            AgentEvent::Notice(AgentNotice::Warning(text)) => self.warnings.push(text.clone()),
            AgentEvent::SubAgent { agent, event, .. } => match &**event {
                AgentEvent::Notice(AgentNotice::Warning(text)) => self.warnings.push(format!("{}: {text}", agent.name)),
                AgentEvent::Turn(TurnEvent::Retried { reason, .. }) => {
                    self.warnings.push(format!("{}: Agent execution blocked: {reason}", agent.name));
                }
                AgentEvent::Tool(ToolEvent::Finished(end)) => {
                    if let Some(error) = &end.error {
                        let line = format!("{}: Error executing tool {}: {}", agent.name, end.name, error.message);
                        return output::stderr_line(&line);
                    }
                    let line = command_failure(end).map(|line| format!("{}: {line}", agent.name));
                    return line.map_or(Ok(()), |line| output::stderr_line(&line));
                }
                _ => {}
            },
            AgentEvent::Tool(ToolEvent::Finished(end)) => {
                if let Some(error) = &end.error {
                    return output::stderr_line(&format!("Error executing tool {}: {}", end.name, error.message));
                }
                return command_failure(end).map_or(Ok(()), |line| output::stderr_line(&line));
            }
            _ => {}
        }
        Ok(())
    }

    fn record_warning(&mut self, text: String) -> io::Result<()> {
        self.warnings.push(text);
        Ok(())
    }

    fn print_answer(&mut self, text: &str) -> io::Result<()> {
        self.response.push_str(text);
        Ok(())
    }

    fn finish(&mut self, end: Option<&TurnEnd>, stats: &SessionStats) -> io::Result<()> {
        let mut object = json!({"session_id": self.session_id, "response": self.response, "stats": stats.to_json()});
        match (end.and_then(turn_error), exit_code(end)) {
            (None, _) => {}
            // A hook that denies is no failure of the run.
            (Some((_, message)), exit::OK) => self.warnings.push(message),
            (Some((kind, message)), code) => object["error"] = json!({"type": kind, "message": message, "code": code}),
        }
        if !self.warnings.is_empty() {
            object["warnings"] = json!(self.warnings);
        }
        output::print_json(&object)
    }
}
