//! Reads a host's stdin as one JSON object, and fields of it. Ambiguous JSON is an error.

use hookwright_hooks::strict_json;
use serde_json::{Map, Value};

use crate::dialect::PayloadError;

/// The size limit of an event's payload.
pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;

/// Reads a payload: one object in UTF-8, without duplicate keys and without text behind it.
///
/// # Errors
/// If the payload is anything else.
pub fn read(bytes: &[u8]) -> Result<Map<String, Value>, PayloadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(PayloadError::Empty);
    }
    match strict_json::from_slice(bytes).map_err(PayloadError::NotJsonObject)? {
        Value::Object(object) => Ok(object),
        other => Err(PayloadError::NotJsonObject(format!("it is {}, not an object", json_type_name(&other)))),
    }
}

/// Returns the name of a value's JSON type for messages.
pub(crate) fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the first of these fields that is a string, unless it is empty.
pub(crate) fn first_text<'p>(payload: &'p Map<String, Value>, names: &[&str]) -> Option<&'p str> {
    names.iter().find_map(|name| payload.get(*name).and_then(Value::as_str)).filter(|text| !text.is_empty())
}

/// Returns the first of these spellings that is there; other spellings must have the same value.
fn field<'p>(
    payload: &'p Map<String, Value>,
    names: &[&'static str],
) -> Result<Option<(&'static str, &'p Value)>, PayloadError> {
    let mut found = names.iter().filter_map(|name| Some((*name, payload.get(*name)?)));
    let Some(first) = found.next() else { return Ok(None) };
    match found.find(|(_, value)| *value != first.1) {
        Some((other, _)) => Err(PayloadError::ConflictingFields(first.0, other)),
        None => Ok(Some(first)),
    }
}

/// Returns a field that must be a string.
pub(crate) fn required_text(payload: &Map<String, Value>, names: &[&'static str]) -> Result<String, PayloadError> {
    match field(payload, names)? {
        Some((_, Value::String(text))) => Ok(text.clone()),
        None => Err(PayloadError::Missing(names.first().copied().unwrap_or_default())),
        Some((field, other)) => {
            Err(PayloadError::WrongType { field, wanted: "a string", found: json_type_name(other) })
        }
    }
}

/// Returns a tool's arguments: an object, or a string that contains one, as older agents send it.
pub(crate) fn tool_arguments(
    payload: &Map<String, Value>,
    names: &[&'static str],
) -> Result<Map<String, Value>, PayloadError> {
    match field(payload, names)? {
        Some((_, Value::Object(object))) => Ok(object.clone()),
        Some((_, Value::Null)) | None => Ok(Map::new()),
        Some((field, Value::String(text))) => {
            read(text.as_bytes()).map_err(|_| PayloadError::WrongType { field, wanted: "an object", found: "a string" })
        }
        Some((field, other)) => {
            Err(PayloadError::WrongType { field, wanted: "an object", found: json_type_name(other) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_one_object_without_duplicate_keys() {
        assert!(read(b"{\"a\": [1, {\"b\": null}], \"c\": 1.5}").is_ok());
        assert!(read(b"\xef\xbb\xbf {} \n").is_ok());
        for wrong in [
            &b""[..],
            b" \n",
            b"[]",
            b"{} {}",
            b"{\"a\":1}x",
            b"{\"a\":1,\"a\":2}",
            b"{\"a\":{\"b\":1,\"b\":1}}",
            b"{\"a\":1",
            b"\xff\xfe{\x00}\x00",
            b"{\"a\":\"\xff\"}",
        ] {
            assert!(read(wrong).is_err(), "{:?}", String::from_utf8_lossy(wrong));
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(deep.as_bytes()).is_err());
    }
}
