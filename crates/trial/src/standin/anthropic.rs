//! Anthropic's Messages, streamed or whole.

use serde_json::{Value, json};

use super::Wire;
use super::http::{Answer, Request};
use super::wish::{Input, Offer, Reply};

pub(super) struct Messages;

impl Wire for Messages {
    fn offers(&self, body: &Value) -> Vec<Offer> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let offer = |tool: &Value| {
            Some(Offer { name: tool["name"].as_str()?.to_owned(), parameters: Some(tool.get("input_schema")?.clone()) })
        };
        tools.filter_map(offer).collect()
    }

    fn results(&self, body: &Value) -> usize {
        let messages = body["messages"].as_array().into_iter().flatten();
        let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
        parts.filter(|part| part["type"] == "tool_result").count()
    }

    fn write(&self, _: &Request, body: &Value, reply: &Reply) -> Answer {
        let (block, why) = match reply {
            Reply::Say(text) => (json!({"type": "text", "text": text}), "end_turn"),
            Reply::Call { name, input } => {
                let id = format!("toolu_trial_{}", self.results(body) + 1);
                (json!({"type": "tool_use", "id": id, "name": name, "input": object(input)}), "tool_use")
            }
        };
        let usage = json!({"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
        let message = json!({"id": "msg_trial", "type": "message", "role": "assistant", "model": body["model"], "content": [block],
            "stop_reason": why, "stop_sequence": null, "usage": usage});
        if body["stream"] == true { stream(message) } else { Answer::json(&message) }
    }
}

fn object(input: &Input) -> Value {
    match input {
        Input::Arguments(arguments) => arguments.clone(),
        Input::Text(text) => json!({"input": text}),
    }
}

/// The same message, piece by piece.
fn stream(mut message: Value) -> Answer {
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
    Answer::events(events.map(|(name, mut data)| {
        data["type"] = json!(name);
        (Some(name), data.to_string())
    }))
}
