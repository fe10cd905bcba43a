//! Encodes an event as the JSON on a hook's stdin, in pieces, so that nothing large is copied for every hook.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;

use super::{Event, Session};
use crate::effects::Effects;
use crate::event::EventKind;
use crate::running::observer::{AgentHost, RunContext};

/// The initial size of the buffer, which is enough for most events.
const INITIAL_BUFFER_BYTES: usize = 1 << 10;

/// The fields every hook receives ahead of its event's own.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Base<'a> {
    session_id: &'a str,
    transcript_path: Cow<'a, str>,
    cwd: Cow<'a, str>,
    hook_event_name: EventKind,
    timestamp: String,
    /// The turn, for events within one.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
    /// Inside a sub-agent: how its definition calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    /// Inside a sub-agent: which run of it this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    /// Inside a sub-agent: its own conversation. `transcript_path` is the session's, where the user's words are.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_transcript_path: Option<Cow<'a, str>>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_mode: Option<&'a str>,
    /// Inside another agent: which one, and what it calls this.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a AgentHost>,
}

/// The JSON for a hook's stdin, in pieces, so that a shared field is never copied.
#[derive(Clone, Debug, Default)]
pub struct HookInput {
    pieces: Vec<Bytes>,
    layout: Option<InputLayout>,
}

/// The order of the pieces of an event with a shared field: the JSON before it, the field, the JSON after it, then the
/// pieces of a growing text and the end, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputLayout {
    /// The name of the shared field.
    pub(crate) shared_field: &'static str,
    /// The name of the growing field.
    pub(crate) growing_field: Option<&'static str>,
    /// Whether the growing text continues in later events.
    pub(crate) has_more_text: bool,
}

impl From<Vec<u8>> for HookInput {
    fn from(text: Vec<u8>) -> Self {
        HookInput { pieces: vec![Bytes::from(text)], layout: None }
    }
}

impl HookInput {
    /// Encodes an event.
    pub(crate) fn encode<E: Event>(
        event: &E,
        effects: Option<&Effects>,
        session: &Session,
        context: &RunContext,
    ) -> Result<Self, String> {
        Self::try_encode(event, effects, session, context)
            .map_err(|error| format!("its input could not be written as JSON: {error}"))
    }

    fn try_encode<E: Event>(
        event: &E,
        effects: Option<&Effects>,
        session: &Session,
        context: &RunContext,
    ) -> Result<Self, serde_json::Error> {
        let agent = context.agent.as_deref();
        let base = Base {
            session_id: &session.id,
            transcript_path: session.transcript_path.to_string_lossy(),
            cwd: session.cwd.to_string_lossy(),
            hook_event_name: E::KIND,
            timestamp: format!("{:.3}", jiff::Timestamp::now()),
            turn_id: context.turn_id.as_deref(),
            agent_name: agent.map(|agent| agent.name.as_str()),
            agent_id: agent.map(|agent| agent.id.as_str()),
            agent_transcript_path: agent.map(|agent| agent.transcript_path.to_string_lossy()),
            approval_mode: context.approval_mode.as_deref(),
            host: context.host.as_deref(),
        };
        let mut head = Vec::with_capacity(INITIAL_BUFFER_BYTES);
        serde_json::to_writer(&mut head, &base)?;
        head.pop();
        let mut pieces = Vec::with_capacity(3);
        if let Some((name, value)) = event.shared_field() {
            head.extend_from_slice(format!(",\"{name}\":").as_bytes());
            pieces.push(Bytes::from(std::mem::replace(&mut head, Vec::with_capacity(INITIAL_BUFFER_BYTES))));
            pieces.push(value.bytes().clone());
        }
        // The event's object is written after the base object; its opening brace becomes the comma between them.
        let seam = head.len();
        serde_json::to_writer(&mut head, event)?;
        if head[seam..] == *b"{}" {
            head.remove(seam);
        } else {
            head[seam] = b',';
        }
        if let Some(effects) = effects {
            head.pop();
            head.extend_from_slice(b",\"effects\":");
            serde_json::to_writer(&mut head, effects)?;
            head.push(b'}');
        }
        if let Some((name, text)) = event.growing_field() {
            head.pop();
            head.extend_from_slice(format!(",\"{name}\":\"").as_bytes());
            pieces.push(Bytes::from(std::mem::replace(&mut head, b"\"}".to_vec())));
            pieces.extend(text.pieces().iter().cloned());
        }
        pieces.push(Bytes::from(head));
        let growing = event.growing_field().map(|(name, _)| name);
        let layout = event.shared_field().map(|(shared, _)| InputLayout {
            shared_field: shared,
            growing_field: growing,
            has_more_text: event.has_more_text(),
        });
        Ok(HookInput { pieces, layout })
    }

    /// The order of the pieces, if there is a shared field.
    pub(crate) fn layout(&self) -> Option<InputLayout> {
        self.layout
    }

    /// The pieces of the text, in order.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// The length of the text in bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The start of the text, of at most this many bytes, for display.
    pub fn text_prefix(&self, most: usize) -> String {
        let mut kept = Vec::with_capacity(most.min(self.len()));
        for piece in &self.pieces {
            kept.extend_from_slice(&piece[..piece.len().min(most - kept.len())]);
        }
        let whole = kept.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        whole.to_owned()
    }

    /// The text for records: a shared field that is larger than this is replaced by its size, and a growing text is left
    /// out, because both would be repeated for every piece of an answer.
    pub fn to_record_json(&self, max_shared_bytes: usize) -> String {
        let (Some(layout), [head, shared, rest, growing @ ..]) = (self.layout, self.pieces.as_slice()) else {
            return self.to_json();
        };
        let size = format!(r#"{{"omitted":"too large","bytes":{}}}"#, shared.len());
        let shared = if shared.len() <= max_shared_bytes { shared.as_ref() } else { size.as_bytes() };
        let end = match layout.growing_field {
            Some(_) => growing.last().map(Bytes::as_ref).unwrap_or_default(),
            None => &[],
        };
        String::from_utf8_lossy(&[head.as_ref(), shared, rest.as_ref(), end].concat()).into_owned()
    }

    /// The whole text in one string, for logs and for hooks that are functions.
    pub fn to_json(&self) -> String {
        String::from_utf8_lossy(&self.pieces.concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use crate::event::model_api::LlmRequest;
    use crate::running::observer::SubAgent;

    fn session() -> Session {
        Session { id: "s1".into(), cwd: "/p".into(), transcript_path: "/t".into(), ..Session::default() }
    }

    #[test]
    fn base_fields_come_first_and_own_fields_follow() {
        let event = BeforeAgent { prompt: "hi \"you\"".into(), attachments: Vec::new() };
        let json = HookInput::encode(&event, None, &session(), &RunContext::default()).unwrap().to_json();
        let value: Map<String, Value> = serde_json::from_str(&json).unwrap();
        let keys: Vec<_> = value.keys().map(String::as_str).collect();
        assert_eq!(keys, ["session_id", "transcript_path", "cwd", "hook_event_name", "timestamp", "prompt"]);
        let stamp = value["timestamp"].as_str().unwrap();
        assert_eq!((stamp.len(), stamp.as_bytes()[19], stamp.as_bytes()[23]), (24, b'.', b'Z'));
    }

    #[test]
    fn inside_a_sub_agent_the_input_says_so() {
        let agent = SubAgent { name: "scout".into(), id: "scout-1".into(), transcript_path: "/t/scout".into() };
        let context = RunContext { turn_id: Some("t1".into()), agent: Some(agent.into()), ..RunContext::default() };
        let event = BeforeAgent { prompt: "look".into(), attachments: Vec::new() };
        let json = HookInput::encode(&event, None, &session(), &context).unwrap().to_json();
        let value: Map<String, Value> = serde_json::from_str(&json).unwrap();
        let keys: Vec<_> = value.keys().map(String::as_str).collect();
        assert_eq!(keys[4..], ["timestamp", "turn_id", "agent_name", "agent_id", "agent_transcript_path", "prompt"]);
        assert_eq!((&value["agent_name"], &value["agent_id"]), (&"scout".into(), &"scout-1".into()));
        assert_eq!((&value["agent_transcript_path"], &value["transcript_path"]), (&"/t/scout".into(), &"/t".into()));
    }

    #[test]
    fn a_shared_field_is_not_copied() {
        let shared = SharedJson::from_request(&LlmRequest { model: "m".into(), ..LlmRequest::default() });
        let event = BeforeModel { llm_request: shared.clone(), purpose: Purpose::Answer };
        let input = HookInput::encode(&event, None, &session(), &RunContext::default()).unwrap();
        assert_eq!(input.pieces()[1].as_ptr(), shared.bytes().as_ptr());
        let value: Value = serde_json::from_str(&input.to_json()).unwrap();
        assert_eq!(value["llm_request"]["model"], "m");
    }

    #[test]
    fn a_growing_text_is_last_and_complete() {
        let mut full_content = GrowingText::default();
        ["one \"", "\u{1F600}\n", ""].iter().for_each(|piece| full_content.push_str(piece));
        let event = AfterModel {
            llm_request: SharedJson::from_request(&LlmRequest::default()),
            llm_response: Cow::Owned(LlmResponse::from_text("x")),
            thoughts: "".into(),
            code: "".into(),
            citations: "".into(),
            purpose: Purpose::Answer,
            content: "x".into(),
            full_content,
        };
        let context = RunContext { turn_id: Some("t1".into()), ..RunContext::default() };
        let input = HookInput::encode(&event, None, &session(), &context).unwrap();
        let value: Map<String, Value> = serde_json::from_str(&input.to_json()).unwrap();
        assert_eq!(value["full_content"], "one \"\u{1F600}\n");
        let recorded: Map<String, Value> = serde_json::from_str(&input.to_record_json(0)).unwrap();
        assert_eq!((&recorded["full_content"], &recorded["content"]), (&"".into(), &"x".into()));
        assert_eq!(recorded["llm_request"]["omitted"], "too large");
        let whole: Map<String, Value> = serde_json::from_str(&input.to_record_json(1 << 20)).unwrap();
        assert_eq!(whole["llm_request"], value["llm_request"]);
        let keys: Vec<_> = value.keys().map(String::as_str).collect();
        assert_eq!(keys[5..], ["turn_id", "llm_request", "llm_response", "purpose", "content", "full_content"]);
    }

    #[test]
    fn the_prefix_is_cut_at_a_character_boundary() {
        let event = BeforeAgent { prompt: "ééééé".into(), attachments: Vec::new() };
        let input = HookInput::encode(&event, None, &session(), &RunContext::default()).unwrap();
        let whole = input.to_json();
        for most in 0..whole.len() + 2 {
            let beginning = input.text_prefix(most);
            assert!(
                whole.starts_with(&beginning)
                    && beginning.len() <= most
                    && beginning.len() + 1 >= most.min(whole.len())
            );
        }
    }

    #[test]
    fn any_event_reports_a_missing_field() {
        let error = AnyEvent::from_fields(EventKind::BeforeTool, Map::new()).unwrap_err();
        assert!(error.to_string().contains("tool_name"), "{error}");
    }
}
