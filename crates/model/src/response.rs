//! The answer of a model: streamed chunks, how they merge, and their token usage.
//! The JSON form is Gemini's `GenerateContentResponse`; of several candidates only the first is used.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::conversation::Content;
use crate::finish::FinishReason;
use crate::part::{FunctionCall, Part, parts_or_none};

/// One chunk of a streamed answer; all chunks merged are the whole answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chunk {
    /// The parts that this chunk adds.
    pub parts: Vec<Part>,
    /// Why the answer ends, on the last chunk.
    pub finish_reason: Option<FinishReason>,
    /// The provider's message about the end, if it has one.
    pub finish_message: Option<String>,
    /// The token usage so far.
    pub usage: Option<Usage>,
    /// The provider's safety ratings, unchanged.
    pub safety_ratings: Option<Value>,
    /// The search results that the answer is based on, unchanged.
    pub grounding: Option<Value>,
    /// The index of the candidate.
    pub index: Option<u32>,
    /// Why the prompt itself was refused.
    pub prompt_feedback: Option<PromptFeedback>,
    /// The provider's id of this answer.
    pub response_id: Option<String>,
    /// The exact model that answered.
    pub model_version: Option<String>,
}

impl Chunk {
    /// Returns whether it adds no content and does not end the answer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let says_something = |part: &Part| part.as_text().is_none_or(|text| !text.is_empty());
        !self.parts.iter().any(says_something) && self.finish_reason.is_none() && self.prompt_feedback.is_none()
    }

    /// Creates a chunk with one text.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::text(text)], ..Self::default() }
    }

    /// Returns all text of this chunk, without thoughts.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Returns the tool calls of this chunk.
    pub fn function_calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts.iter().filter_map(Part::as_function_call)
    }

    /// Adds the next chunk. Texts grow in place, so that merging a long stream takes linear time.
    pub fn merge(&mut self, next: Chunk) {
        for part in next.parts {
            let left = match self.parts.last_mut() {
                Some(last) => last.try_append(part),
                None => Some(part),
            };
            self.parts.extend(left);
        }
        replace_if_some(&mut self.finish_reason, next.finish_reason);
        replace_if_some(&mut self.finish_message, next.finish_message);
        replace_if_some(&mut self.safety_ratings, next.safety_ratings);
        replace_if_some(&mut self.grounding, next.grounding);
        replace_if_some(&mut self.index, next.index);
        replace_if_some(&mut self.prompt_feedback, next.prompt_feedback);
        replace_if_some(&mut self.response_id, next.response_id);
        replace_if_some(&mut self.model_version, next.model_version);
        if let Some(usage) = next.usage {
            self.usage.get_or_insert_default().update(usage);
        }
    }

    /// Converts the answer to a message of the model.
    #[must_use]
    pub fn into_content(self) -> Content {
        Content::model(self.parts)
    }
}

fn replace_if_some<T>(slot: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *slot = value;
    }
}

/// Why the prompt itself was refused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptFeedback {
    /// The reason, for example `SAFETY`; `None` if the prompt was not refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<String>,
    /// The provider's explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason_message: Option<String>,
}

/// The token usage of a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the request (`promptTokenCount`).
    pub prompt: u64,
    /// Tokens of the answer (`candidatesTokenCount`).
    pub candidates: u64,
    /// All tokens together (`totalTokenCount`).
    pub total: u64,
    /// Tokens of thinking (`thoughtsTokenCount`).
    pub thoughts: u64,
    /// Tokens of the request that were read from a cache (`cachedContentTokenCount`).
    pub cached: u64,
    /// Tokens of the provider's own tool results (`toolUsePromptTokenCount`).
    pub tool_use: u64,
}

impl Usage {
    /// Takes over a later report; reports are running totals and may omit fields.
    fn update(&mut self, later: Usage) {
        let newer = |old: &mut u64, new: u64| {
            if new > 0 {
                *old = new;
            }
        };
        newer(&mut self.prompt, later.prompt);
        newer(&mut self.candidates, later.candidates);
        newer(&mut self.total, later.total);
        newer(&mut self.thoughts, later.thoughts);
        newer(&mut self.cached, later.cached);
        newer(&mut self.tool_use, later.tool_use);
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GeminiUsageWire {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    total_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
}

impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = GeminiUsageWire::deserialize(deserializer)?;
        Ok(Self {
            prompt: wire.prompt_token_count.unwrap_or_default(),
            candidates: wire.candidates_token_count.unwrap_or_default(),
            total: wire.total_token_count.unwrap_or_default(),
            thoughts: wire.thoughts_token_count.unwrap_or_default(),
            cached: wire.cached_content_token_count.unwrap_or_default(),
            tool_use: wire.tool_use_prompt_token_count.unwrap_or_default(),
        })
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("promptTokenCount", &self.prompt)?;
        map.serialize_entry("candidatesTokenCount", &self.candidates)?;
        map.serialize_entry("totalTokenCount", &self.total)?;
        for (name, count) in [
            ("thoughtsTokenCount", self.thoughts),
            ("cachedContentTokenCount", self.cached),
            ("toolUsePromptTokenCount", self.tool_use),
        ] {
            if count > 0 {
                map.serialize_entry(name, &count)?;
            }
        }
        map.end()
    }
}

/// Gemini's JSON form of a chunk, or of an error in place of a chunk.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ChunkWire {
    candidates: Option<Vec<CandidateWire>>,
    usage_metadata: Option<Usage>,
    prompt_feedback: Option<PromptFeedback>,
    response_id: Option<String>,
    model_version: Option<String>,
    pub(crate) error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CandidateWire {
    content: Option<PartsWire>,
    finish_reason: Option<FinishReason>,
    finish_message: Option<String>,
    index: Option<u32>,
    safety_ratings: Option<Value>,
    grounding_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct PartsWire {
    #[serde(default, deserialize_with = "parts_or_none")]
    parts: Vec<Part>,
}

impl From<ChunkWire> for Chunk {
    fn from(wire: ChunkWire) -> Self {
        let first = wire.candidates.into_iter().flatten().next().unwrap_or_default();
        Self {
            parts: first.content.map(|content| content.parts).unwrap_or_default(),
            finish_reason: first.finish_reason,
            finish_message: first.finish_message,
            usage: wire.usage_metadata,
            safety_ratings: first.safety_ratings,
            grounding: first.grounding_metadata,
            index: first.index,
            prompt_feedback: wire.prompt_feedback,
            response_id: wire.response_id,
            model_version: wire.model_version,
        }
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ChunkWire::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for Chunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let candidate = Candidate(self);
        if !candidate.is_empty() {
            map.serialize_entry("candidates", std::slice::from_ref(&candidate))?;
        }
        entry_if_some(&mut map, "usageMetadata", self.usage.as_ref())?;
        entry_if_some(&mut map, "promptFeedback", self.prompt_feedback.as_ref())?;
        entry_if_some(&mut map, "modelVersion", self.model_version.as_ref())?;
        entry_if_some(&mut map, "responseId", self.response_id.as_ref())?;
        map.end()
    }
}

/// The fields of a chunk that Gemini has under `candidates`.
struct Candidate<'a>(&'a Chunk);

impl Candidate<'_> {
    fn is_empty(&self) -> bool {
        let c = self.0;
        c.parts.is_empty()
            && c.finish_reason.is_none()
            && c.safety_ratings.is_none()
            && c.grounding.is_none()
            && c.index.is_none()
    }
}

impl Serialize for Candidate<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CandidateContent<'a> {
            parts: &'a [Part],
            role: &'static str,
        }
        let chunk = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("content", &CandidateContent { parts: &chunk.parts, role: "model" })?;
        entry_if_some(&mut map, "finishReason", chunk.finish_reason.as_ref())?;
        entry_if_some(&mut map, "finishMessage", chunk.finish_message.as_ref())?;
        entry_if_some(&mut map, "index", chunk.index.as_ref())?;
        entry_if_some(&mut map, "safetyRatings", chunk.safety_ratings.as_ref())?;
        entry_if_some(&mut map, "groundingMetadata", chunk.grounding.as_ref())?;
        map.end()
    }
}

fn entry_if_some<M: SerializeMap, T: Serialize>(map: &mut M, name: &str, value: Option<&T>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_chunk_survives_the_round_trip() {
        let json = json!({
            "candidates": [{
                "content": {"parts": [{"text": "hm", "thought": true}, {"text": "hi"}], "role": "model"},
                "finishReason": "STOP",
                "index": 0,
                "safetyRatings": [{"category": "X"}]
            }],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 6, "thoughtsTokenCount": 1},
            "modelVersion": "m",
            "responseId": "r"
        });
        let chunk: Chunk = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(chunk.text(), "hi");
        assert_eq!(serde_json::to_value(&chunk).unwrap(), json);
    }

    #[test]
    fn a_chunk_may_lack_candidates_content_and_parts() {
        for text in [
            "{}",
            r#"{"candidates":[]}"#,
            r#"{"candidates":null}"#,
            r#"{"candidates":[{}]}"#,
            r#"{"candidates":[{"content":null}]}"#,
            r#"{"candidates":[{"content":{"role":"model"}}]}"#,
        ] {
            assert_eq!(serde_json::from_str::<Chunk>(text).unwrap(), Chunk::default(), "{text}");
        }
        assert_eq!(serde_json::to_string(&Chunk::default()).unwrap(), "{}");
    }

    #[test]
    fn merging_joins_text_and_keeps_the_latest_other_fields() {
        let mut whole = Chunk::default();
        for json in [
            json!({"candidates":[{"content":{"parts":[{"text":"a"}]}}], "usageMetadata":{"promptTokenCount":5,"totalTokenCount":5}}),
            json!({"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"f"}}]}}]}),
            json!({"candidates":[{"content":{"parts":[{"text":"c"}]},"finishReason":"STOP"}], "usageMetadata":{"totalTokenCount":9}}),
        ] {
            whole.merge(serde_json::from_value(json).unwrap());
        }
        assert_eq!(whole.parts.len(), 3);
        assert_eq!(whole.parts[0].as_text(), Some("ab"));
        assert_eq!(whole.text(), "abc");
        assert_eq!(whole.function_calls().count(), 1);
        assert_eq!(whole.finish_reason, Some(FinishReason::Stop));
        assert_eq!(whole.usage, Some(Usage { prompt: 5, total: 9, ..Usage::default() }));
    }
}
