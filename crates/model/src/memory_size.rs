//! How much memory an answer takes, roughly and rather too much than too little: what bounds on answers go by, whoever
//! sends them. A byte of JSON can take a hundred in memory, so the bytes alone say nothing.

use serde_json::{Map, Value};

use crate::part::{Part, PartKind};
use crate::response::Chunk;

/// The most values in one piece of JSON that is to become an answer: a million of them would fill the memory.
pub(crate) const MAX_JSON_VALUES: usize = 300_000;

/// A piece of an answer beside what is in it.
const CHUNK_OVERHEAD_BYTES: usize = 32;
/// A part beside what is in it.
const PART_OVERHEAD_BYTES: usize = 256;
/// A value beside what is in it.
const VALUE_OVERHEAD_BYTES: usize = 128;

impl Chunk {
    /// How many bytes of memory this piece takes, roughly.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let asides =
            [&self.safety_ratings, &self.grounding].into_iter().flatten().map(value_memory_bytes).sum::<usize>();
        CHUNK_OVERHEAD_BYTES + asides + self.parts.iter().map(Part::memory_bytes).sum::<usize>()
    }
}

impl Part {
    /// How many bytes of memory it takes, roughly. Texts that follow one another become one part, so that each is only as
    /// heavy as its words.
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

/// No fewer values than a text of JSON holds, counted without reading it.
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
