//! Hookwright's models: conversation types, one interface to models, and the providers behind it.
//! The crate reads no environment variables and uses no terminal; keys, addresses and file paths come from the caller.
//!
//! ```
//! use std::sync::Arc;
//! use hookwright_model::{Cancel, Content, Model, ModelRequest, Offline};
//!
//! # async fn example() -> Result<(), hookwright_model::ModelError> {
//! let model = Offline::new();
//! let request = ModelRequest::new(model.name(), vec![Arc::new(Content::user_text("say hello"))]);
//! let mut stream = model.stream(&request, &Cancel::new()).await?;
//! while let Some(chunk) = stream.next().await {
//!     assert_eq!(chunk?.text(), "hello");
//! }
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod any_model;
mod api_error;
mod conversation;
mod error;
mod finish;
#[doc(hidden)]
pub mod fuzzing;
pub mod gemini;
mod http;
mod http_stream;
mod memory_size;
mod offline;
pub mod openai;
mod own_json;
mod part;
mod proxy;
mod record;
mod replay;
mod request;
mod response;
mod response_decoder;
mod retry;
mod search;
pub mod sse;
mod stream;
mod tokens;

use std::fmt;
use std::future::Future;

pub use any_model::{AnyModel, BoxFuture, DynModel};
pub use api_error::{ApiError, ApiErrorKind};
pub use conversation::{Content, Role};
pub use error::ModelError;
pub use finish::FinishReason;
pub use gemini::Gemini;
pub use http::HttpOptions;
pub use offline::Offline;
pub use openai::OpenAi;
pub use own_json::read_own_json;
pub use part::{Blob, FileData, FunctionCall, FunctionResponse, Part, PartKind};
pub use proxy::{ProxyOptions, client_builder};
pub use record::{LineRewriter, RecordingModel};
pub use replay::{RecordedMethod, Replay, ReplayError, ReplayOrder};
pub use request::{GenerationConfig, Grounding, ModelRequest, ThinkingConfig, ToolChoice, ToolDeclaration, ToolMode};
pub use response::{Chunk, PromptFeedback, Usage};
pub use retry::{RetryNotice, RetryObserver, RetryPolicy};
pub use search::{SearchAnswer, SearchSource, parse_search, search_request};
pub use stream::ChunkStream;
pub use tokens::{context_window, estimate_content_tokens, estimate_tokens};

/// Cancels a request and its stream.
pub type Cancel = tokio_util::sync::CancellationToken;

/// The provider that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// The Gemini API.
    Gemini,
    /// An OpenAI-compatible server.
    OpenAi,
    /// A replay file.
    Replay,
    /// The embedded offline model.
    Offline,
    /// A model that the embedder implements.
    Custom,
}

impl Provider {
    /// Returns the name to display.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::OpenAi => "openai",
            Self::Replay => "replay",
            Self::Offline => "offline",
            Self::Custom => "custom",
        }
    }

    /// Returns whether it can answer a [`search_request`]. A replay answers with what was recorded.
    #[must_use]
    pub fn can_search(self) -> bool {
        matches!(self, Self::Gemini | Self::Replay)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A model that answers requests. Implementations may write these methods as `async fn`.
pub trait Model: fmt::Debug + Send + Sync {
    /// Returns the model's name, for requests that name no other and for display.
    fn name(&self) -> &str;

    /// Returns the provider that answers.
    fn provider(&self) -> Provider;

    /// Sends a request and returns the answer as a stream, as soon as the answer has begun.
    fn stream(
        &self,
        request: &ModelRequest,
        cancel: &Cancel,
    ) -> impl Future<Output = Result<ChunkStream, ModelError>> + Send;

    /// Sends a request and waits for the whole answer.
    fn generate(
        &self,
        request: &ModelRequest,
        cancel: &Cancel,
    ) -> impl Future<Output = Result<Chunk, ModelError>> + Send {
        async { self.stream(request, cancel).await?.collect().await }
    }

    /// Counts the request's tokens, or estimates them where the provider cannot count.
    fn count_tokens(
        &self,
        request: &ModelRequest,
        cancel: &Cancel,
    ) -> impl Future<Output = Result<u64, ModelError>> + Send;

    /// Sets an observer that is called before each retry's delay; models that never retry ignore it.
    fn set_retry_observer(&mut self, _observer: RetryObserver) {}
}
