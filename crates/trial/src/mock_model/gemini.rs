//! Gemini's generateContent and streamGenerateContent.

use serde_json::{Value, json};

use super::WireFormat;
use super::http::{MockHttpRequest, MockHttpResponse};
use super::scripted_action::{MockCallInput, MockReply, OfferedTool};

pub(super) struct GeminiFormat;

impl WireFormat for GeminiFormat {
    fn offered_tools(&self, body: &Value) -> Vec<OfferedTool> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let declared = tools.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
        let offer = |tool: &Value| {
            let schema = tool.get("parametersJsonSchema").or_else(|| tool.get("parameters"));
            Some(OfferedTool {
                name: tool["name"].as_str()?.to_owned(),
                parameters: Some(schema.cloned().unwrap_or_default()),
            })
        };
        declared.filter_map(offer).collect()
    }

    fn result_count(&self, body: &Value) -> usize {
        let contents = body["contents"].as_array().into_iter().flatten();
        let parts = contents.flat_map(|content| content["parts"].as_array().into_iter().flatten());
        parts.filter(|part| part.get("functionResponse").is_some()).count()
    }

    fn write_reply(&self, request: &MockHttpRequest, body: &Value, reply: &MockReply) -> MockHttpResponse {
        let part = match reply {
            // A request for JSON comes from a helper of the agent, and gets an empty object.
            MockReply::Text(_) if body["generationConfig"]["responseMimeType"] == "application/json" => {
                json!({"text": "{}"})
            }
            MockReply::Text(text) => json!({"text": text}),
            MockReply::ToolCall { name, input } => {
                let arguments = match input {
                    MockCallInput::Arguments(arguments) => arguments.clone(),
                    MockCallInput::Text(text) => json!({"input": text}),
                };
                json!({"functionCall": {"name": name, "args": arguments}})
            }
        };
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
        let candidate = json!({"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0});
        let response = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"});
        match request.path().ends_with(":streamGenerateContent") {
            true if request.target.contains("alt=sse") => {
                MockHttpResponse::event_stream([(None, response.to_string())])
            }
            true => MockHttpResponse::json(&json!([response])),
            false => MockHttpResponse::json(&response),
        }
    }
}
