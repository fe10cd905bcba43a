//! OpenAI's Chat Completions, streamed or whole.

use serde_json::{Value, json};

use super::WireFormat;
use super::http::{MockHttpRequest, MockHttpResponse};
use super::scripted_action::{MockCallInput, MockReply, OfferedTool};

pub(super) struct ChatCompletionsFormat;

impl WireFormat for ChatCompletionsFormat {
    fn offered_tools(&self, body: &Value) -> Vec<OfferedTool> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let offer = |tool: &Value| {
            let custom = tool["type"] == "custom";
            let tool = if custom { &tool["custom"] } else { &tool["function"] };
            let parameters = (!custom).then(|| tool["parameters"].clone());
            Some(OfferedTool { name: tool["name"].as_str()?.to_owned(), parameters })
        };
        tools.filter_map(offer).collect()
    }

    fn result_count(&self, body: &Value) -> usize {
        let messages = body["messages"].as_array().into_iter().flatten();
        messages.filter(|message| message["role"] == "tool").count()
    }

    fn write_reply(&self, _: &MockHttpRequest, body: &Value, reply: &MockReply) -> MockHttpResponse {
        let (message, why) = match reply {
            MockReply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
            MockReply::ToolCall { name, input } => {
                let id = format!("call_trial_{}", self.result_count(body) + 1);
                let call = match input {
                    MockCallInput::Arguments(arguments) => json!({"index": 0, "id": id, "type": "function",
                        "function": {"name": name, "arguments": arguments.to_string()}}),
                    MockCallInput::Text(text) => {
                        json!({"index": 0, "id": id, "type": "custom", "custom": {"name": name, "input": text}})
                    }
                };
                (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
            }
        };
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
        let base = |object: &str, choice: Value| json!({"id": "chatcmpl-trial", "object": object, "created": 1_700_000_000, "model": body["model"], "choices": [choice]});
        if body["stream"] != true {
            let mut whole = base("chat.completion", json!({"index": 0, "message": message, "finish_reason": why}));
            whole["usage"] = usage;
            return MockHttpResponse::json(&whole);
        }
        let piece = |choice| base("chat.completion.chunk", choice);
        let mut last = piece(json!({"index": 0, "delta": {}, "finish_reason": why}));
        last["usage"] = usage;
        let first = piece(json!({"index": 0, "delta": message, "finish_reason": null}));
        MockHttpResponse::event_stream(
            [first.to_string(), last.to_string(), "[DONE]".to_owned()].map(|data| (None, data)),
        )
    }
}
