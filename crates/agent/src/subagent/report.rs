//! The report of a sub-agent: its last text for the delegating agent, and the reason if it did not finish.

use hookwright_settings::subagents::SubAgentDefinition;
use hookwright_tools::{ResultContent, ToolDisplay, ToolErrorKind, ToolFailure, ToolResult};

use crate::event::TurnEnd;

/// The maximum size of a report: a long document, and no more than a tool result should have.
const MAX_REPORT_BYTES: usize = 200_000;

/// The outcome of a sub-agent's work.
pub(super) struct SubAgentReport<'a> {
    pub(super) definition: &'a SubAgentDefinition,
    /// The last text of the sub-agent.
    pub(super) final_text: String,
    /// The number of requests that it made.
    pub(super) requests: u32,
}

impl SubAgentReport<'_> {
    /// Returns the tool result for a sub-agent whose turn ended in this way.
    pub(super) fn into_result(self, end: &TurnEnd) -> ToolResult {
        let why = end.message().unwrap_or_default();
        let (kind, why) = match end {
            TurnEnd::Answered if self.final_text.trim().is_empty() => {
                (ToolErrorKind::ExecutionFailed, "it came to an end without a report".to_owned())
            }
            TurnEnd::Answered => return self.into_success(),
            // A hook's stop applies to the whole loop, so the delegating agent stops too.
            TurnEnd::Stopped(reason) => return ToolFailure::new(ToolErrorKind::StopExecution, reason).into(),
            TurnEnd::Cancelled => return ToolFailure::cancelled().into(),
            TurnEnd::Blocked(_) => (ToolErrorKind::PolicyViolation, why),
            TurnEnd::AgentLimit(_)
            | TurnEnd::TurnLimit(_)
            | TurnEnd::PromptLimit(_)
            | TurnEnd::Loop(_)
            | TurnEnd::Failed { .. } => (ToolErrorKind::ExecutionFailed, why),
        };
        self.into_failure(kind, &why)
    }

    /// Returns the tool result for a sub-agent that exceeded its deadline.
    pub(super) fn into_timeout_result(self) -> ToolResult {
        let minutes = self.definition.timeout.as_secs().div_ceil(60);
        let time =
            if minutes == 1 { "its minute is over".to_owned() } else { format!("its {minutes} minutes are over") };
        self.into_failure(ToolErrorKind::ExecutionFailed, &time)
    }

    fn into_success(self) -> ToolResult {
        let requests = if self.requests == 1 { "1 request".to_owned() } else { format!("{} requests", self.requests) };
        let display =
            format!("{}\n({} is done, after {requests})", self.final_text.trim_end(), self.definition.title());
        ToolResult::text(truncate_report(&self.final_text), display)
    }

    /// Returns a failed result with the reason and the last text.
    fn into_failure(self, kind: ToolErrorKind, why: &str) -> ToolResult {
        let message = format!("agent {} did not finish: {why}", self.definition.name);
        let so_far = match self.final_text.trim() {
            "" => String::new(),
            text => format!("\n\nIts last words:\n{}", truncate_report(text)),
        };
        ToolResult {
            llm_content: ResultContent::Text(format!("{message}{so_far}")),
            return_display: ToolDisplay::Text(message.clone()),
            error: Some(ToolFailure::new(kind, message)),
            command: None,
        }
    }
}

fn truncate_report(text: &str) -> String {
    let mut end = text.len().min(MAX_REPORT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match &text[end..] {
        "" => text.to_owned(),
        rest => format!("{}\n\n[{} bytes more are left out]", &text[..end], rest.len()),
    }
}
