//! A call's end: AfterTool's word on the result, what the screen is told, what the model is told.

use std::borrow::Cow;
use std::time::Duration;

use hookwright_hooks::{AfterTool, AfterToolVerdict, EventKind};
use hookwright_model::{FunctionCall, Part};
use hookwright_tools::{Display, ResultContent, ResultPart, ToolErrorKind, ToolFailure, ToolResult};
use serde_json::{Map, Value};

use super::{AfterCall, Call, CallResult, Ran, is_planned};
use crate::event::{AgentEvent, CallError, ToolEnd};
use crate::translate::{defuse, hook_context};

/// What came of a call.
pub(super) struct CallEnd {
    pub(super) result: ToolResult,
    pub(super) metadata: Map<String, Value>,
    pub(super) duration: Duration,
    pub(super) after: AfterCall,
    /// Whether hooks hid the result, so that their reason stands in its place.
    pub(super) is_hidden: bool,
    /// What hooks add to the result, as it stands there.
    pub(super) added: Option<String>,
}

impl Call<'_> {
    /// AfterTool: may hide the result, add to it, or put another tool in its place.
    pub(super) async fn after_tool(&self, mut result: ToolResult, duration: Duration) -> Ran {
        self.hide_keys(&mut result);
        // A result can be large, and writing it as JSON is for hooks only.
        if !is_planned(self.services, &self.tools, EventKind::AfterTool, &self.name) {
            let after = if self.scope.is_cancelled() { AfterCall::Cancel } else { AfterCall::GoOn };
            defuse_result(&mut result.llm_content);
            return Ran::Done(Box::new(CallEnd { result, duration, after, ..nothing() }));
        }
        let event = AfterTool {
            tool_name: Cow::Borrowed(&self.name),
            tool_input: Cow::Borrowed(&self.args),
            tool_response: Cow::Owned(result.to_json()),
            mcp_context: self.mcp_context.as_ref().map(Cow::Borrowed),
            original_request_name: self.original.as_deref().map(Cow::Borrowed),
            tool_use_id: Some(Cow::Borrowed(&self.id)),
            requested_by: self.requested_by,
        };
        let outcome = self.services.fire_call(&event, self.paths(), self.scope).await;
        let metadata =
            metadata(&outcome.merged.answer.specific, outcome.messages.iter().map(|said| said.text.clone()).collect());
        if self.scope.is_cancelled() {
            // Hooks that were ended by a cancel have hidden nothing.
            let message = "Cancelled before hooks had judged the result, so it is left out".to_owned();
            let unseen = failure(ToolErrorKind::Cancelled, message);
            return Ran::Done(Box::new(CallEnd { duration, after: AfterCall::Cancel, ..unseen }));
        }
        let finished = match outcome.verdict {
            AfterToolVerdict::Keep { tail_call: Some(tail), .. } => {
                self.tell(&CallEnd { result, metadata, duration, ..nothing() });
                return Ran::Replaced(tail);
            }
            AfterToolVerdict::Keep { context, .. } => {
                // Hooks were told it as it is; the model must not take any of it for a hook's.
                defuse_result(&mut result.llm_content);
                let added = add_context(&mut result.llm_content, context);
                CallEnd { result, metadata, duration, added, ..nothing() }
            }
            AfterToolVerdict::Hide { reason, context } => {
                let mut hidden = failure(ToolErrorKind::ExecutionFailed, format!("Tool result blocked: {reason}"));
                hidden.result.llm_content = ResultContent::Text(reason);
                add_context(&mut hidden.result.llm_content, context);
                CallEnd { metadata, duration, is_hidden: true, ..hidden }
            }
            AfterToolVerdict::Stop { reason } => CallEnd { metadata, duration, ..stopped(&reason) },
        };
        Ran::Done(Box::new(finished))
    }

    /// A key of the model's is for the model's server alone, wherever a tool came across it.
    fn hide_keys(&self, result: &mut ToolResult) {
        let secrets = self.services.model.secrets();
        let hide = |text: &mut String| {
            if let Cow::Owned(hidden) = secrets.hide_known(text) {
                *text = hidden;
            }
        };
        each_text(&mut result.llm_content, hide);
        if let Display::Text(text) = &mut result.return_display {
            hide(text);
        }
        if let Some(run) = &mut result.command {
            hide(&mut run.output);
        }
    }

    /// Tells the screen how the call ended.
    pub(super) fn tell(&self, finished: &CallEnd) {
        let result = &finished.result;
        let error = result.error.as_ref().map(|failure| failure.message.as_str());
        tracing::debug!(ms = finished.duration.as_millis(), error, "the call is over");
        let error = result.error.as_ref();
        self.say(|name| {
            AgentEvent::ToolFinished(Box::new(ToolEnd {
                call_id: self.id.clone(),
                name,
                args: self.args.clone(),
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

    /// What the model is told; under the name and id that it asked with.
    pub(super) fn conclude(&self, call: &FunctionCall, finished: CallEnd) -> CallResult {
        self.tell(&finished);
        let CallEnd { result, after, .. } = finished;
        let key = if result.error.is_some() { "error" } else { "output" };
        let response = Map::from_iter([(key.to_owned(), Value::String(result.llm_content.to_text()))]);
        let mut parts = vec![Part::function_response(call.id.clone(), call.name.clone(), response)];
        if let ResultContent::Parts(pieces) = result.llm_content {
            parts.extend(pieces.into_iter().filter_map(|piece| match piece {
                ResultPart::InlineData { mime_type, data } => Some(Part::inline_data(mime_type, data)),
                ResultPart::Text(_) => None,
            }));
        }
        CallResult { parts, after, redacted: self.redacted.clone() }
    }
}

fn metadata(specific: &Map<String, Value>, messages: Vec<String>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if !specific.is_empty() {
        metadata.insert("hookData".to_owned(), Value::Object(specific.clone()));
    }
    if !messages.is_empty() {
        metadata.insert("hookMessages".to_owned(), messages.into());
    }
    metadata
}

/// Adds what hooks want the model to know; as it stands there.
fn add_context(content: &mut ResultContent, context: Option<String>) -> Option<String> {
    let marked = hook_context(&context?);
    append(content, &format!("\n\n{marked}"));
    Some(marked)
}

fn defuse_result(content: &mut ResultContent) {
    let change = |text: &mut String| {
        if let Cow::Owned(safe) = defuse(text) {
            *text = safe;
        }
    };
    each_text(content, change);
}

fn each_text(content: &mut ResultContent, change: impl Fn(&mut String)) {
    match content {
        ResultContent::Text(text) => change(text),
        ResultContent::Parts(parts) => parts.iter_mut().for_each(|part| match part {
            ResultPart::Text(text) => change(text),
            ResultPart::InlineData { .. } => {}
        }),
    }
}

pub(super) fn append(content: &mut ResultContent, text: &str) {
    match content {
        ResultContent::Text(existing) => existing.push_str(text),
        ResultContent::Parts(parts) => parts.push(ResultPart::Text(text.to_owned())),
    }
}

pub(super) fn nothing() -> CallEnd {
    CallEnd {
        result: ToolResult::text("", ""),
        metadata: Map::new(),
        duration: Duration::ZERO,
        after: AfterCall::GoOn,
        is_hidden: false,
        added: None,
    }
}

/// A call that did not do what it should.
pub(super) fn failure(kind: ToolErrorKind, message: String) -> CallEnd {
    let result = ToolResult {
        llm_content: ResultContent::Text(message.clone()),
        return_display: Display::Text(message.clone()),
        error: Some(ToolFailure::new(kind, message)),
        command: None,
    };
    CallEnd { result, ..nothing() }
}

pub(super) fn stopped(reason: &str) -> CallEnd {
    let message = format!("Agent execution stopped by hook: {reason}");
    CallEnd { after: AfterCall::Stop(reason.to_owned()), ..failure(ToolErrorKind::StopExecution, message) }
}

pub(super) fn cancelled() -> CallEnd {
    CallEnd { after: AfterCall::Cancel, ..failure(ToolErrorKind::Cancelled, "Cancelled".to_owned()) }
}
