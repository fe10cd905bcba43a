//! An answer as JSON, in a hook's own vocabulary: the one place that writes what `fields.rs` reads.

use serde_json::{Map, Value, json};

use super::Answer;
use crate::event::EventKind;

impl Answer {
    /// The object that a hook of this event would have printed.
    pub fn to_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut object = Map::new();
        // A stop says everything that a decision could.
        put(&mut object, "decision", self.decision.filter(|_| !self.stop).map(|decision| json!(decision)));
        put(&mut object, "reason", self.reason.clone().map(Value::String));
        object.insert("continue".to_owned(), Value::Bool(!self.stop));
        put(&mut object, "stopReason", self.stop_reason.clone().filter(|_| self.stop).map(Value::String));
        put(&mut object, "systemMessage", self.system_message.clone().map(Value::String));
        put(&mut object, "suppressOutput", self.suppress_output.then_some(Value::Bool(true)));
        let specific = self.specific_json(kind);
        put(&mut object, "hookSpecificOutput", (!specific.is_empty()).then_some(Value::Object(specific)));
        object
    }

    fn specific_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut object = Map::new();
        put(&mut object, "additionalContext", self.additional_context.clone().map(Value::String));
        put(&mut object, "tool_input", self.tool_input.clone().map(Value::Object));
        put(&mut object, "redact_input", self.redact_input.then_some(Value::Bool(true)));
        put(&mut object, "llm_request", self.llm_request.as_ref().map(|patch| json!(patch)));
        put(&mut object, "llm_response", self.llm_response.as_ref().map(|response| json!(response)));
        put(&mut object, "toolConfig", self.tool_config.as_ref().map(|config| json!(config)));
        let tail = self.tail_call.as_ref().map(|call| json!({"name": call.name, "args": call.args}));
        put(&mut object, "tailToolCallRequest", tail);
        put(&mut object, "clearContext", self.clear_context.then_some(Value::Bool(true)));
        if !object.is_empty() {
            object.shift_insert(0, "hookEventName".to_owned(), Value::String(kind.name().to_owned()));
        }
        object
    }
}

fn put(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}
