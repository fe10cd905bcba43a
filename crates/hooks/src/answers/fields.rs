//! Reads the fields of a hook's JSON answer one by one: an invalid field is reported by name, the others count.

use serde::de::{DeserializeOwned, Deserializer as _, MapAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::{Answer, Decision, FailureCause, ParsedAnswer, RunProblem};
use crate::answers::outcome::TailCall;
use crate::confinement::ConfinementProfile;
use crate::event::model_api::{
    LlmCandidate, LlmContent, LlmMessage, LlmRequestPatch, LlmResponse, LlmUsage, ToolConfig, ToolMode,
};
use crate::event::{EventKind, HookCapability};
use crate::strict_json;

type RawFields = BTreeMap<String, Box<RawValue>>;

/// A JSON object whose values have been checked for syntax but not yet deserialised.
///
/// Skipping a value needs neither recursion nor number conversion, so deep nesting and huge numbers do no harm in
/// fields that are never read.
pub(super) struct AnswerFields {
    top_level: RawFields,
    /// A key that occurs more than once.
    repeated_key: Option<String>,
}

/// Collects the problems found while the fields are read.
struct FieldReader {
    kind: EventKind,
    problems: Vec<RunProblem>,
}

impl AnswerFields {
    /// Parses an answer; `Ok(None)` for text that is not a JSON object and does not look like one.
    pub(super) fn parse(text: &str) -> Result<Option<AnswerFields>, serde_json::Error> {
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

    fn parse_object(text: &str) -> Result<AnswerFields, serde_json::Error> {
        let mut object = RawObject::default();
        object.read_object(text)?;
        Ok(AnswerFields { top_level: object.fields, repeated_key: object.repeated_key })
    }

    /// The fields of a truncated or broken object up to the break, and the key whose value is broken.
    pub(super) fn parse_prefix(text: &str) -> (AnswerFields, Option<String>) {
        let mut start = RawObject::default();
        // The error is expected: the end of the object is missing.
        let _ = start.read_object(text);
        (AnswerFields { top_level: start.fields, repeated_key: start.repeated_key }, start.current_key)
    }

    /// Describes a decision that has no effect, if there is one: a misspelt field, a decision in another agent's
    /// format, or an object without any known field.
    pub(super) fn ignored_decision(&self) -> Option<String> {
        const KNOWN_KEYS: [&str; 12] = [
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
        let unknown = || self.top_level.keys().filter(|key| !KNOWN_KEYS.contains(&key.as_str()));
        // Only the first three keys can hold a deny.
        let near = |key: &&String| {
            let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
            KNOWN_KEYS[..3].iter().find(|known| strsim::damerau_levenshtein(&plain(key), &plain(known)) <= 2)
        };
        if let Some((key, known)) = unknown().find_map(|key| Some((key, near(&key)?))) {
            return Some(format!("answered with the unknown key `{key}`; did it mean `{known}`?"));
        }
        if let Some(foreign) = self.foreign_decision() {
            return Some(foreign);
        }
        let says_nothing = !self.top_level.is_empty() && unknown().count() == self.top_level.len();
        says_nothing.then(|| "answered with an object that has no known field".to_owned())
    }

    /// Describes a decision in another agent's format, which has no effect here.
    pub(super) fn foreign_decision(&self) -> Option<String> {
        let specific: RawFields = serde_json::from_str(self.top_level.get("hookSpecificOutput")?.get()).ok()?;
        let key = ["permissionDecision", "decision", "continue"].into_iter().find(|key| specific.contains_key(*key))?;
        Some(format!(
            "answered with `hookSpecificOutput.{key}`, which has no effect here; give `decision` at the top level, or declare the hook with \"dialect\": \"claude\""
        ))
    }

    pub(super) fn into_answer(self, kind: EventKind) -> ParsedAnswer {
        let mut reader = FieldReader { kind, problems: Vec::new() };
        reader.report_repeated_key("", self.repeated_key);
        let answer = reader.read_answer(&self.top_level);
        ParsedAnswer { answer, problems: reader.problems }
    }
}

/// The fields of one object, as far as the object can be parsed.
///
/// Of the values of a repeated key, the one nearest to a deny counts; if none denies, the field is null.
#[derive(Default)]
struct RawObject {
    fields: RawFields,
    current_key: Option<String>,
    repeated_key: Option<String>,
}

impl RawObject {
    fn read_object(&mut self, text: &str) -> Result<(), serde_json::Error> {
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
        let nearest = strict_json::stricter_value(parsed(&before), parsed(&value));
        let kept = nearest.and_then(|value| to_raw_value(&value).ok());
        self.repeated_key.get_or_insert_with(|| key.clone());
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
            self.current_key = Some(key.clone());
            let value = map.next_value()?;
            self.insert(key, value);
            self.current_key = None;
        }
        Ok(())
    }
}

/// Whether a text contains a JSON object with a field of an answer, or the start of one.
pub(crate) fn contains_answer_field(text: &str) -> bool {
    const ANSWER_FIELD_KEYS: [&str; 8] = [
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
    let mut found = ANSWER_FIELD_KEYS.iter().flat_map(|field| object.match_indices(*field));
    found.any(|(at, field)| object[at + field.len()..].trim_start().starts_with(':'))
}

impl FieldReader {
    fn read_answer(&mut self, top: &RawFields) -> Answer {
        let mut answer = Answer {
            decision: self.read_decision(top),
            reason: self.read_text(top, "reason", ""),
            stop: self.read_field::<bool>(top, "continue", "", "true or false") == Some(false),
            stop_reason: self.read_text(top, "stopReason", ""),
            system_message: self.read_text(top, "systemMessage", ""),
            suppress_output: self.read_field(top, "suppressOutput", "", "true or false").unwrap_or(false),
            ..Answer::default()
        };
        let specific = top.get("hookSpecificOutput");
        let specific = specific
            .and_then(|raw| self.read_nested_object("hookSpecificOutput", raw, "an object"))
            .unwrap_or_default();
        self.read_specific_output(&mut answer, top, &specific);
        answer.hook_specific_output = specific
            .iter()
            .filter_map(|(key, raw)| Some((key.clone(), serde_json::from_str(raw.get()).ok()?)))
            .collect();
        answer
    }

    /// Reads the fields of `hookSpecificOutput`, and the older names of these fields at the top level.
    fn read_specific_output(&mut self, answer: &mut Answer, top: &RawFields, specific: &RawFields) {
        const PATH_PREFIX: &str = "hookSpecificOutput.";
        let kind = self.kind;
        if kind.can(HookCapability::Context) {
            answer.additional_context = self.read_text(specific, "additionalContext", PATH_PREFIX);
        }
        if kind.can(HookCapability::ClearContext) {
            answer.clear_context =
                self.read_field(specific, "clearContext", PATH_PREFIX, "true or false").unwrap_or(false);
        }
        if kind.can(HookCapability::RewriteInput) {
            answer.tool_input = self.read_field(specific, "tool_input", PATH_PREFIX, "an object");
        }
        if kind.can(HookCapability::RedactInput) {
            answer.redact_input =
                self.read_field(specific, "redact_input", PATH_PREFIX, "true or false").unwrap_or(false);
        }
        if kind.can(HookCapability::Confine) && answer.decision == Some(Decision::Confine) {
            answer.confinement = self.read_confinement(specific);
        }
        if kind.can(HookCapability::TailCall) {
            answer.tail_call = self.read_tail_call(specific);
        }
        if kind.can(HookCapability::RewriteRequest) {
            let found =
                first_present(&[(specific, "llm_request"), (specific, "modifiedRequest"), (top, "modifiedRequest")]);
            answer.llm_request = found.and_then(|(name, raw)| self.read_request_patch(name, raw));
        }
        if kind.can(HookCapability::AnswerForModel) {
            let places = [(specific, "llm_response"), (specific, "syntheticResponse"), (top, "syntheticResponse")];
            answer.llm_response = first_present(&places).and_then(|(name, raw)| self.read_response(name, raw));
        }
        if kind.can(HookCapability::ReplaceResponse) {
            let places = [(specific, "llm_response"), (specific, "modifiedResponse"), (top, "modifiedResponse")];
            answer.llm_response = match first_present(&places) {
                Some((name, raw)) => self.read_response(name, raw),
                None => self.read_text(top, "content", "").map(LlmResponse::from_text),
            };
        }
        if kind.can(HookCapability::SelectTools) {
            let places = [(specific, "toolConfig"), (top, "toolConfig")];
            answer.tool_config = first_present(&places).and_then(|(name, raw)| self.read_tool_config(name, raw));
        }
    }

    fn read_decision(&mut self, top: &RawFields) -> Option<Decision> {
        const EXPECTED_DECISIONS: &str = "one of allow, approve, confine, ask, deny, block";
        let word: String = self.read_field(top, "decision", "", EXPECTED_DECISIONS)?;
        match word.as_str() {
            "allow" | "approve" => Some(Decision::Allow),
            "confine" => Some(Decision::Confine),
            "ask" => Some(Decision::Ask),
            "deny" | "block" => Some(Decision::Deny),
            _ => {
                self.report_wrong_type("decision", EXPECTED_DECISIONS, &format!("\"{word}\""));
                None
            }
        }
    }

    /// Reads the profile of a confined call. One that is not understood is reported, and the strictest one counts.
    fn read_confinement(&mut self, specific: &RawFields) -> Option<ConfinementProfile> {
        let raw = specific.get("confine").filter(|raw| raw.get() != "null")?;
        serde_json::from_str(raw.get())
            .map_err(|error| {
                let text =
                    format!("`hookSpecificOutput.confine` is not a profile: {error}; nothing is allowed instead");
                self.problems.push(RunProblem { cause: Some(FailureCause::Output), text });
            })
            .ok()
    }

    fn read_tail_call(&mut self, specific: &RawFields) -> Option<TailCall> {
        const PATH_PREFIX: &str = "hookSpecificOutput.tailToolCallRequest.";
        let raw = specific.get("tailToolCallRequest")?;
        let request =
            self.read_nested_object(PATH_PREFIX.trim_end_matches('.'), raw, "an object with name and args")?;
        let args = self.read_field(&request, "args", PATH_PREFIX, "an object").unwrap_or_default();
        match self.read_text(&request, "name", PATH_PREFIX) {
            Some(name) => Some(TailCall { name, args }),
            None => {
                self.report_wrong_type(&format!("{PATH_PREFIX}name"), "a tool's name", "nothing");
                None
            }
        }
    }

    fn read_tool_config(&mut self, name: &str, raw: &RawValue) -> Option<ToolConfig> {
        let mut config = self.read_nested_object(name, raw, "an object")?;
        if let Some(nested) = config.remove("functionCallingConfig") {
            config = self.read_nested_object("functionCallingConfig", &nested, "an object")?;
        }
        let mode = self.read_field::<String>(&config, "mode", "toolConfig.", "AUTO, ANY or NONE");
        let mode = mode.and_then(|word| match word.to_ascii_uppercase().as_str() {
            "AUTO" => Some(ToolMode::Auto),
            "ANY" => Some(ToolMode::Any),
            "NONE" => Some(ToolMode::None),
            _ => {
                self.report_wrong_type("toolConfig.mode", "AUTO, ANY or NONE", &format!("\"{word}\""));
                None
            }
        });
        let allowed = self.read_field(&config, "allowedFunctionNames", "toolConfig.", "an array of tool names");
        Some(ToolConfig { mode, allowed: allowed.unwrap_or_default() })
    }

    fn read_request_patch(&mut self, name: &str, raw: &RawValue) -> Option<LlmRequestPatch> {
        let fields = self.read_nested_object(name, raw, "an object")?;
        let messages: Option<Vec<Value>> = self.read_field(&fields, "messages", "llm_request.", "an array of messages");
        let tool_config = fields.get("toolConfig").and_then(|raw| self.read_tool_config("toolConfig", raw));
        Some(LlmRequestPatch {
            model: self.read_text(&fields, "model", "llm_request."),
            messages: messages.and_then(|messages| self.read_messages(&messages)),
            config: self.read_field(&fields, "config", "llm_request.", "an object"),
            tool_config,
        })
    }

    fn read_messages(&mut self, messages: &[Value]) -> Option<Vec<LlmMessage>> {
        let read = messages.iter().map(|message| {
            let content = text_content(message.get("content")?)?;
            let role = message.get("role").and_then(Value::as_str).unwrap_or("user").to_owned();
            Some(LlmMessage { role, content })
        });
        let read: Option<Vec<_>> = read.collect();
        if read.is_none() {
            self.report_wrong_type("llm_request.messages", "messages with role and content", "something else");
        }
        read
    }

    /// Reads a model response in any accepted form: `candidates`, a single `candidate`, or just `text`.
    fn read_response(&mut self, name: &str, raw: &RawValue) -> Option<LlmResponse> {
        let value: Map<String, Value> = self.read_value(name, raw, "an object")?;
        let candidates = match (value.get("candidates"), value.get("candidate")) {
            (Some(Value::Array(list)), _) => list.iter().map(parse_candidate).collect::<Option<Vec<_>>>(),
            (None, Some(one)) => parse_candidate(one).map(|one| vec![one]),
            (None, None) => {
                value.get("text").and_then(Value::as_str).map(|text| LlmResponse::from_text(text).candidates)
            }
            (Some(_), _) => None,
        };
        let Some(candidates) = candidates else {
            self.report_wrong_type(name, "candidates with content.parts, or text", "something else");
            return None;
        };
        let usage = value.get("usageMetadata").and_then(|usage| serde_json::from_value::<LlmUsage>(usage.clone()).ok());
        let text = candidates.first().map(|candidate| candidate.content.parts.concat());
        Some(LlmResponse { text, candidates, usage })
    }

    fn read_text(&mut self, fields: &RawFields, name: &str, at: &str) -> Option<String> {
        self.read_field(fields, name, at, "a string")
    }

    fn read_field<T: DeserializeOwned>(
        &mut self,
        fields: &RawFields,
        name: &str,
        at: &str,
        expected: &str,
    ) -> Option<T> {
        let raw = fields.get(name)?;
        self.read_value(&format!("{at}{name}"), raw, expected)
    }

    /// Deserialises a value; null counts as absent.
    fn read_value<T: DeserializeOwned>(&mut self, name: &str, raw: &RawValue, expected: &str) -> Option<T> {
        if raw.get() == "null" {
            return None;
        }
        let value = match raw.get().starts_with(['{', '[']) {
            true => strict_json::parse(raw.get().as_bytes()).and_then(|parsed| {
                self.report_repeated_key(name, parsed.repeated_key);
                serde_json::from_value(parsed.value)
            }),
            false => serde_json::from_str(raw.get()),
        };
        match value {
            Ok(value) => Some(value),
            Err(_) => {
                self.report_wrong_type(name, expected, &preview(raw.get()));
                None
            }
        }
    }

    /// Reads an object whose fields are read one by one; null counts as absent.
    fn read_nested_object(&mut self, name: &str, raw: &RawValue, expected: &str) -> Option<RawFields> {
        if raw.get() == "null" {
            return None;
        }
        let mut object = RawObject::default();
        if object.read_object(raw.get()).is_err() {
            self.report_wrong_type(name, expected, &preview(raw.get()));
            return None;
        }
        self.report_repeated_key(name, object.repeated_key);
        Some(object.fields)
    }

    fn report_repeated_key(&mut self, at: &str, repeated: Option<String>) {
        if let Some(key) = repeated {
            let text = super::repeated_key_problem(at, &key);
            self.problems.push(RunProblem { cause: Some(FailureCause::Output), text });
        }
    }

    fn report_wrong_type(&mut self, name: &str, expected: &str, got: &str) {
        let text = format!("`{name}` should be {expected}, not {got}; the rest of its answer counts");
        self.problems.push(RunProblem { cause: Some(FailureCause::Output), text });
    }
}

fn first_present<'a>(places: &[(&'a RawFields, &'static str)]) -> Option<(&'static str, &'a RawValue)> {
    places.iter().find_map(|(fields, name)| fields.get(*name).map(|raw| (*name, &**raw)))
}

fn parse_candidate(value: &Value) -> Option<LlmCandidate> {
    let content = value.get("content")?;
    let parts = match content.get("parts") {
        Some(Value::Array(parts)) => parts.iter().map(text_content).collect::<Option<Vec<_>>>()?,
        Some(_) => return None,
        None => vec![text_content(content)?],
    };
    Some(LlmCandidate {
        content: LlmContent { parts, ..LlmContent::default() },
        finish_reason: value.get("finishReason").and_then(Value::as_str).map(str::to_owned),
        index: value.get("index").and_then(Value::as_u64).and_then(|index| u32::try_from(index).ok()),
        safety_ratings: value.get("safetyRatings").cloned(),
    })
}

/// The text of a string, of a `{text}` object, or of an array of either.
fn text_content(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(text_content).collect(),
        Value::Object(part) => match part.get("text") {
            Some(text) => text.as_str().map(str::to_owned),
            // A typed part that is not text, such as an image: a text message cannot hold it.
            None => part.contains_key("type").then(String::new),
        },
        _ => None,
    }
}

fn preview(json: &str) -> String {
    const MAX_PREVIEW_CHARS: usize = 40;
    let mut text: String = json.chars().take(MAX_PREVIEW_CHARS).collect();
    if text.len() < json.len() {
        text.push('…');
    }
    text
}
