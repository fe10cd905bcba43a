//! A stand-in for a model, on loopback: it asks for what it is told to ask for, with the tools that the agent offers, and
//! then says that it is done. It speaks the wire formats of the agents that are tried; it is no model and knows no keys.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;
mod wish;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use http::{Answer, Request};
pub use wish::Wish;
use wish::{Offer, Reply};

/// What it says when all its wishes have been answered.
const DONE: &str = "done";

/// A server that plays a model until it is dropped.
pub struct Standin {
    address: SocketAddr,
    session: Arc<Session>,
    serving: AbortHandle,
}

/// What all connections share.
struct Session {
    wishes: Vec<Wish>,
    heard: Mutex<Vec<Heard>>,
    /// How many wishes the agent has come back with an answer to.
    answered: watch::Sender<usize>,
    /// How many wishes it has been told of.
    made: AtomicUsize,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Method and target.
    pub line: String,
    /// Its body, as sent.
    pub body: String,
    /// Whether it was answered with a wish for a tool.
    pub wished: bool,
}

impl Standin {
    /// Listens on a free port of loopback, and wishes for these things one after another.
    ///
    /// # Errors
    /// The system's own, if there is no port to listen on.
    pub async fn start(wishes: Vec<Wish>) -> io::Result<Standin> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let session =
            Session { wishes, heard: Mutex::default(), answered: watch::Sender::new(0), made: AtomicUsize::new(0) };
        let session = Arc::new(session);
        let serving = tokio::spawn(serve(listener, session.clone())).abort_handle();
        Ok(Standin { address, session, serving })
    }

    /// Where it listens, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that it was asked so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.session.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a word has reached it in any request.
    pub fn has_heard(&self, word: &str) -> bool {
        self.heard().iter().any(|heard| heard.body.contains(word))
    }

    /// Waits until the agent has come back with an answer to so many wishes: whatever became of them has happened by then.
    pub async fn answered(&self, wishes: usize) {
        let mut answered = self.session.answered.subscribe();
        // It can't close while this stands.
        let _ = answered.wait_for(|count| *count >= wishes).await;
    }

    /// How many wishes the agent has been told of, and how many it has come back with an answer to.
    pub fn progress(&self) -> (usize, usize) {
        (self.session.made.load(Ordering::Relaxed), *self.session.answered.borrow())
    }

    /// How often it asked for a tool.
    pub fn wished(&self) -> usize {
        self.heard().iter().filter(|heard| heard.wished).count()
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, session: Arc<Session>) {
    // Those who speak go with the one who listens.
    let mut speaking = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        speaking.spawn(speak(stream, session.clone()));
        while speaking.try_join_next().is_some() {}
    }
}

/// One connection: a request, its answer, the end.
async fn speak(mut stream: TcpStream, session: Arc<Session>) {
    let Some(request) = http::read(&mut stream).await else { return };
    let Said { answer, wished, results } = answer(&request, &session.wishes);
    let line = format!("{} {}", request.method, request.target);
    let body = String::from_utf8_lossy(&request.body).into_owned();
    session.heard.lock().unwrap_or_else(PoisonError::into_inner).push(Heard { line, body, wished });
    if wished {
        session.made.fetch_max(results + 1, Ordering::Relaxed);
    }
    session.answered.send_if_modified(|count| std::mem::replace(count, results.max(*count)) < results);
    // Whoever has gone away needs no answer.
    let _ = http::write(&mut stream, &answer).await;
}

/// One way to speak with a model.
trait Wire {
    /// The tools on offer.
    fn offers(&self, body: &Value) -> Vec<Offer>;
    /// How many calls have been answered so far.
    fn results(&self, body: &Value) -> usize;
    /// The reply, as this wire writes it.
    fn write(&self, request: &Request, body: &Value, reply: &Reply) -> Answer;
}

/// An answer, and what it was an answer to.
struct Said {
    answer: Answer,
    wished: bool,
    results: usize,
}

fn answer(request: &Request, wishes: &[Wish]) -> Said {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let Some(wire) = wire(&request.path()) else {
        return Said { answer: aside(request), wished: false, results: 0 };
    };
    let (offers, results) = (wire.offers(&body), wire.results(&body));
    let call = wishes.get(results).and_then(|wish| wish.as_call(&offers));
    let reply = call.unwrap_or_else(|| Reply::Say(DONE.to_owned()));
    Said { answer: wire.write(request, &body, &reply), wished: matches!(reply, Reply::Call { .. }), results }
}

fn wire(path: &str) -> Option<Box<dyn Wire>> {
    let model_of_gemini = path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent");
    match path {
        _ if model_of_gemini => Some(Box::new(gemini::Gemini)),
        _ if path.ends_with("/messages") => Some(Box::new(anthropic::Messages)),
        _ if path.ends_with("/responses") => Some(Box::new(responses::Responses)),
        _ if path.ends_with("/chat/completions") => Some(Box::new(chat::Completions)),
        _ => None,
    }
}

/// What agents ask beside: how many tokens, which models there are.
fn aside(request: &Request) -> Answer {
    let path = request.path();
    if path.ends_with("/count_tokens") {
        return Answer::json(&json!({"input_tokens": 100}));
    }
    if path.ends_with(":countTokens") {
        return Answer::json(&json!({"totalTokens": 100}));
    }
    if path.ends_with("/models") {
        return Answer::json(&json!({"object": "list", "data": [{"id": "stand-in", "object": "model"}], "models": []}));
    }
    if request.method == "HEAD" {
        return Answer::json(&json!({}));
    }
    Answer::not_found()
}

#[cfg(test)]
#[path = "standin/tests.rs"]
mod tests;
