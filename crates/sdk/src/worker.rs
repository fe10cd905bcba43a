//! A worker: one request per line, one answer per line, until stdin ends.

use std::io::BufRead;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::Hook;
use crate::process;
use crate::refs::{Given, Store};

/// The agent takes longer lines for garbage, and would end this process for one.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// The most that is said of what went wrong.
const LONGEST_ERROR: usize = 2000;

/// A request that is ready to be asked about.
struct Request {
    id: Value,
    given: Given,
}

/// What came on stdin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Nothing,
    /// Lines, none of which was a request.
    Garbage,
    Requests,
}

pub(crate) fn serve(hook: &Hook, threads: usize) -> ExitCode {
    let is_heard = AtomicBool::new(true);
    match serve_all(hook, threads, &is_heard) {
        // A command that was told to be a worker was given an event; to leave without a word would be a yes.
        Came::Garbage => {
            process::say("nothing on stdin was a request: is HOOKWRIGHT_WORKER set for a hook that is no worker?");
            ExitCode::FAILURE
        }
        Came::Nothing | Came::Requests => ExitCode::SUCCESS,
    }
}

fn serve_all(hook: &Hook, threads: usize, is_heard: &AtomicBool) -> Came {
    if threads == 1 {
        return read(is_heard, |request| reply(hook, request, is_heard));
    }
    let (sender, requests) = sync_channel(threads);
    let requests = Mutex::new(requests);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(request) = next(&requests) {
                    reply(hook, request, is_heard);
                }
            });
        }
        let came = read(is_heard, |request| {
            // The threads take requests until there are none.
            let _ = sender.send(request);
        });
        drop(sender);
        came
    })
}

#[expect(clippy::disallowed_methods, reason = "a worker waits for its agent's next request, and ends with stdin")]
fn next(requests: &Mutex<Receiver<Request>>) -> Option<Request> {
    requests.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Reads lines to their end, or until nobody hears what is answered.
fn read(is_heard: &AtomicBool, mut take: impl FnMut(Request)) -> Came {
    let mut stdin = process::stdin();
    let mut store = Store::default();
    let mut came = Came::Nothing;
    let mut line = Vec::new();
    while is_heard.load(Ordering::Relaxed) && stdin.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if let Some(request) = hear(&line, &mut store, &mut came, is_heard) {
            take(request);
        }
        line.clear();
        // One long line is no reason to hold on to as much.
        line.shrink_to(LONGEST_ANSWER);
    }
    came
}

/// A request, if the line is one that handlers are asked about.
fn hear(line: &[u8], store: &mut Store, came: &mut Came, is_heard: &AtomicBool) -> Option<Request> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let heard = process::parse(line).and_then(|heard| match heard.get("id") {
        Some(id) if id.is_i64() || id.is_u64() => Ok((id.clone(), heard)),
        _ => Err("it has no id".to_owned()),
    });
    let (id, heard) = match heard {
        Ok(heard) => heard,
        Err(error) => {
            process::say(&format!("a line on stdin is no request: {error}"));
            if *came == Came::Nothing {
                *came = Came::Garbage;
            }
            return None;
        }
    };
    *came = Came::Requests;
    if let Some(hello) = heard.get("hello") {
        let offers: &[&str] = if hello["features"].as_array().is_some_and(|wanted| wanted.contains(&json!("refs"))) {
            &["refs"]
        } else {
            &[]
        };
        tell(&json!({"id": id, "features": offers}), is_heard);
        return None;
    }
    match store.whole(heard) {
        Ok(given) => Some(Request { id, given }),
        Err(error) => {
            fail(&id, &error, is_heard);
            None
        }
    }
}

fn reply(hook: &Hook, Request { id, given }: Request, is_heard: &AtomicBool) {
    match hook.answer(given) {
        Ok(answer) => tell(&json!({"id": id, "output": answer}), is_heard),
        Err(error) => fail(&id, &error, is_heard),
    }
}

fn fail(id: &Value, error: &str, is_heard: &AtomicBool) {
    process::say(error);
    let short: String = error.chars().take(LONGEST_ERROR).collect();
    tell(&json!({"id": id, "error": short}), is_heard);
}

fn tell(words: &Value, is_heard: &AtomicBool) {
    let mut line = words.to_string();
    if line.len() > LONGEST_ANSWER {
        let error = format!("the answer is longer than {LONGEST_ANSWER} bytes");
        line = json!({"id": words["id"], "error": error}).to_string();
    }
    if process::write_line(&line).is_err() {
        is_heard.store(false, Ordering::Relaxed);
    }
}
