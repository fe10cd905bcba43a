//! The `sse` property: any bytes as a streamed answer. Wherever they are cut, they give the same chunks and the same
//! error, with no more text than was sent, and the chunks can be recorded and replayed.

use hookwright_model::fuzzing::decode_pieces;
use hookwright_model::sse::{EventTooLarge, SseDecoder, SseEvent};
use hookwright_model::{Chunk, Provider};

/// Checks one input. The first byte selects the provider: `o` is OpenAI, anything else Gemini.
pub fn sse(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let provider = if *first == b'o' { Provider::OpenAi } else { Provider::Gemini };
    let cuts = crate::cut_positions(bytes);
    let single: Vec<usize> = (1..=bytes.len()).collect();
    check_events(bytes, &cuts);
    let uncut = read_answer(provider, &[bytes]);
    assert_eq!(read_answer(provider, &crate::split_at_cuts(bytes, &cuts)), uncut, "cut at {cuts:?}");
    assert_eq!(read_answer(provider, &crate::split_at_cuts(bytes, &single)), uncut, "cut everywhere");
    let text: usize = uncut.0.iter().map(|chunk| chunk.text().len()).sum();
    // A byte that is not UTF-8 becomes a character of three bytes.
    assert!(text <= 3 * bytes.len(), "{text} bytes of text out of {}", bytes.len());
    check_recording(&uncut.0);
}

/// Returns the chunks, and the error that ended them.
fn read_answer(provider: Provider, pieces: &[&[u8]]) -> (Vec<Chunk>, Option<String>) {
    let mut items = decode_pieces(provider, pieces.iter().copied());
    let error = items.pop_if(|item| item.is_err()).and_then(Result::err).map(|error| error.to_string());
    let chunks = items.into_iter().map(|item| item.expect("nothing comes after an error")).collect();
    (chunks, error)
}

/// Checks the event decoder alone, with a size limit that inputs can reach.
fn check_events(bytes: &[u8], cuts: &[usize]) {
    let decode = |pieces: &[&[u8]]| -> (Vec<SseEvent>, Result<(), EventTooLarge>) {
        const MAX_EVENT_BYTES: usize = 256;
        let mut decoder = SseDecoder::with_limit(MAX_EVENT_BYTES);
        let mut events = Vec::new();
        let pushed = pieces.iter().try_for_each(|piece| decoder.push(piece, |event| events.push(event)));
        if pushed.is_ok() {
            events.extend(decoder.finish());
        }
        let longest = events.iter().map(|event| event.data.len()).max().unwrap_or_default();
        assert!(longest <= 3 * MAX_EVENT_BYTES, "an event of {longest} bytes");
        (events, pushed)
    };
    assert_eq!(decode(&crate::split_at_cuts(bytes, cuts)), decode(&[bytes]), "cut at {cuts:?}");
}

/// Checks that chunks can be written to a replay file and read again.
fn check_recording(chunks: &[Chunk]) {
    let refused =
        |chunk: &Chunk| chunk.prompt_feedback.as_ref().is_some_and(|feedback| feedback.block_reason.is_some());
    // A refused prompt is an error to the caller.
    let end = chunks.iter().position(|chunk| chunk.parts.is_empty() && refused(chunk)).unwrap_or(chunks.len());
    crate::replay::check_rerecording(&chunks[..end]);
}
