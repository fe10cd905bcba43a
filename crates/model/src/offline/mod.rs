//! The embedded offline model: deterministic, without network or knowledge. It executes the instructions of the last
//! prompt.
//! It derives its progress from the conversation, so that resumed sessions and repeated requests work.

mod script;

use crate::error::ModelError;
use crate::finish::FinishReason;
use crate::part::{FunctionResponse, Part};
use crate::request::{Grounding, ModelRequest};
use crate::response::{Chunk, Usage};
use crate::stream::ChunkStream;
use crate::tokens::{estimate_parts_tokens, estimate_tokens};
use crate::{Cancel, Content, Model, Provider, Role};
use script::{ScriptError, ScriptStep, ScriptedCall};

/// The text that marks a request for a summary.
const COMPRESS_MARKER: &str = "<compress_history>";
/// The least length of a streamed piece; [`MAX_PIECES`] limits the number of pieces of one text.
const MIN_PIECE_BYTES: usize = 16;
const MAX_PIECES: usize = 64;

const HELP_TEXT: &str = "This is the offline model, which only does what it is told: set GEMINI_API_KEY (or OPENAI_BASE_URL \
for a compatible server) to talk to a real one; it understands lines of the form `call TOOL {json}`, `also TOOL {json}` \
(in the same response), `say TEXT` and `think TEXT`.";

/// The embedded offline model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Offline {
    /// Creates the offline model.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Model for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn provider(&self) -> Provider {
        Provider::Offline
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        if request.grounding != Grounding::None {
            let what = "search the web";
            return Err(ModelError::Unsupported { provider: "the offline model", what });
        }
        Ok(ChunkStream::from_chunks(split_answer(request, build_answer(&request.contents)), cancel))
    }

    async fn count_tokens(&self, request: &ModelRequest, _cancel: &Cancel) -> Result<u64, ModelError> {
        Ok(estimate_tokens(request))
    }
}

/// Returns all parts of the answer in order.
fn build_answer<C: std::ops::Deref<Target = Content>>(contents: &[C]) -> Vec<Part> {
    let Some((at, prompt)) = last_prompt(contents) else {
        return vec![Part::text(HELP_TEXT)];
    };
    let (before, after) = (&contents[..at], &contents[at + 1..]);
    if contents[at].parts.iter().filter_map(Part::as_text).any(|text| text.contains(COMPRESS_MARKER)) {
        return vec![Part::text(summary(before))];
    }
    let steps = match script::parse_script(&prompt) {
        Ok(steps) if steps.is_empty() => return vec![Part::text(HELP_TEXT)],
        Ok(steps) => steps,
        Err(mistake) => return vec![Part::text(mistake_message(&mistake))],
    };
    let calls_before = count_calls(before);
    let calls_done = count_calls(after);
    let left = &steps[script::next_step_index(&steps, calls_done)..];
    if left.is_empty() {
        return vec![Part::text(report_results(after))];
    }
    perform_steps(left, calls_before + calls_done)
}

/// Returns the parts up to and including the next tool calls.
fn perform_steps(steps: &[ScriptStep], calls_so_far: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for step in steps {
        match step {
            ScriptStep::Think(text) => parts.push(Part::thought(text)),
            ScriptStep::Say(text) if text.is_empty() => {}
            ScriptStep::Say(text) => {
                let follows_text = parts.last().is_some_and(|part| part.as_text().is_some());
                let text = if follows_text { format!("\n{text}") } else { text.clone() };
                let left = match parts.last_mut() {
                    Some(last) => last.try_append(Part::text(text)),
                    None => Some(Part::text(text)),
                };
                parts.extend(left);
            }
            ScriptStep::Call(calls) => {
                let numbered = calls.iter().zip(calls_so_far + 1..);
                parts.extend(numbered.map(|(ScriptedCall { name, args }, number)| {
                    Part::function_call(Some(format!("call_{number}")), name, args.clone())
                }));
                return parts;
            }
        }
    }
    parts
}

/// Returns the last message with text from the user, and its index. Tool results are not prompts.
fn last_prompt<C: std::ops::Deref<Target = Content>>(contents: &[C]) -> Option<(usize, String)> {
    contents.iter().enumerate().rev().find_map(|(at, content)| {
        let has_result = content.parts.iter().any(|part| part.as_function_response().is_some());
        if content.role != Role::User || has_result {
            return None;
        }
        // The texts after the first one are attached files and notes.
        let mut texts = content.parts.iter().filter_map(Part::as_text).map(strip_hook_context);
        texts.find(|text| !text.trim().is_empty()).map(|text| (at, text))
    })
}

/// Removes context from hooks, which is not an instruction.
fn strip_hook_context(text: &str) -> String {
    const HOOK_CONTEXT_OPEN: &str = "<hook_context>";
    const HOOK_CONTEXT_CLOSE: &str = "</hook_context>";
    let mut rest = text;
    let mut out = String::with_capacity(text.len());
    while let Some(start) = rest.find(HOOK_CONTEXT_OPEN) {
        out.push_str(&rest[..start]);
        let inside = &rest[start + HOOK_CONTEXT_OPEN.len()..];
        rest = inside.find(HOOK_CONTEXT_CLOSE).map_or("", |end| &inside[end + HOOK_CONTEXT_CLOSE.len()..]);
    }
    out.push_str(rest);
    out
}

fn count_calls<C: std::ops::Deref<Target = Content>>(contents: &[C]) -> usize {
    let parts = contents.iter().flat_map(|content| &content.parts);
    parts.filter(|part| part.as_function_call().is_some()).count()
}

fn mistake_message(ScriptError { line, column, message: what }: &ScriptError) -> String {
    format!("The offline model cannot read line {line}, column {column} of the prompt: {what}. Nothing was done.")
}

/// Reports the results of the calls, for prompts that end with a call.
fn report_results<C: std::ops::Deref<Target = Content>>(after: &[C]) -> String {
    let results = after.iter().flat_map(|content| &content.parts);
    let lines: Vec<String> = results.filter_map(Part::as_function_response).map(report_line).collect();
    if lines.is_empty() { "Done.".to_owned() } else { lines.join("\n") }
}

fn report_line(result: &FunctionResponse) -> String {
    match result.response.get("error") {
        None => format!("{}: done", result.name),
        Some(error) => {
            let text = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
            format!("{}: failed: {}", result.name, text.lines().next().unwrap_or_default())
        }
    }
}

/// Summarises the number of messages, the last prompt and the tools used.
fn summary<C: std::ops::Deref<Target = Content>>(contents: &[C]) -> String {
    let mut tools: Vec<(&str, usize)> = Vec::new();
    for call in contents.iter().flat_map(|c| &c.parts).filter_map(Part::as_function_call) {
        match tools.iter_mut().find(|(name, _)| *name == call.name) {
            Some((_, count)) => *count += 1,
            None => tools.push((&call.name, 1)),
        }
    }
    let tools: Vec<String> = tools.iter().map(|(name, count)| format!("{name} ×{count}")).collect();
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    let asked = last_prompt(contents).map(|(_, text)| text).unwrap_or_default();
    let asked: String = asked.trim().lines().next().unwrap_or_default().chars().take(200).collect();
    format!("Summary of {} messages. Last request: {asked}\nTools used: {tools}.", contents.len())
}

/// Splits the answer into chunks; the last one has the finish reason and the token usage.
fn split_answer(request: &ModelRequest, parts: Vec<Part>) -> Vec<Chunk> {
    let prompt = estimate_tokens(request);
    let candidates = estimate_parts_tokens(&parts);
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part.as_text() {
            Some(text) => chunks.extend(text_pieces(text).map(Chunk::from_text)),
            None if part.as_function_call().is_some() => calls.push(part),
            None => chunks.push(Chunk { parts: vec![part], ..Chunk::default() }),
        }
    }
    if !calls.is_empty() || chunks.is_empty() {
        chunks.push(Chunk { parts: calls, ..Chunk::default() });
    }
    if let Some(last) = chunks.last_mut() {
        last.finish_reason = Some(FinishReason::Stop);
        last.usage = Some(Usage { prompt, candidates, total: prompt + candidates, ..Usage::default() });
    }
    chunks
}

/// Splits a text after white space into pieces of whole words that join to the same text.
fn text_pieces(text: &str) -> impl Iterator<Item = &str> {
    let least = MIN_PIECE_BYTES.max(text.len().div_ceil(MAX_PIECES));
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let from = rest.ceil_char_boundary(least.min(rest.len()));
        let space = rest[from..].char_indices().find(|(_, c)| c.is_whitespace());
        let end = space.map_or(rest.len(), |(at, c)| from + at + c.len_utf8());
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}

#[cfg(test)]
mod tests;
