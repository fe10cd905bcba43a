//! Writes an answer as the JSON object that a hook prints and that `fields.rs` reads.

use serde_json::{Map, Value, json};

use super::Answer;
use crate::event::EventKind;

impl Answer {
    /// The JSON object that a hook of this event would have printed to give this answer.
    pub fn to_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut object = Map::new();
        // A stop overrides the decision.
        insert_some(&mut object, "decision", self.decision.filter(|_| !self.stop).map(|decision| json!(decision)));
        insert_some(&mut object, "reason", self.reason.clone().map(Value::String));
        object.insert("continue".to_owned(), Value::Bool(!self.stop));
        insert_some(&mut object, "stopReason", self.stop_reason.clone().filter(|_| self.stop).map(Value::String));
        insert_some(&mut object, "systemMessage", self.system_message.clone().map(Value::String));
        insert_some(&mut object, "suppressOutput", self.suppress_output.then_some(Value::Bool(true)));
        let specific = self.specific_json(kind);
        insert_some(&mut object, "hookSpecificOutput", (!specific.is_empty()).then_some(Value::Object(specific)));
        object
    }

    fn specific_json(&self, kind: EventKind) -> Map<String, Value> {
        let mut object = Map::new();
        insert_some(&mut object, "additionalContext", self.additional_context.clone().map(Value::String));
        insert_some(&mut object, "tool_input", self.tool_input.clone().map(Value::Object));
        insert_some(&mut object, "confine", self.confinement.as_ref().map(|profile| json!(profile)));
        insert_some(&mut object, "redact_input", self.redact_input.then_some(Value::Bool(true)));
        insert_some(&mut object, "llm_request", self.llm_request.as_ref().map(|patch| json!(patch)));
        insert_some(&mut object, "llm_response", self.llm_response.as_ref().map(|response| json!(response)));
        insert_some(&mut object, "toolConfig", self.tool_config.as_ref().map(|config| json!(config)));
        let tail = self.tail_call.as_ref().map(|call| json!({"name": call.name, "args": call.args}));
        insert_some(&mut object, "tailToolCallRequest", tail);
        insert_some(&mut object, "clearContext", self.clear_context.then_some(Value::Bool(true)));
        if !object.is_empty() {
            object.shift_insert(0, "hookEventName".to_owned(), Value::String(kind.name().to_owned()));
        }
        object
    }
}

fn insert_some(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}
