//! Test support: a server that plays scripted replies, and helpers for requests.

mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_model::{
    Cancel, Chunk, Content, Gemini, HttpOptions, Model, ModelError, ModelRequest, OpenAi, RetryNotice, RetryPolicy,
};

pub(crate) use server::{ReplyAction, ScriptedReply, ScriptedServer};

/// Returns options with delays too short to slow tests down.
pub(crate) fn fast_options() -> HttpOptions {
    let retry = RetryPolicy {
        base_delay: Duration::from_millis(1),
        max_delay: Duration::from_millis(5),
        ..RetryPolicy::default()
    };
    HttpOptions { retry, ..HttpOptions::default() }
}

pub(crate) fn gemini(server: &ScriptedServer) -> Gemini {
    Gemini::new(&server.base, "secret-key", "gemini-test", fast_options()).unwrap()
}

pub(crate) fn openai(server: &ScriptedServer) -> OpenAi {
    OpenAi::new(&format!("{}/v1", server.base), "secret-key", "local-test", fast_options()).unwrap()
}

pub(crate) fn prompt_request(model: &impl Model, prompt: &str) -> ModelRequest {
    ModelRequest::new(model.name(), vec![Arc::new(Content::user_text(prompt))])
}

/// Sends a request and collects all chunks up to the end or the first error.
pub(crate) async fn chunks(model: &impl Model) -> (Vec<Chunk>, Option<ModelError>) {
    with_deadline(collect(model)).await
}

/// Waits for a future that must not hang.
pub(crate) async fn with_deadline<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(hookwright_testkit::deadline::wait_limit(), future).await.unwrap()
}

async fn collect(model: &impl Model) -> (Vec<Chunk>, Option<ModelError>) {
    let mut chunks = Vec::new();
    let mut stream = match model.stream(&prompt_request(model, "hi"), &Cancel::new()).await {
        Ok(stream) => stream,
        Err(error) => return (chunks, Some(error)),
    };
    loop {
        match stream.next().await {
            Some(Ok(chunk)) => chunks.push(chunk),
            Some(Err(error)) => {
                assert!(stream.next().await.is_none(), "nothing may follow an error");
                return (chunks, Some(error));
            }
            None => return (chunks, None),
        }
    }
}

/// Sends a request and returns the answer's text, which must be complete.
pub(crate) async fn text(model: &impl Model) -> String {
    let (chunks, error) = chunks(model).await;
    assert!(error.is_none(), "{error:?}");
    chunks.iter().map(Chunk::text).collect()
}

/// Sends a request and returns its error.
pub(crate) async fn failure(model: &impl Model) -> ModelError {
    chunks(model).await.1.unwrap()
}

/// Collects the retry notices of a model.
pub(crate) fn notices(model: &mut impl Model) -> Arc<Mutex<Vec<RetryNotice>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    model.set_retry_observer(Arc::new(move |notice| sink.lock().unwrap().push(notice.clone())));
    seen
}
