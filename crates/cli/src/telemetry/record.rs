//! The log record of each event.
//!
//! This module also decides which content a record carries: [`ContentPolicy`] applies to log records and to spans.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use hookwright_agent::{AgentEvent, HookEvent, ModelEvent, SessionEvent, ToolEnd, ToolEvent, TurnEvent};
use hookwright_hooks::{Answer, HookInput, RunReport, RunStatus, Source, SubAgent, VerdictReport};
use hookwright_model::{Chunk, FinishReason, ModelRequest, Usage};
use hookwright_tools::ToolErrorKind;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{TelemetrySession, names};

/// Whether prompts, answers, arguments, and the input and output of hooks are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentPolicy {
    Included,
    Omitted,
}

/// A log record of one event.
#[derive(Debug)]
pub(crate) struct TelemetryRecord<'a> {
    pub(crate) name: &'static str,
    /// The record in one line, for people.
    pub(crate) body: String,
    pub(crate) fields: TelemetryFields<'a>,
}

/// Names and values, in the order in which they are written.
pub(crate) type TelemetryFields<'a> = Vec<(&'static str, FieldValue<'a>)>;

/// The value of a field; long texts are borrowed.
#[derive(Clone, Debug)]
pub(crate) enum FieldValue<'a> {
    Text(Cow<'a, str>),
    Texts(Vec<Cow<'a, str>>),
    Number(i64),
    Flag(bool),
    Input(&'a HookInput),
}

impl From<String> for FieldValue<'_> {
    fn from(text: String) -> Self {
        FieldValue::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a str> for FieldValue<'a> {
    fn from(text: &'a str) -> Self {
        FieldValue::Text(Cow::Borrowed(text))
    }
}

impl From<u64> for FieldValue<'_> {
    fn from(number: u64) -> Self {
        FieldValue::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<Duration> for FieldValue<'_> {
    fn from(duration: Duration) -> Self {
        FieldValue::from(millis(duration))
    }
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldValue::Text(text) => serializer.serialize_str(text),
            FieldValue::Texts(texts) => serializer.collect_seq(texts),
            FieldValue::Number(number) => serializer.serialize_i64(*number),
            FieldValue::Flag(flag) => serializer.serialize_bool(*flag),
            // The input is escaped piece by piece: it can be large, and joining it would copy it.
            FieldValue::Input(input) => serializer.collect_str(&JoinedInput(input)),
        }
    }
}

struct JoinedInput<'a>(&'a HookInput);

impl fmt::Display for JoinedInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.pieces().iter().try_for_each(|piece| f.write_str(&String::from_utf8_lossy(piece)))
    }
}

/// Returns the record that every session begins with.
pub(crate) fn session_config(facts: &TelemetrySession, content: ContentPolicy) -> TelemetryRecord<'_> {
    let list = |names: &[String]| FieldValue::from(names.join(","));
    TelemetryRecord {
        name: "gemini_cli.config",
        body: "CLI configuration loaded.".to_owned(),
        fields: vec![
            ("model", facts.model.as_str().into()),
            ("approval_mode", facts.approval_mode.as_str().into()),
            ("log_user_prompts_enabled", FieldValue::Flag(content == ContentPolicy::Included)),
            ("debug_mode", FieldValue::Flag(facts.debug)),
            ("output_format", facts.output_format.as_str().into()),
            ("mcp_servers", list(&facts.mcp_servers)),
            ("mcp_servers_count", FieldValue::from(facts.mcp_servers.len() as u64)),
            ("extensions", list(&facts.extensions)),
            ("extensions_count", FieldValue::from(facts.extensions.len() as u64)),
        ],
    }
}

/// Returns the record of an event, if it has one.
pub(crate) fn record_for(event: &AgentEvent, content: ContentPolicy) -> Option<TelemetryRecord<'_>> {
    match event {
        AgentEvent::Turn(TurnEvent::Started { prompt, prompt_id }) => Some(user_prompt(prompt, prompt_id, content)),
        AgentEvent::Model(ModelEvent::Requested { request, prompt_id }) => {
            Some(api_request(request, prompt_id, content))
        }
        AgentEvent::Model(ModelEvent::Answered { model, usage, response, duration, prompt_id }) => {
            Some(api_response(model, usage.unwrap_or_default(), response, *duration, prompt_id, content))
        }
        AgentEvent::Model(ModelEvent::Failed { model, error, duration, prompt_id }) => {
            Some(api_error(model, error, *duration, prompt_id, content))
        }
        AgentEvent::Tool(ToolEvent::Finished(end)) => Some(tool_call(end, content)),
        AgentEvent::SubAgent { agent, event, .. } => record_for_subagent(agent, event, content),
        AgentEvent::Hook(HookEvent::Finished { report, input }) => Some(hook_call(report, input, content)),
        AgentEvent::Session(SessionEvent::Compressed { trigger, before, after }) => Some(TelemetryRecord {
            name: "gemini_cli.chat_compression",
            body: format!("Chat compression (Saved {} tokens)", before.saturating_sub(*after)),
            fields: vec![
                ("tokens_before", (*before).into()),
                ("tokens_after", (*after).into()),
                ("trigger", (*trigger).into()),
            ],
        }),
        _ => None,
    }
}

/// Returns the record of an event in a sub-agent, with the sub-agent's name.
fn record_for_subagent<'a>(
    agent: &'a SubAgent,
    event: &'a AgentEvent,
    content: ContentPolicy,
) -> Option<TelemetryRecord<'a>> {
    let mut record = match event {
        // A sub-agent's prompt was not written by the user, so it is no user prompt.
        AgentEvent::Turn(TurnEvent::Started { prompt_id, .. }) => TelemetryRecord {
            name: "gemini_cli.agent.start",
            body: format!("Agent {} started.", agent.name),
            fields: vec![("prompt_id", prompt_id.as_str().into())],
        },
        AgentEvent::Turn(TurnEvent::Finished(end)) => TelemetryRecord {
            name: "gemini_cli.agent.finish",
            body: format!("Agent {} finished.", agent.name),
            fields: vec![("terminate_reason", end.kind().unwrap_or("answered").into())],
        },
        event => record_for(event, content)?,
    };
    record.fields.extend(agent_fields(Some(agent)));
    Some(record)
}

fn agent_fields(agent: Option<&SubAgent>) -> impl Iterator<Item = (&'static str, FieldValue<'_>)> {
    agent
        .into_iter()
        .flat_map(|agent| [("agent_name", agent.name.as_str()), ("agent_id", agent.id.as_str())])
        .map(|(name, text)| (name, FieldValue::from(text)))
}

fn user_prompt<'a>(prompt: &'a str, prompt_id: &'a str, content: ContentPolicy) -> TelemetryRecord<'a> {
    let length = utf16_length(prompt);
    let mut fields = vec![("prompt_length", FieldValue::from(length)), ("prompt_id", prompt_id.into())];
    if content == ContentPolicy::Included {
        fields.push(("prompt", prompt.into()));
    }
    TelemetryRecord { name: "gemini_cli.user_prompt", body: format!("User prompt. Length: {length}."), fields }
}

fn api_request<'a>(request: &'a ModelRequest, prompt_id: &'a str, content: ContentPolicy) -> TelemetryRecord<'a> {
    let mut fields = vec![("model", FieldValue::from(request.model.as_str())), ("prompt_id", prompt_id.into())];
    if content == ContentPolicy::Included {
        fields.push(("request_text", request.contents_json().into()));
    }
    fields.push(("role", "main".into()));
    TelemetryRecord { name: "gemini_cli.api_request", body: format!("API request to {}.", request.model), fields }
}

fn api_response<'a>(
    model: &'a str,
    usage: Usage,
    response: &'a Chunk,
    duration: Duration,
    prompt_id: &'a str,
    content: ContentPolicy,
) -> TelemetryRecord<'a> {
    let finish_reasons = response.finish_reason.iter().map(|reason| finish_reason(reason).into());
    let mut fields = vec![
        ("model", FieldValue::from(model)),
        ("duration_ms", duration.into()),
        ("input_token_count", usage.prompt.into()),
        ("output_token_count", usage.candidates.into()),
        ("cached_content_token_count", usage.cached.into()),
        ("thoughts_token_count", usage.thoughts.into()),
        ("tool_token_count", usage.tool_use.into()),
        ("total_token_count", usage.total.into()),
        ("prompt_id", prompt_id.into()),
        ("status_code", FieldValue::Number(200)),
        ("finish_reasons", FieldValue::Texts(finish_reasons.collect())),
        ("role", "main".into()),
    ];
    if content == ContentPolicy::Included
        && let Ok(text) = serde_json::to_string(&[response])
    {
        fields.push(("response_text", text.into()));
    }
    fields.push(("http.status_code", FieldValue::Number(200)));
    let body = format!("API response from {model}. Status: 200. Duration: {}ms.", millis(duration));
    TelemetryRecord { name: "gemini_cli.api_response", body, fields }
}

/// Returns the finish reason as OpenTelemetry names it.
pub(crate) fn finish_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::MaxTokens => "length",
        FinishReason::MalformedFunctionCall | FinishReason::UnexpectedToolCall => "error",
        reason if reason.is_blocked() => "content_filter",
        other => other.as_str(),
    }
}

fn api_error<'a>(
    model: &'a str,
    error: &'a str,
    duration: Duration,
    prompt_id: &'a str,
    content: ContentPolicy,
) -> TelemetryRecord<'a> {
    // The lines after the first may quote the request.
    let error = match content {
        ContentPolicy::Included => error,
        ContentPolicy::Omitted => error.lines().next().unwrap_or_default(),
    };
    let fields = vec![
        ("error.message", FieldValue::from(error)),
        ("model_name", model.into()),
        ("duration", duration.into()),
        ("model", model.into()),
        ("error", error.into()),
        ("duration_ms", duration.into()),
        ("prompt_id", prompt_id.into()),
        ("role", "main".into()),
    ];
    let body = format!("API error for {model}. Error: {error}. Duration: {}ms.", millis(duration));
    TelemetryRecord { name: "gemini_cli.api_error", body, fields }
}

fn tool_call(end: &ToolEnd, content: ContentPolicy) -> TelemetryRecord<'_> {
    let success = end.error.is_none();
    let mut fields = vec![
        ("function_name", FieldValue::from(tool_name(end))),
        ("tool_use_id", end.call_id.as_str().into()),
        ("duration_ms", end.duration.into()),
        ("success", FieldValue::Flag(success)),
    ];
    fields.extend(end.decision.map(|decision| ("decision", decision.as_str().into())));
    fields.extend([
        ("prompt_id", end.prompt_id.as_str().into()),
        ("tool_type", tool_type(tool_name(end)).into()),
        ("content_length", utf16_length(&end.content).into()),
    ]);
    let content = if is_unknown(end) { ContentPolicy::Omitted } else { content };
    if content == ContentPolicy::Included
        && let Ok(args) = serde_json::to_string(&end.args)
    {
        fields.push(("function_args", args.into()));
    }
    if let Some(error) = &end.error {
        // The message may quote arguments and output.
        let message = if content == ContentPolicy::Included { error.message.as_str() } else { error.kind.as_str() };
        fields.extend([
            ("error", FieldValue::from(message)),
            ("error.message", message.into()),
            ("error_type", error.kind.as_str().into()),
            ("error.type", error.kind.as_str().into()),
        ]);
    }
    let decision = end.decision.map(|decision| format!("Decision: {}. ", decision.as_str())).unwrap_or_default();
    let name = tool_name(end);
    let body = format!("Tool call: {name}. {decision}Success: {success}. Duration: {}ms.", millis(end.duration));
    TelemetryRecord { name: "gemini_cli.tool_call", body, fields }
}

/// Returns the name of a call's tool for records.
///
/// The name of a tool that does not exist is the model's own text, which no hook has seen, so it is not recorded.
pub(crate) fn tool_name(end: &ToolEnd) -> &str {
    if is_unknown(end) { "unknown_tool" } else { &end.name }
}

pub(crate) fn is_unknown(end: &ToolEnd) -> bool {
    end.error.as_ref().is_some_and(|error| error.kind == ToolErrorKind::ToolNotRegistered)
}

/// Returns `mcp` for tools of MCP servers, whose names contain the server's, and `native` for others.
pub(crate) fn tool_type(name: &str) -> &'static str {
    if name.starts_with("mcp_") || name.contains("__") { "mcp" } else { "native" }
}

fn hook_call<'a>(report: &'a RunReport, input: &'a HookInput, content: ContentPolicy) -> TelemetryRecord<'a> {
    let suppressed = report.answer.suppress_output;
    let includes_content = content == ContentPolicy::Included && !suppressed;
    let name = hook_name(report, content);
    let success = hook_success(report);
    let mut fields = vec![
        ("hook_event_name", FieldValue::from(report.event.name())),
        ("hook_type", if report.source == Source::Runtime { "runtime" } else { report.hook_type }.into()),
        ("hook_name", name.into()),
        ("duration_ms", report.duration.into()),
        ("success", FieldValue::Flag(success)),
        ("event_id", report.id.event.to_string().into()),
        ("run_id", report.id.to_string().into()),
    ];
    fields.extend(report.context.turn_id.as_deref().map(|turn| ("prompt_id", FieldValue::from(turn))));
    fields.extend(report.context.tool_use_id.as_deref().map(|call| ("tool_use_id", FieldValue::from(call))));
    fields.extend(agent_fields(report.context.agent.as_deref()));
    fields.extend(report.exit_code.map(|code| ("exit_code", FieldValue::Number(code.into()))));
    if includes_content {
        // The input is empty if a hook of the event withholds its content.
        fields.extend((!input.is_empty()).then_some(("hook_input", FieldValue::Input(input))));
        fields.extend(hook_output(report).map(|output| ("hook_output", FieldValue::Text(output))));
        fields.push(("stdout", report.stdout.text.as_str().into()));
        fields.push(("stderr", report.stderr.text.as_str().into()));
    }
    if suppressed {
        fields.push(("output_suppressed", FieldValue::Flag(true)));
    }
    // The report's own error text quotes stderr.
    let error = if includes_content { report.error.as_deref().map(Cow::Borrowed) } else { failure_text(report) };
    fields.extend(error.map(|error| ("error", FieldValue::Text(error))));
    let outcome = if success { "succeeded" } else { "failed" };
    let body = format!("Hook call {}.{name} {outcome} in {}ms", report.event, millis(report.duration));
    TelemetryRecord { name: "gemini_cli.hook_call", body, fields }
}

/// Returns the record of a verdict, which collectors get beside those of Gemini CLI.
pub(crate) fn verdict_record(
    verdict: &VerdictReport,
    session_id: &str,
    content: ContentPolicy,
) -> TelemetryRecord<'static> {
    let about = verdict.tool.as_ref().map(|tool| format!(" of {tool}")).unwrap_or_default();
    let body = format!("Verdict {} on {}{about}", verdict.as_str(), verdict.event);
    TelemetryRecord { name: names::VERDICT, body, fields: verdict_fields(verdict, session_id, content) }
}

/// Returns the attributes of a verdict.
pub(crate) fn verdict_fields(
    verdict: &VerdictReport,
    session_id: &str,
    content: ContentPolicy,
) -> TelemetryFields<'static> {
    let (context, agent) = (&verdict.context, verdict.context.agent.as_deref());
    let hook_name = |name: &String| match content {
        ContentPolicy::Included => name.clone().into(),
        ContentPolicy::Omitted => program(name).to_owned().into(),
    };
    let optional = [
        (names::TURN_ID, context.turn_id.as_deref()),
        (names::AGENT_NAME, agent.map(|agent| agent.name.as_str())),
        (names::AGENT_ID, agent.map(|agent| agent.id.as_str())),
        (names::TOOL_NAME, verdict.tool.as_deref()),
        (names::TOOL_CALL_ID, context.tool_use_id.as_deref()),
        (names::VERDICT_REASON, verdict.reason.as_deref().filter(|_| content == ContentPolicy::Included)),
    ];
    let mut fields = vec![
        (names::VERDICT_DECISION, verdict.as_str().into()),
        (names::VERDICT_HOOKS, FieldValue::Texts(verdict.decided_by.iter().map(hook_name).collect())),
        (names::VERDICT_BY_GUARD, FieldValue::Flag(verdict.decided_by_guard)),
        (names::VERDICT_GUARDS, FieldValue::from(verdict.guards as u64)),
        (names::EVENT_ID, verdict.id.to_string().into()),
        (names::EVENT_NAME, verdict.event.name().into()),
        (names::CONVERSATION_ID, session_id.to_owned().into()),
    ];
    fields.extend(optional.into_iter().filter_map(|(name, text)| Some((name, text?.to_owned().into()))));
    fields
}

/// Returns whether a hook exited with 0, which is what readers of these records call success.
///
/// A hook that denied with exit code 2 did not succeed.
pub(crate) fn hook_success(report: &RunReport) -> bool {
    report.status == RunStatus::Ok
}

/// Returns a hook's name for records.
///
/// Without content only the program's name is used, since the name of an unnamed hook is its whole command.
pub(crate) fn hook_name(report: &RunReport, content: ContentPolicy) -> &str {
    match content {
        ContentPolicy::Included => &report.hook,
        ContentPolicy::Omitted => program(&report.hook),
    }
}

/// Returns the file name of a command's first word.
pub(crate) fn program(command: &str) -> &str {
    let word = command.split_whitespace().next().unwrap_or_default();
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    if name.is_empty() { "unknown-command" } else { name }
}

/// Returns a hook's answer as JSON: its stdout if that is an object, else the answer derived from its exit.
fn hook_output(report: &RunReport) -> Option<Cow<'_, str>> {
    let printed = report.stdout.text.trim_start_matches('\u{feff}').trim();
    if report.status == RunStatus::Ok && printed.starts_with('{') && serde_json::from_str::<&RawValue>(printed).is_ok()
    {
        return Some(Cow::Borrowed(printed));
    }
    let answer = answer_json(&report.answer);
    (!answer.is_empty()).then(|| Cow::Owned(Value::Object(answer).to_string()))
}

/// Returns an answer with the field names of the hook protocol.
fn answer_json(answer: &Answer) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("decision", answer.decision.map(|decision| json!(decision)));
    put("reason", answer.reason.as_deref().map(Value::from));
    put("continue", answer.stop.then_some(Value::Bool(false)));
    put("stopReason", answer.stop_reason.as_deref().map(Value::from));
    put("systemMessage", answer.system_message.as_deref().map(Value::from));
    let mut specific = answer.hook_specific_output.clone();
    if let Some(tools) = &answer.tool_config {
        specific.entry("toolConfig").or_insert_with(|| json!(tools));
    }
    put("hookSpecificOutput", (!specific.is_empty()).then_some(Value::Object(specific)));
    fields
}

/// Returns how a hook failed, without any of its output.
fn failure_text(report: &RunReport) -> Option<Cow<'static, str>> {
    match report.status {
        RunStatus::Ok | RunStatus::Blocked => None,
        RunStatus::Failed => Some(match report.exit_code {
            Some(code) => format!("exited with code {code}").into(),
            None => "failed".into(),
        }),
        RunStatus::Signaled => Some(match report.signal {
            Some(signal) => format!("was ended by signal {signal}").into(),
            None => "was ended by a signal".into(),
        }),
        RunStatus::TimedOut => Some("ran too long and was ended".into()),
        RunStatus::Cancelled => Some("was ended before it was done".into()),
        RunStatus::NotStarted => Some("could not start".into()),
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the length of a text as JavaScript counts it.
fn utf16_length(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}
