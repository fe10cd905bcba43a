//! Decodes a streamed chat completion: deltas become chunks, and the pieces of a tool call are joined.
//! The last chunk is held back until the usage arrives, which servers send after it.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Provider;
use crate::api_error::ApiError;
use crate::finish::FinishReason;
use crate::memory_size::{MAX_JSON_VALUES, count_json_values};
use crate::part::Part;
use crate::response::{Chunk, Usage};
use crate::response_decoder::{AnswerProgress, DecodeError, ProviderDecoder};

/// Returns the id of the call after `before` other calls, for servers and histories without ids.
pub(super) fn call_id(before: usize) -> String {
    format!("call_{}", before + 1)
}

#[derive(Debug)]
pub(super) struct OpenAiDecoder {
    calls: Vec<PartialCall>,
    calls_before: usize,
    /// The chunk that ends the answer, held back until nothing more can be added to it.
    final_chunk: Option<Chunk>,
    progress: AnswerProgress,
}

/// The largest number of calls in one answer; each piece is searched for among them.
const MAX_TOOL_CALLS: usize = 20_000;

/// A tool call whose pieces are still arriving.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChatCompletionWire {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<ChatChoiceWire>>,
    usage: Option<ChatUsageWire>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ChatChoiceWire {
    delta: Option<ChatDeltaWire>,
    /// Sent instead of `delta` by servers that do not stream.
    message: Option<ChatDeltaWire>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDeltaWire {
    content: Option<Value>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ChatCallWire>>,
}

#[derive(Deserialize)]
struct ChatCallWire {
    index: Option<u64>,
    id: Option<String>,
    function: Option<ChatFunctionWire>,
}

#[derive(Deserialize)]
struct ChatFunctionWire {
    name: Option<String>,
    /// A string by the specification; some servers send an object.
    arguments: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ChatUsageWire {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<TokenDetailsWire>,
    completion_tokens_details: Option<TokenDetailsWire>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenDetailsWire {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl From<ChatUsageWire> for Usage {
    fn from(wire: ChatUsageWire) -> Self {
        let prompt = wire.prompt_tokens.unwrap_or_default();
        let completion = wire.completion_tokens.unwrap_or_default();
        let thoughts = wire.completion_tokens_details.and_then(|d| d.reasoning_tokens).unwrap_or_default();
        Self {
            prompt,
            // Gemini, and so the rest of this program, counts thinking separately from the answer.
            candidates: completion.saturating_sub(thoughts),
            total: wire.total_tokens.unwrap_or(prompt.saturating_add(completion)),
            thoughts,
            cached: wire.prompt_tokens_details.and_then(|d| d.cached_tokens).unwrap_or_default(),
            tool_use: 0,
        }
    }
}

impl OpenAiDecoder {
    /// Creates a decoder for an answer to a history with this many tool calls.
    pub(super) fn after_calls(calls_before: usize) -> Self {
        Self { calls: Vec::new(), calls_before, final_chunk: None, progress: AnswerProgress::Open }
    }

    fn push_response(&mut self, wire: ChatCompletionWire, out: &mut VecDeque<Chunk>) -> Result<(), DecodeError> {
        if let Some(error) = &wire.error {
            let error = ApiError::from_json(Provider::OpenAi, 200, error, None);
            return Err(DecodeError::Refused(error.into()));
        }
        let mut chunk = Chunk { response_id: wire.id, model_version: wire.model, ..Chunk::default() };
        let mut finish = None;
        if let Some(choice) = wire.choices.into_iter().flatten().next() {
            finish = choice.finish_reason.filter(|reason| !reason.is_empty());
            if let Some(delta) = choice.delta.or(choice.message) {
                self.push_delta(delta, &mut chunk.parts)?;
            }
        }
        chunk.usage = wire.usage.map(Usage::from);
        if let Some(reason) = finish {
            chunk.finish_reason = Some(finish_reason(&reason));
            self.finish_calls(&mut chunk);
            self.progress = AnswerProgress::Complete;
        }
        match &mut self.final_chunk {
            Some(last) => last.merge(chunk),
            None if chunk.finish_reason.is_some() => self.final_chunk = Some(chunk),
            None if chunk.parts.is_empty() && chunk.usage.is_none() => {}
            None => out.push_back(chunk),
        }
        Ok(())
    }

    fn push_delta(&mut self, delta: ChatDeltaWire, parts: &mut Vec<Part>) -> Result<(), DecodeError> {
        let thought = delta.reasoning_content.or(delta.reasoning).unwrap_or_default();
        if !thought.is_empty() {
            parts.push(Part::thought(thought));
        }
        let text = delta.content.map(content_text).unwrap_or_default();
        let text = text + delta.refusal.as_deref().unwrap_or_default();
        if !text.is_empty() {
            parts.push(Part::text(text));
        }
        delta.tool_calls.into_iter().flatten().for_each(|call| self.push_call_piece(call));
        match self.calls.len() {
            count if count > MAX_TOOL_CALLS => {
                Err(DecodeError::Unreadable(format!("more than {MAX_TOOL_CALLS} tool calls")))
            }
            _ => Ok(()),
        }
    }

    /// Adds a piece to its call.
    fn push_call_piece(&mut self, wire: ChatCallWire) {
        let id = wire.id.unwrap_or_default();
        let mut at = match wire.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == wire.index),
            None => self.calls.len().checked_sub(1),
        };
        // Some servers number every call 0; a different id means a different call.
        if at.is_some_and(|at| !id.is_empty() && !self.calls[at].id.is_empty() && self.calls[at].id != id) {
            at = None;
        }
        let at = at.unwrap_or_else(|| {
            self.calls.push(PartialCall { index: wire.index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        let Some(function) = wire.function else { return };
        match function.name {
            // Some servers repeat the whole name with every piece.
            Some(name) if name != call.name => call.name.push_str(&name),
            _ => {}
        }
        match function.arguments {
            Some(Value::String(piece)) => call.arguments.push_str(&piece),
            Some(Value::Null) | None => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
    }

    /// Ends the answer; a server that sent no finish reason counts as `Stop`.
    fn finish_answer(&mut self) {
        if self.progress == AnswerProgress::Open {
            let mut last = Chunk { finish_reason: Some(FinishReason::Stop), ..Chunk::default() };
            self.finish_calls(&mut last);
            self.final_chunk = Some(last);
        }
        self.progress = AnswerProgress::Ended;
    }

    /// Moves the finished calls into the chunk. An unreadable call ends the answer as malformed.
    fn finish_calls(&mut self, chunk: &mut Chunk) {
        let mut room = MAX_JSON_VALUES;
        for call in std::mem::take(&mut self.calls) {
            match parse_arguments(&call.arguments, &mut room) {
                Ok(args) if !call.name.is_empty() => {
                    let id = if call.id.is_empty() { call_id(self.calls_before) } else { call.id };
                    self.calls_before += 1;
                    chunk.parts.push(Part::function_call(Some(id), call.name, args));
                }
                Ok(_) => mark_malformed(chunk, "a tool call without a name".to_owned()),
                Err(why) => mark_malformed(chunk, format!("the arguments of {}: {why}", call.name)),
            }
        }
    }
}

fn mark_malformed(chunk: &mut Chunk, message: String) {
    chunk.finish_reason = Some(FinishReason::MalformedFunctionCall);
    chunk.finish_message = Some(message);
}

/// Parses a call's arguments; `room` is the number of JSON values that all calls together may still have.
fn parse_arguments(text: &str, room: &mut usize) -> Result<Map<String, Value>, serde_json::Error> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let too_many = || serde::de::Error::custom(format!("more than {MAX_JSON_VALUES} values"));
    *room = room.checked_sub(count_json_values(text.as_bytes())).ok_or_else(too_many)?;
    serde_json::from_str(text)
}

/// Returns the text of a message's content, which some servers send as a list of typed pieces.
fn content_text(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(items) => items.iter().filter_map(|item| item.get("text").and_then(Value::as_str)).collect(),
        _ => String::new(),
    }
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "stop" | "tool_calls" | "function_call" | "eos" | "end_turn" => FinishReason::Stop,
        "length" => FinishReason::MaxTokens,
        "content_filter" => FinishReason::Safety,
        other => FinishReason::Other(other.to_owned()),
    }
}

impl ProviderDecoder for OpenAiDecoder {
    fn decode_event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<(), DecodeError> {
        if data.trim_ascii() == "[DONE]" {
            self.finish_answer();
            return Ok(());
        }
        let wire = serde_json::from_str(data).map_err(|error| DecodeError::from_json_error(&error, data.as_bytes()))?;
        self.push_response(wire, out)
    }

    fn decode_document(&mut self, body: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), DecodeError> {
        let wire: ChatCompletionWire =
            serde_json::from_slice(body).map_err(|error| DecodeError::from_json_error(&error, body))?;
        let answered = wire.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        self.push_response(wire, out)?;
        if answered {
            self.finish_answer();
        }
        Ok(())
    }

    fn progress(&self) -> AnswerProgress {
        self.progress
    }

    fn finish(&mut self, out: &mut VecDeque<Chunk>) {
        out.extend(self.final_chunk.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(events: &[&str]) -> (Vec<Chunk>, AnswerProgress) {
        let mut decoder = OpenAiDecoder::after_calls(2);
        let mut out = VecDeque::new();
        for event in events {
            decoder.decode_event(event, &mut out).unwrap();
        }
        let progress = decoder.progress();
        decoder.finish(&mut out);
        (out.into(), progress)
    }

    fn calls(events: &[&str]) -> Vec<String> {
        let (chunks, _) = decode(events);
        let calls = chunks.iter().flat_map(Chunk::function_calls);
        calls
            .map(|call| {
                format!("{} {} {}", call.id.as_deref().unwrap_or("-"), call.name, Value::from(call.args.clone()))
            })
            .collect()
    }

    const END_EVENT: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

    #[test]
    fn text_thoughts_and_usage() {
        let (chunks, progress) = decode(&[
            r#"{"id":"r","model":"m","choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
            r#"{"choices":[{"delta":{"content":"hi"}}]}"#,
            r#"{"choices":[{"delta":{"content":null},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":4,"total_tokens":9,"completion_tokens_details":{"reasoning_tokens":3}}}"#,
            "[DONE]",
        ]);
        assert_eq!(progress, AnswerProgress::Ended);
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks[0].parts, [Part::thought("hm")]);
        assert_eq!(chunks[1].text(), "hi");
        assert_eq!(chunks[2].finish_reason, Some(FinishReason::MaxTokens));
        let usage = Usage { prompt: 5, candidates: 1, total: 9, thoughts: 3, ..Usage::default() };
        assert_eq!(chunks[2].usage, Some(usage));
    }

    #[test]
    fn calls_in_pieces_become_whole() {
        assert_eq!(
            calls(&[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"glob","arguments":""}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"ls","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
                END_EVENT,
            ]),
            [r#"a glob {"p":1}"#, "b ls {}"]
        );
    }

    #[test]
    fn nonstandard_tool_calls_are_understood() {
        let zero_twice = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":{"o":1}}},{"index":0,"id":"b","function":{"name":"y"}}]}}]}"#;
        assert_eq!(calls(&[zero_twice, END_EVENT]), [r#"a x {"o":1}"#, "b y {}"]);
        let no_ids = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"x"}},{"index":1,"id":"","function":{"name":"y"}}]}}]}"#;
        assert_eq!(calls(&[no_ids, END_EVENT]), ["call_3 x {}", "call_4 y {}"]);
        let repeated = r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":" "}}]}}]}"#;
        assert_eq!(calls(&[repeated, repeated, "[DONE]"]), ["a x {}"]);
    }

    #[test]
    fn arguments_that_cannot_be_read_end_the_answer_as_malformed() {
        let (chunks, _) = decode(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\":"}}]}}]}"#,
            END_EVENT,
        ]);
        assert_eq!(chunks[0].finish_reason, Some(FinishReason::MalformedFunctionCall));
        assert!(chunks[0].finish_message.as_deref().unwrap().starts_with("the arguments of x: EOF"));
        assert_eq!(chunks[0].function_calls().count(), 0);
    }

    #[test]
    fn overflowing_token_counts_saturate() {
        let most = u64::MAX;
        let (chunks, _) =
            decode(&[&format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{most},"completion_tokens":{most}}}}}"#)]);
        assert_eq!(chunks[0].usage.unwrap().total, most);
    }

    #[test]
    fn an_error_inside_the_stream_is_reported() {
        let mut decoder = OpenAiDecoder::after_calls(0);
        let event = r#"{"error":{"message":"overloaded","code":503}}"#;
        let Err(DecodeError::Refused(error)) = decoder.decode_event(event, &mut VecDeque::new()) else {
            panic!("not refused");
        };
        assert_eq!(error.to_string(), "openai API: the server has a problem (503): overloaded");
    }
}
