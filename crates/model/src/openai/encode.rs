//! Writes a request as the body of a chat completion: tools, tool choice, settings.
//! `messages.rs` writes the history.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::messages::messages;
use crate::error::ModelError;
use crate::request::{GenerationConfig, ModelRequest, ToolChoice, ToolDeclaration, ToolMode};

/// The variant of the format that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenAiDialect {
    /// OpenAI's own servers, which refuse unknown settings.
    OpenAi,
    /// All other servers.
    Compatible,
}

/// Returns the body of a streamed chat completion.
pub(super) fn encode_body(request: &ModelRequest, dialect: OpenAiDialect) -> Result<Vec<u8>, ModelError> {
    serde_json::to_vec(&ChatBody { request, dialect })
        .map_err(|error| ModelError::Config(format!("the request cannot be written: {error}")))
}

struct ChatBody<'a> {
    request: &'a ModelRequest,
    dialect: OpenAiDialect,
}

impl Serialize for ChatBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &request.model)?;
        map.serialize_entry("messages", &messages(request))?;
        map.serialize_entry("stream", &true)?;
        map.serialize_entry("stream_options", &json!({"include_usage": true}))?;
        let (tools, choice) = declared_tools(request);
        if !tools.is_empty() {
            map.serialize_entry("tools", &tools)?;
            if let Some(choice) = choice {
                map.serialize_entry("tool_choice", &choice)?;
            }
        }
        for (name, value) in generation_settings(&request.generation, self.dialect) {
            map.serialize_entry(&name, &value)?;
        }
        map.end()
    }
}

struct ChatTool<'a>(&'a ToolDeclaration);

impl Serialize for ChatTool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ChatToolFunction<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        let ToolDeclaration { name, description, parameters } = self.0;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &ChatToolFunction { name, description, parameters })?;
        map.end()
    }
}

/// Returns the tools to declare and the tool choice. Where several tools are allowed, only those are declared.
fn declared_tools(request: &ModelRequest) -> (Vec<ChatTool<'_>>, Option<Value>) {
    let all = || request.tools.iter().map(|tool| ChatTool(tool)).collect();
    let Some(ToolChoice { mode, allowed }) = &request.tool_choice else {
        return (all(), None);
    };
    let some = || {
        let named = |tool: &&Arc<ToolDeclaration>| allowed.is_empty() || allowed.contains(&tool.name);
        request.tools.iter().filter(named).map(|tool| ChatTool(tool)).collect()
    };
    match (mode, allowed.as_slice()) {
        (ToolMode::None, _) => (all(), Some(json!("none"))),
        (ToolMode::Auto, _) => (some(), Some(json!("auto"))),
        (ToolMode::Any, [name]) => (some(), Some(json!({"type": "function", "function": {"name": name}}))),
        (ToolMode::Any, _) => (some(), Some(json!("required"))),
    }
}

fn generation_settings(config: &GenerationConfig, dialect: OpenAiDialect) -> Map<String, Value> {
    let mut out = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    set("temperature", config.temperature.map(Value::from));
    set("top_p", config.top_p.map(Value::from));
    set("seed", config.seed.map(Value::from));
    set("stop", (!config.stop_sequences.is_empty()).then(|| config.stop_sequences.clone().into()));
    let limit = config.max_output_tokens.map(Value::from);
    match dialect {
        OpenAiDialect::OpenAi => set("max_completion_tokens", limit),
        OpenAiDialect::Compatible => {
            set("max_tokens", limit);
            set("top_k", config.top_k.map(Value::from));
        }
    }
    let level = config.thinking.as_ref().and_then(|thinking| thinking.thinking_level.as_deref());
    set("reasoning_effort", level.map(|level| level.to_ascii_lowercase().into()));
    for (name, value) in &config.extra {
        match name.as_str() {
            "presencePenalty" => set("presence_penalty", Some(value.clone())),
            "frequencyPenalty" => set("frequency_penalty", Some(value.clone())),
            "responseMimeType" if value == "application/json" => {
                set("response_format", Some(json!({"type": "json_object"})));
            }
            // Gemini's own settings are in camelCase and have no meaning here.
            name if name.contains(|c: char| c.is_ascii_uppercase()) => {}
            name => set(name, Some(value.clone())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;
    use std::sync::Arc;

    fn encoded(request: &ModelRequest, dialect: OpenAiDialect) -> Value {
        serde_json::from_slice(&encode_body(request, dialect).unwrap()).unwrap()
    }

    fn request(contents: Vec<Content>) -> ModelRequest {
        ModelRequest::new("m", contents.into_iter().map(Arc::new).collect())
    }

    #[test]
    fn every_choice_of_tools() {
        let tool = |name: &str| ToolDeclaration {
            name: name.into(),
            description: "d".into(),
            parameters: json!({"type": "object"}),
        };
        let mut request = request(vec![Content::user_text("x")]);
        request.tools = Arc::from(["a", "b", "c"].map(|name| Arc::new(tool(name))));
        let mut check = |mode, allowed: &[&str], count: usize, choice: Value| {
            let allowed = allowed.iter().map(|&name| name.to_owned()).collect();
            request.tool_choice = Some(ToolChoice { mode, allowed });
            let body = encoded(&request, OpenAiDialect::OpenAi);
            assert_eq!(body["tools"].as_array().map_or(0, Vec::len), count);
            assert_eq!(body["tool_choice"], choice);
        };
        check(ToolMode::Auto, &[], 3, json!("auto"));
        check(ToolMode::Auto, &["a"], 1, json!("auto"));
        check(ToolMode::None, &["a"], 3, json!("none"));
        check(ToolMode::Any, &[], 3, json!("required"));
        check(ToolMode::Any, &["b"], 1, json!({"type": "function", "function": {"name": "b"}}));
        check(ToolMode::Any, &["a", "c"], 2, json!("required"));
        check(ToolMode::Any, &["unknown"], 0, Value::Null);
    }

    #[test]
    fn settings_take_the_servers_names() {
        let mut request = request(vec![]);
        request.generation = serde_json::from_value(json!({
            "temperature": 0.5, "topK": 5, "maxOutputTokens": 9, "stopSequences": ["x"],
            "thinkingConfig": {"thinkingLevel": "LOW"},
            "responseMimeType": "application/json", "candidateCount": 1, "min_p": 0.1
        }))
        .unwrap();
        let body = encoded(&request, OpenAiDialect::Compatible);
        assert_eq!(body["max_tokens"], 9);
        assert_eq!(body["top_k"], 5);
        assert_eq!(body["reasoning_effort"], "low");
        assert_eq!(body["response_format"]["type"], "json_object");
        assert_eq!(body["min_p"], 0.1);
        assert_eq!(body.get("candidateCount"), None);
        let body = encoded(&request, OpenAiDialect::OpenAi);
        assert_eq!((&body["max_completion_tokens"], body.get("top_k")), (&json!(9), None));
    }
}
