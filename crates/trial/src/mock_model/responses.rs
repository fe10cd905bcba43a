//! OpenAI's Responses, streamed or whole.

use serde_json::{Value, json};

use super::WireFormat;
use super::http::{MockHttpRequest, MockHttpResponse};
use super::scripted_action::{MockCallInput, MockReply, OfferedTool};

pub(super) struct ResponsesFormat;

impl WireFormat for ResponsesFormat {
    fn offered_tools(&self, body: &Value) -> Vec<OfferedTool> {
        let tools = body["tools"].as_array().into_iter().flatten();
        let offer = |tool: &Value| {
            let parameters = match tool["type"].as_str()? {
                "function" => Some(tool.get("parameters")?.clone()),
                "custom" => None,
                _ => return None,
            };
            Some(OfferedTool { name: tool["name"].as_str()?.to_owned(), parameters })
        };
        tools.filter_map(offer).collect()
    }

    fn result_count(&self, body: &Value) -> usize {
        let items = body["input"].as_array().into_iter().flatten();
        let kinds = items.filter_map(|item| item["type"].as_str());
        kinds.filter(|kind| matches!(*kind, "function_call_output" | "custom_tool_call_output")).count()
    }

    fn write_reply(&self, _: &MockHttpRequest, body: &Value, reply: &MockReply) -> MockHttpResponse {
        let nth = self.result_count(body) + 1;
        let item = match reply {
            MockReply::Text(text) => {
                json!({"type": "message", "id": format!("msg_{nth}"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]})
            }
            MockReply::ToolCall { name, input: MockCallInput::Arguments(arguments) } => json!({"type": "function_call",
                "id": format!("fc_{nth}"), "call_id": format!("call_{nth}"), "name": name,
                "arguments": arguments.to_string(), "status": "completed"}),
            MockReply::ToolCall { name, input: MockCallInput::Text(text) } => json!({"type": "custom_tool_call",
                "id": format!("ctc_{nth}"), "call_id": format!("call_{nth}"), "name": name, "input": text, "status": "completed"}),
        };
        let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110});
        let response = |status: &str, output: Value| {
            json!({"id": format!("resp_{nth}"), "object": "response", "created_at": 1_700_000_000, "model": body["model"],
                "status": status, "output": output, "usage": usage})
        };
        let whole = response("completed", json!([item]));
        if body["stream"] != true {
            return MockHttpResponse::json(&whole);
        }
        let events = [
            ("response.created", json!({"response": response("in_progress", json!([]))})),
            ("response.output_item.added", json!({"output_index": 0, "item": item})),
            ("response.output_item.done", json!({"output_index": 0, "item": item})),
            ("response.completed", json!({"response": whole})),
        ];
        let mut number = 0;
        MockHttpResponse::event_stream(events.map(|(name, mut data)| {
            data["type"] = json!(name);
            data["sequence_number"] = json!(number);
            number += 1;
            (Some(name), data.to_string())
        }))
    }
}
