//! One part of a message, in Gemini's JSON form: text, thought, tool call, tool result, media.
//! Unknown fields of a part are kept and written back unchanged.

use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The content of the part.
    pub kind: PartKind,
    /// An opaque token that the provider wants back with the part, whatever its kind.
    pub thought_signature: Option<String>,
    /// Unknown fields (`videoMetadata`, …), kept so that they can be sent back.
    pub extra: Option<Box<Map<String, Value>>>,
}

/// The content of a [`Part`].
#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Text of the message.
    Text(String),
    /// The model's thinking, which is not part of the answer.
    Thought(String),
    /// A tool call by the model.
    FunctionCall(FunctionCall),
    /// The result of a tool call.
    FunctionResponse(FunctionResponse),
    /// Media inside the message.
    InlineData(Blob),
    /// Media by reference.
    FileData(FileData),
    /// An unknown kind, whose fields are in [`Part::extra`].
    Unknown,
}

/// A tool call as the model makes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The id that links the call to its result; some providers give none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments by name.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub args: Map<String, Value>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionResponse {
    /// The id of the call, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The result, by convention under `output` or `error`.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub response: Map<String, Value>,
    /// Media that belong to the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// Media inside a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// The MIME type, for example `image/png`.
    #[serde(default)]
    pub mime_type: String,
    /// The bytes in base64.
    #[serde(default)]
    pub data: String,
}

/// Media by reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileData {
    /// The MIME type, for example `application/pdf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The URI of the media.
    pub file_uri: String,
}

impl Part {
    /// Creates a part of this kind without signature and further fields.
    #[must_use]
    pub fn new(kind: PartKind) -> Self {
        Self { kind, thought_signature: None, extra: None }
    }

    /// Creates a text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text(text.into()))
    }

    /// Creates a thought part.
    #[must_use]
    pub fn thought(text: impl Into<String>) -> Self {
        Self::new(PartKind::Thought(text.into()))
    }

    /// Creates a tool call.
    #[must_use]
    pub fn function_call(id: Option<String>, name: impl Into<String>, args: Map<String, Value>) -> Self {
        Self::new(PartKind::FunctionCall(FunctionCall { id, name: name.into(), args }))
    }

    /// Creates a tool result.
    #[must_use]
    pub fn function_response(id: Option<String>, name: impl Into<String>, response: Map<String, Value>) -> Self {
        let (name, parts) = (name.into(), Vec::new());
        Self::new(PartKind::FunctionResponse(FunctionResponse { id, name, response, parts }))
    }

    /// Creates a part with inline media, already in base64.
    #[must_use]
    pub fn inline_data(mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self::new(PartKind::InlineData(Blob { mime_type: mime_type.into(), data: data.into() }))
    }

    /// Returns the text of a text part; thoughts are not text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a thought.
    #[must_use]
    pub fn as_thought(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Thought(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the tool call, if this is one.
    #[must_use]
    pub fn as_function_call(&self) -> Option<&FunctionCall> {
        match &self.kind {
            PartKind::FunctionCall(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the tool result, if this is one.
    #[must_use]
    pub fn as_function_response(&self) -> Option<&FunctionResponse> {
        match &self.kind {
            PartKind::FunctionResponse(response) => Some(response),
            _ => None,
        }
    }

    /// Appends `next` if both are pieces of one text or thought; otherwise returns it.
    ///
    /// Nothing is appended after a signature, because the signature covers exactly the text before it.
    pub(crate) fn try_append(&mut self, next: Part) -> Option<Part> {
        if self.thought_signature.is_some() || self.extra.is_some() || next.extra.is_some() {
            return Some(next);
        }
        match (&mut self.kind, &next.kind) {
            (PartKind::Text(text), PartKind::Text(more)) | (PartKind::Thought(text), PartKind::Thought(more)) => {
                text.push_str(more)
            }
            _ => return Some(next),
        }
        self.thought_signature = next.thought_signature;
        None
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.kind {
            PartKind::Text(text) => map.serialize_entry("text", text)?,
            PartKind::Thought(text) => {
                map.serialize_entry("text", text)?;
                map.serialize_entry("thought", &true)?;
            }
            PartKind::FunctionCall(call) => map.serialize_entry("functionCall", call)?,
            PartKind::FunctionResponse(response) => {
                map.serialize_entry("functionResponse", response)?;
            }
            PartKind::InlineData(blob) => map.serialize_entry("inlineData", blob)?,
            PartKind::FileData(file) => map.serialize_entry("fileData", file)?,
            PartKind::Unknown => {}
        }
        if let Some(signature) = &self.thought_signature {
            map.serialize_entry("thoughtSignature", signature)?;
        }
        for (key, value) in self.extra.iter().flat_map(|extra| extra.iter()) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part: an object with `text`, `functionCall` or the like")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut text: Option<String> = None;
        let mut thought = false;
        let mut data: Option<PartKind> = None;
        let mut thought_signature = None;
        let mut extra = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let kind = match key.as_str() {
                "text" => {
                    text = map.next_value()?;
                    continue;
                }
                "thought" => {
                    thought = map.next_value::<Option<bool>>()?.unwrap_or_default();
                    continue;
                }
                "thoughtSignature" | "thought_signature" => {
                    thought_signature = map.next_value()?;
                    continue;
                }
                "functionCall" => map.next_value::<Option<_>>()?.map(PartKind::FunctionCall),
                "functionResponse" => map.next_value::<Option<_>>()?.map(PartKind::FunctionResponse),
                "inlineData" => map.next_value::<Option<_>>()?.map(PartKind::InlineData),
                "fileData" => map.next_value::<Option<_>>()?.map(PartKind::FileData),
                _ => {
                    extra.insert(key, map.next_value()?);
                    continue;
                }
            };
            if kind.is_some() && data.is_some() {
                return Err(A::Error::custom(format_args!("`{key}` next to another kind of content in one part")));
            }
            data = data.or(kind);
        }
        let kind = match (data, text) {
            (Some(kind), beside) => {
                // Such a part is invalid but occurs; the text that came with the call is kept.
                if let Some(text) = beside.filter(|text| !text.is_empty()) {
                    extra.insert("text".to_owned(), Value::String(text));
                }
                kind
            }
            (None, Some(text)) if thought => PartKind::Thought(text),
            (None, Some(text)) => PartKind::Text(text),
            (None, None) => PartKind::Unknown,
        };
        let extra = (!extra.is_empty()).then(|| Box::new(extra));
        Ok(Part { kind, thought_signature, extra })
    }
}

/// Reads `null` as an empty map.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a list of parts; a single part or `null` is accepted too.
pub(crate) fn parts_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    struct PartsVisitor;
    impl<'de> Visitor<'de> for PartsVisitor {
        type Value = Vec<Part>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of parts")
        }
        fn visit_unit<E>(self) -> Result<Vec<Part>, E> {
            Ok(Vec::new())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Part>, A::Error> {
            let mut parts = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(64));
            while let Some(part) = seq.next_element()? {
                parts.push(part);
            }
            Ok(parts)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Part>, A::Error> {
            Ok(vec![PartVisitor.visit_map(map)?])
        }
    }
    deserializer.deserialize_any(PartsVisitor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn round_trip(value: &Value) -> Part {
        let part: Part = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(&serde_json::to_value(&part).unwrap(), value);
        part
    }

    #[test]
    fn every_kind_survives_the_round_trip() {
        assert_eq!(round_trip(&json!({"text": "hi"})), Part::text("hi"));
        assert_eq!(round_trip(&json!({"text": "hm", "thought": true})), Part::thought("hm"));
        let call = round_trip(&json!({
            "functionCall": {"id": "c1", "name": "glob", "args": {"pattern": "*"}},
            "thoughtSignature": "c2ln"
        }));
        assert_eq!(call.thought_signature.as_deref(), Some("c2ln"));
        assert_eq!(call.as_function_call().unwrap().name, "glob");
        round_trip(&json!({"functionResponse": {"name": "glob", "response": {"output": "a"}}}));
        round_trip(&json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}));
        round_trip(&json!({"fileData": {"fileUri": "gs://x"}}));
    }

    #[test]
    fn unknown_kinds_and_fields_are_kept() {
        let part = round_trip(&json!({"executableCode": {"language": "PYTHON", "code": "1"}}));
        assert_eq!(part.kind, PartKind::Unknown);
        round_trip(&json!({"inlineData": {"mimeType": "video/mp4", "data": ""}, "videoMetadata": {"fps": 1}}));
        round_trip(&json!({"thoughtSignature": "abc"}));
        round_trip(&json!({}));
        let both = round_trip(&json!({"functionCall": {"name": "x", "args": {}}, "text": "beside"}));
        assert!(both.as_function_call().is_some());
    }

    #[test]
    fn a_call_needs_neither_id_nor_args() {
        let part: Part = serde_json::from_str(r#"{"functionCall":{"name":"x","args":null}}"#).unwrap();
        assert_eq!(part, Part::function_call(None, "x", Map::new()));
        let wrong = serde_json::from_str::<Part>(r#"{"functionCall":{"args":{}}}"#).unwrap_err();
        assert!(wrong.to_string().contains("missing field `name`"), "{wrong}");
        assert!(serde_json::from_str::<Part>(r#"{"functionCall":{"name":"x"},"fileData":{"fileUri":"y"}}"#).is_err());
    }

    #[test]
    fn a_signature_ends_a_running_text() {
        let mut first = Part::text("a");
        assert_eq!(first.try_append(Part::text("b")), None);
        assert_eq!(first.as_text(), Some("ab"));
        let mut signed = Part::text("c");
        signed.thought_signature = Some("s".into());
        assert_eq!(first.try_append(signed), None);
        assert_eq!(first.try_append(Part::text("d")), Some(Part::text("d")));
        assert_eq!(Part::text("x").try_append(Part::thought("y")), Some(Part::thought("y")));
    }
}
