//! Screens a server's messages before `rmcp` sees them: parses them strictly, merges notifications, and slows a server
//! down that sends too many.
//!
//! `rmcp` would start a task for every notification, without a limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookwright_hooks::strict_json::{self, ParsedJson};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{ListChanges, shorten};

/// The nesting depth up to which a message is read; deeper values become null. `rmcp` reads at most 128 levels.
const MAX_MESSAGE_DEPTH: usize = 110;
/// The number of messages other than answers that a server may send in a window before it is read more slowly.
const MAX_UNSOLICITED_PER_WINDOW: u32 = 200;
const UNSOLICITED_WINDOW: Duration = Duration::from_millis(100);
/// The largest number of a server's requests whose answer is not yet sent; further ones are dropped.
const MAX_WAITING_REQUESTS: usize = 256;
/// JSON-RPC's code for an invalid message.
const INVALID_REQUEST: i32 = -32600;

/// The state of screening one server's messages.
pub(super) struct InboundScreen {
    pub(super) changes: Arc<ListChanges>,
    window: Mutex<(Instant, u32)>,
    waiting_requests: AtomicUsize,
}

impl InboundScreen {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(InboundScreen {
            changes: Arc::default(),
            window: Mutex::new((Instant::now(), 0)),
            waiting_requests: AtomicUsize::new(0),
        })
    }

    /// Parses a message for `rmcp`; `None` for a notification and for invalid data.
    pub(super) async fn read(&self, bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
        let message = self.screen(bytes).await?;
        let id = message.get("id").cloned();
        serde_json::from_value(message).map_or_else(
            |error| {
                tracing::debug!(%error, "this is no message of the protocol");
                serde_json::from_value(error_reply(id?, "its answer is not an MCP message")).ok()
            },
            Some,
        )
    }

    /// Like [`read`](Self::read), but returns JSON for a transport that parses it again.
    pub(super) async fn screen(&self, bytes: &[u8]) -> Option<Value> {
        let parsed = strict_json::parse_pruned(bytes, MAX_MESSAGE_DEPTH);
        let is_answer = parsed.as_ref().is_ok_and(|parsed| parsed.value.get("method").is_none());
        if !is_answer {
            self.throttle().await;
        }
        let ParsedJson { value, repeated_key: repeated } = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                tracing::debug!(%error, "this is no message of the protocol");
                return None;
            }
        };
        if let Some(key) = repeated {
            let problem = format!("its message has the key `{}` twice", shorten(&key));
            tracing::warn!("{problem}");
            // The request gets an error as its answer; a request or notification of the server is dropped.
            return value.get("id").filter(|_| is_answer).map(|id| error_reply(id.clone(), &problem));
        }
        match (is_answer, value.get("id")) {
            (false, None) => {
                self.handle_notification(&value);
                None
            }
            (false, Some(_)) if self.waiting_requests.fetch_add(1, Ordering::AcqRel) >= MAX_WAITING_REQUESTS => {
                self.waiting_requests.fetch_sub(1, Ordering::AcqRel);
                None
            }
            _ => Some(value),
        }
    }

    /// Records a sent message, which may be the answer to a request of the server.
    pub(super) fn note_sent(&self, message: &ClientJsonRpcMessage) {
        if matches!(message, ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_)) {
            let one_less = |waiting: usize| waiting.checked_sub(1);
            let _ = self.waiting_requests.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        }
    }

    fn handle_notification(&self, message: &Value) {
        match message["method"].as_str() {
            Some(
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed",
            ) => self.changes.signal(),
            Some("notifications/message") => {
                let params = &message["params"];
                tracing::debug!(
                    level = params["level"].as_str(),
                    "the server says: {}",
                    shorten(&params["data"].to_string())
                );
            }
            _ => {}
        }
    }

    /// Waits for the next window if this one is used up, so that the server's pipe or connection fills up.
    async fn throttle(&self) {
        let until = {
            let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
            if window.0.elapsed() >= UNSOLICITED_WINDOW {
                *window = (Instant::now(), 0);
            }
            window.1 += 1;
            (window.1 > MAX_UNSOLICITED_PER_WINDOW).then_some(window.0 + UNSOLICITED_WINDOW)
        };
        if let Some(until) = until {
            tokio::time::sleep_until(until).await;
        }
    }
}

/// Creates an error response.
fn error_reply(id: Value, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": INVALID_REQUEST, "message": why } })
}
