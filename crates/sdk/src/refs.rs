//! Large fields that the agent sends once: stores them, and restores them in later inputs. A model request is parsed
//! once and shared: handlers can read it and cannot change it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::events::LlmRequest;
use crate::merge;

/// The input of handlers: the JSON, and the requests that are null in it.
pub(crate) struct HandlerInput {
    pub(crate) input: Value,
    pub(crate) shared_requests: Vec<(String, Arc<LlmRequest>)>,
}

impl HandlerInput {
    pub(crate) fn new(input: Value) -> HandlerInput {
        HandlerInput { input, shared_requests: Vec::new() }
    }

    /// Applies a handler's changes for the handlers after it.
    pub(crate) fn apply_changes(&mut self, specific: &Map<String, Value>) {
        if let (Some(Value::Object(input)), Some(Value::Object(changes))) =
            (self.input.get_mut("tool_input"), specific.get("tool_input"))
        {
            input.extend(changes.clone());
        }
        if let Some(Value::Object(changes)) = specific.get("llm_request") {
            let lent = self.shared_requests.iter().position(|(field, _)| field == "llm_request");
            let request = match lent.map(|at| self.shared_requests.swap_remove(at)) {
                // Slow but rare: a stored request that is changed for the next handler.
                Some((_, request)) => serde_json::to_value(&*request).unwrap_or_default(),
                None => self.input["llm_request"].take(),
            };
            self.input["llm_request"] = merge::patch_request(request, changes);
        }
        if let (Some(Value::String(prompt)), Some(Value::String(context))) =
            (self.input.get_mut("prompt"), specific.get("additionalContext"))
        {
            prompt.push_str("\n\n");
            prompt.push_str(context);
        }
    }
}

/// A stored field.
enum KeptValue {
    Request(Arc<LlmRequest>),
    Other(Value),
}

/// The stored fields, by number.
#[derive(Default)]
pub(crate) struct RefStore {
    by_number: HashMap<u64, KeptValue>,
}

impl RefStore {
    /// Returns the input of a request, with the stored fields filled in.
    pub(crate) fn restore_input(&mut self, mut request: Map<String, Value>) -> Result<HandlerInput, String> {
        let Some(Value::Object(input)) = request.remove("input") else {
            return Err("the request has no input".to_owned());
        };
        let mut given = HandlerInput::new(Value::Object(input));
        let mut fields = |name: &str| match request.remove(name) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        for (field, number) in fields("keep") {
            let number = parse_ref_number(&number)?;
            let value = given.input.get_mut(&field).map(Value::take);
            let value = value.ok_or_else(|| format!("the request keeps {field}, which it does not have"))?;
            let kept = match LlmRequest::deserialize(&value) {
                Ok(request) if value.is_object() => KeptValue::Request(Arc::new(request)),
                _ => KeptValue::Other(value),
            };
            self.by_number.insert(number, kept);
            self.insert_kept(&mut given, field, number)?;
        }
        for (field, growth) in fields("grow") {
            let number = parse_ref_number(&growth[0])?;
            match (self.by_number.get_mut(&number), &growth[1]) {
                (Some(KeptValue::Other(Value::String(text))), Value::String(more)) => text.push_str(more),
                _ => return Err(format!("no text is kept under {number}")),
            }
            self.insert_kept(&mut given, field, number)?;
        }
        for (field, number) in fields("kept") {
            self.insert_kept(&mut given, field, parse_ref_number(&number)?)?;
        }
        Ok(given)
    }

    fn insert_kept(&self, given: &mut HandlerInput, field: String, number: u64) -> Result<(), String> {
        match self.by_number.get(&number) {
            Some(KeptValue::Request(request)) => {
                given.input[&field] = Value::Null;
                given.shared_requests.push((field, Arc::clone(request)));
            }
            Some(KeptValue::Other(value)) => given.input[&field] = value.clone(),
            None => return Err(format!("nothing is kept under {number}")),
        }
        Ok(())
    }
}

fn parse_ref_number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is not a reference number"))
}

/// Deserialises a request, which is null if it is in the store.
pub(crate) fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<LlmRequest>, D::Error> {
    Ok(Arc::new(Option::<LlmRequest>::deserialize(deserializer)?.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::*;

    fn base_input() -> Value {
        json!({"session_id": "s", "transcript_path": "t", "cwd": "/", "hook_event_name": "BeforeModel", "timestamp": "t"})
    }

    #[test]
    fn a_kept_request_is_changed_only_for_the_next_handler() {
        let hook = Hook::new()
            .on(BeforeModel, |_| request(LlmRequestPatch { model: Some("other".into()), ..Default::default() }))
            .on(BeforeModel, |input| {
                message(format!("{} {}", input.llm_request.model, input.llm_request.messages.len()))
            });
        let mut store = RefStore::default();
        let mut first = base_input();
        first["llm_request"] = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
        let request = json!({"input": first, "keep": {"llm_request": 3}}).as_object().unwrap().clone();
        for request in
            [request, json!({"input": base_input(), "kept": {"llm_request": 3}}).as_object().unwrap().clone()]
        {
            let answer = hook.call_handlers(store.restore_input(request).unwrap()).unwrap();
            assert_eq!(answer["systemMessage"], "other 1");
        }
        let Some(KeptValue::Request(kept)) = store.by_number.get(&3) else { panic!("a request") };
        assert_eq!(kept.model, "m");
    }
}
