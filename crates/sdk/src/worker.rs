//! A worker: one request per line, one answer per line, until stdin ends.

use std::io::BufRead;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::Hook;
use crate::refs::{HandlerInput, RefStore};
use crate::stdio;

/// The longest answer: the agent rejects longer lines, and would end this process for one.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The longest error message that is sent to the agent.
const MAX_ERROR_CHARS: usize = 2000;

/// A request for which handlers are called.
struct SdkWorkerRequest {
    id: Value,
    input: HandlerInput,
}

/// The contents of stdin so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StdinContents {
    Empty,
    /// Lines, none of which was a request.
    NoRequests,
    Requests,
}

pub(crate) fn serve(hook: &Hook, threads: usize) -> ExitCode {
    let is_heard = AtomicBool::new(true);
    match serve_requests(hook, threads, &is_heard) {
        // A command hook that was started as a worker got an event; a silent exit would be an allow.
        StdinContents::NoRequests => {
            stdio::log_error("nothing on stdin was a request: is HOOKWRIGHT_WORKER set for a hook that is no worker?");
            ExitCode::FAILURE
        }
        StdinContents::Empty | StdinContents::Requests => ExitCode::SUCCESS,
    }
}

fn serve_requests(hook: &Hook, threads: usize, is_heard: &AtomicBool) -> StdinContents {
    if threads == 1 {
        return read_requests(is_heard, |request| answer_request(hook, request, is_heard));
    }
    let (sender, requests) = sync_channel(threads);
    let requests = Mutex::new(requests);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(request) = next_request(&requests) {
                    answer_request(hook, request, is_heard);
                }
            });
        }
        let came = read_requests(is_heard, |request| {
            // The threads receive requests until the sender is dropped.
            let _ = sender.send(request);
        });
        drop(sender);
        came
    })
}

#[expect(clippy::disallowed_methods, reason = "a worker waits for its agent's next request, and ends with stdin")]
fn next_request(requests: &Mutex<Receiver<SdkWorkerRequest>>) -> Option<SdkWorkerRequest> {
    requests.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Reads lines to the end of stdin, or until the agent does not read answers any more.
fn read_requests(is_heard: &AtomicBool, mut take: impl FnMut(SdkWorkerRequest)) -> StdinContents {
    let mut stdin = stdio::lock_stdin();
    let mut store = RefStore::default();
    let mut came = StdinContents::Empty;
    let mut line = Vec::new();
    while is_heard.load(Ordering::Relaxed) && stdin.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if let Some(request) = parse_request(&line, &mut store, &mut came, is_heard) {
            take(request);
        }
        line.clear();
        // Free the memory of an unusually long line.
        line.shrink_to(MAX_ANSWER_BYTES);
    }
    came
}

/// Parses a line, and returns a request for which handlers have to be called, if it is one.
fn parse_request(
    line: &[u8],
    store: &mut RefStore,
    came: &mut StdinContents,
    is_heard: &AtomicBool,
) -> Option<SdkWorkerRequest> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let request = stdio::parse_object(line).and_then(|request| match request.get("id") {
        Some(id) if id.is_i64() || id.is_u64() => Ok((id.clone(), request)),
        _ => Err("it has no id".to_owned()),
    });
    let (id, request) = match request {
        Ok(request) => request,
        Err(error) => {
            stdio::log_error(&format!("a line on stdin is no request: {error}"));
            if *came == StdinContents::Empty {
                *came = StdinContents::NoRequests;
            }
            return None;
        }
    };
    *came = StdinContents::Requests;
    if let Some(hello) = request.get("hello") {
        let offers: &[&str] = if hello["features"].as_array().is_some_and(|wanted| wanted.contains(&json!("refs"))) {
            &["refs"]
        } else {
            &[]
        };
        write_response(&json!({"id": id, "features": offers}), is_heard);
        return None;
    }
    match store.restore_input(request) {
        Ok(given) => Some(SdkWorkerRequest { id, input: given }),
        Err(error) => {
            write_failure(&id, &error, is_heard);
            None
        }
    }
}

fn answer_request(hook: &Hook, SdkWorkerRequest { id, input: given }: SdkWorkerRequest, is_heard: &AtomicBool) {
    match hook.call_handlers(given) {
        Ok(answer) => write_response(&json!({"id": id, "output": answer}), is_heard),
        Err(error) => write_failure(&id, &error, is_heard),
    }
}

fn write_failure(id: &Value, error: &str, is_heard: &AtomicBool) {
    stdio::log_error(error);
    let short: String = error.chars().take(MAX_ERROR_CHARS).collect();
    write_response(&json!({"id": id, "error": short}), is_heard);
}

fn write_response(words: &Value, is_heard: &AtomicBool) {
    let mut line = words.to_string();
    if line.len() > MAX_ANSWER_BYTES {
        let error = format!("the answer is longer than {MAX_ANSWER_BYTES} bytes");
        line = json!({"id": words["id"], "error": error}).to_string();
    }
    if stdio::write_line(&line).is_err() {
        is_heard.store(false, Ordering::Relaxed);
    }
}
