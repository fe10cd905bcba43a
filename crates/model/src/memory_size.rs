//! Estimates how much memory an answer takes, rather too high than too low. Size limits of answers use it, because a
//! byte of JSON can take a hundred bytes in memory.

use serde_json::{Map, Value};

use crate::part::{Part, PartKind};
use crate::response::Chunk;

/// The largest number of JSON values in one document that becomes an answer: millions of values would exhaust memory.
pub(crate) const MAX_JSON_VALUES: usize = 300_000;

/// The memory of a chunk without its content.
const CHUNK_OVERHEAD_BYTES: usize = 32;
/// The memory of a part without its content.
const PART_OVERHEAD_BYTES: usize = 256;
/// The memory of a JSON value without its content.
const VALUE_OVERHEAD_BYTES: usize = 128;

impl Chunk {
    /// Estimates the memory that this chunk takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let asides =
            [&self.safety_ratings, &self.grounding].into_iter().flatten().map(value_memory_bytes).sum::<usize>();
        CHUNK_OVERHEAD_BYTES + asides + self.parts.iter().map(Part::memory_bytes).sum::<usize>()
    }
}

impl Part {
    /// Estimates the memory that this part takes.
    ///
    /// Consecutive texts are merged into one part, so a text counts only its bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let beside =
            self.thought_signature.as_ref().map_or(0, String::len) + self.extra.as_deref().map_or(0, map_memory_bytes);
        beside
            + match &self.kind {
                PartKind::Text(text) | PartKind::Thought(text) => text.len(),
                PartKind::FunctionCall(call) => PART_OVERHEAD_BYTES + call.name.len() + map_memory_bytes(&call.args),
                PartKind::FunctionResponse(result) => {
                    PART_OVERHEAD_BYTES
                        + map_memory_bytes(&result.response)
                        + result.parts.iter().map(Part::memory_bytes).sum::<usize>()
                }
                PartKind::InlineData(blob) => PART_OVERHEAD_BYTES + blob.data.len(),
                PartKind::FileData(file) => PART_OVERHEAD_BYTES + file.file_uri.len(),
                PartKind::Unknown => PART_OVERHEAD_BYTES,
            }
    }
}

fn map_memory_bytes(map: &Map<String, Value>) -> usize {
    map.iter().map(|(name, value)| VALUE_OVERHEAD_BYTES + name.len() + value_memory_bytes(value)).sum()
}

fn value_memory_bytes(value: &Value) -> usize {
    VALUE_OVERHEAD_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(value_memory_bytes).sum(),
            Value::Object(map) => map_memory_bytes(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// Returns an upper bound of the number of values in a JSON text, without parsing it.
pub(crate) fn count_json_values(json: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, count) in [("1", 1), ("[]", 2), ("[1,2]", 3), (r#"{"a,[":"b\",{","c":[{}]}"#, 5)] {
            assert_eq!(count_json_values(json.as_bytes()), count, "{json}");
        }
    }

    #[test]
    fn memory_bytes_cover_text_and_overhead() {
        assert!(Chunk::from_text("x".repeat(1000)).memory_bytes() >= 1000);
        let part: Part = serde_json::from_str(r#"{"functionCall":{"name":"f","args":{"a":[0,0,0,{"b":0}]}}}"#).unwrap();
        assert!(part.memory_bytes() > 500, "{}", part.memory_bytes());
    }
}
