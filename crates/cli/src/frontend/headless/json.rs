//! The output format for scripts: one JSON object at the end.
//!
//! Messages of hooks still go to stderr.

use std::io;

use hookwright_agent::session::SessionStatistics;
use hookwright_agent::{AgentEvent, AgentNotice, HookEvent, ModelEvent, ToolEvent, TurnEnd, TurnEvent};
use hookwright_hooks::about_hook;
use serde_json::json;

use super::{EventPrinter, exit_code, failure_line, turn_error};
use crate::presentation::session_stats::statistics_json;
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
        let (agent, event) = event.unwrap_subagent();
        let who = agent.map(|agent| format!("{}: ", agent.name)).unwrap_or_default();
        match event {
            AgentEvent::Notice(AgentNotice::Warning(text)) => self.warnings.push(format!("{who}{text}")),
            AgentEvent::Turn(TurnEvent::Retried { reason, .. }) => {
                if agent.is_none() {
                    self.response.clear();
                }
                self.warnings.push(format!("{who}Agent execution blocked: {reason}"));
            }
            AgentEvent::Tool(ToolEvent::Finished(end)) => {
                return failure_line(end).map_or(Ok(()), |line| output::stderr_line(&format!("{who}{line}")));
            }
            _ if agent.is_some() => {}
            AgentEvent::Model(ModelEvent::Text(text)) => self.response.push_str(text),
            // The response is the text after the last tool call, or after the last rejected answer.
            AgentEvent::Tool(ToolEvent::Requested { .. }) | AgentEvent::Model(ModelEvent::AnswerDropped { .. }) => {
                self.response.clear();
            }
            AgentEvent::Hook(HookEvent::Message { text, .. }) => {
                return output::stderr_line(&format!("Hook system message: {text}"));
            }
            AgentEvent::Hook(HookEvent::Warning { event, hook, source, text }) => {
                self.warnings.push(about_hook(format_args!("{hook} ({source}, {event})"), text));
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

    fn finish(&mut self, end: Option<&TurnEnd>, stats: &SessionStatistics) -> io::Result<()> {
        let mut object =
            json!({"session_id": self.session_id, "response": self.response, "stats": statistics_json(stats)});
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
