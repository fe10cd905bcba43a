//! The fields of a hook's JSON answer, each read on its own: a wrong one is reported by name, the others count.

use serde::de::{DeserializeOwned, Deserializer as _, MapAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::{Answer, Cause, Decision, Reading, Trouble};
use crate::event::{EventKind, Power};
use crate::model_api::{
    LlmCandidate, LlmContent, LlmMessage, LlmRequestPatch, LlmResponse, LlmUsage, ToolConfig, ToolMode,
};
use crate::outcome::TailCall;
use crate::strict_json;

type Raw = BTreeMap<String, Box<RawValue>>;

/// A JSON object whose values have been checked for syntax but not yet read.
///
/// Skipping a value needs neither recursion nor number conversion, so nesting and numbers of any size are harmless in
/// fields that nobody asks for.
pub(super) struct Fields {
    top: Raw,
    /// A key that stands more than once.
    repeated: Option<String>,
}

/// What reading gathers on its way.
struct FieldReader {
    kind: EventKind,
    troubles: Vec<Trouble>,
}

impl Fields {
    /// `Ok(None)` for text that is no JSON object and does not try to be one.
    pub(super) fn parse(text: &str) -> Result<Option<Fields>, serde_json::Error> {
        if let Some(quoted) = text.strip_prefix('"') {
            // Some hooks print their JSON as a JSON string.
            return match serde_json::from_str::<String>(text) {
                Ok(inner) if inner.trim_start().starts_with('{') => Self::parse_object(inner.trim()).map(Some),
                Err(error) if quoted.trim_start().starts_with('{') => Err(error),
                _ => Ok(None),
            };
        }
        if text.starts_with('{') { Self::parse_object(text).map(Some) } else { Ok(None) }
    }

    fn parse_object(text: &str) -> Result<Fields, serde_json::Error> {
        let mut object = RawObject::default();
        object.read_whole(text)?;
        Ok(Fields { top: object.fields, repeated: object.repeated })
    }

    /// The fields of an object up to where its text ends or breaks, and the name of the one that is broken.
    pub(super) fn parse_start(text: &str) -> (Fields, Option<String>) {
        let mut start = RawObject::default();
        // Its end is known to be missing.
        let _ = start.read_whole(text);
        (Fields { top: start.fields, repeated: start.repeated }, start.reading)
    }

    /// What seems to be said here and does not count: a misspelt field, a decision in another agent's place for it, or
    /// nothing that is known at all.
    pub(super) fn unheard(&self) -> Option<String> {
        const KNOWN: [&str; 12] = [
            "decision",
            "continue",
            "hookSpecificOutput",
            "reason",
            "stopReason",
            "systemMessage",
            "suppressOutput",
            "content",
            "toolConfig",
            "modifiedRequest",
            "modifiedResponse",
            "syntheticResponse",
        ];
        let unknown = || self.top.keys().filter(|key| !KNOWN.contains(&key.as_str()));
        // Those that a no can stand in.
        let near = |key: &&String| {
            let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
            KNOWN[..3].iter().find(|known| strsim::damerau_levenshtein(&plain(key), &plain(known)) <= 2)
        };
        if let Some((key, known)) = unknown().find_map(|key| Some((key, near(&key)?))) {
            return Some(format!("answered `{key}`, which means nothing; did it mean `{known}`?"));
        }
        if let Some(foreign) = self.foreign() {
            return Some(foreign);
        }
        let says_nothing = !self.top.is_empty() && unknown().count() == self.top.len();
        says_nothing.then(|| "answered an object without any field that means something".to_owned())
    }

    /// A decision in another agent's place for it.
    pub(super) fn foreign(&self) -> Option<String> {
        let specific: Raw = serde_json::from_str(self.top.get("hookSpecificOutput")?.get()).ok()?;
        let key = ["permissionDecision", "decision", "continue"].into_iter().find(|key| specific.contains_key(*key))?;
        Some(format!(
            "answered `hookSpecificOutput.{key}`, which means nothing here; say `decision` at the top, or declare the hook with \"dialect\": \"claude\""
        ))
    }

    pub(super) fn read(self, kind: EventKind) -> Reading {
        let mut reader = FieldReader { kind, troubles: Vec::new() };
        reader.note_repeated("", self.repeated);
        let answer = reader.answer(&self.top);
        Reading { answer, troubles: reader.troubles }
    }
}

/// The fields of one object, as far as it can be read.
///
/// Of a repeated key, the value counts that is nearest to a no; null stands for it where none is a no.
#[derive(Default)]
struct RawObject {
    fields: Raw,
    /// The key whose value is being read.
    reading: Option<String>,
    repeated: Option<String>,
}

impl RawObject {
    fn read_whole(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.deserialize_map(&mut *self)?;
        reader.end()
    }

    fn insert(&mut self, key: String, value: Box<RawValue>) {
        let Some(before) = self.fields.remove(&key) else {
            self.fields.insert(key, value);
            return;
        };
        let parsed = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or(Value::Null);
        let nearest = strict_json::nearest_to_no(parsed(&before), parsed(&value));
        let kept = nearest.and_then(|value| to_raw_value(&value).ok());
        self.repeated.get_or_insert_with(|| key.clone());
        self.fields.insert(key, kept.unwrap_or_else(|| RawValue::NULL.to_owned()));
    }
}

impl<'de> Visitor<'de> for &mut RawObject {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.reading = Some(key.clone());
            let value = map.next_value()?;
            self.insert(key, value);
            self.reading = None;
        }
        Ok(())
    }
}

/// Whether somewhere in a text stands an object with a field of an answer, or the start of one.
pub(crate) fn holds_an_answer(text: &str) -> bool {
    const FIELDS: [&str; 8] = [
        "\"decision\"",
        "\"continue\"",
        "\"reason\"",
        "\"stopReason\"",
        "\"systemMessage\"",
        "\"suppressOutput\"",
        "\"hookSpecificOutput\"",
        "\"permissionDecision\"",
    ];
    let Some((_, object)) = text.split_once('{') else { return false };
    let mut found = FIELDS.iter().flat_map(|field| object.match_indices(*field));
    found.any(|(at, field)| object[at + field.len()..].trim_start().starts_with(':'))
}

impl FieldReader {
    fn answer(&mut self, top: &Raw) -> Answer {
        let mut answer = Answer {
            decision: self.decision(top),
            reason: self.text(top, "reason", ""),
            stop: self.get::<bool>(top, "continue", "", "true or false") == Some(false),
            stop_reason: self.text(top, "stopReason", ""),
            system_message: self.text(top, "systemMessage", ""),
            suppress_output: self.get(top, "suppressOutput", "", "true or false").unwrap_or(false),
            ..Answer::default()
        };
        let specific = top.get("hookSpecificOutput");
        let specific = specific.and_then(|raw| self.object("hookSpecificOutput", raw, "an object")).unwrap_or_default();
        self.specific(&mut answer, top, &specific);
        answer.specific = specific
            .iter()
            .filter_map(|(key, raw)| Some((key.clone(), serde_json::from_str(raw.get()).ok()?)))
            .collect();
        answer
    }

    /// The event's own fields, at their place and under their older names.
    fn specific(&mut self, answer: &mut Answer, top: &Raw, specific: &Raw) {
        const AT: &str = "hookSpecificOutput.";
        let kind = self.kind;
        if kind.can(Power::Context) {
            answer.additional_context = self.text(specific, "additionalContext", AT);
        }
        if kind.can(Power::ClearContext) {
            answer.clear_context = self.get(specific, "clearContext", AT, "true or false").unwrap_or(false);
        }
        if kind.can(Power::RewriteInput) {
            answer.tool_input = self.get(specific, "tool_input", AT, "an object");
        }
        if kind.can(Power::RedactInput) {
            answer.redact_input = self.get(specific, "redact_input", AT, "true or false").unwrap_or(false);
        }
        if kind.can(Power::TailCall) {
            answer.tail_call = self.tail_call(specific);
        }
        if kind.can(Power::RewriteRequest) {
            let found = first(&[(specific, "llm_request"), (specific, "modifiedRequest"), (top, "modifiedRequest")]);
            answer.llm_request = found.and_then(|(name, raw)| self.request_patch(name, raw));
        }
        if kind.can(Power::AnswerForModel) {
            let places = [(specific, "llm_response"), (specific, "syntheticResponse"), (top, "syntheticResponse")];
            answer.llm_response = first(&places).and_then(|(name, raw)| self.response(name, raw));
        }
        if kind.can(Power::ReplaceResponse) {
            let places = [(specific, "llm_response"), (specific, "modifiedResponse"), (top, "modifiedResponse")];
            answer.llm_response = match first(&places) {
                Some((name, raw)) => self.response(name, raw),
                None => self.text(top, "content", "").map(LlmResponse::from_text),
            };
        }
        if kind.can(Power::SelectTools) {
            let places = [(specific, "toolConfig"), (top, "toolConfig")];
            answer.tool_config = first(&places).and_then(|(name, raw)| self.tool_config(name, raw));
        }
    }

    fn decision(&mut self, top: &Raw) -> Option<Decision> {
        const EXPECTED: &str = "one of allow, approve, ask, deny, block";
        let word: String = self.get(top, "decision", "", EXPECTED)?;
        match word.as_str() {
            "allow" | "approve" => Some(Decision::Allow),
            "ask" => Some(Decision::Ask),
            "deny" | "block" => Some(Decision::Deny),
            _ => {
                self.wrong("decision", EXPECTED, &format!("\"{word}\""));
                None
            }
        }
    }

    fn tail_call(&mut self, specific: &Raw) -> Option<TailCall> {
        const AT: &str = "hookSpecificOutput.tailToolCallRequest.";
        let raw = specific.get("tailToolCallRequest")?;
        let request = self.object(AT.trim_end_matches('.'), raw, "an object with name and args")?;
        let args = self.get(&request, "args", AT, "an object").unwrap_or_default();
        match self.text(&request, "name", AT) {
            Some(name) => Some(TailCall { name, args }),
            None => {
                self.wrong(&format!("{AT}name"), "a tool's name", "nothing");
                None
            }
        }
    }

    fn tool_config(&mut self, name: &str, raw: &RawValue) -> Option<ToolConfig> {
        let mut config = self.object(name, raw, "an object")?;
        if let Some(nested) = config.remove("functionCallingConfig") {
            config = self.object("functionCallingConfig", &nested, "an object")?;
        }
        let mode = self.get::<String>(&config, "mode", "toolConfig.", "AUTO, ANY or NONE");
        let mode = mode.and_then(|word| match word.to_ascii_uppercase().as_str() {
            "AUTO" => Some(ToolMode::Auto),
            "ANY" => Some(ToolMode::Any),
            "NONE" => Some(ToolMode::None),
            _ => {
                self.wrong("toolConfig.mode", "AUTO, ANY or NONE", &format!("\"{word}\""));
                None
            }
        });
        let allowed = self.get(&config, "allowedFunctionNames", "toolConfig.", "an array of tool names");
        Some(ToolConfig { mode, allowed: allowed.unwrap_or_default() })
    }

    fn request_patch(&mut self, name: &str, raw: &RawValue) -> Option<LlmRequestPatch> {
        let fields = self.object(name, raw, "an object")?;
        let messages: Option<Vec<Value>> = self.get(&fields, "messages", "llm_request.", "an array of messages");
        let tool_config = fields.get("toolConfig").and_then(|raw| self.tool_config("toolConfig", raw));
        Some(LlmRequestPatch {
            model: self.text(&fields, "model", "llm_request."),
            messages: messages.and_then(|messages| self.messages(&messages)),
            config: self.get(&fields, "config", "llm_request.", "an object"),
            tool_config,
        })
    }

    fn messages(&mut self, messages: &[Value]) -> Option<Vec<LlmMessage>> {
        let read = messages.iter().map(|message| {
            let content = text_of(message.get("content")?)?;
            let role = message.get("role").and_then(Value::as_str).unwrap_or("user").to_owned();
            Some(LlmMessage { role, content })
        });
        let read: Option<Vec<_>> = read.collect();
        if read.is_none() {
            self.wrong("llm_request.messages", "messages with role and content", "something else");
        }
        read
    }

    /// An answer in any of its spellings: candidates, a single `candidate`, or just `text`.
    fn response(&mut self, name: &str, raw: &RawValue) -> Option<LlmResponse> {
        let value: Map<String, Value> = self.value(name, raw, "an object")?;
        let candidates = match (value.get("candidates"), value.get("candidate")) {
            (Some(Value::Array(list)), _) => list.iter().map(candidate).collect::<Option<Vec<_>>>(),
            (None, Some(one)) => candidate(one).map(|one| vec![one]),
            (None, None) => {
                value.get("text").and_then(Value::as_str).map(|text| LlmResponse::from_text(text).candidates)
            }
            (Some(_), _) => None,
        };
        let Some(candidates) = candidates else {
            self.wrong(name, "candidates with content.parts, or text", "something else");
            return None;
        };
        let usage = value.get("usageMetadata").and_then(|usage| serde_json::from_value::<LlmUsage>(usage.clone()).ok());
        let text = candidates.first().map(|candidate| candidate.content.parts.concat());
        Some(LlmResponse { text, candidates, usage })
    }

    fn text(&mut self, fields: &Raw, name: &str, at: &str) -> Option<String> {
        self.get(fields, name, at, "a string")
    }

    fn get<T: DeserializeOwned>(&mut self, fields: &Raw, name: &str, at: &str, expected: &str) -> Option<T> {
        let raw = fields.get(name)?;
        self.value(&format!("{at}{name}"), raw, expected)
    }

    /// Reads a value; null counts as absent.
    fn value<T: DeserializeOwned>(&mut self, name: &str, raw: &RawValue, expected: &str) -> Option<T> {
        if raw.get() == "null" {
            return None;
        }
        let value = match raw.get().starts_with(['{', '[']) {
            true => strict_json::parse(raw.get().as_bytes()).and_then(|parsed| {
                self.note_repeated(name, parsed.repeated);
                serde_json::from_value(parsed.value)
            }),
            false => serde_json::from_str(raw.get()),
        };
        match value {
            Ok(value) => Some(value),
            Err(_) => {
                self.wrong(name, expected, &preview(raw.get()));
                None
            }
        }
    }

    /// Reads an object whose fields are read one by one; null counts as absent.
    fn object(&mut self, name: &str, raw: &RawValue, expected: &str) -> Option<Raw> {
        if raw.get() == "null" {
            return None;
        }
        let mut object = RawObject::default();
        if object.read_whole(raw.get()).is_err() {
            self.wrong(name, expected, &preview(raw.get()));
            return None;
        }
        self.note_repeated(name, object.repeated);
        Some(object.fields)
    }

    fn note_repeated(&mut self, at: &str, repeated: Option<String>) {
        if let Some(key) = repeated {
            let text = super::repeated_key_problem(at, &key);
            self.troubles.push(Trouble { cause: Some(Cause::Output), text });
        }
    }

    fn wrong(&mut self, name: &str, expected: &str, got: &str) {
        let text = format!("`{name}` should be {expected}, not {got}; the rest of its answer counts");
        self.troubles.push(Trouble { cause: Some(Cause::Output), text });
    }
}

fn first<'a>(places: &[(&'a Raw, &'static str)]) -> Option<(&'static str, &'a RawValue)> {
    places.iter().find_map(|(fields, name)| fields.get(*name).map(|raw| (*name, &**raw)))
}

fn candidate(value: &Value) -> Option<LlmCandidate> {
    let content = value.get("content")?;
    let parts = match content.get("parts") {
        Some(Value::Array(parts)) => parts.iter().map(text_of).collect::<Option<Vec<_>>>()?,
        Some(_) => return None,
        None => vec![text_of(content)?],
    };
    Some(LlmCandidate {
        content: LlmContent { parts, ..LlmContent::default() },
        finish_reason: value.get("finishReason").and_then(Value::as_str).map(str::to_owned),
        index: value.get("index").and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok()),
        safety_ratings: value.get("safetyRatings").cloned(),
    })
}

/// Text given as a string, as `{text}`, or as an array of either.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        Value::Object(part) => match part.get("text") {
            Some(text) => text.as_str().map(str::to_owned),
            // A typed part that is not text (an image, say): nothing that a text message could hold.
            None => part.contains_key("type").then(String::new),
        },
        _ => None,
    }
}

fn preview(json: &str) -> String {
    const CHARS: usize = 40;
    let mut text: String = json.chars().take(CHARS).collect();
    if text.len() < json.len() {
        text.push('…');
    }
    text
}
