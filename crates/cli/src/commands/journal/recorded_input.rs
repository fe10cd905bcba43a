//! The recorded input of an event, for commands that ask hooks about it again.

use hookwright_journal::JournalLine;
use serde_json::{Map, Value};

/// Returns the input of a line's event, whose large parts must have been read.
///
/// # Errors
/// Why it is not on record, or not whole.
pub(crate) fn recorded_input(line: &JournalLine) -> Result<&Map<String, Value>, String> {
    let event = line.event().ok_or("it is no event")?;
    if let Some(why) = &event.withheld {
        return Err(format!("its content is not on record: {why}"));
    }
    let content = line.content.as_ref().ok_or("its content was forgotten")?;
    if let Some(why) = content.get("omitted").and_then(Value::as_str) {
        return Err(format!("its content is not on record: {why}"));
    }
    let input = content.get("input").and_then(Value::as_object).ok_or("its input is not on record")?;
    match input.values().any(has_missing_part) {
        true => Err("a part of its content is too large or was forgotten".to_owned()),
        false => Ok(input),
    }
}

/// Whether a value stands for one that is stored elsewhere, or not at all.
fn has_missing_part(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let is_reference = fields.len() == 2
                && fields.get("bytes").is_some_and(Value::is_u64)
                && ["body", "omitted"].iter().any(|key| fields.get(*key).is_some_and(Value::is_string));
            is_reference || fields.values().any(has_missing_part)
        }
        Value::Array(items) => items.iter().any(has_missing_part),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(fields: &Value) -> JournalLine {
        let mut whole = json!({"seq": 1, "prev": "0", "time": "2026-11-18T16:02:03.120Z", "kind": "event"});
        whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn an_input_that_is_not_whole_is_an_error() {
        let error = |fields: Value| recorded_input(&line(&fields)).unwrap_err();
        assert!(error(json!({})).contains("forgotten"));
        assert!(error(json!({"withheld": "suppressOutput"})).contains("suppressOutput"));
        assert!(error(json!({"content": {"omitted": "too large", "bytes": 5}})).contains("too large"));
        assert!(error(json!({"content": {"salt": "x"}})).contains("not on record"));
        for part in [json!({"body": "sha256:00", "bytes": 9000}), json!({"omitted": "too large", "bytes": 9})] {
            let input = json!({"tool_input": {"list": [{"content": part}]}});
            assert!(error(json!({"content": {"input": input}})).contains("a part"));
        }
    }

    #[test]
    fn an_input_with_keys_of_that_name_is_whole() {
        let input = json!({"tool_input": {"body": "text", "omitted": true, "bytes": 3}});
        let line = line(&json!({"content": {"input": input}}));
        assert_eq!(recorded_input(&line).unwrap()["tool_input"]["body"], "text");
    }
}
