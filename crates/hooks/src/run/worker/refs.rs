//! What a worker has kept of earlier requests, so that a large field is sent once and a growing text only by what is new.
//! Pure: who may be spoken to this way is `talk.rs`.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::line::Line;
use crate::input::HookInput;

/// How many streams are told apart: one answer, and those of a few sub-agents at the same time.
const STREAMS: usize = 4;

/// After so long without a piece an answer has come to its end.
const OVER: Duration = Duration::from_secs(5);

/// An input whose large fields can be left out: the pieces of the JSON around them.
pub(super) struct Fields<'a> {
    /// The object up to the shared field's name.
    before: &'a Bytes,
    /// `,"name":`, which stands at the end of `before`.
    shared_name: &'static str,
    shared: &'a Bytes,
    /// What comes between the two; without the growing field's name. Up to the end, if there is none.
    between: &'a [u8],
    growing: Option<(&'static str, &'a [Bytes])>,
    goes_on: bool,
}

impl<'a> Fields<'a> {
    /// Nothing if the input has no field that is worth it.
    pub(super) fn of(input: &'a HookInput) -> Option<Self> {
        let layout = input.layout()?;
        let [before, shared, between, rest @ ..] = input.pieces() else { return None };
        let growing = layout.growing.map(|name| (name, &rest[..rest.len().saturating_sub(1)]));
        let named = growing.as_ref().map_or(0, |(name, _)| name.len() + ",\"\":\"".len());
        let between = between.get(..between.len().checked_sub(named)?)?;
        Some(Fields { before, shared_name: layout.shared, shared, between, growing, goes_on: layout.goes_on })
    }

    /// The object without the two; without its end, if there is a growing one.
    fn small(&self, line: &mut Line) {
        let named = self.shared_name.len() + ",\"\":".len();
        line.piece(&self.before.slice(..self.before.len().saturating_sub(named)));
        line.text(self.between);
    }

    /// The growing field as a whole, and the end of the object.
    fn grown_whole(&self, line: &mut Line) {
        if let Some((name, text)) = self.growing {
            line.text(format!(",\"{name}\":\"").as_bytes());
            text.iter().for_each(|piece| line.piece(piece));
            line.text(b"\"}");
        }
    }
}

/// What one worker has kept.
#[derive(Default)]
pub(super) struct Refs {
    streams: [Option<Kept>; STREAMS],
}

/// A request's large field, held so that no other can have its place in memory, and the text so far.
struct Kept {
    shared: Bytes,
    grown: Vec<Bytes>,
    /// Whether more pieces of its answer are expected.
    goes_on: bool,
    used: Instant,
}

impl Refs {
    /// Writes the rest of a request's line, up to its closing brace.
    pub(super) fn write(&mut self, fields: &Fields<'_>, line: &mut Line) {
        let known = self.streams.iter().position(|kept| {
            let shared = kept.as_ref().map(|kept| &kept.shared);
            // The same bytes in the same place: nobody compares ten megabytes for every word of an answer.
            shared
                .is_some_and(|shared| shared.as_ptr() == fields.shared.as_ptr() && shared.len() == fields.shared.len())
        });
        match known {
            Some(at) => self.write_known(at, fields, line),
            None => self.write_new(fields, line),
        }
    }

    /// The place to give up: the first whose stream is over as far as anybody can tell, so that little is kept; else the one
    /// that rests longest.
    fn free(&self) -> usize {
        let rests = |kept: &Option<Kept>| kept.as_ref().is_none_or(|kept| !kept.goes_on || kept.used.elapsed() > OVER);
        let oldest = || (0..STREAMS).min_by_key(|at| self.streams[*at].as_ref().map(|kept| kept.used));
        self.streams.iter().position(rests).or_else(oldest).unwrap_or(0)
    }

    fn write_new(&mut self, fields: &Fields<'_>, line: &mut Line) {
        let at = self.free();
        let [shared, grown] = numbers(at);
        line.text(format!("\"keep\":{{\"{}\":{shared}", fields.shared_name).as_bytes());
        if let Some((name, _)) = fields.growing {
            line.text(format!(",\"{name}\":{grown}").as_bytes());
        }
        line.text(b"},\"input\":");
        line.piece(fields.before);
        line.piece(fields.shared);
        line.text(fields.between);
        fields.grown_whole(line);
        let grown = fields.growing.map(|(_, text)| text.to_vec()).unwrap_or_default();
        let kept = Kept { shared: fields.shared.clone(), grown, goes_on: fields.goes_on, used: Instant::now() };
        self.streams[at] = Some(kept);
    }

    fn write_known(&mut self, at: usize, fields: &Fields<'_>, line: &mut Line) {
        let [shared, number] = numbers(at);
        line.text(format!("\"kept\":{{\"{}\":{shared}}}", fields.shared_name).as_bytes());
        let mut whole = false;
        if let (Some((name, text)), Some(kept)) = (fields.growing, &mut self.streams[at]) {
            match added(&kept.grown, text) {
                Some(new) => {
                    line.text(format!(",\"grow\":{{\"{name}\":[{number},\"").as_bytes());
                    new.iter().for_each(|piece| line.piece(piece));
                    line.text(b"\"]}");
                }
                // Another text: an answer that was begun again.
                None => {
                    line.text(format!(",\"keep\":{{\"{name}\":{number}}}").as_bytes());
                    whole = true;
                }
            }
            kept.grown = text.to_vec();
        }
        if let Some(kept) = &mut self.streams[at] {
            (kept.goes_on, kept.used) = (fields.goes_on, Instant::now());
        }
        line.text(b",\"input\":");
        fields.small(line);
        match whole {
            true => fields.grown_whole(line),
            false if fields.growing.is_some() => line.text(b"}"),
            false => {}
        }
    }
}

/// The numbers that a stream's request and its text are kept under.
fn numbers(at: usize) -> [usize; 2] {
    [2 * at + 1, 2 * at + 2]
}

/// What is new in a text that began as another; nothing if it did not.
fn added(old: &[Bytes], new: &[Bytes]) -> Option<Vec<Bytes>> {
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

    use super::super::line;
    use super::*;
    use crate::growing::GrowingText;
    use crate::input::{AfterModel, BeforeModel, Purpose, Session};
    use crate::model_api::{LlmRequest, LlmResponse, SharedJson};
    use crate::observe::Belongs;

    /// The other side, as a library would have it.
    #[derive(Default)]
    struct Worker(HashMap<u64, Value>);

    impl Worker {
        fn hears(&mut self, line: &[u8]) -> Map<String, Value> {
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

    fn shared(text: &str) -> SharedJson {
        SharedJson::of(&LlmRequest { model: text.into(), ..LlmRequest::default() })
    }

    fn piece(request: &SharedJson, text: &str, so_far: &GrowingText) -> HookInput {
        ended(request, text, so_far, None)
    }

    fn ended(request: &SharedJson, text: &str, so_far: &GrowingText, finish_reason: Option<String>) -> HookInput {
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
        HookInput::encode(&event, None, &Session::default(), &Belongs::default()).unwrap()
    }

    /// Sends it, and holds what arrives against what was meant.
    fn sent(refs: &mut Refs, worker: &mut Worker, input: &HookInput) -> usize {
        let line = line::request(1, input, Some(refs)).concat();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let meant: Map<String, Value> = serde_json::from_str(&input.to_json()).unwrap();
        let mut heard = worker.hears(&line);
        heard.sort_keys();
        let mut meant = meant;
        meant.sort_keys();
        assert_eq!(heard, meant);
        line.len()
    }

    #[test]
    fn a_large_request_is_sent_once_and_then_only_what_is_new() {
        let (mut refs, mut worker) = (Refs::default(), Worker::default());
        let request = shared(&"x".repeat(100_000));
        let mut so_far = GrowingText::default();
        let mut sizes = Vec::new();
        for at in 0..200 {
            let text = format!("word {at} \"\u{e9}\"\n");
            so_far.push(&text);
            sizes.push(sent(&mut refs, &mut worker, &piece(&request, &text, &so_far)));
        }
        assert!(sizes[0] > 100_000);
        assert!(sizes[1..].iter().all(|size| *size < 1000), "{sizes:?}");
    }

    #[test]
    fn streams_side_by_side_are_told_apart_and_too_many_cost_time_only() {
        let (mut refs, mut worker) = (Refs::default(), Worker::default());
        for count in [2, STREAMS, STREAMS + 2] {
            let requests: Vec<SharedJson> = (0..count).map(|at| shared(&format!("{at}{}", "y".repeat(5000)))).collect();
            let mut texts = vec![GrowingText::default(); count];
            for round in 0..5 {
                for (request, text) in requests.iter().zip(&mut texts) {
                    let word = format!("{round} ");
                    text.push(&word);
                    let size = sent(&mut refs, &mut worker, &piece(request, &word, text));
                    assert!(round == 0 || count > STREAMS || size < 1000);
                }
            }
        }
    }

    #[test]
    fn of_answers_one_after_the_other_only_the_last_request_is_kept() {
        let (mut refs, mut worker) = (Refs::default(), Worker::default());
        for round in 0..10 {
            let request = shared(&format!("{round}{}", "y".repeat(5000)));
            let mut so_far = GrowingText::default();
            for word in ["a ", "b ", "c."] {
                so_far.push(word);
                let ends = word.ends_with('.').then(|| "STOP".to_owned());
                let size = sent(&mut refs, &mut worker, &ended(&request, word, &so_far, ends));
                assert!(word == "a " || size < 1000);
            }
            assert_eq!(refs.streams.iter().flatten().count(), 1);
        }
        assert_eq!(worker.0.len(), 2, "a request and its text");
    }

    #[test]
    fn an_answer_that_is_begun_again_is_sent_as_it_is_now() {
        let (mut refs, mut worker) = (Refs::default(), Worker::default());
        let request = shared("m");
        for text in ["one two", "one", "", "another", "another one"] {
            sent(&mut refs, &mut worker, &piece(&request, text, &GrowingText::from(text)));
        }
    }

    #[test]
    fn an_input_with_nothing_that_grows_is_spared_the_request_too() {
        let (mut refs, mut worker) = (Refs::default(), Worker::default());
        let request = shared(&"z".repeat(5000));
        let event = BeforeModel { llm_request: request, purpose: Purpose::Answer };
        let input = HookInput::encode(&event, None, &Session::default(), &Belongs::default()).unwrap();
        assert!(sent(&mut refs, &mut worker, &input) > 5000);
        assert!(sent(&mut refs, &mut worker, &input) < 1000);
    }

    #[test]
    fn what_has_no_large_field_is_sent_whole() {
        let input = HookInput::from(b"{\"a\":1}".to_vec());
        assert_eq!(line::request(4, &input, Some(&mut Refs::default())).concat(), b"{\"id\":4,\"input\":{\"a\":1}}\n");
    }

    proptest::proptest! {
        #[test]
        fn whatever_grows_arrives_whole(texts in proptest::collection::vec((".{0,8}", proptest::bool::weighted(0.1)), 1..30)) {
            let (mut refs, mut worker) = (Refs::default(), Worker::default());
            let request = shared("m");
            let mut so_far = GrowingText::default();
            for (text, begins_again) in texts {
                if begins_again {
                    so_far = GrowingText::default();
                }
                so_far.push(&text);
                sent(&mut refs, &mut worker, &piece(&request, &text, &so_far));
            }
        }
    }
}
