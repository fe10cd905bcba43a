//! Merges the answers of several handlers into one, by the rules of the agent: any stop wins, then any deny, then any
//! ask.

use serde_json::{Map, Value, json};

type JsonAnswer = Map<String, Value>;

/// Returns whether no further handler has to be called.
pub(crate) fn is_final(answer: &JsonAnswer) -> bool {
    answer.get("continue") == Some(&json!(false))
        || answer.get("decision").is_some_and(|word| decision_strength(word) == 2)
}

fn decision_strength(decision: &Value) -> u8 {
    match decision.as_str() {
        Some("deny" | "block") => 2,
        Some("ask") => 1,
        _ => 0,
    }
}

/// Merges all answers into one, and adds the event's name to its event-specific part.
pub(crate) fn merge_answers(answers: Vec<JsonAnswer>, event: &str) -> JsonAnswer {
    let mut merged = JsonAnswer::new();
    for answer in answers {
        merged = if merged.is_empty() { answer } else { merge_two(merged, answer) };
    }
    if let Some(Value::Object(specific)) = merged.get_mut("hookSpecificOutput") {
        specific.insert("hookEventName".to_owned(), json!(event));
    }
    merged
}

/// Merges a later answer into an earlier one.
fn merge_two(mut earlier: JsonAnswer, later: JsonAnswer) -> JsonAnswer {
    for (name, value) in later {
        let value = match (name.as_str(), earlier.get(&name)) {
            (_, None) => value,
            ("reason" | "stopReason" | "systemMessage" | "additionalContext", Some(first)) => join_lines(first, value),
            ("decision", Some(first)) if decision_strength(first) >= decision_strength(&value) => continue,
            ("continue", Some(Value::Bool(false)))
            | ("suppressOutput" | "clearContext" | "redact_input", Some(Value::Bool(true))) => continue,
            ("toolConfig", Some(first)) => merge_tool_config(first, &value),
            ("hookSpecificOutput" | "llm_request" | "tool_input" | "config", _) => {
                let Some(Value::Object(first)) = earlier.get_mut(&name).map(Value::take) else { continue };
                merge_objects(&name, first, value)
            }
            _ => value,
        };
        earlier.insert(name, value);
    }
    earlier
}

/// Merges two objects. In arguments and settings, the later value of a name counts, whatever the name is.
fn merge_objects(name: &str, mut first: JsonAnswer, later: Value) -> Value {
    let Value::Object(later) = later else { return later };
    if matches!(name, "tool_input" | "config") {
        first.extend(later);
        return Value::Object(first);
    }
    Value::Object(merge_two(first, later))
}

fn join_lines(first: &Value, later: Value) -> Value {
    match (first.as_str(), later.as_str()) {
        (Some(""), _) => later,
        (Some(first), Some("")) => json!(first),
        (Some(first), Some(text)) => json!(format!("{first}\n{text}")),
        _ => later,
    }
}

fn merge_tool_config(first: &Value, later: &Value) -> Value {
    const TOOL_MODES: [&str; 3] = ["AUTO", "ANY", "NONE"];
    let strength = |config: &Value| TOOL_MODES.iter().position(|mode| config["mode"] == **mode).unwrap_or_default();
    let mode = strength(first).max(strength(later));
    let names = [first, later].into_iter().filter_map(|config| config["allowedFunctionNames"].as_array()).flatten();
    let mut names: Vec<&str> = if mode == 2 { Vec::new() } else { names.filter_map(Value::as_str).collect() };
    names.sort_unstable();
    names.dedup();
    json!({"mode": TOOL_MODES[mode], "allowedFunctionNames": names})
}

/// Returns a request with a handler's changes applied.
pub(crate) fn patch_request(request: Value, patch: &Map<String, Value>) -> Value {
    merge_objects("llm_request", request.as_object().cloned().unwrap_or_default(), Value::Object(patch.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge_values(answers: &[Value]) -> Value {
        let answers = answers.iter().map(|answer| answer.as_object().unwrap().clone()).collect();
        Value::Object(merge_answers(answers, "E"))
    }

    #[test]
    fn the_strongest_decision_wins_and_texts_are_joined() {
        let [allow, ask, deny] =
            ["allow", "ask", "block"].map(|word| json!({"decision": word, "reason": word, "continue": true}));
        let expected = json!({"decision": "block", "reason": "allow\nblock\nask", "continue": true});
        assert_eq!(merge_values(&[allow.clone(), deny, ask]), expected);
        let stop = json!({"continue": false, "stopReason": "a"});
        let both = merge_values(&[stop.clone(), allow.clone(), stop]);
        assert_eq!((&both["continue"], &both["stopReason"]), (&json!(false), &json!("a\na")));
        assert_eq!(
            merge_values(&[json!({"systemMessage": ""}), json!({"systemMessage": "a"})]),
            json!({"systemMessage": "a"})
        );
    }

    #[test]
    fn later_changes_override_earlier_ones() {
        let of = |value: Value| json!({"hookSpecificOutput": value});
        let first = of(
            json!({"tool_input": {"reason": "a", "b": {"x": 1}}, "llm_request": {"model": "m", "config": {"x": 1}}}),
        );
        let later = of(json!({"tool_input": {"reason": "c", "b": {"y": 1}}, "llm_request": {"config": {"y": 2}}}));
        let expected = json!({"tool_input": {"reason": "c", "b": {"y": 1}},
            "llm_request": {"model": "m", "config": {"x": 1, "y": 2}}, "hookEventName": "E"});
        assert_eq!(merge_values(&[first, later]), of(expected));
        let tools = |mode: &str, names: Value| of(json!({"toolConfig": {"mode": mode, "allowedFunctionNames": names}}));
        let expected = json!({"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}, "hookEventName": "E"});
        assert_eq!(merge_values(&[tools("AUTO", json!(["b"])), tools("ANY", json!(["a", "b"]))]), of(expected));
        let none = merge_values(&[tools("NONE", json!([])), tools("ANY", json!(["a"]))]);
        assert_eq!(none["hookSpecificOutput"]["toolConfig"], json!({"mode": "NONE", "allowedFunctionNames": []}));
    }
}
