//! What is said to a worker and what it says back, line by line. Pure: pieces of JSON out, bytes in. Whose turn it is and
//! what silence means is `talk.rs`.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::refs::{Fields, Refs};
use crate::answer::begins_with_no;
use crate::input::HookInput;

/// The greeting: what this program can do for a worker that asks for it.
pub(super) const HELLO: &[u8] = b"{\"id\":0,\"hello\":{\"version\":1,\"features\":[\"refs\"]}}\n";
/// The number that the greeting is answered under; those of requests are higher.
const HELLO_ID: u64 = 0;
/// What stands around an input in its line, at most.
const FRAME: usize = 128;
/// Pieces up to this length are copied together, which is quicker than writing each.
const SMALL: usize = 16 << 10;

/// A request as one line. Whatever the worker has already is left out if `refs` says so.
pub(super) fn request(id: u64, input: &HookInput, refs: Option<&mut Refs>) -> Vec<Bytes> {
    let mut line = Line { small: Vec::with_capacity(SMALL.min(input.len() + FRAME)), ..Line::default() };
    line.text(format!("{{\"id\":{id},").as_bytes());
    match refs.and_then(|refs| Some((refs, Fields::of(input)?))) {
        Some((refs, fields)) => refs.write(&fields, &mut line),
        None => {
            line.text(b"\"input\":");
            input.pieces().iter().for_each(|piece| line.piece(piece));
        }
    }
    line.text(b"}\n");
    line.done()
}

/// A line that is being put together: small pieces are copied, large ones are shared.
#[derive(Default)]
pub(super) struct Line {
    pieces: Vec<Bytes>,
    small: Vec<u8>,
}

impl Line {
    /// Our own JSON.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.small.extend_from_slice(text);
    }

    /// A piece of somebody's JSON, in which an end of a line can only be blank space.
    pub(super) fn piece(&mut self, piece: &Bytes) {
        match piece.contains(&b'\n') {
            true => self.small.extend(piece.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte })),
            false if piece.len() <= SMALL => self.small.extend_from_slice(piece),
            false => {
                self.flush();
                self.pieces.push(piece.clone());
            }
        }
    }

    fn flush(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push(Bytes::from(std::mem::take(&mut self.small)));
        }
    }

    fn done(mut self) -> Vec<Bytes> {
        self.flush();
        self.pieces
    }
}

/// What a worker said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// What it can do.
    Features {
        /// Whether it keeps large fields, to have them sent once.
        refs: bool,
    },
    /// An answer to a request: what a command would have printed.
    Answer(u64, String),
    /// It failed at a request, and why.
    Failure(u64, String),
    /// Something that is no answer, and what is wrong with it.
    Garbage(String),
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    features: Option<&'a RawValue>,
}

/// The no that a line begins with which was too long for more of it: its request, and the beginning of the answer. Nothing
/// else that it might say can be believed without its end.
pub(super) fn no_in(line: &str) -> Option<(u64, &str)> {
    let mut rest = line.trim_start().strip_prefix('{')?;
    let mut id = None;
    loop {
        let (key, after) = first::<String>(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        match key.as_str() {
            "output" => return Some((id?, rest)).filter(|(_, answer)| begins_with_no(answer)),
            "id" => id = Some(first::<u64>(rest)?.0),
            _ => {}
        }
        let (_, after) = first::<serde::de::IgnoredAny>(rest)?;
        rest = after.trim_start().strip_prefix(',')?;
    }
}

/// The value at the beginning of a text, and what is behind it.
fn first<'t, T: Deserialize<'t>>(text: &'t str) -> Option<(T, &'t str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

/// Reads a line; nothing for a blank one.
pub(super) fn read(line: &[u8]) -> Option<Word> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    // A derived reader takes an array for a structure, too.
    if !line.starts_with(b"{") {
        return Some(garbage(line, "is no JSON object"));
    }
    let said: Said<'_> = match serde_json::from_slice(line) {
        Ok(said) => said,
        Err(error) => return Some(garbage(line, &format!("is no answer: {error}"))),
    };
    let Some(id) = said.id.and_then(|id| id.get().parse::<u64>().ok()) else {
        return Some(garbage(line, "has no `id` that is a whole number"));
    };
    if id == HELLO_ID {
        let features: Vec<String> =
            said.features.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
        return Some(Word::Features { refs: features.iter().any(|name| name == "refs") });
    }
    Some(match (said.error, said.output) {
        (Some(error), _) if error.get() != "null" => Word::Failure(id, text_of(error)),
        (_, Some(output)) if output.get() == "null" => Word::Answer(id, String::new()),
        (_, Some(output)) => Word::Answer(id, text_of(output)),
        // A field that was misspelt might hold a no.
        (_, None) if said.features.is_none() && has_other_keys(line) => {
            garbage(line, "has neither `output` nor `error`")
        }
        (_, None) => Word::Answer(id, String::new()),
    })
}

/// A string's own text, as a command would have printed it; anything else as it is written.
fn text_of(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

fn has_other_keys(line: &[u8]) -> bool {
    let all: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(line).ok();
    all.is_none_or(|all| all.keys().any(|key| !["id", "output", "error"].contains(&key.as_str())))
}

fn garbage(line: &[u8], what: &str) -> Word {
    /// Enough to recognise it by.
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]).into_owned();
    let mut shown: String = text.chars().filter(|char| !char.is_control()).take(SHOWN).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    Word::Garbage(format!("what it said {what}: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<Word> {
        read(line.as_bytes())
    }

    #[test]
    fn answers_are_what_a_command_would_print() {
        let answer = |text: &str| Some(Word::Answer(7, text.to_owned()));
        assert_eq!(said(r#"{"id": 7, "output": {"decision": "deny"}}"#), answer(r#"{"decision": "deny"}"#));
        assert_eq!(said(r#"{"output":"words\nof text","id":7} "#), answer("words\nof text"));
        for nothing in [r#"{"id":7,"output":null}"#, r#"{"id":7}"#, r#"{"id":7,"error":null}"#] {
            assert_eq!(said(nothing), answer(""), "{nothing}");
        }
        assert_eq!(said(r#"{"id":7,"output":[1]}"#), answer("[1]"));
        assert_eq!(said("  "), None);
    }

    #[test]
    fn a_failure_is_one_whatever_else_is_said() {
        let failure = |text: &str| Some(Word::Failure(7, text.to_owned()));
        assert_eq!(said(r#"{"id":7,"error":"why"}"#), failure("why"));
        assert_eq!(said(r#"{"id":7,"output":{},"error":{"code":1}}"#), failure(r#"{"code":1}"#));
        assert_eq!(said(r#"{"id":7,"error":""}"#), failure(""));
    }

    #[test]
    fn what_is_no_answer_is_said() {
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
            assert!(matches!(said(line), Some(Word::Garbage(_))), "{line}: {:?}", said(line));
        }
        assert!(matches!(read(b"{\"id\":7,\"output\":\"\xff\"}"), Some(Word::Garbage(_))));
        let long = "x".repeat(1 << 20);
        assert!(matches!(said(&long), Some(Word::Garbage(text)) if text.len() < 300));
    }

    #[test]
    fn only_known_features_count() {
        assert_eq!(said(r#"{"id":0,"features":["refs","more"]}"#), Some(Word::Features { refs: true }));
        for none in [r#"{"id":0}"#, r#"{"id":0,"features":"refs"}"#, r#"{"id":0,"output":{}}"#] {
            assert_eq!(said(none), Some(Word::Features { refs: false }), "{none}");
        }
    }

    #[test]
    fn a_request_is_one_line_whatever_its_input_looks_like() {
        let input = HookInput::from(b"{\n \"a\": \"x\\n\"\n}".to_vec());
        let line = request(3, &input, None).concat();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value, serde_json::json!({"id": 3, "input": {"a": "x\n"}}));
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_said_is_too_much(line in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = read(&line);
        }
    }
}
