//! A request to a model: history, tools, settings. Cloning is cheap because history and tools are shared.
//! The JSON form here appears in replay errors; the providers build their own.

use std::sync::Arc;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::conversation::Content;

/// One request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The name of the model.
    pub model: String,
    /// The system instruction.
    pub system: Option<String>,
    /// The conversation so far; messages are shared, so that a growing history is not copied.
    pub contents: Vec<Arc<Content>>,
    /// The tools the model may call.
    pub tools: Arc<[Arc<ToolDeclaration>]>,
    /// Which tools it may or must call.
    pub tool_choice: Option<ToolChoice>,
    /// The generation settings.
    pub generation: GenerationConfig,
    /// Whether the provider searches the web for the answer.
    pub grounding: Grounding,
}

impl ModelRequest {
    /// Creates a request without tools and with the provider's default settings.
    #[must_use]
    pub fn new(model: impl Into<String>, contents: Vec<Arc<Content>>) -> Self {
        Self {
            model: model.into(),
            system: None,
            contents,
            tools: Arc::from([]),
            tool_choice: None,
            generation: GenerationConfig::default(),
            grounding: Grounding::None,
        }
    }

    /// Returns the conversation as a JSON array.
    #[must_use]
    pub fn contents_json(&self) -> String {
        // Messages consist of strings, numbers and maps with string keys, so serialising cannot fail.
        serde_json::to_string(&SharedContents(&self.contents)).unwrap_or_default()
    }
}

/// Whether the provider searches the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grounding {
    /// The model answers without a search.
    #[default]
    None,
    /// The provider searches with Google and the answer names its sources.
    GoogleSearch,
}

/// A tool as it is declared to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// The name to call it by.
    pub name: String,
    /// What the tool does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

impl Serialize for ToolDeclaration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("description", &self.description)?;
        map.serialize_entry("parametersJsonSchema", &self.parameters)?;
        map.end()
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolMode {
    /// The model decides whether to call tools.
    #[default]
    Auto,
    /// The model must call a tool.
    Any,
    /// The model must not call tools.
    None,
}

impl ToolMode {
    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "AUTO",
            Self::Any => "ANY",
            Self::None => "NONE",
        }
    }
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolChoice {
    /// Whether the model may, must or must not call tools.
    pub mode: ToolMode,
    /// The only tools it may call; empty means all.
    pub allowed: Vec<String>,
}

impl ToolChoice {
    /// Returns whether the choice permits a call to this tool.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        self.mode != ToolMode::None && (self.allowed.is_empty() || self.allowed.iter().any(|name| name == tool))
    }
}

/// Writes Gemini's `toolConfig`.
impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut inner = Map::new();
        inner.insert("mode".to_owned(), self.mode.as_str().into());
        if !self.allowed.is_empty() {
            inner.insert("allowedFunctionNames".to_owned(), self.allowed.clone().into());
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("functionCallingConfig", &inner)?;
        map.end()
    }
}

/// Generation settings. The provider decides about unset ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GenerationConfig {
    /// The sampling temperature, from 0 to 2.
    pub temperature: Option<f64>,
    /// The cumulative probability of the tokens to sample from.
    pub top_p: Option<f64>,
    /// The number of tokens to sample from.
    pub top_k: Option<u32>,
    /// The length limit of the answer in tokens.
    pub max_output_tokens: Option<u64>,
    /// Texts that end the answer.
    pub stop_sequences: Vec<String>,
    /// The seed, for reproducible answers.
    pub seed: Option<i64>,
    /// How much the model thinks, and whether thoughts are sent.
    pub thinking: Option<ThinkingConfig>,
    /// Other settings, sent under these names.
    pub extra: Map<String, Value>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThinkingConfig {
    /// Whether thoughts are sent with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_thoughts: Option<bool>,
    /// The token budget for thinking; -1 leaves it to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<i64>,
    /// The level for models without a budget: `low`, `medium`, `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
}

impl GenerationConfig {
    /// Returns whether no setting is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if let Some(value) = self.temperature {
            map.serialize_entry("temperature", &value)?;
        }
        if let Some(value) = self.top_p {
            map.serialize_entry("topP", &value)?;
        }
        if let Some(value) = self.top_k {
            map.serialize_entry("topK", &value)?;
        }
        if let Some(value) = self.max_output_tokens {
            map.serialize_entry("maxOutputTokens", &value)?;
        }
        if !self.stop_sequences.is_empty() {
            map.serialize_entry("stopSequences", &self.stop_sequences)?;
        }
        if let Some(value) = self.seed {
            map.serialize_entry("seed", &value)?;
        }
        if let Some(value) = &self.thinking {
            map.serialize_entry("thinkingConfig", value)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        Ok(())
    }
}

impl Serialize for GenerationConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for GenerationConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        Ok(Self {
            temperature: take_field(&mut fields, "temperature")?,
            top_p: take_field(&mut fields, "topP")?,
            top_k: take_field(&mut fields, "topK")?,
            max_output_tokens: take_field(&mut fields, "maxOutputTokens")?,
            stop_sequences: take_field(&mut fields, "stopSequences")?.unwrap_or_default(),
            seed: take_field(&mut fields, "seed")?,
            thinking: take_field(&mut fields, "thinkingConfig")?,
            extra: fields,
        })
    }
}

/// Removes and parses a field; a wrong type is an error that names the field.
fn take_field<T: serde::de::DeserializeOwned, E: serde::de::Error>(
    fields: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<T>, E> {
    match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            serde_json::from_value(value).map(Some).map_err(|error| E::custom(format_args!("`{name}`: {error}")))
        }
    }
}

/// Serialises shared messages as one JSON array.
pub(crate) struct SharedContents<'a>(pub(crate) &'a [Arc<Content>]);

impl Serialize for SharedContents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
        for content in self.0 {
            seq.serialize_element(&**content)?;
        }
        seq.end()
    }
}

/// Serialises the system text as the message that Gemini expects.
pub(crate) struct SystemInstruction<'a>(pub(crate) &'a str);

impl Serialize for SystemInstruction<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SystemTextPart<'a> {
            text: &'a str,
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("parts", &[SystemTextPart { text: self.0 }])?;
        map.end()
    }
}

/// Serialises the entries of Gemini's `tools`; none if there is nothing to declare.
pub(crate) struct GeminiTools<'a>(pub(crate) &'a ModelRequest);

impl GeminiTools<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.tools.is_empty() && self.0.grounding == Grounding::None
    }
}

impl Serialize for GeminiTools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct FunctionDeclarations<'a> {
            function_declarations: Vec<&'a ToolDeclaration>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct GoogleSearchTool {
            google_search: Map<String, Value>,
        }
        let mut seq = serializer.serialize_seq(None)?;
        if !self.0.tools.is_empty() {
            let function_declarations = self.0.tools.iter().map(|tool| &**tool).collect();
            seq.serialize_element(&FunctionDeclarations { function_declarations })?;
        }
        if self.0.grounding == Grounding::GoogleSearch {
            seq.serialize_element(&GoogleSearchTool { google_search: Map::new() })?;
        }
        seq.end()
    }
}

/// Writes `{model, contents, config}`, the form that tools made for Gemini CLI expect.
impl Serialize for ModelRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct RequestConfig<'a>(&'a ModelRequest);
        impl Serialize for RequestConfig<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                self.0.generation.write(&mut map)?;
                if let Some(system) = &self.0.system {
                    map.serialize_entry("systemInstruction", system)?;
                }
                if !GeminiTools(self.0).is_empty() {
                    map.serialize_entry("tools", &GeminiTools(self.0))?;
                }
                if let Some(choice) = &self.0.tool_choice {
                    map.serialize_entry("toolConfig", choice)?;
                }
                map.end()
            }
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("model", &self.model)?;
        map.serialize_entry("contents", &SharedContents(&self.contents))?;
        map.serialize_entry("config", &RequestConfig(self))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_clone_shares_the_history() {
        let request = ModelRequest::new("m", vec![Arc::new(Content::user_text("x".repeat(1000)))]);
        let copy = request.clone();
        assert!(Arc::ptr_eq(&request.contents[0], &copy.contents[0]));
        assert!(Arc::ptr_eq(&request.tools, &copy.tools));
    }

    #[test]
    fn generation_settings_keep_what_they_do_not_know() {
        let json = json!({"temperature": 0.5, "topK": 3, "stopSequences": ["x"],
            "thinkingConfig": {"thinkingBudget": -1}, "responseMimeType": "text/plain"});
        let config: GenerationConfig = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(config.extra.len(), 1);
        assert_eq!(serde_json::to_value(&config).unwrap(), json);
        let error = serde_json::from_value::<GenerationConfig>(json!({"topK": "three"})).unwrap_err();
        assert!(error.to_string().starts_with("`topK`: "), "{error}");
    }

    #[test]
    fn the_json_form_is_the_one_of_gemini_cli() {
        let mut request = ModelRequest::new("m", vec![Arc::new(Content::user_text("hi"))]);
        request.system = Some("be brief".into());
        request.generation.temperature = Some(0.0);
        request.tools = Arc::from([Arc::new(ToolDeclaration {
            name: "glob".into(),
            description: "finds files".into(),
            parameters: json!({"type": "object"}),
        })]);
        request.tool_choice = Some(ToolChoice { mode: ToolMode::Any, allowed: vec!["glob".into()] });
        assert_eq!(
            serde_json::to_value(&request).unwrap(),
            json!({
                "model": "m",
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "config": {
                    "temperature": 0.0,
                    "systemInstruction": "be brief",
                    "tools": [{"functionDeclarations": [{"name": "glob", "description": "finds files",
                        "parametersJsonSchema": {"type": "object"}}]}],
                    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["glob"]}}
                }
            })
        );
    }

    #[test]
    fn a_choice_allows_what_it_names() {
        let choice = |mode, allowed: &[&str]| ToolChoice {
            mode,
            allowed: allowed.iter().map(|&name| name.to_owned()).collect(),
        };
        assert!(choice(ToolMode::Auto, &[]).allows("glob"));
        assert!(!choice(ToolMode::None, &["glob"]).allows("glob"));
        assert!(!choice(ToolMode::Any, &["glob"]).allows("replace"));
    }
}
