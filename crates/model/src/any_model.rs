//! One type for whichever model was chosen, because native async traits are not dyn-compatible.
//! It only dispatches; an embedder adds its own model through [`AnyModel::Custom`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::error::ModelError;
use crate::request::ModelRequest;
use crate::response::Chunk;
use crate::retry::RetryObserver;
use crate::stream::ChunkStream;
use crate::{Cancel, Gemini, Model, Offline, OpenAi, Provider, RecordingModel, Replay};

/// One of the models, chosen at run time.
#[derive(Debug)]
pub enum AnyModel {
    /// The Gemini API.
    Gemini(Box<Gemini>),
    /// An OpenAI-compatible server.
    OpenAi(Box<OpenAi>),
    /// A replay file.
    Replay(Replay),
    /// The embedded offline model.
    Offline(Offline),
    /// Another model whose answers are recorded.
    Recording(RecordingModel),
    /// A model that the embedder implements.
    Custom(Box<dyn DynModel>),
}

impl AnyModel {
    /// Wraps a model that the embedder implements.
    pub fn custom(model: impl Model + 'static) -> Self {
        Self::Custom(Box::new(model))
    }

    /// Returns the names of the models that the server offers; empty for models without a server.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses, or has no list.
    pub async fn list_models(&self, cancel: &Cancel) -> Result<Vec<String>, ModelError> {
        match self {
            Self::Gemini(model) => model.list_models(cancel).await,
            Self::OpenAi(model) => model.list_models(cancel).await,
            Self::Replay(_) | Self::Offline(_) | Self::Recording(_) | Self::Custom(_) => Ok(Vec::new()),
        }
    }
}

impl From<Gemini> for AnyModel {
    fn from(model: Gemini) -> Self {
        Self::Gemini(Box::new(model))
    }
}

impl From<OpenAi> for AnyModel {
    fn from(model: OpenAi) -> Self {
        Self::OpenAi(Box::new(model))
    }
}

impl From<Replay> for AnyModel {
    fn from(model: Replay) -> Self {
        Self::Replay(model)
    }
}

impl From<Offline> for AnyModel {
    fn from(model: Offline) -> Self {
        Self::Offline(model)
    }
}

impl From<RecordingModel> for AnyModel {
    fn from(model: RecordingModel) -> Self {
        Self::Recording(model)
    }
}

impl Model for AnyModel {
    fn name(&self) -> &str {
        match self {
            Self::Gemini(model) => model.name(),
            Self::OpenAi(model) => model.name(),
            Self::Replay(model) => model.name(),
            Self::Offline(model) => model.name(),
            Self::Recording(model) => model.name(),
            Self::Custom(model) => model.name_dyn(),
        }
    }

    fn provider(&self) -> Provider {
        match self {
            Self::Gemini(model) => model.provider(),
            Self::OpenAi(model) => model.provider(),
            Self::Replay(model) => model.provider(),
            Self::Offline(model) => model.provider(),
            Self::Recording(model) => model.provider(),
            Self::Custom(model) => model.provider_dyn(),
        }
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        match self {
            Self::Gemini(model) => model.stream(request, cancel).await,
            Self::OpenAi(model) => model.stream(request, cancel).await,
            Self::Replay(model) => model.stream(request, cancel).await,
            Self::Offline(model) => model.stream(request, cancel).await,
            Self::Recording(model) => model.stream(request, cancel).await,
            Self::Custom(model) => model.stream_dyn(request, cancel).await,
        }
    }

    async fn generate(&self, request: &ModelRequest, cancel: &Cancel) -> Result<Chunk, ModelError> {
        match self {
            Self::Gemini(model) => model.generate(request, cancel).await,
            Self::OpenAi(model) => model.generate(request, cancel).await,
            Self::Replay(model) => model.generate(request, cancel).await,
            Self::Offline(model) => model.generate(request, cancel).await,
            Self::Recording(model) => model.generate(request, cancel).await,
            Self::Custom(model) => model.generate_dyn(request, cancel).await,
        }
    }

    async fn count_tokens(&self, request: &ModelRequest, cancel: &Cancel) -> Result<u64, ModelError> {
        match self {
            Self::Gemini(model) => model.count_tokens(request, cancel).await,
            Self::OpenAi(model) => model.count_tokens(request, cancel).await,
            Self::Replay(model) => model.count_tokens(request, cancel).await,
            Self::Offline(model) => model.count_tokens(request, cancel).await,
            Self::Recording(model) => model.count_tokens(request, cancel).await,
            Self::Custom(model) => model.count_tokens_dyn(request, cancel).await,
        }
    }

    fn set_retry_observer(&mut self, observer: RetryObserver) {
        match self {
            Self::Gemini(model) => model.set_retry_observer(observer),
            Self::OpenAi(model) => model.set_retry_observer(observer),
            Self::Replay(_) | Self::Offline(_) => {}
            Self::Recording(model) => model.set_retry_observer(observer),
            Self::Custom(model) => model.set_retry_observer_dyn(observer),
        }
    }
}

/// A boxed future, as [`DynModel`] returns it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The dyn-compatible form of [`Model`], implemented for every model.
pub trait DynModel: fmt::Debug + Send + Sync {
    /// Forwards to [`Model::name`].
    fn name_dyn(&self) -> &str;

    /// Forwards to [`Model::provider`].
    fn provider_dyn(&self) -> Provider;

    /// Forwards to [`Model::stream`].
    fn stream_dyn<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<ChunkStream, ModelError>>;

    /// Forwards to [`Model::generate`].
    fn generate_dyn<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Chunk, ModelError>>;

    /// Forwards to [`Model::count_tokens`].
    fn count_tokens_dyn<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<u64, ModelError>>;

    /// Forwards to [`Model::set_retry_observer`].
    fn set_retry_observer_dyn(&mut self, observer: RetryObserver);
}

impl<M: Model> DynModel for M {
    fn name_dyn(&self) -> &str {
        self.name()
    }

    fn provider_dyn(&self) -> Provider {
        self.provider()
    }

    fn stream_dyn<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<ChunkStream, ModelError>> {
        Box::pin(self.stream(request, cancel))
    }

    fn generate_dyn<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Chunk, ModelError>> {
        Box::pin(self.generate(request, cancel))
    }

    fn count_tokens_dyn<'a>(
        &'a self,
        request: &'a ModelRequest,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(self.count_tokens(request, cancel))
    }

    fn set_retry_observer_dyn(&mut self, observer: RetryObserver) {
        self.set_retry_observer(observer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can_be_spawned<T: Send + 'static>(_: T) {}

    #[tokio::test]
    async fn custom_models_work_and_their_futures_are_send() {
        let model = AnyModel::custom(AnyModel::from(Offline::new()));
        assert_eq!((model.name(), model.provider()), ("offline", Provider::Offline));
        can_be_spawned(async move {
            let request = ModelRequest::new("m", vec![]);
            let mut stream = model.stream(&request, &Cancel::new()).await?;
            while let Some(chunk) = stream.next().await {
                chunk?;
            }
            model.generate(&request, &Cancel::new()).await
        });
    }
}
