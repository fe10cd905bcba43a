//! Reads the transcripts that other agents keep on disk, and yields the tool calls in them.
//!
//! One file per agent knows the format of its lines. Everything here only reads. A file that can't be read and a format
//! that is not known are [`TranscriptProblem`]s: a call that was not seen must not look like a call that was covered.

mod call;
mod call_tracker;
mod claude_code;
mod codex;
mod copilot;
mod gemini_cli;
mod json_lines;
mod line_reader;
mod location;
mod opencode;
mod qwen;
mod scan;
mod sqlite;
mod zstd;

pub use call::{ArgumentsDigest, TranscriptCall, TranscriptItem, TranscriptProblem, TranscriptResult};
pub use location::{TRANSCRIPT_HOSTS, TranscriptLocation, transcript_location};
pub use scan::TranscriptScan;

#[cfg(test)]
mod tests;
