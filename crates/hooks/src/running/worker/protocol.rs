//! Encodes the requests to a worker and parses its messages, line by line, without I/O. `connection.rs` handles their
//! order and timeouts.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::refs::{FieldRefs, SplitInput};
use crate::answers::starts_with_deny;
use crate::event::input::HookInput;

/// The hello line, which offers optional features to the worker.
pub(super) const HELLO_LINE: &[u8] = b"{\"id\":0,\"hello\":{\"version\":1,\"features\":[\"refs\"]}}\n";
/// The id of the hello; those of requests are higher.
const HELLO_REQUEST_ID: u64 = 0;
/// The maximum length of the JSON around an input.
const REQUEST_ENVELOPE_BYTES: usize = 128;
/// Pieces up to this length are copied into one buffer, which is quicker than writing each.
const MAX_COPIED_PIECE_BYTES: usize = 16 << 10;

/// Encodes a request as one line. With `refs`, fields that the worker has kept are left out.
pub(super) fn encode_request(id: u64, input: &HookInput, refs: Option<&mut FieldRefs>) -> Vec<Bytes> {
    let mut line = LineBuilder {
        buffer: Vec::with_capacity(MAX_COPIED_PIECE_BYTES.min(input.len() + REQUEST_ENVELOPE_BYTES)),
        ..LineBuilder::default()
    };
    line.push_text(format!("{{\"id\":{id},").as_bytes());
    match refs.and_then(|refs| Some((refs, SplitInput::from_input(input)?))) {
        Some((refs, fields)) => refs.write(&fields, &mut line),
        None => {
            line.push_text(b"\"input\":");
            input.pieces().iter().for_each(|piece| line.push_piece(piece));
        }
    }
    line.push_text(b"}\n");
    line.finish()
}

/// Builds a line: small pieces are copied, large ones are shared.
#[derive(Default)]
pub(super) struct LineBuilder {
    pieces: Vec<Bytes>,
    buffer: Vec<u8>,
}

impl LineBuilder {
    /// Appends JSON that contains no line end.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.buffer.extend_from_slice(text);
    }

    /// Appends a piece of JSON of any origin; a line end in it can only be white space, and is replaced.
    pub(super) fn push_piece(&mut self, piece: &Bytes) {
        match piece.contains(&b'\n') {
            true => self.buffer.extend(piece.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte })),
            false if piece.len() <= MAX_COPIED_PIECE_BYTES => self.buffer.extend_from_slice(piece),
            false => {
                self.flush();
                self.pieces.push(piece.clone());
            }
        }
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            self.pieces.push(Bytes::from(std::mem::take(&mut self.buffer)));
        }
    }

    fn finish(mut self) -> Vec<Bytes> {
        self.flush();
        self.pieces
    }
}

/// A message of a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerMessage {
    /// The features that the worker supports.
    Features {
        /// Whether the worker keeps large fields, so that they are sent once.
        refs: bool,
    },
    /// The answer to a request: the text that a command would have printed.
    Answer(u64, String),
    /// The failure of a request, with the reason.
    Failure(u64, String),
    /// A line that is not a valid message, with the reason.
    Malformed(String),
}

#[derive(Deserialize)]
struct RawWorkerMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    features: Option<&'a RawValue>,
}

/// Finds a deny at the start of a line that exceeded the maximum length: the id of its request, and the start of the
/// answer.
///
/// No other answer can be trusted without its end.
pub(super) fn find_truncated_deny(line: &str) -> Option<(u64, &str)> {
    let mut rest = line.trim_start().strip_prefix('{')?;
    let mut id = None;
    loop {
        let (key, after) = parse_leading_value::<String>(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        match key.as_str() {
            "output" => return Some((id?, rest)).filter(|(_, answer)| starts_with_deny(answer)),
            "id" => id = Some(parse_leading_value::<u64>(rest)?.0),
            _ => {}
        }
        let (_, after) = parse_leading_value::<serde::de::IgnoredAny>(rest)?;
        rest = after.trim_start().strip_prefix(',')?;
    }
}

/// Parses the value at the start of a text, and returns the text after it.
fn parse_leading_value<'t, T: Deserialize<'t>>(text: &'t str) -> Option<(T, &'t str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

/// Parses a line; `None` for a blank one.
pub(super) fn parse_message(line: &[u8]) -> Option<WorkerMessage> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    // A derived deserialiser accepts an array for a struct too.
    if !line.starts_with(b"{") {
        return Some(malformed(line, "is not a JSON object"));
    }
    let message: RawWorkerMessage<'_> = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => return Some(malformed(line, &format!("is not an answer: {error}"))),
    };
    let Some(id) = message.id.and_then(|id| id.get().parse::<u64>().ok()) else {
        return Some(malformed(line, "has no `id` that is a whole number"));
    };
    if id == HELLO_REQUEST_ID {
        let features: Vec<String> =
            message.features.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
        return Some(WorkerMessage::Features { refs: features.iter().any(|name| name == "refs") });
    }
    Some(match (message.error, message.output) {
        (Some(error), _) if error.get() != "null" => WorkerMessage::Failure(id, raw_text(error)),
        (_, Some(output)) if output.get() == "null" => WorkerMessage::Answer(id, String::new()),
        (_, Some(output)) => WorkerMessage::Answer(id, raw_text(output)),
        // A misspelt field might hold a deny.
        (_, None) if message.features.is_none() && has_unknown_keys(line) => {
            malformed(line, "has neither `output` nor `error`")
        }
        (_, None) => WorkerMessage::Answer(id, String::new()),
    })
}

/// The text of a JSON string, as a command would have printed it; other values as JSON.
fn raw_text(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

fn has_unknown_keys(line: &[u8]) -> bool {
    let all: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(line).ok();
    all.is_none_or(|all| all.keys().any(|key| !["id", "output", "error"].contains(&key.as_str())))
}

fn malformed(line: &[u8], what: &str) -> WorkerMessage {
    /// The length of the excerpt in the message.
    const MAX_SHOWN_CHARS: usize = 120;
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MAX_SHOWN_CHARS)]).into_owned();
    let mut shown: String = text.chars().filter(|char| !char.is_control()).take(MAX_SHOWN_CHARS).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    WorkerMessage::Malformed(format!("a line from it {what}: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Option<WorkerMessage> {
        parse_message(line.as_bytes())
    }

    #[test]
    fn answers_are_what_a_command_would_print() {
        let answer = |text: &str| Some(WorkerMessage::Answer(7, text.to_owned()));
        assert_eq!(parse_line(r#"{"id": 7, "output": {"decision": "deny"}}"#), answer(r#"{"decision": "deny"}"#));
        assert_eq!(parse_line(r#"{"output":"words\nof text","id":7} "#), answer("words\nof text"));
        for nothing in [r#"{"id":7,"output":null}"#, r#"{"id":7}"#, r#"{"id":7,"error":null}"#] {
            assert_eq!(parse_line(nothing), answer(""), "{nothing}");
        }
        assert_eq!(parse_line(r#"{"id":7,"output":[1]}"#), answer("[1]"));
        assert_eq!(parse_line("  "), None);
    }

    #[test]
    fn an_error_field_makes_a_failure() {
        let failure = |text: &str| Some(WorkerMessage::Failure(7, text.to_owned()));
        assert_eq!(parse_line(r#"{"id":7,"error":"why"}"#), failure("why"));
        assert_eq!(parse_line(r#"{"id":7,"output":{},"error":{"code":1}}"#), failure(r#"{"code":1}"#));
        assert_eq!(parse_line(r#"{"id":7,"error":""}"#), failure(""));
    }

    #[test]
    fn malformed_lines_are_reported() {
        let lines = [
            "debug: 1",
            "{",
            "[7,{}]",
            "7",
            "null",
            r#""{}""#,
            r#"{"output":{}}"#,
            r#"{"id":"7","output":{}}"#,
            r#"{"id":7.5,"output":{}}"#,
            r#"{"id":-7,"output":{}}"#,
            r#"{"id":null}"#,
            r#"{"id":7,"ouput":{"decision":"deny"}}"#,
            r#"{"id":7,"decision":"deny"}"#,
            r#"{"id":7,"output":{},"output":{"decision":"deny"}}"#,
            r#"{"id":7,"output":{}} {"id":8,"output":{}}"#,
            "{\"id\":7,\"output\":\"\u{1}\"}",
        ];
        for line in lines {
            assert!(matches!(parse_line(line), Some(WorkerMessage::Malformed(_))), "{line}: {:?}", parse_line(line));
        }
        assert!(matches!(parse_message(b"{\"id\":7,\"output\":\"\xff\"}"), Some(WorkerMessage::Malformed(_))));
        let long = "x".repeat(1 << 20);
        assert!(matches!(parse_line(&long), Some(WorkerMessage::Malformed(text)) if text.len() < 300));
    }

    #[test]
    fn only_known_features_count() {
        assert_eq!(parse_line(r#"{"id":0,"features":["refs","more"]}"#), Some(WorkerMessage::Features { refs: true }));
        for none in [r#"{"id":0}"#, r#"{"id":0,"features":"refs"}"#, r#"{"id":0,"output":{}}"#] {
            assert_eq!(parse_line(none), Some(WorkerMessage::Features { refs: false }), "{none}");
        }
    }

    #[test]
    fn a_request_is_one_line_whatever_its_input_looks_like() {
        let input = HookInput::from(b"{\n \"a\": \"x\\n\"\n}".to_vec());
        let line = encode_request(3, &input, None).concat();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value, serde_json::json!({"id": 3, "input": {"a": "x\n"}}));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = parse_message(&line);
        }
    }
}
