//! Building blocks that the dialects share for reading: the session, the tool call, and the event views.

use hookwright_hooks::dialect::claude::approval_mode;
use hookwright_hooks::{AnyEvent, EventKind};
use serde_json::{Map, Value, json};

use crate::dialect::{ArgumentWriteBack, EventView, HostEvent, HostSession, NativeTool, PayloadError, ToolRecognition};
use crate::host::{Host, HostEventInfo};
use crate::payload::first_text;
use crate::tools;

/// Payload fields that tie an event to the host's own records.
const CORRELATION_KEYS: &[&str] =
    &["prompt_id", "turn_id", "generation_id", "message_id", "tool_use_id", "tool_call_id", "traceparent"];

/// Creates an event with the session and correlation ids of the payload, and without views.
pub(crate) fn new_event(
    host: Host,
    event: &str,
    row: Option<&'static HostEventInfo>,
    payload: &Map<String, Value>,
) -> HostEvent {
    let keys =
        CORRELATION_KEYS.iter().filter_map(|key| Some((*key, first_text(payload, &[key])?.to_owned()))).collect();
    HostEvent {
        host,
        version: first_text(payload, &["cursor_version"]).map(str::to_owned),
        name: event.to_owned(),
        info: row,
        tool: None,
        session: read_session(payload),
        correlation_ids: keys,
        views: Vec::new(),
    }
}

fn read_session(payload: &Map<String, Value>) -> HostSession {
    let owned = |names: &[&str]| first_text(payload, names).map(str::to_owned);
    let roots = ["workspace_roots", "workspacePaths"].iter().find_map(|name| payload.get(*name)?.as_array());
    HostSession {
        id: owned(&["session_id", "sessionId", "conversation_id", "conversationId"]).unwrap_or_default(),
        transcript_path: owned(&["transcript_path", "transcriptPath"]).map(Into::into),
        cwd: owned(&["cwd", "workspaceRoot"]).map(Into::into),
        roots: roots.into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect(),
        agent_id: owned(&["agent_id", "agentId"]),
        agent_name: owned(&["agent_type", "agentType", "agent_name", "subagent_type"]),
        approval_mode: first_text(payload, &["permission_mode", "permissionMode"])
            .map(|mode| approval_mode(mode).to_owned()),
    }
}

/// Returns the event's name: the payload's, which must equal the installed entry's if both are there.
pub(crate) fn resolve_event_name(
    payload_event: Option<&str>,
    expected_event: Option<&str>,
) -> Result<String, PayloadError> {
    match (payload_event, expected_event) {
        (Some(said), Some(told)) if said != told => {
            Err(PayloadError::EventMismatch { said: said.to_owned(), told: told.to_owned() })
        }
        (Some(name), _) | (None, Some(name)) => Ok(name.to_owned()),
        (None, None) => Err(PayloadError::Missing("hook_event_name")),
    }
}

/// Creates a view of an event without a tool call.
pub(crate) fn event_view(kind: EventKind, fields: Value) -> Result<EventView, PayloadError> {
    let Value::Object(fields) = fields else { return Err(PayloadError::Missing("fields")) };
    view_from_fields(kind, fields, ArgumentWriteBack::Impossible("this event has no arguments"))
}

fn view_from_fields(
    kind: EventKind,
    fields: Map<String, Value>,
    back: ArgumentWriteBack,
) -> Result<EventView, PayloadError> {
    let event = AnyEvent::from_fields(kind, fields)
        .map_err(|error| PayloadError::Incomplete { event: kind.to_string(), problem: error.to_string() })?;
    Ok(EventView { event, write_back: back, is_recheck: false })
}

/// Adds the views of a tool call, before or after it ran.
pub(crate) fn add_call_views(
    host_event: &mut HostEvent,
    kind: EventKind,
    name: String,
    input: Map<String, Value>,
    response: Option<Value>,
) -> Result<(), PayloadError> {
    let views = tools::translate_call(host_event.host, &name, &input);
    let id = host_event.correlation_ids.iter().find(|(key, _)| *key == "tool_use_id").map(|(_, id)| id.clone());
    for (call, back) in views.views {
        let mut fields = Map::new();
        fields.insert("tool_name".to_owned(), call.tool.into());
        fields.insert("tool_input".to_owned(), call.input.into());
        fields.extend(id.clone().map(|id| ("tool_use_id".to_owned(), id.into())));
        fields.extend(response.clone().map(|response| ("tool_response".to_owned(), response)));
        host_event.views.push(view_from_fields(kind, fields, back)?);
    }
    host_event.tool = Some(NativeTool { name, input, recognition: views.recognition, uncertainty: views.uncertainty });
    Ok(())
}

/// A tool's name and arguments, as the host sends them.
pub(crate) type NativeCall = (String, Map<String, Value>);

/// Adds the views of several calls that the host decides about at once: a denial of one is a denial of all.
///
/// Changed arguments can't be written back. A call that is not recognised makes the whole batch uncertain, because a
/// guard that sees one of the other calls may miss it.
pub(crate) fn add_batch_views(
    host_event: &mut HostEvent,
    kind: EventKind,
    calls: Vec<NativeCall>,
) -> Result<(), PayloadError> {
    if let [(name, input)] = calls.as_slice() {
        return add_call_views(host_event, kind, name.clone(), input.clone(), None);
    }
    let mut tools: Vec<NativeTool> = Vec::new();
    for (name, input) in calls {
        add_call_views(host_event, kind, name, input, None)?;
        tools.extend(host_event.tool.take());
    }
    for view in &mut host_event.views {
        view.write_back = ArgumentWriteBack::Impossible("it is one of several calls");
    }
    let is_harmless = tools.iter().all(|tool| tool.recognition == ToolRecognition::Harmless);
    let doubtful =
        tools.iter().find(|tool| !matches!(tool.recognition, ToolRecognition::Known | ToolRecognition::Harmless));
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    host_event.tool = Some(NativeTool {
        name: names.join(", "),
        input: Map::new(),
        recognition: match doubtful {
            Some(_) => ToolRecognition::UnknownArguments,
            None if is_harmless => ToolRecognition::Harmless,
            None => ToolRecognition::Known,
        },
        uncertainty: doubtful.map(|tool| match &tool.uncertainty {
            Some(why) => format!("`{}`: {why}", tool.name),
            None => format!("`{}` is not known, and is one of several calls", tool.name),
        }),
    });
    Ok(())
}

/// Records the tool call of an event that is not in the host table, so that reports can name it.
pub(crate) fn record_unknown_tool(host_event: &mut HostEvent, payload: &Map<String, Value>) {
    let named = first_text(payload, &["tool_name", "toolName"]);
    let called = || payload.get("toolCall").and_then(|call| call.get("name")?.as_str());
    let run = || first_text(payload, &["command", "command_line"]).map(|_| "a command");
    let input =
        || ["tool_input", "toolInput", "toolArgs"].iter().find_map(|key| payload.get(*key)?.as_object().cloned());
    host_event.tool = named.or_else(called).or_else(run).map(|name| NativeTool {
        name: name.to_owned(),
        input: input().unwrap_or_default(),
        recognition: ToolRecognition::Unknown,
        uncertainty: None,
    });
}

/// Converts a native tool result to the fields `llmContent`, `returnDisplay` and, if the call failed, `error`.
pub(crate) fn tool_response(native: Option<&Value>, error: Option<&str>) -> Value {
    let mut result = match native {
        Some(Value::Object(object)) if object.contains_key("llmContent") => object.clone(),
        native => {
            let text = native.map(result_text).or(error.map(str::to_owned)).unwrap_or_default();
            Map::from_iter([
                ("llmContent".to_owned(), Value::from(text.clone())),
                ("returnDisplay".to_owned(), text.into()),
            ])
        }
    };
    if let Some(error) = error {
        result.insert("error".to_owned(), json!({"message": error, "type": "execution_failed"}));
    }
    Value::Object(result)
}

/// Returns the text of a native result that the model most likely reads.
fn result_text(native: &Value) -> String {
    let Value::Object(object) = native else {
        return native.as_str().map_or_else(|| native.to_string(), str::to_owned);
    };
    if let Some(text) = first_text(object, &["text_result_for_llm", "textResultForLlm", "content", "output"]) {
        return text.to_owned();
    }
    let streams = [first_text(object, &["stdout"]), first_text(object, &["stderr"])];
    if object.contains_key("stdout") {
        return streams.into_iter().flatten().collect::<Vec<_>>().join("\n");
    }
    native.to_string()
}
