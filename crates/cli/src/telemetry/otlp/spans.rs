//! Spans: the invocation of an agent contains its model requests, tool calls and hooks; a request contains the hooks
//! that see its answer, and a call the hooks that guard it and the invocation of a sub-agent.
//!
//! Names and attributes are those of OpenTelemetry's conventions for generative AI (`names.rs`). The verdict of an
//! event's hooks is an event of the span of what they judged.

use std::time::{Duration, SystemTime};

use hookwright_agent::{AgentEvent, HookEvent, ModelEvent, ToolEnd, ToolEvent, TurnEnd, TurnEvent};
use hookwright_hooks::{EventKind, RunContext, RunReport, SubAgent, canonical_tool_name};
use hookwright_model::{Chunk, Usage};
use serde_json::json;
use uuid::Uuid;

use crate::telemetry::TelemetrySession;
use crate::telemetry::names::{self, CHAT, EXECUTE_TOOL, INVOKE_AGENT, RUN_HOOK, VERDICT};
use crate::telemetry::record::{
    ContentPolicy, FieldValue, TelemetryFields, finish_reason, hook_name, is_unknown, tool_name, verdict_fields,
};

/// A span with its times and its parent.
#[derive(Debug)]
pub(super) struct OtlpSpan {
    pub(super) context: SpanContext,
    pub(super) parent: Option<SpanContext>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
    pub(super) attributes: TelemetryFields<'static>,
    pub(super) events: Vec<SpanEvent>,
    pub(super) error: Option<String>,
}

/// An event at one time within a span.
#[derive(Debug)]
pub(super) struct SpanEvent {
    pub(super) name: &'static str,
    pub(super) time: SystemTime,
    pub(super) attributes: TelemetryFields<'static>,
}

/// Whether a span is this process's own work or a request to a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpanKind {
    Internal,
    Client,
}

/// The identifiers of a span, and whether its trace is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanContext {
    trace: u128,
    span: u64,
    is_sampled: bool,
}

impl SpanContext {
    /// Parses W3C's `traceparent`: `00-TRACE-SPAN-FLAGS`, in lower-case hexadecimal digits.
    pub(super) fn parse_traceparent(text: &str) -> Option<SpanContext> {
        let mut parts = text.trim().split('-');
        let mut hex = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            let is_hex = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if is_hex { u128::from_str_radix(part, 16).ok() } else { None }
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        // Later versions may have more parts; 255 is forbidden.
        if version == 0xff || version == 0 && parts.next().is_some() || trace == 0 || span == 0 {
            return None;
        }
        Some(SpanContext { trace, span: u64::try_from(span).ok()?, is_sampled: flags & 1 == 1 })
    }

    /// Returns a new context within a parent, or one that begins a trace.
    fn child_of(parent: Option<SpanContext>) -> Self {
        let trace = parent.map_or_else(|| Uuid::new_v4().as_u128(), |parent| parent.trace);
        let is_sampled = parent.is_none_or(|parent| parent.is_sampled);
        // This half of the UUID has fixed variant bits, so it is never zero.
        SpanContext { trace, span: Uuid::new_v4().as_u64_pair().1, is_sampled }
    }

    pub(super) fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    pub(super) fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// Returns W3C's trace flags.
    pub(super) fn flags(&self) -> u8 {
        u8::from(self.is_sampled)
    }

    pub(super) fn is_sampled(&self) -> bool {
        self.is_sampled
    }
}

impl OtlpSpan {
    fn set(&mut self, name: &'static str, value: impl Into<FieldValue<'static>>) {
        self.attributes.push((name, value.into()));
    }

    /// Sets an attribute that the span does not have yet.
    fn set_once(&mut self, name: &'static str, value: impl FnOnce() -> String) {
        if self.attributes.iter().all(|(known, _)| *known != name) {
            self.set(name, value());
        }
    }

    /// Marks the span as failed, if there is an error.
    fn fail(&mut self, error: Option<&str>) {
        if let Some(error) = error {
            self.set(names::ERROR_TYPE, error.to_owned());
            self.error = Some(error.to_owned());
        }
    }

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
    provider: &'static str,
    /// The span of another program within which this session runs.
    remote_parent: Option<SpanContext>,
    /// The id of the last prompt.
    prompt: Option<String>,
    /// The agents that work: the main agent first, then its sub-agents.
    agents: Vec<OpenAgent>,
    requests: Vec<OpenRequest>,
    tools: Vec<OpenTool>,
    finished: Vec<OtlpSpan>,
}

#[derive(Debug)]
struct OpenAgent {
    /// The run of a sub-agent; `None` for the main agent.
    id: Option<String>,
    span: OtlpSpan,
    /// The tokens of all its requests, if the provider reports them.
    usage: Option<Usage>,
}

/// A request to the model; an agent makes one at a time.
#[derive(Debug)]
struct OpenRequest {
    agent_id: Option<String>,
    span: OtlpSpan,
}

#[derive(Debug)]
struct OpenTool {
    call_id: String,
    agent_id: Option<String>,
    name: String,
    /// Whether the call was reported; hooks judge it before that, and calls of the program itself are never reported.
    is_announced: bool,
    span: OtlpSpan,
}

impl SpanTracker {
    pub(super) fn new(facts: &TelemetrySession) -> Self {
        let (agents, requests, tools, finished) = Default::default();
        SpanTracker {
            session_id: facts.session_id.clone(),
            provider: facts.provider,
            remote_parent: facts.collector.remote_parent,
            prompt: None,
            agents,
            requests,
            tools,
            finished,
        }
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
        let delegating_call = match event {
            AgentEvent::SubAgent { call_id, .. } => Some(&**call_id),
            _ => None,
        };
        let (agent, event) = event.unwrap_subagent();
        let agent_id = agent.map(|agent| agent.id.as_str());
        match event {
            AgentEvent::Turn(TurnEvent::Received { prompt_id, .. }) => {
                Some(self.open_agent(agent.zip(delegating_call), prompt_id, now))
            }
            AgentEvent::Turn(TurnEvent::Started { prompt, prompt_id }) => {
                let context = self.open_agent(agent.zip(delegating_call), prompt_id, now);
                if content == ContentPolicy::Included
                    && let Some(at) = self.agent(agent_id)
                {
                    self.agents[at].span.set_once(names::INPUT_MESSAGES, || message_json("user", prompt, None));
                }
                Some(context)
            }
            AgentEvent::Model(ModelEvent::Requested { request, .. }) => {
                let mut span = self.child_span(CHAT, &request.model, SpanKind::Client, agent_id, now);
                span.set(names::PROVIDER_NAME, self.provider);
                span.set(names::REQUEST_MODEL, request.model.clone());
                let context = span.context;
                if let Some(at) = self.agent(agent_id) {
                    self.agents[at].span.set_once(names::REQUEST_MODEL, || request.model.clone());
                }
                self.requests.push(OpenRequest { agent_id: agent_id.map(str::to_owned), span });
                Some(context)
            }
            AgentEvent::Model(ModelEvent::Answered { model, usage, response, .. }) => {
                let mut span = self.take_request(agent_id)?;
                span.set(names::RESPONSE_MODEL, model.clone());
                if let Some(usage) = usage {
                    set_usage(&mut span, usage);
                    span.set(names::CACHE_READ_TOKENS, usage.cached);
                    span.set(names::REASONING_TOKENS, usage.thoughts);
                    if let Some(at) = self.agent(agent_id) {
                        add_usage(self.agents[at].usage.get_or_insert_default(), usage);
                    }
                }
                set_answer(&mut span, response, content);
                Some(self.end_span(span, None, now))
            }
            AgentEvent::Model(ModelEvent::Failed { .. }) => {
                let span = self.take_request(agent_id)?;
                Some(self.end_span(span, Some("api_error"), now))
            }
            AgentEvent::Tool(ToolEvent::Requested { call_id, name, .. }) => {
                Some(self.announce_tool(agent_id, call_id, name, now))
            }
            AgentEvent::Tool(ToolEvent::Started(start)) => {
                Some(self.announce_tool(agent_id, &start.call_id, &start.name, now))
            }
            AgentEvent::Tool(ToolEvent::Finished(finished)) => Some(self.end_tool(agent_id, finished, content, now)),
            AgentEvent::Hook(HookEvent::Finished { report, .. }) => Some(self.record_hook(report, content, now)),
            AgentEvent::Hook(HookEvent::Decided(verdict)) => {
                let attributes = verdict_fields(verdict, &self.session_id, content);
                let call = verdict.context.tool_use_id.as_deref().and_then(|call| self.tool(call));
                if let Some((at, name)) = call.zip(verdict.tool.as_deref())
                    && !self.tools[at].is_announced
                {
                    self.tools[at].name = canonical_tool_name(name).to_owned();
                }
                let span = self.judged_span(&verdict.context, verdict.event)?;
                span.events.push(SpanEvent { name: VERDICT, time: now, attributes });
                Some(span.context)
            }
            AgentEvent::Turn(TurnEvent::Finished(outcome)) => {
                let at = self.agents.iter().position(|agent| agent.id.as_deref() == agent_id)?;
                let span = &mut self.agents[at].span;
                let context = span.context;
                span.set(names::TURN_OUTCOME, outcome_name(outcome));
                let is_failed = matches!(outcome, TurnEnd::Failed { .. });
                span.fail(is_failed.then(|| outcome_name(outcome)));
                match agent_id {
                    Some(_) => self.close_agent(at, now),
                    None => self.close(now),
                }
                Some(context)
            }
            _ => self.agent(agent_id).map(|at| self.agents[at].span.context),
        }
    }

    /// Ends all open spans.
    pub(super) fn close(&mut self, now: SystemTime) {
        while let Some(last) = self.agents.len().checked_sub(1) {
            self.close_agent(last, now);
        }
        // What is left began outside of a turn.
        self.close_operations(|_| true, now);
    }

    /// Ends the span of an agent and the open spans within it.
    fn close_agent(&mut self, at: usize, now: SystemTime) {
        let OpenAgent { id, mut span, usage } = self.agents.remove(at);
        self.close_operations(|agent_id| *agent_id == id, now);
        if let Some(usage) = usage {
            set_usage(&mut span, &usage);
        }
        self.finished.push(span.ended_at(now));
    }

    /// Ends the open calls and requests of some agents.
    fn close_operations(&mut self, is_closed: impl Fn(&Option<String>) -> bool, now: SystemTime) {
        for mut tool in self.tools.extract_if(.., |tool| is_closed(&tool.agent_id)) {
            name_tool(&mut tool.span, &tool.name);
            // A call that was never reported ends with its last hook.
            let end = if tool.is_announced { now } else { tool.span.end };
            self.finished.push(tool.span.ended_at(end));
        }
        let requests = self.requests.extract_if(.., |request| is_closed(&request.agent_id));
        self.finished.extend(requests.map(|request| request.span.ended_at(now)));
    }

    /// Ends a span, with an error if there is one.
    fn end_span(&mut self, mut span: OtlpSpan, error: Option<&str>, now: SystemTime) -> SpanContext {
        span.fail(error);
        let context = span.context;
        self.finished.push(span.ended_at(now));
        context
    }

    /// Returns the position of an agent that works; what belongs to an unknown sub-agent belongs to the main agent.
    fn agent(&self, id: Option<&str>) -> Option<usize> {
        let known = self.agents.iter().position(|agent| agent.id.as_deref() == id);
        known.or((!self.agents.is_empty()).then_some(0))
    }

    fn take_request(&mut self, agent_id: Option<&str>) -> Option<OtlpSpan> {
        let at = self.requests.iter().rposition(|request| request.agent_id.as_deref() == agent_id)?;
        Some(self.requests.remove(at).span)
    }

    fn tool(&self, call_id: &str) -> Option<usize> {
        self.tools.iter().position(|tool| tool.call_id == call_id)
    }

    /// Returns the span of an agent for a prompt, which is opened if the prompt is new.
    fn open_agent(&mut self, subagent: Option<(&SubAgent, &str)>, prompt_id: &str, now: SystemTime) -> SpanContext {
        let id = subagent.map(|(agent, _)| agent.id.clone());
        let is_new_turn = subagent.is_none() && self.prompt.as_deref() != Some(prompt_id);
        if let Some(known) = self.agents.iter().find(|agent| agent.id == id).filter(|_| !is_new_turn) {
            return known.span.context;
        }
        let parent = match subagent {
            None => {
                self.close(now);
                self.prompt = Some(prompt_id.to_owned());
                self.remote_parent
            }
            Some((_, call_id)) => {
                let call = self.tool(call_id).map(|at| self.tools[at].span.context);
                call.or_else(|| self.agents.first().map(|main| main.span.context))
            }
        };
        let name = subagent.map_or("hookwright", |(agent, _)| &agent.name);
        let mut span = open_span(INVOKE_AGENT, name, SpanKind::Internal, parent, now);
        span.set(names::OPERATION_NAME, INVOKE_AGENT);
        span.set(names::PROVIDER_NAME, self.provider);
        span.set(names::CONVERSATION_ID, self.session_id.clone());
        span.set(names::AGENT_NAME, name.to_owned());
        match &id {
            Some(id) => span.set(names::AGENT_ID, id.clone()),
            None => span.set(names::AGENT_VERSION, env!("CARGO_PKG_VERSION")),
        }
        span.set(names::TURN_ID, prompt_id.to_owned());
        let context = span.context;
        self.agents.push(OpenAgent { id, span, usage: None });
        context
    }

    /// Returns a new span of an operation within an agent.
    fn child_span(
        &self,
        operation: &'static str,
        target: &str,
        kind: SpanKind,
        agent_id: Option<&str>,
        start: SystemTime,
    ) -> OtlpSpan {
        let parent = self.agent(agent_id).map(|at| self.agents[at].span.context).or(self.remote_parent);
        let mut span = open_span(operation, target, kind, parent, start);
        span.set(names::OPERATION_NAME, operation);
        self.set_session(&mut span, self.prompt.as_deref());
        span
    }

    /// Sets the attributes that tie a span to its session and its turn.
    fn set_session(&self, span: &mut OtlpSpan, turn_id: Option<&str>) {
        span.set(names::CONVERSATION_ID, self.session_id.clone());
        if let Some(turn_id) = turn_id {
            span.set(names::TURN_ID, turn_id.to_owned());
        }
    }

    /// Returns the span of a call that was reported, which is opened unless a hook has judged the call before.
    fn announce_tool(&mut self, agent_id: Option<&str>, call_id: &str, name: &str, start: SystemTime) -> SpanContext {
        let at = self.tool(call_id).unwrap_or_else(|| self.open_tool(agent_id, call_id, start));
        let tool = &mut self.tools[at];
        // Whether the tool exists, and so whether its name is recorded, is known when the call ends.
        tool.name = canonical_tool_name(name).to_owned();
        tool.is_announced = true;
        tool.span.context
    }

    fn open_tool(&mut self, agent_id: Option<&str>, call_id: &str, start: SystemTime) -> usize {
        let name = "unknown_tool".to_owned();
        let mut span = self.child_span(EXECUTE_TOOL, &name, SpanKind::Internal, agent_id, start);
        span.set(names::TOOL_CALL_ID, call_id.to_owned());
        span.set(names::TOOL_TYPE, "function");
        let (call_id, agent_id) = (call_id.to_owned(), agent_id.map(str::to_owned));
        self.tools.push(OpenTool { call_id, agent_id, name, is_announced: false, span });
        self.tools.len() - 1
    }

    fn end_tool(
        &mut self,
        agent_id: Option<&str>,
        finished: &ToolEnd,
        content: ContentPolicy,
        now: SystemTime,
    ) -> SpanContext {
        let at = self.tool(&finished.call_id).unwrap_or_else(|| {
            let began = time_before(now, finished.duration);
            self.open_tool(agent_id, &finished.call_id, began)
        });
        let mut span = self.tools.remove(at).span;
        name_tool(&mut span, canonical_tool_name(tool_name(finished)));
        if let Some(decision) = finished.decision {
            span.set(names::TOOL_DECISION, decision.as_str());
        }
        if content == ContentPolicy::Included
            && !is_unknown(finished)
            && let Ok(args) = serde_json::to_string(&finished.args)
        {
            span.set(names::TOOL_ARGUMENTS, args);
        }
        self.end_span(span, finished.error.as_ref().map(|error| error.kind.as_str()), now)
    }

    fn record_hook(&mut self, report: &RunReport, content: ContentPolicy, now: SystemTime) -> SpanContext {
        let start = time_before(now, report.duration);
        if report.event == EventKind::BeforeTool && !report.in_background {
            self.extend_judged_call(&report.context, start, now);
        }
        let parent = self.judged_span(&report.context, report.event).map(|span| span.context).or(self.remote_parent);
        let mut span = open_span(RUN_HOOK, report.event.name(), SpanKind::Internal, parent, start);
        self.set_session(&mut span, report.context.turn_id.as_deref());
        span.set(names::EVENT_ID, report.id.event.to_string());
        span.set(names::EVENT_NAME, report.event.name());
        span.set(names::RUN_ID, report.id.to_string());
        span.set(names::HOOK_NAME, hook_name(report, content).to_owned());
        span.set(names::HOOK_TYPE, report.hook_type);
        span.set(names::HOOK_GUARD, FieldValue::Flag(report.is_guard()));
        span.set(names::HOOK_STATUS, report.status.as_str());
        let decision = if report.answer.stop { Some("stop") } else { report.decision().map(|one| one.as_str()) };
        if let Some(decision) = decision {
            span.set(names::HOOK_DECISION, decision);
        }
        if let Some(code) = report.exit_code {
            span.set(names::HOOK_EXIT_CODE, FieldValue::Number(code.into()));
        }
        // A hook that denies has succeeded.
        let error = (!report.succeeded()).then_some(report.status.as_str());
        self.end_span(span, error, now)
    }

    /// Opens the span of a call that is not reported yet, and has it contain the run of a hook.
    fn extend_judged_call(&mut self, context: &RunContext, start: SystemTime, end: SystemTime) {
        let Some(call_id) = context.tool_use_id.as_deref() else { return };
        let agent_id = context.agent.as_deref().map(|agent| agent.id.as_str());
        let at = self.tool(call_id).unwrap_or_else(|| self.open_tool(agent_id, call_id, start));
        let OpenTool { is_announced, span, .. } = &mut self.tools[at];
        if !*is_announced {
            span.start = span.start.min(start);
            span.end = span.end.max(end);
        }
    }

    /// Returns the span of what the hooks of an event judge: the call, the request whose answer they see, or the agent.
    fn judged_span(&mut self, context: &RunContext, event: EventKind) -> Option<&mut OtlpSpan> {
        if let Some(at) = context.tool_use_id.as_deref().and_then(|call| self.tool(call)) {
            return Some(&mut self.tools[at].span);
        }
        let agent_id = context.agent.as_deref().map(|agent| agent.id.as_str());
        let request = self.requests.iter().rposition(|request| request.agent_id.as_deref() == agent_id);
        if let Some(at) = request.filter(|_| event == EventKind::AfterModel) {
            return Some(&mut self.requests[at].span);
        }
        self.agent(agent_id).map(|at| &mut self.agents[at].span)
    }
}

/// Returns a new span that starts at `start`.
fn open_span(
    operation: &str,
    target: &str,
    kind: SpanKind,
    parent: Option<SpanContext>,
    start: SystemTime,
) -> OtlpSpan {
    let context = SpanContext::child_of(parent);
    let (attributes, events) = Default::default();
    let name = format!("{operation} {target}");
    OtlpSpan { context, parent, name, kind, start, end: start, attributes, events, error: None }
}

fn name_tool(span: &mut OtlpSpan, name: &str) {
    span.name = format!("{EXECUTE_TOOL} {name}");
    span.set(names::TOOL_NAME, name.to_owned());
}

fn set_usage(span: &mut OtlpSpan, usage: &Usage) {
    span.set(names::INPUT_TOKENS, usage.prompt);
    span.set(names::OUTPUT_TOKENS, usage.candidates.saturating_add(usage.thoughts));
}

fn add_usage(sum: &mut Usage, usage: &Usage) {
    sum.prompt = sum.prompt.saturating_add(usage.prompt);
    sum.candidates = sum.candidates.saturating_add(usage.candidates);
    sum.thoughts = sum.thoughts.saturating_add(usage.thoughts);
}

fn set_answer(span: &mut OtlpSpan, response: &Chunk, content: ContentPolicy) {
    let reason = response.finish_reason.as_ref().map(|reason| finish_reason(reason).to_owned());
    let text = response.text();
    if content == ContentPolicy::Included && !text.is_empty() {
        span.set(names::OUTPUT_MESSAGES, message_json("assistant", &text, reason.as_deref()));
    }
    if let Some(reason) = reason {
        span.set(names::FINISH_REASONS, FieldValue::Texts(vec![reason.into()]));
    }
}

/// Returns a list of one message, in the form that the conventions prescribe.
fn message_json(role: &str, text: &str, finish_reason: Option<&str>) -> String {
    let mut message = json!({"role": role, "parts": [{"type": "text", "content": text}]});
    if let Some(reason) = finish_reason {
        message["finish_reason"] = reason.into();
    }
    json!([message]).to_string()
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
            let mut spans = SpanTracker::new(&TelemetrySession::default());
            let prompt =
                |id: &str| AgentEvent::Turn(TurnEvent::Started { prompt: String::new(), prompt_id: id.to_owned() });
            spans.record(&prompt(prompt_id), ContentPolicy::Omitted, now);
            spans.announce_tool(None, "c1", "glob", now);
            match next {
                Some(()) => drop(spans.record(&prompt("p2"), ContentPolicy::Omitted, now - hour)),
                None => spans.close(now - hour),
            }
            let finished = spans.take_finished();
            assert_eq!(finished.len(), 2);
            assert!(finished.iter().all(|span| span.end == span.start), "{finished:?}");
        }
    }

    #[test]
    fn a_traceparent_that_is_not_valid_is_ignored() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let valid = SpanContext::parse_traceparent(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!((valid.trace_id().as_str(), valid.span_id().as_str(), valid.flags()), (trace, span, 1));
        assert_eq!(SpanContext::parse_traceparent(&format!("00-{trace}-{span}-00")).unwrap().flags(), 0);
        assert!(SpanContext::parse_traceparent(&format!("42-{trace}-{span}-01-more")).is_some());
        for wrong in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-+{}-{span}-01", &trace[1..]),
        ] {
            assert_eq!(SpanContext::parse_traceparent(&wrong), None, "{wrong}");
        }
    }
}
