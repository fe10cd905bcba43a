//! A model server on loopback that speaks the wire formats of the Gemini API and of OpenAI's chat completions, can
//! require a key, and records its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use hookwright_testkit::deadline::*;
use serde_json::json;

pub(crate) struct ModelServer {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<ModelServerRequest>>>,
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub(crate) struct ModelServerRequest {
    pub(crate) line: String,
    pub(crate) key: String,
    pub(crate) body: String,
}

impl ModelServer {
    /// Starts a server that names itself in its answers, accepts this key, and lists these models.
    pub(crate) fn start(name: &'static str, key: &'static str, models: &'static [&'static str]) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.connections() {
                let all = all.clone();
                std::thread::spawn(move || serve(stream, name, key, models, &all));
            }
        });
        ModelServer { address, requests: seen }
    }

    /// Returns the requests so far.
    pub(crate) fn received_requests(&self) -> Vec<ModelServerRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the number of requests to a model.
    pub(crate) fn model_request_count(&self) -> usize {
        self.received_requests().iter().filter(|seen| seen.line.starts_with("POST")).count()
    }
}

fn serve(
    stream: TcpStream,
    name: &str,
    key: &str,
    models: &[&str],
    all: &Mutex<Vec<ModelServerRequest>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (mut length, mut given) = (0, String::new());
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let header = header.trim();
            if header.is_empty() {
                break;
            }
            let (field, value) = header.split_once(':')?;
            match field.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "x-goog-api-key" => given = value.trim().to_owned(),
                "authorization" => given = value.trim().trim_start_matches("Bearer ").to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8_lossy(&body).into_owned();
        let line = line.trim().to_owned();
        all.lock().ok()?.push(ModelServerRequest { line: line.clone(), key: given.clone(), body });
        let (status, kind, text) =
            if key.is_empty() || key == given { answer(&line, name, models) } else { refusal(&given) };
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", text.len());
        stream.write_all(format!("{head}{text}").as_bytes()).ok()?;
    }
}

/// Returns the refusal of a key, which it repeats as many servers do.
fn refusal(given: &str) -> (&'static str, &'static str, String) {
    let error = json!({"error": {"message": format!("the key {given} is no key"), "code": "invalid_api_key"}});
    ("401 Unauthorized", "application/json", error.to_string())
}

fn answer(line: &str, name: &str, models: &[&str]) -> (&'static str, &'static str, String) {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let chunk = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": format!("hello from {name}")}]},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 500, "totalTokenCount": 1500}});
    let (kind, text) = match target.split('?').next().unwrap_or_default() {
        "/v1beta/models" => {
            let all: Vec<_> = models.iter().map(|model| json!({"name": format!("models/{model}")})).collect();
            ("application/json", json!({"models": all}).to_string())
        }
        "/v1/models" => {
            let all: Vec<_> = models.iter().map(|model| json!({"id": model})).collect();
            ("application/json", json!({"data": all}).to_string())
        }
        "/v1/chat/completions" => {
            let delta = json!({"choices": [{"delta": {"content": format!("hello from {name}")}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}});
            ("text/event-stream", format!("data: {delta}\n\ndata: [DONE]\n\n"))
        }
        other if other.ends_with(":streamGenerateContent") => ("text/event-stream", format!("data: {chunk}\n\n")),
        other if other.ends_with(":generateContent") => ("application/json", chunk.to_string()),
        _ => return ("404 Not Found", "application/json", json!({"error": {"message": "nothing here"}}).to_string()),
    };
    ("200 OK", kind, text)
}
