//! Builds the files that `--fake-responses` answers from.

use serde_json::{Value, json};

/// Recorded answers, in the order in which the program asks for them.
#[derive(Clone, Debug, Default)]
pub struct ReplayBuilder {
    lines: Vec<Value>,
}

impl ReplayBuilder {
    /// Creates a builder without answers.
    pub fn new() -> ReplayBuilder {
        ReplayBuilder::default()
    }

    /// Adds an answer in one chunk.
    #[must_use]
    pub fn says(self, text: &str) -> ReplayBuilder {
        self.says_in_chunks(&[text])
    }

    /// Adds an answer in several chunks.
    #[must_use]
    pub fn says_in_chunks(self, texts: &[&str]) -> ReplayBuilder {
        let last = texts.len().saturating_sub(1);
        let chunk = |(at, text): (usize, &&str)| chunk(&[json!({"text": text})], at == last);
        self.stream(texts.iter().enumerate().map(chunk).collect())
    }

    /// Adds an answer that calls a tool.
    #[must_use]
    pub fn calls(self, tool: &str, args: Value) -> ReplayBuilder {
        self.parts(&[call(tool, args)])
    }

    /// Adds an answer in one chunk that has these parts.
    #[must_use]
    pub fn parts(self, parts: &[Value]) -> ReplayBuilder {
        self.stream(vec![chunk(parts, true)])
    }

    /// Adds an answer of exactly these chunks.
    #[must_use]
    pub fn stream(mut self, chunks: Vec<Value>) -> ReplayBuilder {
        self.lines.push(json!({"method": "generateContentStream", "response": chunks}));
        self
    }

    /// Adds an answer that is not streamed, such as a summary.
    #[must_use]
    pub fn says_unstreamed(mut self, text: &str) -> ReplayBuilder {
        let response = chunk(&[json!({"text": text})], true);
        self.lines.push(json!({"method": "generateContent", "response": response}));
        self
    }

    /// Returns the text of the replay file.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Creates a tool call as a part of an answer.
pub fn call(tool: &str, args: Value) -> Value {
    json!({"functionCall": {"name": tool, "args": args}})
}

/// Creates a chunk of an answer.
pub fn chunk(parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if last {
        candidate["finishReason"] = json!("STOP");
    }
    let usage = json!({"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8});
    json!({"candidates": [candidate], "usageMetadata": usage})
}

/// Returns a stream of one chunk that has `hunter2` in everything but its text.
pub fn secret_outside_of_text() -> Vec<Value> {
    let mut piece = chunk(
        &[
            json!({"text": "thinking of hunter2", "thought": true}),
            json!({"executableCode": {"language": "PYTHON", "code": "print('hunter2')"}}),
            json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "hunter2"}}),
            json!({"text": "fine"}),
            call("write_file", json!({"file_path": "a.txt", "content": "A"})),
        ],
        true,
    );
    piece["candidates"][0]["groundingMetadata"] =
        json!({"groundingChunks": [{"web": {"title": "hunter2", "uri": "https://hunter2.test"}}]});
    vec![piece]
}
