//! Anthropic's Messages, streamed or whole.

use serde_json::{Value, json};

use super::WireFormat;
use super::http::{MockHttpRequest, MockHttpResponse};
use super::scripted_action::{MockCallInput, MockReply, OfferedTool};

pub(super) struct AnthropicFormat;

impl WireFormat for AnthropicFormat {
    fn offered_tools(&self, body: &Value) -> Vec<OfferedTool> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let offer = |tool: &Value| {
            Some(OfferedTool {
                name: tool["name"].as_str()?.to_owned(),
                parameters: Some(tool.get("input_schema")?.clone()),
            })
        };
        tools.filter_map(offer).collect()
    }

    fn result_count(&self, body: &Value) -> usize {
        let messages = body["messages"].as_array().into_iter().flatten();
        let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
        parts.filter(|part| part["type"] == "tool_result").count()
    }

    fn write_reply(&self, _: &MockHttpRequest, body: &Value, reply: &MockReply) -> MockHttpResponse {
        let (block, why) = match reply {
            MockReply::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
            MockReply::ToolCall { name, input } => {
                let id = format!("toolu_trial_{}", self.result_count(body) + 1);
                (json!({"type": "tool_use", "id": id, "name": name, "input": input_object(input)}), "tool_use")
            }
        };
        let usage = json!({"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
        let message = json!({"id": "msg_trial", "type": "message", "role": "assistant", "model": body["model"], "content": [block],
            "stop_reason": why, "stop_sequence": null, "usage": usage});
        if body["stream"] == true { event_stream(message) } else { MockHttpResponse::json(&message) }
    }
}

fn input_object(input: &MockCallInput) -> Value {
    match input {
        MockCallInput::Arguments(arguments) => arguments.clone(),
        MockCallInput::Text(text) => json!({"input": text}),
    }
}

/// Returns the same message as a stream.
fn event_stream(mut message: Value) -> MockHttpResponse {
    let block = message["content"][0].take();
    let why = message["stop_reason"].take();
    message["content"] = json!([]);
    let (start, delta) = if block["type"] == "text" {
        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
    } else {
        let start = json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}});
        (start, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
    };
    let events = [
        ("message_start", json!({"message": message})),
        ("content_block_start", json!({"index": 0, "content_block": start})),
        ("content_block_delta", json!({"index": 0, "delta": delta})),
        ("content_block_stop", json!({"index": 0})),
        (
            "message_delta",
            json!({"delta": {"stop_reason": why, "stop_sequence": null}, "usage": {"output_tokens": 10}}),
        ),
        ("message_stop", json!({})),
    ];
    MockHttpResponse::event_stream(events.map(|(name, mut data)| {
        data["type"] = json!(name);
        (Some(name), data.to_string())
    }))
}
