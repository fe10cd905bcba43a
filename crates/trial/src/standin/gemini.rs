//! Gemini's generateContent and streamGenerateContent.

use serde_json::{Value, json};

use super::Wire;
use super::http::{Answer, Request};
use super::wish::{Input, Offer, Reply};

pub(super) struct Gemini;

impl Wire for Gemini {
    fn offers(&self, body: &Value) -> Vec<Offer> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let declared = tools.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
        let offer = |tool: &Value| {
            let schema = tool.get("parametersJsonSchema").or_else(|| tool.get("parameters"));
            Some(Offer {
                name: tool["name"].as_str()?.to_owned(),
                parameters: Some(schema.cloned().unwrap_or_default()),
            })
        };
        declared.filter_map(offer).collect()
    }

    fn results(&self, body: &Value) -> usize {
        let contents = body["contents"].as_array().into_iter().flatten();
        let parts = contents.flat_map(|content| content["parts"].as_array().into_iter().flatten());
        parts.filter(|part| part.get("functionResponse").is_some()).count()
    }

    fn write(&self, request: &Request, body: &Value, reply: &Reply) -> Answer {
        let part = match reply {
            // Whoever wants JSON is a helper of the agent; it gets some.
            Reply::Say(_) if body["generationConfig"]["responseMimeType"] == "application/json" => {
                json!({"text": "{}"})
            }
            Reply::Say(text) => json!({"text": text}),
            Reply::Call { name, input } => {
                let arguments = match input {
                    Input::Arguments(arguments) => arguments.clone(),
                    Input::Text(text) => json!({"input": text}),
                };
                json!({"functionCall": {"name": name, "args": arguments}})
            }
        };
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
        let candidate = json!({"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0});
        let response = json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"});
        match request.path().ends_with(":streamGenerateContent") {
            true if request.target.contains("alt=sse") => Answer::events([(None, response.to_string())]),
            true => Answer::json(&json!([response])),
            false => Answer::json(&response),
        }
    }
}
