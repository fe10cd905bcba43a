//! OpenAI's Chat Completions, streamed or whole.

use serde_json::{Value, json};

use super::Wire;
use super::http::{Answer, Request};
use super::wish::{Input, Offer, Reply};

pub(super) struct Completions;

impl Wire for Completions {
    fn offers(&self, body: &Value) -> Vec<Offer> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let offer = |tool: &Value| {
            let custom = tool["type"] == "custom";
            let tool = if custom { &tool["custom"] } else { &tool["function"] };
            let parameters = (!custom).then(|| tool["parameters"].clone());
            Some(Offer { name: tool["name"].as_str()?.to_owned(), parameters })
        };
        tools.filter_map(offer).collect()
    }

    fn results(&self, body: &Value) -> usize {
        let messages = body["messages"].as_array().into_iter().flatten();
        messages.filter(|message| message["role"] == "tool").count()
    }

    fn write(&self, _: &Request, body: &Value, reply: &Reply) -> Answer {
        let (message, why) = match reply {
            Reply::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
            Reply::Call { name, input } => {
                let id = format!("call_trial_{}", self.results(body) + 1);
                let call = match input {
                    Input::Arguments(arguments) => json!({"index": 0, "id": id, "type": "function",
                        "function": {"name": name, "arguments": arguments.to_string()}}),
                    Input::Text(text) => {
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
            return Answer::json(&whole);
        }
        let piece = |choice| base("chat.completion.chunk", choice);
        let mut last = piece(json!({"index": 0, "delta": {}, "finish_reason": why}));
        last["usage"] = usage;
        let first = piece(json!({"index": 0, "delta": message, "finish_reason": null}));
        Answer::events([first.to_string(), last.to_string(), "[DONE]".to_owned()].map(|data| (None, data)))
    }
}
