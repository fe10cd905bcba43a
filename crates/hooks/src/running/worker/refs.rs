//! Tracks the fields of earlier requests that a worker has kept, so that a large field is sent once, and of a growing
//! text only the new part. `connection.rs` decides which workers are sent such references.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::protocol::LineBuilder;
use crate::event::input::HookInput;

/// The number of streams that are distinguished: one response, and those of a few concurrent sub-agents.
const MAX_STREAMS: usize = 4;

/// The time without a piece after which a response counts as complete.
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// An input whose large fields can be left out: the pieces of the JSON around them.
pub(super) struct SplitInput<'a> {
    /// The object up to and including the shared field's name.
    prefix: &'a Bytes,
    /// The name of the shared field; `,"name":` stands at the end of `prefix`.
    shared_name: &'static str,
    shared: &'a Bytes,
    /// The JSON between the shared and the growing field, without the growing field's name; up to the end if there is
    /// none.
    middle: &'a [u8],
    growing_field: Option<(&'static str, &'a [Bytes])>,
    has_more_text: bool,
}

impl<'a> SplitInput<'a> {
    /// Splits an input; `None` if it has no shared field.
    pub(super) fn from_input(input: &'a HookInput) -> Option<Self> {
        let layout = input.layout()?;
        let [before, shared, between, rest @ ..] = input.pieces() else { return None };
        let growing = layout.growing_field.map(|name| (name, &rest[..rest.len().saturating_sub(1)]));
        let named = growing.as_ref().map_or(0, |(name, _)| name.len() + ",\"\":\"".len());
        let between = between.get(..between.len().checked_sub(named)?)?;
        Some(SplitInput {
            prefix: before,
            shared_name: layout.shared_field,
            shared,
            middle: between,
            growing_field: growing,
            has_more_text: layout.has_more_text,
        })
    }

    /// Writes the object without the two fields; without its end if there is a growing field.
    fn write_without_large_fields(&self, line: &mut LineBuilder) {
        let named = self.shared_name.len() + ",\"\":".len();
        line.push_piece(&self.prefix.slice(..self.prefix.len().saturating_sub(named)));
        line.push_text(self.middle);
    }

    /// Writes the whole growing field and the end of the object.
    fn write_growing_field(&self, line: &mut LineBuilder) {
        if let Some((name, text)) = self.growing_field {
            line.push_text(format!(",\"{name}\":\"").as_bytes());
            text.iter().for_each(|piece| line.push_piece(piece));
            line.push_text(b"\"}");
        }
    }
}

/// The fields that one worker has kept.
#[derive(Default)]
pub(super) struct FieldRefs {
    streams: [Option<KeptStream>; MAX_STREAMS],
}

/// The shared field of a request and the text sent so far.
///
/// The bytes are held so that no other field can have the same address.
struct KeptStream {
    shared: Bytes,
    sent_text: Vec<Bytes>,
    /// Whether more pieces of the response are expected.
    has_more_text: bool,
    last_used: Instant,
}

impl FieldRefs {
    /// Writes the rest of a request's line, up to its closing brace.
    pub(super) fn write(&mut self, fields: &SplitInput<'_>, line: &mut LineBuilder) {
        let known = self.streams.iter().position(|kept| {
            let shared = kept.as_ref().map(|kept| &kept.shared);
            // Only the address and length are compared: the field may have megabytes, and there is a request for every
            // piece.
            shared
                .is_some_and(|shared| shared.as_ptr() == fields.shared.as_ptr() && shared.len() == fields.shared.len())
        });
        match known {
            Some(at) => self.write_known(at, fields, line),
            None => self.write_new(fields, line),
        }
    }

    /// The slot to reuse: the first whose stream has ended, so that little is kept, or else the least recently used.
    fn slot_to_reuse(&self) -> usize {
        let rests = |kept: &Option<KeptStream>| {
            kept.as_ref().is_none_or(|kept| !kept.has_more_text || kept.last_used.elapsed() > STREAM_IDLE_TIMEOUT)
        };
        let oldest = || (0..MAX_STREAMS).min_by_key(|at| self.streams[*at].as_ref().map(|kept| kept.last_used));
        self.streams.iter().position(rests).or_else(oldest).unwrap_or(0)
    }

    fn write_new(&mut self, fields: &SplitInput<'_>, line: &mut LineBuilder) {
        let at = self.slot_to_reuse();
        let [shared, grown] = ref_numbers(at);
        line.push_text(format!("\"keep\":{{\"{}\":{shared}", fields.shared_name).as_bytes());
        if let Some((name, _)) = fields.growing_field {
            line.push_text(format!(",\"{name}\":{grown}").as_bytes());
        }
        line.push_text(b"},\"input\":");
        line.push_piece(fields.prefix);
        line.push_piece(fields.shared);
        line.push_text(fields.middle);
        fields.write_growing_field(line);
        let grown = fields.growing_field.map(|(_, text)| text.to_vec()).unwrap_or_default();
        let kept = KeptStream {
            shared: fields.shared.clone(),
            sent_text: grown,
            has_more_text: fields.has_more_text,
            last_used: Instant::now(),
        };
        self.streams[at] = Some(kept);
    }

    fn write_known(&mut self, at: usize, fields: &SplitInput<'_>, line: &mut LineBuilder) {
        let [shared, number] = ref_numbers(at);
        line.push_text(format!("\"kept\":{{\"{}\":{shared}}}", fields.shared_name).as_bytes());
        let mut whole = false;
        if let (Some((name, text)), Some(kept)) = (fields.growing_field, &mut self.streams[at]) {
            match appended_pieces(&kept.sent_text, text) {
                Some(new) => {
                    line.push_text(format!(",\"grow\":{{\"{name}\":[{number},\"").as_bytes());
                    new.iter().for_each(|piece| line.push_piece(piece));
                    line.push_text(b"\"]}");
                }
                // The text is another one: the response was restarted.
                None => {
                    line.push_text(format!(",\"keep\":{{\"{name}\":{number}}}").as_bytes());
                    whole = true;
                }
            }
            kept.sent_text = text.to_vec();
        }
        if let Some(kept) = &mut self.streams[at] {
            (kept.has_more_text, kept.last_used) = (fields.has_more_text, Instant::now());
        }
        line.push_text(b",\"input\":");
        fields.write_without_large_fields(line);
        match whole {
            true => fields.write_growing_field(line),
            false if fields.growing_field.is_some() => line.push_text(b"}"),
            false => {}
        }
    }
}

/// The numbers under which a worker keeps the shared field and the text of a stream.
fn ref_numbers(at: usize) -> [usize; 2] {
    [2 * at + 1, 2 * at + 2]
}

/// The part of `new` that was appended to `old`; `None` if `new` does not start with `old`.
fn appended_pieces(old: &[Bytes], new: &[Bytes]) -> Option<Vec<Bytes>> {
    let (mut old, mut new) = (old.iter(), new.iter());
    let (mut left, mut right) = (Bytes::new(), Bytes::new());
    loop {
        if left.is_empty() {
            match old.next() {
                Some(piece) => left = piece.clone(),
                None => break,
            }
        }
        if right.is_empty() {
            right = new.next()?.clone();
        }
        let length = left.len().min(right.len());
        let same_place = left.as_ptr() == right.as_ptr();
        if !same_place && left[..length] != right[..length] {
            return None;
        }
        left = left.slice(length..);
        right = right.slice(length..);
    }
    let rest = std::iter::once(right).chain(new.cloned());
    Some(rest.filter(|piece| !piece.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Map, Value, json};

    use super::super::protocol;
    use super::*;
    use crate::event::growing_text::GrowingText;
    use crate::event::input::{AfterModel, BeforeModel, Purpose, Session};
    use crate::event::model_api::{LlmRequest, LlmResponse, SharedJson};
    use crate::running::observer::RunContext;

    /// The worker's side of the protocol.
    #[derive(Default)]
    struct FakeWorker(HashMap<u64, Value>);

    impl FakeWorker {
        fn receive(&mut self, line: &[u8]) -> Map<String, Value> {
            let said: Value = serde_json::from_slice(line).unwrap();
            let mut input = said["input"].as_object().unwrap().clone();
            let each = |key: &str| said[key].as_object().cloned().unwrap_or_default();
            for (name, number) in each("kept") {
                input.insert(name, self.0[&number.as_u64().unwrap()].clone());
            }
            for (name, number) in each("keep") {
                self.0.insert(number.as_u64().unwrap(), input[&name].clone());
            }
            for (name, grown) in each("grow") {
                let number = grown[0].as_u64().unwrap();
                let whole = format!("{}{}", self.0[&number].as_str().unwrap(), grown[1].as_str().unwrap());
                self.0.insert(number, json!(whole));
                input.insert(name, json!(whole));
            }
            input
        }
    }

    fn shared_request(text: &str) -> SharedJson {
        SharedJson::from_request(&LlmRequest { model: text.into(), ..LlmRequest::default() })
    }

    fn chunk_input(request: &SharedJson, text: &str, so_far: &GrowingText) -> HookInput {
        last_chunk_input(request, text, so_far, None)
    }

    fn last_chunk_input(
        request: &SharedJson,
        text: &str,
        so_far: &GrowingText,
        finish_reason: Option<String>,
    ) -> HookInput {
        let mut response = LlmResponse::from_text(text);
        response.candidates.iter_mut().for_each(|one| one.finish_reason = finish_reason.clone());
        let event = AfterModel {
            llm_request: request.clone(),
            llm_response: std::borrow::Cow::Owned(response),
            thoughts: "".into(),
            code: "".into(),
            citations: "".into(),
            purpose: Purpose::Answer,
            content: text.into(),
            full_content: so_far.clone(),
        };
        HookInput::encode(&event, None, &Session::default(), &RunContext::default()).unwrap()
    }

    /// Sends an input, and compares what arrives with the original.
    fn send_and_check(refs: &mut FieldRefs, worker: &mut FakeWorker, input: &HookInput) -> usize {
        let line = protocol::encode_request(1, input, Some(refs)).concat();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let expected: Map<String, Value> = serde_json::from_str(&input.to_json()).unwrap();
        let mut received = worker.receive(&line);
        received.sort_keys();
        let mut expected = expected;
        expected.sort_keys();
        assert_eq!(received, expected);
        line.len()
    }

    #[test]
    fn a_large_request_is_sent_once_and_then_only_what_is_new() {
        let (mut refs, mut worker) = (FieldRefs::default(), FakeWorker::default());
        let request = shared_request(&"x".repeat(100_000));
        let mut so_far = GrowingText::default();
        let mut sizes = Vec::new();
        for at in 0..200 {
            let text = format!("word {at} \"\u{e9}\"\n");
            so_far.push_str(&text);
            sizes.push(send_and_check(&mut refs, &mut worker, &chunk_input(&request, &text, &so_far)));
        }
        assert!(sizes[0] > 100_000);
        assert!(sizes[1..].iter().all(|size| *size < 1000), "{sizes:?}");
    }

    #[test]
    fn concurrent_streams_are_kept_apart() {
        let (mut refs, mut worker) = (FieldRefs::default(), FakeWorker::default());
        for count in [2, MAX_STREAMS, MAX_STREAMS + 2] {
            let requests: Vec<SharedJson> =
                (0..count).map(|at| shared_request(&format!("{at}{}", "y".repeat(5000)))).collect();
            let mut texts = vec![GrowingText::default(); count];
            for round in 0..5 {
                for (request, text) in requests.iter().zip(&mut texts) {
                    let word = format!("{round} ");
                    text.push_str(&word);
                    let size = send_and_check(&mut refs, &mut worker, &chunk_input(request, &word, text));
                    assert!(round == 0 || count > MAX_STREAMS || size < 1000);
                }
            }
        }
    }

    #[test]
    fn consecutive_answers_keep_only_the_last_request() {
        let (mut refs, mut worker) = (FieldRefs::default(), FakeWorker::default());
        for round in 0..10 {
            let request = shared_request(&format!("{round}{}", "y".repeat(5000)));
            let mut so_far = GrowingText::default();
            for word in ["a ", "b ", "c."] {
                so_far.push_str(word);
                let ends = word.ends_with('.').then(|| "STOP".to_owned());
                let size = send_and_check(&mut refs, &mut worker, &last_chunk_input(&request, word, &so_far, ends));
                assert!(word == "a " || size < 1000);
            }
            assert_eq!(refs.streams.iter().flatten().count(), 1);
        }
        assert_eq!(worker.0.len(), 2, "a request and its text");
    }

    #[test]
    fn a_restarted_answer_is_sent_whole() {
        let (mut refs, mut worker) = (FieldRefs::default(), FakeWorker::default());
        let request = shared_request("m");
        for text in ["one two", "one", "", "another", "another one"] {
            send_and_check(&mut refs, &mut worker, &chunk_input(&request, text, &GrowingText::from(text)));
        }
    }

    #[test]
    fn an_input_without_growing_text_omits_the_request() {
        let (mut refs, mut worker) = (FieldRefs::default(), FakeWorker::default());
        let request = shared_request(&"z".repeat(5000));
        let event = BeforeModel { llm_request: request, purpose: Purpose::Answer };
        let input = HookInput::encode(&event, None, &Session::default(), &RunContext::default()).unwrap();
        assert!(send_and_check(&mut refs, &mut worker, &input) > 5000);
        assert!(send_and_check(&mut refs, &mut worker, &input) < 1000);
    }

    #[test]
    fn inputs_without_large_fields_are_sent_whole() {
        let input = HookInput::from(b"{\"a\":1}".to_vec());
        assert_eq!(
            protocol::encode_request(4, &input, Some(&mut FieldRefs::default())).concat(),
            b"{\"id\":4,\"input\":{\"a\":1}}\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn growing_text_arrives_whole(texts in proptest::collection::vec((".{0,8}", proptest::bool::weighted(0.1)), 1..30)) {
            let (mut refs, mut worker) = (FieldRefs::default(), FakeWorker::default());
            let request = shared_request("m");
            let mut so_far = GrowingText::default();
            for (text, begins_again) in texts {
                if begins_again {
                    so_far = GrowingText::default();
                }
                so_far.push_str(&text);
                send_and_check(&mut refs, &mut worker, &chunk_input(&request, &text, &so_far));
            }
        }
    }
}
