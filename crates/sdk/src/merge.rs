//! Several handlers' answers as one, as the agent would merge them: any stop wins, then any deny, then any ask.

use serde_json::{Map, Value, json};

type Answer = Map<String, Value>;

/// Whether nobody else need be asked.
pub(crate) fn ends_the_round(answer: &Answer) -> bool {
    answer.get("continue") == Some(&json!(false)) || answer.get("decision").is_some_and(|word| strength(word) == 2)
}

fn strength(decision: &Value) -> u8 {
    match decision.as_str() {
        Some("deny" | "block") => 2,
        Some("ask") => 1,
        _ => 0,
    }
}

/// All answers as one, with the event's name in its own part.
pub(crate) fn combine(answers: Vec<Answer>, event: &str) -> Answer {
    let mut merged = Answer::new();
    for answer in answers {
        merged = if merged.is_empty() { answer } else { both(merged, answer) };
    }
    if let Some(Value::Object(specific)) = merged.get_mut("hookSpecificOutput") {
        specific.insert("hookEventName".to_owned(), json!(event));
    }
    merged
}

/// A later answer laid over an earlier one.
fn both(mut earlier: Answer, later: Answer) -> Answer {
    for (name, value) in later {
        let value = match (name.as_str(), earlier.get(&name)) {
            (_, None) => value,
            ("reason" | "stopReason" | "systemMessage" | "additionalContext", Some(first)) => lines(first, value),
            ("decision", Some(first)) if strength(first) >= strength(&value) => continue,
            ("continue", Some(Value::Bool(false)))
            | ("suppressOutput" | "clearContext" | "redact_input", Some(Value::Bool(true))) => continue,
            ("toolConfig", Some(first)) => selected(first, &value),
            ("hookSpecificOutput" | "llm_request" | "tool_input" | "config", _) => {
                let Some(Value::Object(first)) = earlier.get_mut(&name).map(Value::take) else { continue };
                laid_over(&name, first, value)
            }
            _ => value,
        };
        earlier.insert(name, value);
    }
    earlier
}

/// Of arguments and settings, whatever their names are, the later value stands.
fn laid_over(name: &str, mut first: Answer, later: Value) -> Value {
    let Value::Object(later) = later else { return later };
    if matches!(name, "tool_input" | "config") {
        first.extend(later);
        return Value::Object(first);
    }
    Value::Object(both(first, later))
}

fn lines(first: &Value, later: Value) -> Value {
    match (first.as_str(), later.as_str()) {
        (Some(""), _) => later,
        (Some(first), Some("")) => json!(first),
        (Some(first), Some(text)) => json!(format!("{first}\n{text}")),
        _ => later,
    }
}

fn selected(first: &Value, later: &Value) -> Value {
    const MODES: [&str; 3] = ["AUTO", "ANY", "NONE"];
    let strength = |config: &Value| MODES.iter().position(|mode| config["mode"] == **mode).unwrap_or_default();
    let mode = strength(first).max(strength(later));
    let names = [first, later].into_iter().filter_map(|config| config["allowedFunctionNames"].as_array()).flatten();
    let mut names: Vec<&str> = if mode == 2 { Vec::new() } else { names.filter_map(Value::as_str).collect() };
    names.sort_unstable();
    names.dedup();
    json!({"mode": MODES[mode], "allowedFunctionNames": names})
}

/// A request with what a handler changes in it.
pub(crate) fn patch(request: Value, patch: &Map<String, Value>) -> Value {
    laid_over("llm_request", request.as_object().cloned().unwrap_or_default(), Value::Object(patch.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(answers: &[Value]) -> Value {
        let answers = answers.iter().map(|answer| answer.as_object().unwrap().clone()).collect();
        Value::Object(combine(answers, "E"))
    }

    #[test]
    fn the_strongest_wins_and_words_are_joined() {
        let [allow, ask, deny] =
            ["allow", "ask", "block"].map(|word| json!({"decision": word, "reason": word, "continue": true}));
        let expected = json!({"decision": "block", "reason": "allow\nblock\nask", "continue": true});
        assert_eq!(merged(&[allow.clone(), deny, ask]), expected);
        let stop = json!({"continue": false, "stopReason": "a"});
        let both = merged(&[stop.clone(), allow.clone(), stop]);
        assert_eq!((&both["continue"], &both["stopReason"]), (&json!(false), &json!("a\na")));
        assert_eq!(
            merged(&[json!({"systemMessage": ""}), json!({"systemMessage": "a"})]),
            json!({"systemMessage": "a"})
        );
    }

    #[test]
    fn changes_are_laid_over_one_another() {
        let of = |value: Value| json!({"hookSpecificOutput": value});
        let first = of(
            json!({"tool_input": {"reason": "a", "b": {"x": 1}}, "llm_request": {"model": "m", "config": {"x": 1}}}),
        );
        let later = of(json!({"tool_input": {"reason": "c", "b": {"y": 1}}, "llm_request": {"config": {"y": 2}}}));
        let expected = json!({"tool_input": {"reason": "c", "b": {"y": 1}},
            "llm_request": {"model": "m", "config": {"x": 1, "y": 2}}, "hookEventName": "E"});
        assert_eq!(merged(&[first, later]), of(expected));
        let tools = |mode: &str, names: Value| of(json!({"toolConfig": {"mode": mode, "allowedFunctionNames": names}}));
        let expected = json!({"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}, "hookEventName": "E"});
        assert_eq!(merged(&[tools("AUTO", json!(["b"])), tools("ANY", json!(["a", "b"]))]), of(expected));
        let none = merged(&[tools("NONE", json!([])), tools("ANY", json!(["a"]))]);
        assert_eq!(none["hookSpecificOutput"]["toolConfig"], json!({"mode": "NONE", "allowedFunctionNames": []}));
    }
}
