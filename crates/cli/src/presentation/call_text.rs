//! Tool calls as text: their titles, short arguments, and the output so far.

use std::time::Instant;

use hookwright_agent::ToolStart;
use serde_json::{Map, Value};

use super::card_store;

/// How much of a running command's output is kept for the screen.
const MAX_LIVE_OUTPUT_BYTES: usize = 256 << 10;

/// The card of a running call.
#[derive(Debug)]
pub(crate) struct LiveCard {
    pub(crate) call_id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) rewritten: Vec<String>,
    pub(crate) output: String,
    /// The number of bytes that the command printed in all.
    printed_bytes: usize,
    pub(crate) started: Instant,
}

impl LiveCard {
    pub(crate) fn new(start: ToolStart, now: Instant) -> Self {
        let ToolStart { call_id, name, description, rewritten_args: rewritten, .. } = start;
        let output = String::new();
        LiveCard { call_id, name, description, rewritten, output, printed_bytes: 0, started: now }
    }

    /// Adds output; only its end is kept.
    pub(crate) fn push_output(&mut self, text: &str) {
        self.output.push_str(text);
        self.printed_bytes += text.len();
        if self.output.len() > 2 * MAX_LIVE_OUTPUT_BYTES {
            self.output = card_store::tail(&self.output, MAX_LIVE_OUTPUT_BYTES).0.to_owned();
        }
    }

    /// Returns the card's title: the tool's name and the call's description.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.description).trim_end().to_owned()
    }

    /// Returns the output so far, or its end.
    pub(crate) fn output_so_far(&self) -> &str {
        &self.output
    }

    /// Returns the number of bytes that the command printed in all.
    pub(crate) fn printed_bytes(&self) -> usize {
        self.printed_bytes
    }
}

/// Returns short arguments for a call without a description.
pub(crate) fn short_args(args: &Map<String, Value>) -> String {
    let first = ["command", "file_path", "path", "pattern", "query", "url", "prompt"];
    let value = first.iter().find_map(|key| args.get(*key)).or_else(|| args.values().next());
    match value {
        Some(Value::String(text)) => crate::output::truncate_columns(text, 80),
        Some(value) => crate::output::truncate_columns(&value.to_string(), 80),
        None => String::new(),
    }
}
