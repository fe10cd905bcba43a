//! Parses JSON and detects repeated keys: parsers differ about which of two values counts, so neither is trusted.
//!
//! It is used for hook answers in Claude Code's dialect and for nested values of others, for payloads of other agents,
//! for MCP messages and for JSON on the command line.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value, and the first key that occurs more than once in its object, at any depth.
pub struct ParsedJson {
    /// The value. Of a repeated key it contains the value that is nearest to a deny, or no value if none denies.
    pub value: Value,
    /// The repeated key, if there is one.
    pub repeated_key: Option<String>,
}

/// Parses one JSON value that is the whole text.
///
/// # Errors
/// If the text is not JSON, or is nested too deeply.
pub fn parse(bytes: &[u8]) -> serde_json::Result<ParsedJson> {
    parse_pruned(bytes, usize::MAX)
}

/// Parses one JSON value that is the whole text; objects and arrays below `max_depth` levels become null.
///
/// # Errors
/// If the text is not JSON, or is nested too deeply for `serde_json`.
pub fn parse_pruned(bytes: &[u8], max_depth: usize) -> serde_json::Result<ParsedJson> {
    let mut repeated = None;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = StrictValue { repeated_key: &mut repeated, depth_left: max_depth }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(ParsedJson { value, repeated_key: repeated })
}

/// Parses one JSON value that has no repeated key at any depth.
///
/// # Errors
/// If the text is not JSON, is nested too deeply, or repeats a key; the error describes which.
pub fn from_slice(bytes: &[u8]) -> Result<Value, String> {
    let parsed = parse(bytes).map_err(|error| error.to_string())?;
    match parsed.repeated_key {
        Some(key) => Err(format!("the key `{key}` appears twice")),
        None => Ok(parsed.value),
    }
}

/// Parses one JSON object that has no repeated key at any depth.
///
/// # Errors
/// If the text is not a JSON object, is nested too deeply, or repeats a key; the error describes which.
pub fn object_from_slice(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    match from_slice(bytes)? {
        Value::Object(object) => Ok(object),
        _ => Err("it is not an object".to_owned()),
    }
}

/// Of two values of a repeated key, the one that is nearer to a deny; `None` if neither denies.
pub(crate) fn stricter_value(one: Value, other: Value) -> Option<Value> {
    let nearest = if refusal_strength(&one) > refusal_strength(&other) { one } else { other };
    (refusal_strength(&nearest) > 0).then_some(nearest)
}

/// How strongly a field of an answer refuses: `deny` and `false` (of `continue`) most, then `ask`.
fn refusal_strength(value: &Value) -> u8 {
    match value {
        Value::Bool(false) => 2,
        Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
            "deny" | "block" => 2,
            "ask" => 1,
            _ => 0,
        },
        Value::Object(fields) => fields.values().map(refusal_strength).max().unwrap_or(0),
        _ => 0,
    }
}

struct StrictValue<'r> {
    repeated_key: &'r mut Option<String>,
    depth_left: usize,
}

impl StrictValue<'_> {
    fn child(&mut self) -> StrictValue<'_> {
        StrictValue { repeated_key: &mut *self.repeated_key, depth_left: self.depth_left - 1 }
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Value, A::Error> {
        if self.depth_left == 0 {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self.child())? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        if self.depth_left == 0 {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        let mut object = Map::new();
        // Repeated keys without a value that counts. They keep a null until the end, in case a third value follows.
        let mut dropped = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.child())?;
            let Some(before) = object.get_mut(&key) else {
                object.insert(key, value);
                continue;
            };
            match stricter_value(before.take(), value) {
                Some(no) => *before = no,
                None => drop(dropped.insert(key.clone())),
            }
            self.repeated_key.get_or_insert(key);
        }
        object.retain(|key, value| !(value.is_null() && dropped.contains(key)));
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_repeated_key_is_found_at_any_depth_and_in_any_spelling() {
        for (text, key) in [
            (r#"{"a":1,"a":1}"#, "a"),
            (r#"{"x":[{"b":1,"b":2}]}"#, "b"),
            (r#"{"decision":"deny","\u0064ecision":"allow"}"#, "decision"),
            (r#"{"a":{"c":{"d":null,"d":null}},"a":1}"#, "d"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap().repeated_key.as_deref(), Some(key), "{text}");
            assert!(from_slice(text.as_bytes()).unwrap_err().contains("appears twice"), "{text}");
        }
        assert_eq!(from_slice(br#"{"a":{"b":1},"b":{"a":1.5}}"#), Ok(json!({"a": {"b": 1}, "b": {"a": 1.5}})));
        assert!(from_slice(b"{} {}").is_err());
        assert!(object_from_slice(b"[]").is_err());
    }

    #[test]
    fn values_below_max_depth_are_pruned() {
        let deep = format!(r#"{{"a":{}{},"b":[1]}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
        let parsed = parse_pruned(deep.as_bytes(), 2).unwrap();
        assert_eq!(parsed.value, json!({"a": [null], "b": [1]}));
    }

    #[test]
    fn a_repeated_key_counts_only_if_it_denies() {
        for text in [
            r#"{"d":"deny","d":"allow"}"#,
            r#"{"d":"allow","d":"deny"}"#,
            r#"{"d":"allow","d":"deny","d":"allow"}"#,
            r#"{"d":"ask","d":"deny"}"#,
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap().value, json!({"d": "deny"}), "{text}");
        }
        assert_eq!(parse(br#"{"d":"allow","d":"allow"}"#).unwrap().value, json!({}));
        assert_eq!(parse(br#"{"d":1,"d":2,"d":3}"#).unwrap().value, json!({}));
        assert_eq!(parse(br#"{"c":true,"c":false}"#).unwrap().value, json!({"c": false}));
    }
}
