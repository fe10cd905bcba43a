//! The `replay` property: any text as a file of recorded answers. A wrong line is reported by its number, every right
//! one is replayed once, and replayed chunks can be recorded again.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use hookwright_model::{Cancel, Chunk, Model, ModelError, ModelRequest, Replay, ReplayError, ReplayOrder};
use serde_json::json;

/// Checks the text as a file of recorded answers.
pub fn replay(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let lines = text.lines().filter(|line| !line.trim_matches('\u{feff}').trim().is_empty()).count();
    let replay = match Replay::parse("answers", text, ReplayOrder::ByMethod) {
        Ok(replay) => replay,
        Err(ReplayError::Line { line, reason, .. }) => {
            assert!((1..=text.lines().count()).contains(&line) && !reason.is_empty());
            return;
        }
        Err(other) => panic!("a text has nothing but lines: {other}"),
    };
    let mut given = 0;
    while let Some(chunks) = next_streamed_answer(&replay) {
        given += 1;
        check_rerecording(&chunks);
    }
    let request = ModelRequest::new("m", Vec::new());
    while !is_exhausted(&poll_ready(replay.generate(&request, &Cancel::new()))) {
        given += 1;
    }
    while !is_exhausted(&poll_ready(replay.count_tokens(&request, &Cancel::new()))) {
        given += 1;
    }
    assert!(given <= lines, "{given} answers out of {lines} lines");
    check_strict_order(text);
}

/// Checks that replayed chunks can be recorded and replayed again.
///
/// Of a number with seventeen digits, parsing may lose the last one.
pub(crate) fn check_rerecording(chunks: &[Chunk]) {
    let again = |chunks: &[Chunk]| {
        let line = json!({ "method": "generateContentStream", "response": chunks }).to_string();
        let replay = Replay::parse("recorded", &line, ReplayOrder::Strict).expect("what was recorded can be replayed");
        next_streamed_answer(&replay).expect("one line")
    };
    let once = again(chunks);
    if once != chunks {
        let words =
            |chunks: &[Chunk]| json!(chunks).to_string().replace(|char: char| "0123456789.e+-".contains(char), "");
        assert_eq!(words(&once), words(chunks), "more than a number changed");
    }
}

/// Checks that in strict order every request takes a line, right or wrong.
fn check_strict_order(text: &str) {
    let replay = Replay::parse("answers", text, ReplayOrder::Strict).expect("the order says nothing of the lines");
    let request = ModelRequest::new("m", Vec::new());
    let asked = (0..).take_while(|_| !is_exhausted(&poll_ready(replay.count_tokens(&request, &Cancel::new())))).count();
    let lines = text.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty()).count();
    assert_eq!(asked, lines);
}

/// Returns the chunks of the next streamed answer; `None` if none is left. An answer with an error ends before the
/// error.
pub(crate) fn next_streamed_answer(replay: &Replay) -> Option<Vec<Chunk>> {
    let stream = poll_ready(replay.stream(&ModelRequest::new("m", Vec::new()), &Cancel::new()));
    if is_exhausted(&stream) {
        return None;
    }
    let mut stream = stream.expect("only an answer that is left can fail");
    let mut chunks = Vec::new();
    while let Some(Ok(chunk)) = poll_ready(stream.next()) {
        chunks.push(chunk);
    }
    Some(chunks)
}

fn is_exhausted<T>(answer: &Result<T, ModelError>) -> bool {
    matches!(answer, Err(error) if error.to_string().starts_with("No more mock responses"))
}

/// Returns the output of a future that is ready at once.
fn poll_ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a replay waits for nobody"),
    }
}
