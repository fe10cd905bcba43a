//! Any server with OpenAI's chat completions API: Ollama, llama.cpp, vLLM, OpenRouter, OpenAI itself.
//! `encode` and `messages` write the request, `decode` reads the streamed answer; this file joins them.

mod decode;
mod encode;
mod messages;

use serde::Deserialize;

use crate::error::ModelError;
use crate::http::{HttpOptions, ModelHttpClient};
use crate::http_stream::HttpStream;
use crate::request::{Grounding, ModelRequest};
use crate::response_decoder::ProviderDecoder;
use crate::stream::ChunkStream;
use crate::tokens::estimate_tokens;
use crate::{Cancel, Model, Part, Provider, RetryObserver};

/// The base URL of OpenAI's servers.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// A model behind an OpenAI-compatible server.
#[derive(Debug)]
pub struct OpenAi {
    name: String,
    http: ModelHttpClient,
    url: String,
    models_url: String,
    dialect: encode::OpenAiDialect,
}

impl OpenAi {
    /// Creates a client for the model `name` at `base_url` (which usually ends in `/v1`; a bare host gets it).
    ///
    /// The key may be empty, because local servers need none. Nothing is sent yet.
    ///
    /// # Errors
    /// When the base URL or the key is invalid.
    pub fn new(
        base_url: &str,
        api_key: &str,
        name: impl Into<String>,
        options: HttpOptions,
    ) -> Result<Self, ModelError> {
        let auth = (!api_key.trim().is_empty()).then(|| ("authorization", format!("Bearer {}", api_key.trim())));
        let http = ModelHttpClient::new(Provider::OpenAi, base_url, auth, options)?;
        let version = if matches!(http.base().path(), "" | "/") { "v1/" } else { "" };
        let url = http.url(&format!("{version}chat/completions"));
        let models_url = http.url(&format!("{version}models"));
        let dialect = match http.base().host_str() {
            Some("api.openai.com") => encode::OpenAiDialect::OpenAi,
            _ => encode::OpenAiDialect::Compatible,
        };
        Ok(Self { name: name.into(), http, url, models_url, dialect })
    }

    /// Returns the names of the models that the server offers.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses, or has no list.
    pub async fn list_models(&self, cancel: &Cancel) -> Result<Vec<String>, ModelError> {
        #[derive(Deserialize)]
        struct OpenAiModelList {
            data: Vec<OpenAiModelEntry>,
        }
        #[derive(Deserialize)]
        struct OpenAiModelEntry {
            id: String,
        }
        let body = self.http.get_whole(&self.models_url, cancel).await?;
        let list: OpenAiModelList = serde_json::from_slice(&body).map_err(|error| ModelError::Malformed {
            server: self.http.server().to_owned(),
            detail: format!("{error}: {}", crate::api_error::quote(&body)),
        })?;
        Ok(list.data.into_iter().map(|entry| entry.id).collect())
    }
}

/// Creates the decoder of an answer to a history with this many tool calls.
pub(crate) fn new_decoder(calls_before: usize) -> impl ProviderDecoder {
    decode::OpenAiDecoder::after_calls(calls_before)
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn set_retry_observer(&mut self, observer: RetryObserver) {
        self.http.options.retry.observer = Some(observer);
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        if request.grounding != Grounding::None {
            return Err(ModelError::Unsupported { provider: "openai", what: "search the web" });
        }
        let body = encode::encode_body(request, self.dialect)?;
        let opened = self.http.post(&self.url, body, cancel).await?;
        let calls = request.contents.iter().flat_map(|content| &content.parts);
        let calls = calls.filter_map(Part::as_function_call).count();
        Ok(ChunkStream::from_http(HttpStream::new(opened, Box::new(new_decoder(calls))), cancel))
    }

    /// Estimates the tokens, because the API has no method to count them.
    async fn count_tokens(&self, request: &ModelRequest, _cancel: &Cancel) -> Result<u64, ModelError> {
        Ok(estimate_tokens(request))
    }
}
