//! The stable model request and response that hooks on model events receive and return.
//!
//! They contain text only and are independent of the provider; the caller translates a provider's types to and from
//! them.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A model request, as hooks see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LlmRequest {
    /// The model's name.
    pub model: String,
    /// The conversation's text, oldest first.
    #[serde(default)]
    pub messages: Vec<LlmMessage>,
    /// Generation settings: `temperature`, `maxOutputTokens`, `topP`, `topK` and others.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// How the model may use tools, and the names of those on offer.
    #[serde(rename = "toolConfig", default, skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig>,
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LlmMessage {
    /// `user`, `model` or `system`.
    pub role: String,
    /// Its text.
    pub content: String,
}

/// How the model may use tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolConfig {
    /// Whether tools may, must or must not be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolMode>,
    /// The only tools that may be called; empty means no restriction.
    #[serde(rename = "allowedFunctionNames", default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
}

/// Whether tools may, must or must not be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum ToolMode {
    /// The model decides.
    Auto,
    /// At least one tool is called.
    Any,
    /// No tool is called.
    None,
}

/// A model's answer, or one streamed piece of it, as hooks see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LlmResponse {
    /// The first candidate's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The candidates.
    #[serde(default)]
    pub candidates: Vec<LlmCandidate>,
    /// What it cost.
    #[serde(rename = "usageMetadata", default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<LlmUsage>,
}

/// One candidate of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LlmCandidate {
    /// Its text parts.
    pub content: LlmContent,
    /// Why it ended, on the last piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The provider's safety ratings, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_ratings: Option<Value>,
}

/// A candidate's content: text parts only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LlmContent {
    /// Always `model`.
    pub role: String,
    /// The text parts.
    pub parts: Vec<String>,
}

impl Default for LlmContent {
    fn default() -> Self {
        LlmContent { role: "model".to_owned(), parts: Vec::new() }
    }
}

/// Token counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LlmUsage {
    /// Tokens of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_token_count: Option<u64>,
    /// Tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates_token_count: Option<u64>,
    /// Both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_token_count: Option<u64>,
}

impl LlmResponse {
    /// A response, or a piece of one, that consists of this text.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        let content = LlmContent { parts: vec![text.clone()], ..LlmContent::default() };
        LlmResponse {
            text: Some(text),
            candidates: vec![LlmCandidate { content, ..LlmCandidate::default() }],
            usage: None,
        }
    }

    /// The text of the first candidate, or `text` where there are no candidates.
    pub fn text(&self) -> String {
        match self.candidates.first() {
            Some(candidate) => candidate.content.parts.concat(),
            None => self.text.clone().unwrap_or_default(),
        }
    }
}

/// What a BeforeModel hook changes in a request: only the parts it named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LlmRequestPatch {
    /// Another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Other messages, in the order of the request's text messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<LlmMessage>>,
    /// Generation settings to set; those it does not name stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
    /// Another tool configuration.
    #[serde(rename = "toolConfig", skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig>,
}

impl LlmRequestPatch {
    /// Applies a later hook's patch over this one.
    pub(crate) fn overlay(&mut self, later: LlmRequestPatch) {
        self.model = later.model.or(self.model.take());
        self.messages = later.messages.or(self.messages.take());
        // Settings are merged one by one: a later hook has received the earlier one's and need not repeat them.
        if let Some(config) = later.config {
            self.config.get_or_insert_default().extend(config);
        }
        self.tool_config = later.tool_config.or(self.tool_config.take());
    }

    /// Applies the patch to a request.
    pub fn apply(&self, request: &mut LlmRequest) {
        if let Some(model) = &self.model {
            request.model.clone_from(model);
        }
        if let Some(messages) = &self.messages {
            request.messages.clone_from(messages);
        }
        if let Some(config) = &self.config {
            request.config.extend(config.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        if let Some(tool_config) = &self.tool_config {
            request.tool_config = Some(tool_config.clone());
        }
    }
}

/// JSON text that is serialised once and sent to many hooks without being copied.
///
/// The AfterModel events of a response that is streamed in a thousand pieces carry the same request a thousand times.
#[derive(Clone, Debug)]
pub struct SharedJson(Bytes);

impl SharedJson {
    /// Serialises a request.
    pub fn from_request(request: &LlmRequest) -> Self {
        // A request consists of strings, numbers and maps with string keys: serialising it cannot fail.
        let text = serde_json::to_vec(request).unwrap_or_else(|_| b"null".to_vec());
        // The text is kept for the whole response: `into_boxed_slice` frees the spare capacity.
        SharedJson(Bytes::from(text.into_boxed_slice()))
    }

    /// The JSON text as bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Parses the request; `None` if the text is not one.
    pub fn parse(&self) -> Option<LlmRequest> {
        serde_json::from_slice(&self.0).ok()
    }
}

impl Serialize for SharedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(SharedJson(Bytes::from(value.to_string())))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SharedJson {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        LlmRequest::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        LlmRequest::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_only_what_it_names() {
        let mut request: LlmRequest = serde_json::from_value(serde_json::json!({
            "model": "a", "messages": [{"role": "user", "content": "hi"}], "config": {"temperature": 1, "topK": 3}
        }))
        .unwrap();
        let patch = LlmRequestPatch {
            config: Some(serde_json::from_str(r#"{"temperature": 0}"#).unwrap()),
            ..LlmRequestPatch::default()
        };
        patch.apply(&mut request);
        assert_eq!(request.model, "a");
        assert_eq!(Value::Object(request.config), serde_json::json!({"temperature": 0, "topK": 3}));
    }

    #[test]
    fn a_later_patch_adds_to_an_earlier_one() {
        let config = |text: &str| LlmRequestPatch { config: serde_json::from_str(text).unwrap(), ..Default::default() };
        let mut patch = config(r#"{"temperature": 0, "topK": 1}"#);
        patch.overlay(config(r#"{"topK": 2}"#));
        assert_eq!(patch, config(r#"{"temperature": 0, "topK": 2}"#));
    }

    #[test]
    fn shared_json_survives_a_round_trip() {
        let request = LlmRequest { model: "m".into(), ..LlmRequest::default() };
        let shared = SharedJson::from_request(&request);
        assert_eq!(shared.parse(), Some(request));
        assert_eq!(serde_json::to_string(&shared).unwrap().as_bytes(), shared.bytes());
    }
}
