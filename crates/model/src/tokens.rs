//! Context windows of models, and estimates of token counts.
//! The estimates decide when to compress; exact counts come from the providers.

use serde_json::{Map, Value};

use crate::conversation::Content;
use crate::part::{Part, PartKind};
use crate::request::ModelRequest;

/// The context window of models that are not in the table.
const DEFAULT_CONTEXT_TOKENS: u64 = 131_072;

/// Context windows by prefix of the name without the vendor's part. The first match counts.
const CONTEXT_TOKENS_BY_PREFIX: &[(&str, u64)] = &[
    ("gemini-1.5-pro", 2_097_152),
    ("gemini", 1_048_576),
    ("offline", 1_048_576),
    ("replay", 1_048_576),
    ("auto", 1_048_576),
    ("gemma-4", 256_000),
    ("gemma", 131_072),
    ("gpt-3.5", 16_385),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5", 400_000),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude", 200_000),
];

/// Returns the number of tokens that a model accepts in one request.
#[must_use]
pub fn context_window(model: &str) -> u64 {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let known = CONTEXT_TOKENS_BY_PREFIX.iter().find(|(start, _)| name.starts_with(start));
    known.map_or(DEFAULT_CONTEXT_TOKENS, |(_, window)| *window)
}

/// Estimates a request's tokens: a quarter of its bytes, and a flat rate for media.
#[must_use]
pub fn estimate_tokens(request: &ModelRequest) -> u64 {
    let system = request.system.as_ref().map_or(0, String::len);
    let contents: usize = request.contents.iter().map(|content| content_bytes(content)).sum();
    let tools = request.tools.iter();
    let tools: usize = tools.map(|tool| tool.name.len() + tool.description.len() + value_bytes(&tool.parameters)).sum();
    bytes_to_tokens(system + contents + tools)
}

/// Estimates the tokens of a message.
#[must_use]
pub fn estimate_content_tokens(content: &Content) -> u64 {
    bytes_to_tokens(content_bytes(content))
}

pub(crate) fn estimate_parts_tokens(parts: &[Part]) -> u64 {
    bytes_to_tokens(parts.iter().map(part_bytes).sum())
}

fn bytes_to_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

fn content_bytes(content: &Content) -> usize {
    content.parts.iter().map(part_bytes).sum()
}

fn part_bytes(part: &Part) -> usize {
    /// Gemini's token price of an image tile, in bytes of text.
    const MEDIA_BYTES: usize = 258 * 4;
    let kind = match &part.kind {
        PartKind::Text(text) | PartKind::Thought(text) => text.len(),
        PartKind::FunctionCall(call) => call.name.len() + map_bytes(&call.args),
        PartKind::FunctionResponse(result) => {
            let media: usize = result.parts.iter().map(part_bytes).sum();
            result.name.len() + map_bytes(&result.response) + media
        }
        PartKind::InlineData(_) | PartKind::FileData(_) => MEDIA_BYTES,
        PartKind::Unknown => 0,
    };
    kind + part.extra.as_deref().map_or(0, map_bytes)
}

fn map_bytes(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, value)| key.len() + 4 + value_bytes(value)).sum()
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| value_bytes(item) + 1).sum(),
        Value::Object(map) => map_bytes(map),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn windows_by_name() {
        assert_eq!(context_window("gemini-2.5-pro"), 1_048_576);
        assert_eq!(context_window("google/gemini-3-flash"), 1_048_576);
        assert_eq!(context_window("models/gemini-1.5-pro-002"), 2_097_152);
        assert_eq!(context_window("GPT-4o-mini"), 128_000);
        assert_eq!(context_window("qwen3:8b"), DEFAULT_CONTEXT_TOKENS);
    }

    #[test]
    fn a_quarter_of_the_text_and_a_flat_rate_for_media() {
        let text = ModelRequest::new("m", vec![Arc::new(Content::user_text("x".repeat(400)))]);
        assert_eq!(estimate_tokens(&text), 100);
        let image = Content::user(vec![Part::inline_data("image/png", "A".repeat(1_000_000))]);
        assert_eq!(estimate_content_tokens(&image), 258);
    }
}
