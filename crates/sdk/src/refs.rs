//! Large fields that the agent sends once: what is kept of them, and inputs that have them as if they had been sent again.
//! A model request is read once, and shared: handlers see it and can't change it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::events::LlmRequest;
use crate::merge;

/// What handlers are given: an input, and the requests that stand in it as null.
pub(crate) struct Given {
    pub(crate) input: Value,
    pub(crate) lent: Vec<(String, Arc<LlmRequest>)>,
}

impl Given {
    pub(crate) fn new(input: Value) -> Given {
        Given { input, lent: Vec::new() }
    }

    /// What a handler changed, as those after it see it.
    pub(crate) fn advance(&mut self, specific: &Map<String, Value>) {
        if let (Some(Value::Object(input)), Some(Value::Object(changes))) =
            (self.input.get_mut("tool_input"), specific.get("tool_input"))
        {
            input.extend(changes.clone());
        }
        if let Some(Value::Object(changes)) = specific.get("llm_request") {
            let lent = self.lent.iter().position(|(field, _)| field == "llm_request");
            let request = match lent.map(|at| self.lent.swap_remove(at)) {
                // Rare enough to be slow: a request that was sent earlier, and is changed for the next handler.
                Some((_, request)) => serde_json::to_value(&*request).unwrap_or_default(),
                None => self.input["llm_request"].take(),
            };
            self.input["llm_request"] = merge::patch(request, changes);
        }
        if let (Some(Value::String(prompt)), Some(Value::String(context))) =
            (self.input.get_mut("prompt"), specific.get("additionalContext"))
        {
            prompt.push_str("\n\n");
            prompt.push_str(context);
        }
    }
}

/// Something kept.
enum Kept {
    Request(Arc<LlmRequest>),
    Other(Value),
}

/// What is kept, by number.
#[derive(Default)]
pub(crate) struct Store {
    kept: HashMap<u64, Kept>,
}

impl Store {
    /// The input of a request, with the fields that were sent earlier.
    pub(crate) fn whole(&mut self, mut heard: Map<String, Value>) -> Result<Given, String> {
        let Some(Value::Object(input)) = heard.remove("input") else {
            return Err("the request has no input".to_owned());
        };
        let mut given = Given::new(Value::Object(input));
        let mut fields = |name: &str| match heard.remove(name) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        for (field, number) in fields("keep") {
            let number = number_of(&number)?;
            let value = given.input.get_mut(&field).map(Value::take);
            let value = value.ok_or_else(|| format!("the request keeps {field}, which it does not have"))?;
            let kept = match LlmRequest::deserialize(&value) {
                Ok(request) if value.is_object() => Kept::Request(Arc::new(request)),
                _ => Kept::Other(value),
            };
            self.kept.insert(number, kept);
            self.lend(&mut given, field, number)?;
        }
        for (field, growth) in fields("grow") {
            let number = number_of(&growth[0])?;
            match (self.kept.get_mut(&number), &growth[1]) {
                (Some(Kept::Other(Value::String(text))), Value::String(more)) => text.push_str(more),
                _ => return Err(format!("no text is kept under {number}")),
            }
            self.lend(&mut given, field, number)?;
        }
        for (field, number) in fields("kept") {
            self.lend(&mut given, field, number_of(&number)?)?;
        }
        Ok(given)
    }

    fn lend(&self, given: &mut Given, field: String, number: u64) -> Result<(), String> {
        match self.kept.get(&number) {
            Some(Kept::Request(request)) => {
                given.input[&field] = Value::Null;
                given.lent.push((field, Arc::clone(request)));
            }
            Some(Kept::Other(value)) => given.input[&field] = value.clone(),
            None => return Err(format!("nothing is kept under {number}")),
        }
        Ok(())
    }
}

fn number_of(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is no number to keep something under"))
}

/// A request that may stand elsewhere.
pub(crate) fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<LlmRequest>, D::Error> {
    Ok(Arc::new(Option::<LlmRequest>::deserialize(deserializer)?.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::*;

    fn input() -> Value {
        json!({"session_id": "s", "transcript_path": "t", "cwd": "/", "hook_event_name": "BeforeModel", "timestamp": "t"})
    }

    #[test]
    fn a_request_that_was_kept_is_changed_for_the_next_handler_alone() {
        let hook = Hook::new()
            .on(BeforeModel, |_| request(LlmRequestPatch { model: Some("other".into()), ..Default::default() }))
            .on(BeforeModel, |input| {
                message(format!("{} {}", input.llm_request.model, input.llm_request.messages.len()))
            });
        let mut store = Store::default();
        let mut first = input();
        first["llm_request"] = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
        let heard = json!({"input": first, "keep": {"llm_request": 3}}).as_object().unwrap().clone();
        for heard in [heard, json!({"input": input(), "kept": {"llm_request": 3}}).as_object().unwrap().clone()] {
            let answer = hook.answer(store.whole(heard).unwrap()).unwrap();
            assert_eq!(answer["systemMessage"], "other 1");
        }
        let Some(Kept::Request(kept)) = store.kept.get(&3) else { panic!("a request") };
        assert_eq!(kept.model, "m");
    }
}
