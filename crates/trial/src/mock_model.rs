//! A mock model server on loopback: it calls the agent's tools for a list of scripted actions, one after another, and
//! then answers with a final text. It supports the wire formats of the tried agents and checks no keys.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;
mod scripted_action;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use http::{MockHttpRequest, MockHttpResponse};
pub use scripted_action::ScriptedAction;
use scripted_action::{MockReply, OfferedTool};

/// The final text, once all actions have been answered.
const DONE_TEXT: &str = "done";

/// A mock model server, which runs until it is dropped.
pub struct MockModelServer {
    address: SocketAddr,
    session: Arc<MockModelState>,
    server_task: AbortHandle,
}

/// The state that all connections share.
struct MockModelState {
    actions: Vec<ScriptedAction>,
    requests: Mutex<Vec<RecordedRequest>>,
    /// How many actions the agent has answered.
    answered: watch::Sender<usize>,
    /// How many actions the agent has been sent.
    requested: AtomicUsize,
    on_answer: Mutex<Option<AnswerObserver>>,
}

/// Is called with the number of answered actions, before the agent gets the next one.
pub type AnswerObserver = Box<dyn Fn(usize) + Send>;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The method and target.
    pub request_line: String,
    /// The body as text.
    pub body: String,
    /// Whether the response was a tool call.
    pub called_tool: bool,
}

impl MockModelServer {
    /// Starts a server on a free port of loopback, which calls for these actions one after another.
    ///
    /// # Errors
    /// Returns the system's error if no port is free.
    pub async fn start(actions: Vec<ScriptedAction>) -> io::Result<MockModelServer> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let session = MockModelState {
            actions,
            requests: Mutex::default(),
            answered: watch::Sender::new(0),
            requested: AtomicUsize::new(0),
            on_answer: Mutex::default(),
        };
        let session = Arc::new(session);
        let serving = tokio::spawn(serve(listener, session.clone())).abort_handle();
        Ok(MockModelServer { address, session, server_task: serving })
    }

    /// Returns the base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.session.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the body of any request contains this word.
    pub fn has_received(&self, word: &str) -> bool {
        self.requests().iter().any(|request| request.body.contains(word))
    }

    /// Waits until the agent has answered this many actions: by then they have run or been denied.
    pub async fn wait_answered(&self, actions: usize) {
        let mut answered = self.session.answered.subscribe();
        // The channel cannot close while the server exists.
        let _ = answered.wait_for(|count| *count >= actions).await;
    }

    /// Has a function called whenever an action has been answered. The agent waits for the next one meanwhile, so that
    /// what is seen then belongs to the actions so far.
    pub fn observe_answers(&self, observer: AnswerObserver) {
        *self.session.on_answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(observer);
    }

    /// Returns how many actions the agent has been sent, and how many it has answered.
    pub fn progress(&self) -> (usize, usize) {
        (self.session.requested.load(Ordering::Relaxed), *self.session.answered.borrow())
    }

    /// Returns how many responses were tool calls.
    pub fn tool_call_count(&self) -> usize {
        self.requests().iter().filter(|request| request.called_tool).count()
    }
}

impl Drop for MockModelServer {
    fn drop(&mut self) {
        self.server_task.abort();
    }
}

async fn serve(listener: TcpListener, session: Arc<MockModelState>) {
    // Dropping the set with this task ends the connections.
    let mut speaking = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        speaking.spawn(serve_connection(stream, session.clone()));
        while speaking.try_join_next().is_some() {}
    }
}

/// Serves one connection: a request and its response.
async fn serve_connection(mut stream: TcpStream, session: Arc<MockModelState>) {
    let Some(request) = http::read_request(&mut stream).await else { return };
    let AnsweredRequest { response: answer, called_tool: wished, result_count: results } =
        answer_request(&request, &session.actions);
    let line = format!("{} {}", request.method, request.target);
    let body = String::from_utf8_lossy(&request.body).into_owned();
    session.requests.lock().unwrap_or_else(PoisonError::into_inner).push(RecordedRequest {
        request_line: line,
        body,
        called_tool: wished,
    });
    if wished {
        session.requested.fetch_max(results + 1, Ordering::Relaxed);
    }
    if results > *session.answered.borrow()
        && let Some(observe) = &*session.on_answer.lock().unwrap_or_else(PoisonError::into_inner)
    {
        observe(results);
    }
    session.answered.send_if_modified(|count| std::mem::replace(count, results.max(*count)) < results);
    // A client that has closed the connection needs no response.
    let _ = http::write_response(&mut stream, &answer).await;
}

/// The wire format of a model API.
trait WireFormat {
    /// Returns the tools that the request offers.
    fn offered_tools(&self, body: &Value) -> Vec<OfferedTool>;
    /// Returns how many tool results the request contains.
    fn result_count(&self, body: &Value) -> usize;
    /// Writes a reply in this format.
    fn write_reply(&self, request: &MockHttpRequest, body: &Value, reply: &MockReply) -> MockHttpResponse;
}

/// A response, and what it shows of the request.
struct AnsweredRequest {
    response: MockHttpResponse,
    called_tool: bool,
    result_count: usize,
}

fn answer_request(request: &MockHttpRequest, actions: &[ScriptedAction]) -> AnsweredRequest {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let Some(wire) = wire_format(&request.path()) else {
        return AnsweredRequest { response: answer_auxiliary(request), called_tool: false, result_count: 0 };
    };
    let (offers, results) = (wire.offered_tools(&body), wire.result_count(&body));
    let call = actions.get(results).and_then(|action| action.as_call(&offers));
    let reply = call.unwrap_or_else(|| MockReply::Text(DONE_TEXT.to_owned()));
    AnsweredRequest {
        response: wire.write_reply(request, &body, &reply),
        called_tool: matches!(reply, MockReply::ToolCall { .. }),
        result_count: results,
    }
}

fn wire_format(path: &str) -> Option<Box<dyn WireFormat>> {
    let model_of_gemini = path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent");
    match path {
        _ if model_of_gemini => Some(Box::new(gemini::GeminiFormat)),
        _ if path.ends_with("/messages") => Some(Box::new(anthropic::AnthropicFormat)),
        _ if path.ends_with("/responses") => Some(Box::new(responses::ResponsesFormat)),
        _ if path.ends_with("/chat/completions") => Some(Box::new(chat::ChatCompletionsFormat)),
        _ => None,
    }
}

/// Answers other requests of agents: token counts and lists of models.
fn answer_auxiliary(request: &MockHttpRequest) -> MockHttpResponse {
    let path = request.path();
    if path.ends_with("/count_tokens") {
        return MockHttpResponse::json(&json!({"input_tokens": 100}));
    }
    if path.ends_with(":countTokens") {
        return MockHttpResponse::json(&json!({"totalTokens": 100}));
    }
    if path.ends_with("/models") {
        return MockHttpResponse::json(
            &json!({"object": "list", "data": [{"id": "stand-in", "object": "model"}], "models": []}),
        );
    }
    if request.method == "HEAD" {
        return MockHttpResponse::json(&json!({}));
    }
    MockHttpResponse::not_found()
}

#[cfg(test)]
mod tests;
