//! How much memory an answer takes, roughly and rather too much than too little: what bounds on answers go by, whoever
//! sends them. A byte of JSON can take a hundred in memory, so the bytes alone say nothing.

use serde_json::{Map, Value};

use crate::part::{Part, PartKind};
use crate::response::Chunk;

/// The most values in one piece of JSON that is to become an answer: a million of them would fill the memory.
pub(crate) const MOST_VALUES: usize = 300_000;

/// A piece of an answer beside what is in it.
const PIECE: usize = 32;
/// A part beside what is in it.
const PART: usize = 256;
/// A value beside what is in it.
const VALUE: usize = 128;

impl Chunk {
    /// How many bytes of memory this piece takes, roughly.
    #[must_use]
    pub fn weight(&self) -> usize {
        let asides = [&self.safety_ratings, &self.grounding].into_iter().flatten().map(of_value).sum::<usize>();
        PIECE + asides + self.parts.iter().map(Part::weight).sum::<usize>()
    }
}

impl Part {
    /// How many bytes of memory it takes, roughly. Texts that follow one another become one part, so that each is only as
    /// heavy as its words.
    #[must_use]
    pub fn weight(&self) -> usize {
        let beside = self.thought_signature.as_ref().map_or(0, String::len) + self.extra.as_deref().map_or(0, of_map);
        beside
            + match &self.kind {
                PartKind::Text(text) | PartKind::Thought(text) => text.len(),
                PartKind::FunctionCall(call) => PART + call.name.len() + of_map(&call.args),
                PartKind::FunctionResponse(result) => {
                    PART + of_map(&result.response) + result.parts.iter().map(Part::weight).sum::<usize>()
                }
                PartKind::InlineData(blob) => PART + blob.data.len(),
                PartKind::FileData(file) => PART + file.file_uri.len(),
                PartKind::Unknown => PART,
            }
    }
}

fn of_map(map: &Map<String, Value>) -> usize {
    map.iter().map(|(name, value)| VALUE + name.len() + of_value(value)).sum()
}

fn of_value(value: &Value) -> usize {
    VALUE
        + match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(of_value).sum(),
            Value::Object(map) => of_map(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// No fewer values than a text of JSON holds, counted without reading it.
pub(crate) fn values_in(json: &[u8]) -> usize {
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
            assert_eq!(values_in(json.as_bytes()), count, "{json}");
        }
    }

    #[test]
    fn nothing_weighs_less_than_its_words_and_many_small_things_weigh_much() {
        assert!(Chunk::text_piece("x".repeat(1000)).weight() >= 1000);
        let part: Part = serde_json::from_str(r#"{"functionCall":{"name":"f","args":{"a":[0,0,0,{"b":0}]}}}"#).unwrap();
        assert!(part.weight() > 500, "{}", part.weight());
    }
}
