//! Completion of a tool call: AfterTool hooks, the event for the front end, and the result for the model.

use std::borrow::Cow;
use std::time::Duration;

use hookwright_hooks::{AfterTool, AfterToolVerdict, EventKind};
use hookwright_journal::{CallEntry, CallResult as JournalCallResult, millis};
use hookwright_model::{FunctionCall, Part};
use hookwright_tools::{ResultContent, ResultPart, ToolDisplay, ToolErrorKind, ToolFailure, ToolResult};
use serde_json::{Map, Value};

use super::policy_record::policy_entry;
use super::{CallProgress, CallResult, ToolInvocation, TurnControl, has_hooks_for};
use crate::event::{CallError, ToolEnd, ToolEvent};
use crate::translate::{escape_hook_marker, hook_context};

/// The outcome of a completed call.
pub(super) struct CompletedCall {
    pub(super) result: ToolResult,
    pub(super) metadata: Map<String, Value>,
    pub(super) duration: Duration,
    pub(super) control: TurnControl,
    /// Whether hooks hid the result and their reason replaces it.
    pub(super) is_hidden: bool,
    /// The marked context that hooks added to the result.
    pub(super) added_context: Option<String>,
    /// The user's refusal, if the user did not allow the call.
    pub(super) user_denial: Option<UserDenial>,
}

/// The user's refusal of a call, with an optional message to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserDenial(pub(crate) Option<String>);

impl ToolInvocation<'_> {
    /// Runs AfterTool hooks, which may hide the result, add context to it, or request a tail call.
    pub(super) async fn after_tool(&self, mut result: ToolResult, duration: Duration) -> CallProgress {
        self.redact_api_keys(&mut result);
        // A result can be large; it is serialised to JSON only if there are hooks.
        if !has_hooks_for(self.services, &self.tools, EventKind::AfterTool, &self.name) {
            let after = if self.scope.is_cancelled() { TurnControl::Cancel } else { TurnControl::Continue };
            escape_result_markers(&mut result.llm_content);
            return CallProgress::Completed(Box::new(CompletedCall {
                result,
                duration,
                control: after,
                ..empty_completion()
            }));
        }
        let event = AfterTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&*self.args),
            tool_response: Cow::Owned(result.to_json()),
            mcp_context: self.mcp_context.as_ref().map(Cow::Borrowed),
            original_request_name: self.tail_call_origin.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire_with_paths(&event, self.path_resolver(), self.scope).await;
        let metadata = hook_metadata(
            &outcome.merged.answer.hook_specific_output,
            outcome.messages.iter().map(|message| message.text.clone()).collect(),
        );
        if self.scope.is_cancelled() {
            // Hooks that were cancelled have hidden nothing.
            let message = "Cancelled before hooks had judged the result, so it is left out".to_owned();
            let unseen = failed_call(ToolErrorKind::Cancelled, message);
            return CallProgress::Completed(Box::new(CompletedCall {
                duration,
                control: TurnControl::Cancel,
                ..unseen
            }));
        }
        let finished = match outcome.verdict {
            AfterToolVerdict::Keep { tail_call: Some(tail), .. } => {
                self.send_tool_finished(&CompletedCall { result, metadata, duration, ..empty_completion() });
                return CallProgress::TailCall(tail);
            }
            AfterToolVerdict::Keep { context, .. } => {
                // Hooks saw the result unescaped; in the model's copy, nothing may look like a hook's context.
                escape_result_markers(&mut result.llm_content);
                let added = add_context(&mut result.llm_content, context);
                CompletedCall { result, metadata, duration, added_context: added, ..empty_completion() }
            }
            AfterToolVerdict::Hide { reason, context } => {
                let mut hidden = failed_call(ToolErrorKind::ExecutionFailed, format!("Tool result blocked: {reason}"));
                hidden.result.llm_content = ResultContent::Text(reason);
                add_context(&mut hidden.result.llm_content, context);
                CompletedCall { metadata, duration, is_hidden: true, ..hidden }
            }
            AfterToolVerdict::Stop { reason } => CompletedCall { metadata, duration, ..stopped_call(&reason) },
        };
        CallProgress::Completed(Box::new(finished))
    }

    /// Removes API keys from a result: they are meant for the model's server alone.
    fn redact_api_keys(&self, result: &mut ToolResult) {
        let secrets = self.services.model.secrets();
        let hide = |text: &mut String| {
            if let Cow::Owned(hidden) = secrets.hide_known(text) {
                *text = hidden;
            }
        };
        for_each_text(&mut result.llm_content, hide);
        if let ToolDisplay::Text(text) = &mut result.return_display {
            hide(text);
        }
        if let Some(run) = &mut result.command {
            hide(&mut run.output);
        }
    }

    /// Sends the event that the call has ended.
    pub(super) fn send_tool_finished(&self, finished: &CompletedCall) {
        let result = &finished.result;
        let error = result.error.as_ref().map(|failure| failure.message.as_str());
        tracing::debug!(ms = finished.duration.as_millis(), error, "the call is over");
        let error = result.error.as_ref();
        self.record_call_end(finished);
        self.send_visible(|name| {
            ToolEvent::Finished(Box::new(ToolEnd {
                call_id: self.id.clone(),
                name,
                args: self.args.to_map(),
                unrecorded_args: self.unrecorded_args.clone(),
                display: result.return_display.clone(),
                content: result.llm_content.to_text(),
                error: error.map(|failure| CallError { kind: failure.kind, message: failure.message.clone() }),
                duration: finished.duration,
                decision: self.decision,
                command: result.command.as_ref().map(|run| run.end),
                metadata: finished.metadata.clone(),
                prompt_id: self.scope.prompt_id(),
            }))
        });
    }

    /// Puts on record what became of a call that hooks have seen.
    fn record_call_end(&self, finished: &CompletedCall) {
        // A call that no hook has seen costs nothing more.
        let Some(journal) = self.services.journal.as_ref().filter(|journal| journal.has_call(&self.id)) else { return };
        let error = finished.result.error.as_ref();
        let (result, refused_by) = match error {
            None => (JournalCallResult::Ran, None),
            Some(failure) => match failure.kind {
                ToolErrorKind::Cancelled => (JournalCallResult::Cancelled, None),
                ToolErrorKind::PolicyViolation => (JournalCallResult::Refused, Some(self.refused_by.unwrap_or("hook"))),
                ToolErrorKind::StopExecution => (JournalCallResult::Refused, Some("hook")),
                _ if finished.user_denial.is_some() => (JournalCallResult::Refused, Some("user")),
                _ => (JournalCallResult::Failed, None),
            },
        };
        let session = self.services.hooks.session();
        let entry = CallEntry {
            agent: journal.source().agent.clone(),
            project: session.project_dir.to_string_lossy().into_owned(),
            session: session.id.clone(),
            turn: self.scope.turn_id.as_deref().map(str::to_owned),
            call: self.id.clone(),
            tool: self.name.clone(),
            result,
            refused_by: refused_by.map(str::to_owned),
            policy: self.policy.as_ref().map(policy_entry),
            exit_code: None,
            ms: millis(finished.duration),
        };
        let is_told = self.unrecorded_args.is_none() && self.redacted_args.is_none();
        journal.record_call(entry, error.filter(|_| is_told).map(|failure| failure.message.as_str()));
    }

    /// Returns the result for the model, under the name and identifier of its request.
    pub(super) fn model_result(&self, call: &FunctionCall, finished: CompletedCall) -> CallResult {
        self.send_tool_finished(&finished);
        let CompletedCall { result, control: after, .. } = finished;
        let key = if result.error.is_some() { "error" } else { "output" };
        let response = Map::from_iter([(key.to_owned(), Value::String(result.llm_content.to_text()))]);
        let mut parts = vec![Part::function_response(call.id.clone(), call.name.clone(), response)];
        if let ResultContent::Parts(pieces) = result.llm_content {
            parts.extend(pieces.into_iter().filter_map(|piece| match piece {
                ResultPart::InlineData { mime_type, data } => Some(Part::inline_data(mime_type, data)),
                ResultPart::Text(_) => None,
            }));
        }
        CallResult { parts, control: after, redacted_args: self.redacted_args.clone() }
    }
}

fn hook_metadata(specific: &Map<String, Value>, messages: Vec<String>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if !specific.is_empty() {
        metadata.insert("hookData".to_owned(), Value::Object(specific.clone()));
    }
    if !messages.is_empty() {
        metadata.insert("hookMessages".to_owned(), messages.into());
    }
    metadata
}

/// Appends the context of hooks to the content and returns it in its marked form.
fn add_context(content: &mut ResultContent, context: Option<String>) -> Option<String> {
    let marked = hook_context(&context?);
    append_text(content, &format!("\n\n{marked}"));
    Some(marked)
}

fn escape_result_markers(content: &mut ResultContent) {
    let change = |text: &mut String| {
        if let Cow::Owned(safe) = escape_hook_marker(text) {
            *text = safe;
        }
    };
    for_each_text(content, change);
}

fn for_each_text(content: &mut ResultContent, change: impl Fn(&mut String)) {
    match content {
        ResultContent::Text(text) => change(text),
        ResultContent::Parts(parts) => parts.iter_mut().for_each(|part| match part {
            ResultPart::Text(text) => change(text),
            ResultPart::InlineData { .. } => {}
        }),
    }
}

pub(super) fn append_text(content: &mut ResultContent, text: &str) {
    match content {
        ResultContent::Text(existing) => existing.push_str(text),
        ResultContent::Parts(parts) => parts.push(ResultPart::Text(text.to_owned())),
    }
}

pub(super) fn empty_completion() -> CompletedCall {
    CompletedCall {
        result: ToolResult::text("", ""),
        metadata: Map::new(),
        duration: Duration::ZERO,
        control: TurnControl::Continue,
        is_hidden: false,
        added_context: None,
        user_denial: None,
    }
}

/// Returns a failed completion with this error.
pub(super) fn failed_call(kind: ToolErrorKind, message: String) -> CompletedCall {
    let result = ToolResult {
        llm_content: ResultContent::Text(message.clone()),
        return_display: ToolDisplay::Text(message.clone()),
        error: Some(ToolFailure::new(kind, message)),
        command: None,
    };
    CompletedCall { result, ..empty_completion() }
}

pub(super) fn stopped_call(reason: &str) -> CompletedCall {
    let message = format!("Agent execution stopped by hook: {reason}");
    CompletedCall {
        control: TurnControl::Stop(reason.to_owned()),
        ..failed_call(ToolErrorKind::StopExecution, message)
    }
}

pub(super) fn cancelled_call() -> CompletedCall {
    CompletedCall { control: TurnControl::Cancel, ..failed_call(ToolErrorKind::Cancelled, "Cancelled".to_owned()) }
}
