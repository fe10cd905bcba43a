//! When things happened, and within what: a turn holds requests, tools and hooks; a request holds the hooks that see its
//! answer, a tool the hooks that guard it. Never content: that is for records.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use hookwright_agent::{AgentEvent, TurnEnd};
use hookwright_hooks::{EventKind, HookInput, RunReport, canonical_tool_name};
use opentelemetry::trace::{Span as _, SpanContext, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, Span};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::record::{Content, hook_name};

/// The spans that are open.
#[derive(Debug)]
pub(crate) struct Spans {
    tracer: SdkTracer,
    session_id: String,
    turn: Option<Span>,
    request: Option<Span>,
    tools: Vec<OpenTool>,
}

#[derive(Debug)]
struct OpenTool {
    call_id: String,
    name: String,
    args: Map<String, Value>,
    span: Span,
}

impl Spans {
    pub(crate) fn new(tracer: SdkTracer, session_id: &str) -> Self {
        Spans { tracer, session_id: session_id.to_owned(), turn: None, request: None, tools: Vec::new() }
    }

    /// Opens and closes what an event opens and closes; gives back the span that the event is about.
    pub(crate) fn record(&mut self, event: &AgentEvent, content: Content, now: SystemTime) -> Option<SpanContext> {
        match event {
            AgentEvent::PromptStarted { prompt_id, .. } => {
                self.close(now);
                let attributes = [
                    KeyValue::new("gen_ai.conversation.id", self.session_id.clone()),
                    KeyValue::new("prompt_id", prompt_id.clone()),
                ];
                let span = self.open("user_prompt", SpanKind::Internal, None, now, attributes);
                self.turn.insert(span).span_context().clone().into()
            }
            AgentEvent::ModelRequest { request, prompt_id } => {
                let attributes = [
                    KeyValue::new("gen_ai.operation.name", "generate_content"),
                    KeyValue::new("gen_ai.request.model", request.model.clone()),
                    KeyValue::new("prompt_id", prompt_id.clone()),
                ];
                let span = self.open("llm_call", SpanKind::Client, self.turn(), now, attributes);
                self.request.insert(span).span_context().clone().into()
            }
            AgentEvent::ModelResponse { usage, .. } => {
                let mut span = self.request.take()?;
                if let Some(usage) = usage {
                    span.set_attribute(count("gen_ai.usage.input_tokens", usage.prompt));
                    span.set_attribute(count("gen_ai.usage.output_tokens", usage.candidates));
                }
                Some(end(&mut span, None, now))
            }
            AgentEvent::ModelFailed { .. } => {
                let mut span = self.request.take()?;
                Some(end(&mut span, Some("api_error"), now))
            }
            AgentEvent::ToolRequested { call_id, name, args } => Some(self.open_tool(call_id, name, args, now)),
            AgentEvent::ToolStarted(start) if !self.tools.iter().any(|tool| tool.call_id == start.call_id) => {
                Some(self.open_tool(&start.call_id, &start.name, &start.args, now))
            }
            AgentEvent::ToolFinished(finished) => {
                let known = self.tools.iter().position(|tool| tool.call_id == finished.call_id);
                let at = known.unwrap_or_else(|| {
                    let began = before(now, finished.duration);
                    self.open_tool(&finished.call_id, &finished.name, &finished.args, began);
                    self.tools.len() - 1
                });
                let mut tool = self.tools.remove(at);
                tool.span.set_attribute(KeyValue::new("success", finished.error.is_none()));
                Some(end(&mut tool.span, finished.error.as_ref().map(|error| error.kind.as_str()), now))
            }
            AgentEvent::HookFinished { report, input } => Some(self.hook(report, input, content, now)),
            AgentEvent::TurnFinished(outcome) => {
                let turn = self.turn();
                if let Some(span) = &mut self.turn {
                    span.set_attribute(KeyValue::new("outcome", outcome_name(outcome)));
                    if let TurnEnd::Failed { .. } = outcome {
                        span.set_status(Status::error(outcome_name(outcome)));
                    }
                }
                self.close(now);
                turn
            }
            _ => self.turn(),
        }
    }

    /// Ends whatever is still open.
    pub(crate) fn close(&mut self, now: SystemTime) {
        let tools = self.tools.drain(..).map(|tool| tool.span);
        for mut span in tools.chain(self.request.take()).chain(self.turn.take()) {
            span.end_with_timestamp(now);
        }
    }

    fn turn(&self) -> Option<SpanContext> {
        self.turn.as_ref().map(|span| span.span_context().clone())
    }

    fn open(
        &self,
        name: &'static str,
        kind: SpanKind,
        parent: Option<SpanContext>,
        start: SystemTime,
        attributes: impl IntoIterator<Item = KeyValue>,
    ) -> Span {
        let builder = self.tracer.span_builder(name).with_kind(kind).with_start_time(start).with_attributes(attributes);
        // Whatever else is current in this thread is not ours.
        let context = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        self.tracer.build_with_context(builder, &context)
    }

    fn open_tool(&mut self, call_id: &str, name: &str, args: &Map<String, Value>, start: SystemTime) -> SpanContext {
        let name = canonical_tool_name(name).to_owned();
        let attributes = [
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", name.clone()),
            KeyValue::new("gen_ai.tool.call.id", call_id.to_owned()),
        ];
        let span = self.open("tool_call", SpanKind::Internal, self.turn(), start, attributes);
        let context = span.span_context().clone();
        self.tools.push(OpenTool { call_id: call_id.to_owned(), name, args: args.clone(), span });
        context
    }

    fn hook(&self, report: &RunReport, input: &HookInput, content: Content, now: SystemTime) -> SpanContext {
        let mut attributes = vec![
            KeyValue::new("hook_event_name", report.event.name()),
            KeyValue::new("hook_name", hook_name(report, content).to_owned()),
            KeyValue::new("status", report.status.as_str()),
        ];
        attributes.extend(report.exit_code.map(|code| KeyValue::new("exit_code", i64::from(code))));
        let start = before(now, report.duration);
        let parent = self.parent(report.event, input);
        let mut span = self.open("hook_call", SpanKind::Internal, parent, start, attributes);
        // A hook that says no has done its work.
        let error = (!report.succeeded()).then_some(report.status.as_str());
        end(&mut span, error, now)
    }

    /// Within what a hook ran.
    fn parent(&self, event: EventKind, input: &HookInput) -> Option<SpanContext> {
        let within = match event {
            EventKind::BeforeTool | EventKind::AfterTool | EventKind::Notification => self.tool(input),
            EventKind::AfterModel => self.request.as_ref(),
            _ => None,
        };
        within.map(|span| span.span_context().clone()).or_else(|| self.turn())
    }

    /// The call that a hook is about. Hooks are not told its id: where several are open, name and arguments tell.
    fn tool(&self, input: &HookInput) -> Option<&Span> {
        if let [tool] = self.tools.as_slice() {
            return Some(&tool.span);
        }
        if self.tools.is_empty() {
            return None;
        }
        let text = input.to_json();
        let about: About<'_> = serde_json::from_str(&text).ok()?;
        let mut named = self.tools.iter().filter(|tool| tool.name == about.tool_name);
        let same = named.clone().find(|tool| tool.args == about.tool_input);
        same.or_else(|| named.next()).map(|tool| &tool.span)
    }
}

/// What a hook is told of a call.
#[derive(Deserialize)]
struct About<'a> {
    #[serde(borrow)]
    tool_name: Cow<'a, str>,
    tool_input: Map<String, Value>,
}

/// Ends a span, well or with an error.
fn end(span: &mut Span, error: Option<&str>, now: SystemTime) -> SpanContext {
    if let Some(error) = error {
        span.set_attribute(KeyValue::new("error.type", error.to_owned()));
        span.set_status(Status::error(error.to_owned()));
    }
    span.end_with_timestamp(now);
    span.span_context().clone()
}

fn before(now: SystemTime, duration: Duration) -> SystemTime {
    now.checked_sub(duration).unwrap_or(now)
}

fn count(name: &'static str, value: u64) -> KeyValue {
    KeyValue::new(name, i64::try_from(value).unwrap_or(i64::MAX))
}

fn outcome_name(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Answered => "answered",
        TurnEnd::Blocked(_) => "blocked",
        TurnEnd::Stopped(_) => "stopped",
        TurnEnd::Cancelled => "cancelled",
        TurnEnd::TurnLimit(_) => "turn_limit",
        TurnEnd::Loop(_) => "loop",
        TurnEnd::Failed { .. } => "failed",
    }
}
