//! Spans: a turn contains requests, tools and hooks; a request contains the hooks that see its answer, and a tool the
//! hooks that guard it.
//!
//! Spans carry no prompts, arguments or output: those are in log records.

use std::time::{Duration, SystemTime};

use hookwright_agent::{AgentEvent, TurnEnd};
use hookwright_hooks::{EventKind, RunReport, canonical_tool_name};
use uuid::Uuid;

use crate::telemetry::record::{ContentPolicy, FieldValue, TelemetryFields, hook_name, tool_name};

/// A span with its times and its parent.
#[derive(Debug)]
pub(super) struct OtlpSpan {
    pub(super) context: SpanContext,
    pub(super) parent: Option<SpanContext>,
    pub(super) name: &'static str,
    pub(super) kind: SpanKind,
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
    pub(super) attributes: TelemetryFields<'static>,
    pub(super) error: Option<String>,
}

/// Whether a span is this process's own work or a request to a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpanKind {
    Internal,
    Client,
}

/// The identifiers of a span: its trace and itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanContext {
    trace: u128,
    span: u64,
}

impl SpanContext {
    /// Returns a new context within a parent, or one that begins a trace.
    fn child_of(parent: Option<SpanContext>) -> Self {
        let trace = parent.map_or_else(|| Uuid::new_v4().as_u128(), |parent| parent.trace);
        // This half of the UUID has fixed variant bits, so it is never zero.
        SpanContext { trace, span: Uuid::new_v4().as_u64_pair().1 }
    }

    pub(super) fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    pub(super) fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }
}

impl OtlpSpan {
    fn set(&mut self, name: &'static str, value: impl Into<FieldValue<'static>>) {
        self.attributes.push((name, value.into()));
    }
}

impl OtlpSpan {
    /// Returns the span with its end set.
    ///
    /// The clock may have been set back between two turns; the end is never before the start.
    fn ended_at(self, now: SystemTime) -> OtlpSpan {
        OtlpSpan { end: now.max(self.start), ..self }
    }
}

/// The open spans of a session, and the finished ones that are not sent yet.
#[derive(Debug)]
pub(super) struct SpanTracker {
    session_id: String,
    /// The id of the last prompt.
    prompt: Option<String>,
    turn: Option<OtlpSpan>,
    request: Option<OtlpSpan>,
    tools: Vec<OpenTool>,
    finished: Vec<OtlpSpan>,
}

#[derive(Debug)]
struct OpenTool {
    call_id: String,
    name: String,
    span: OtlpSpan,
}

impl SpanTracker {
    pub(super) fn new(session_id: &str) -> Self {
        let (tools, finished) = Default::default();
        SpanTracker { session_id: session_id.to_owned(), prompt: None, turn: None, request: None, tools, finished }
    }

    /// Returns the spans that finished since the last call.
    pub(super) fn take_finished(&mut self) -> Vec<OtlpSpan> {
        std::mem::take(&mut self.finished)
    }

    /// Opens and closes spans for an event, and returns the span that the event belongs to.
    pub(super) fn record(
        &mut self,
        event: &AgentEvent,
        content: ContentPolicy,
        now: SystemTime,
    ) -> Option<SpanContext> {
        match event {
            // Sub-agents run concurrently, and so do their requests; those events belong to the span of the sub-agent's
            // call.
            AgentEvent::SubAgent { call_id, event, .. } => match &**event {
                AgentEvent::ToolRequested { .. } | AgentEvent::ToolStarted(_) | AgentEvent::ToolFinished(_) => {
                    self.record(event, content, now)
                }
                _ => self.tools.iter().find(|tool| *tool.call_id == **call_id).map(|tool| tool.span.context),
            },
            AgentEvent::PromptStarted { prompt_id, .. } if self.prompt.as_ref() == Some(prompt_id) => {
                self.turn_context()
            }
            AgentEvent::PromptReceived { prompt_id, .. } | AgentEvent::PromptStarted { prompt_id, .. } => {
                self.close(now);
                self.prompt = Some(prompt_id.clone());
                let attributes = [
                    ("gen_ai.conversation.id", self.session_id.clone().into()),
                    ("prompt_id", prompt_id.clone().into()),
                ];
                let span = open_span("user_prompt", SpanKind::Internal, None, now, attributes);
                Some(self.turn.insert(span).context)
            }
            AgentEvent::ModelRequest { request, prompt_id } => {
                let attributes = [
                    ("gen_ai.operation.name", "generate_content".into()),
                    ("gen_ai.request.model", request.model.clone().into()),
                    ("prompt_id", prompt_id.clone().into()),
                ];
                let span = open_span("llm_call", SpanKind::Client, self.turn_context(), now, attributes);
                Some(self.request.insert(span).context)
            }
            AgentEvent::ModelResponse { usage, .. } => {
                let mut span = self.request.take()?;
                if let Some(usage) = usage {
                    span.set("gen_ai.usage.input_tokens", usage.prompt);
                    span.set("gen_ai.usage.output_tokens", usage.candidates);
                }
                Some(self.end_span(span, None, now))
            }
            AgentEvent::ModelFailed { .. } => {
                let span = self.request.take()?;
                Some(self.end_span(span, Some("api_error"), now))
            }
            AgentEvent::ToolRequested { call_id, name, .. } => Some(self.open_tool(call_id, name, now)),
            AgentEvent::ToolStarted(start) if !self.tools.iter().any(|tool| tool.call_id == start.call_id) => {
                Some(self.open_tool(&start.call_id, &start.name, now))
            }
            AgentEvent::ToolFinished(finished) => {
                let known = self.tools.iter().position(|tool| tool.call_id == finished.call_id);
                let at = known.unwrap_or_else(|| {
                    let began = time_before(now, finished.duration);
                    self.open_tool(&finished.call_id, &finished.name, began);
                    self.tools.len() - 1
                });
                let mut tool = self.tools.remove(at);
                tool.span.set("gen_ai.tool.name", canonical_tool_name(tool_name(finished)).to_owned());
                tool.span.set("success", FieldValue::Flag(finished.error.is_none()));
                Some(self.end_span(tool.span, finished.error.as_ref().map(|error| error.kind.as_str()), now))
            }
            AgentEvent::HookFinished { report, .. } => Some(self.record_hook(report, content, now)),
            AgentEvent::TurnFinished(outcome) => {
                let turn = self.turn_context();
                if let Some(span) = &mut self.turn {
                    span.set("outcome", outcome_name(outcome));
                    if let TurnEnd::Failed { .. } = outcome {
                        span.error = Some(outcome_name(outcome).to_owned());
                    }
                }
                self.close(now);
                turn
            }
            _ => self.turn_context(),
        }
    }

    /// Ends all open spans.
    pub(super) fn close(&mut self, now: SystemTime) {
        let tools = self.tools.drain(..).map(|OpenTool { name, mut span, .. }| {
            span.set("gen_ai.tool.name", name);
            span
        });
        let open = tools.chain(self.request.take()).chain(self.turn.take());
        self.finished.extend(open.map(|span| span.ended_at(now)));
    }

    /// Ends a span, with an error if there is one.
    fn end_span(&mut self, mut span: OtlpSpan, error: Option<&str>, now: SystemTime) -> SpanContext {
        if let Some(error) = error {
            span.set("error.type", error.to_owned());
            span.error = Some(error.to_owned());
        }
        let context = span.context;
        self.finished.push(span.ended_at(now));
        context
    }

    fn turn_context(&self) -> Option<SpanContext> {
        self.turn.as_ref().map(|span| span.context)
    }

    fn open_tool(&mut self, call_id: &str, name: &str, start: SystemTime) -> SpanContext {
        let attributes =
            [("gen_ai.operation.name", "execute_tool".into()), ("gen_ai.tool.call.id", call_id.to_owned().into())];
        let span = open_span("tool_call", SpanKind::Internal, self.turn_context(), start, attributes);
        let context = span.context;
        // Whether the tool exists is known when the call ends.
        let name = canonical_tool_name(name).to_owned();
        self.tools.push(OpenTool { call_id: call_id.to_owned(), name, span });
        context
    }

    fn record_hook(&mut self, report: &RunReport, content: ContentPolicy, now: SystemTime) -> SpanContext {
        let mut attributes = vec![
            ("hook_event_name", report.event.name().into()),
            ("hook_name", hook_name(report, content).to_owned().into()),
            ("status", report.status.as_str().into()),
            ("event_id", report.id.event.to_string().into()),
            ("run_id", report.id.to_string().into()),
        ];
        attributes.extend(report.exit_code.map(|code| ("exit_code", FieldValue::Number(code.into()))));
        let start = time_before(now, report.duration);
        let parent = self.hook_parent(report);
        let span = open_span("hook_call", SpanKind::Internal, parent, start, attributes);
        // A hook that denies has succeeded.
        let error = (!report.succeeded()).then_some(report.status.as_str());
        self.end_span(span, error, now)
    }

    /// Returns the parent of a hook's span: the call that it is about, the request whose answer it sees, or the turn.
    fn hook_parent(&self, report: &RunReport) -> Option<SpanContext> {
        let call = report.context.tool_use_id.as_deref();
        let tool = call.and_then(|call| self.tools.iter().find(|tool| tool.call_id == call)).map(|tool| &tool.span);
        let within = if report.event == EventKind::AfterModel { self.request.as_ref() } else { tool };
        within.map(|span| span.context).or_else(|| self.turn_context())
    }
}

/// Returns a new span that starts at `start`.
fn open_span(
    name: &'static str,
    kind: SpanKind,
    parent: Option<SpanContext>,
    start: SystemTime,
    attributes: impl Into<TelemetryFields<'static>>,
) -> OtlpSpan {
    let (context, attributes) = (SpanContext::child_of(parent), attributes.into());
    OtlpSpan { context, parent, name, kind, start, end: start, attributes, error: None }
}

fn time_before(now: SystemTime, duration: Duration) -> SystemTime {
    now.checked_sub(duration).unwrap_or(now)
}

fn outcome_name(end: &TurnEnd) -> &'static str {
    end.kind().unwrap_or("answered")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_never_ends_before_it_starts_when_the_clock_is_set_back() {
        let (now, hour) = (SystemTime::now(), Duration::from_secs(3600));
        for (prompt_id, next) in [("p1", Some(())), ("p1", None)] {
            let mut spans = SpanTracker::new("s1");
            let prompt = |id: &str| AgentEvent::PromptStarted { prompt: String::new(), prompt_id: id.to_owned() };
            spans.record(&prompt(prompt_id), ContentPolicy::Omitted, now);
            spans.open_tool("c1", "glob", now);
            match next {
                Some(()) => drop(spans.record(&prompt("p2"), ContentPolicy::Omitted, now - hour)),
                None => spans.close(now - hour),
            }
            let finished = spans.take_finished();
            assert_eq!(finished.len(), 2);
            assert!(finished.iter().all(|span| span.end == span.start), "{finished:?}");
        }
    }
}
