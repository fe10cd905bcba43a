//! Builds the files that `--fake-responses` answers from.

use serde_json::{Value, json};

/// Recorded answers, in the order in which they are asked for.
#[derive(Clone, Debug, Default)]
pub struct ReplayBuilder {
    lines: Vec<Value>,
}

impl ReplayBuilder {
    /// No answers yet.
    pub fn new() -> ReplayBuilder {
        ReplayBuilder::default()
    }

    /// An answer in one piece.
    #[must_use]
    pub fn says(self, text: &str) -> ReplayBuilder {
        self.says_in_chunks(&[text])
    }

    /// An answer in several pieces.
    #[must_use]
    pub fn says_in_chunks(self, texts: &[&str]) -> ReplayBuilder {
        let last = texts.len().saturating_sub(1);
        let chunk = |(at, text): (usize, &&str)| chunk(&[json!({"text": text})], at == last);
        self.stream(texts.iter().enumerate().map(chunk).collect())
    }

    /// An answer that calls a tool.
    #[must_use]
    pub fn calls(self, tool: &str, args: Value) -> ReplayBuilder {
        self.parts(&[call(tool, args)])
    }

    /// An answer in one piece, of these parts.
    #[must_use]
    pub fn parts(self, parts: &[Value]) -> ReplayBuilder {
        self.stream(vec![chunk(parts, true)])
    }

    /// An answer of exactly these pieces.
    #[must_use]
    pub fn stream(mut self, chunks: Vec<Value>) -> ReplayBuilder {
        self.lines.push(json!({"method": "generateContentStream", "response": chunks}));
        self
    }

    /// An answer that is not streamed, such as a summary.
    #[must_use]
    pub fn says_unstreamed(mut self, text: &str) -> ReplayBuilder {
        let response = chunk(&[json!({"text": text})], true);
        self.lines.push(json!({"method": "generateContent", "response": response}));
        self
    }

    /// The file's text.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A call as a part of an answer.
pub fn call(tool: &str, args: Value) -> Value {
    json!({"functionCall": {"name": tool, "args": args}})
}

/// A piece of an answer.
pub fn chunk(parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if last {
        candidate["finishReason"] = json!("STOP");
    }
    let usage = json!({"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8});
    json!({"candidates": [candidate], "usageMetadata": usage})
}
