//! The Gemini API over HTTP: streamed and whole answers, token counts, grounded search.
//! Base URL and key come from the caller. The conversation's JSON form is this API's, so little is translated.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::api_error::ApiError;
use crate::conversation::{Content, Role};
use crate::error::ModelError;
use crate::http::{HttpOptions, ModelHttpClient};
use crate::http_stream::HttpStream;
use crate::request::{GeminiTools, ModelRequest, SharedContents, SystemInstruction, ToolChoice, ToolMode};
use crate::response::{Chunk, ChunkWire};
use crate::response_decoder::{AnswerProgress, DecodeError, ProviderDecoder};
use crate::stream::{ChunkStream, refuse_blocked};
use crate::{Cancel, Model, Provider, RetryObserver};

/// The base URL of Google's servers.
pub const DEFAULT_BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// A model behind the Gemini API.
#[derive(Debug)]
pub struct Gemini {
    name: String,
    http: ModelHttpClient,
    version: &'static str,
}

impl Gemini {
    /// Creates a client for the model `name` at `base_url` ([`DEFAULT_BASE_URL`] is Google's). Nothing is sent yet.
    ///
    /// # Errors
    /// When the base URL or the key is invalid.
    pub fn new(
        base_url: &str,
        api_key: &str,
        name: impl Into<String>,
        options: HttpOptions,
    ) -> Result<Self, ModelError> {
        let auth = (!api_key.is_empty()).then(|| ("x-goog-api-key", api_key.to_owned()));
        let http = ModelHttpClient::new(Provider::Gemini, base_url, auth, options)?;
        let last = http.base().path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        // Gateways are often given with the version already in the path.
        let version = if last.starts_with("v1") { "" } else { "v1beta/" };
        Ok(Self { name: name.into(), http, version })
    }

    /// Returns the names of the models that the server offers.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn list_models(&self, cancel: &Cancel) -> Result<Vec<String>, ModelError> {
        #[derive(Deserialize)]
        struct GeminiModelList {
            #[serde(default)]
            models: Vec<GeminiModelEntry>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct GeminiModelEntry {
            name: String,
            #[serde(default)]
            supported_generation_methods: Option<Vec<String>>,
        }
        let url = self.http.url(&format!("{}models?pageSize=1000", self.version));
        let body = self.http.get_whole(&url, cancel).await?;
        let answers = |entry: &GeminiModelEntry| {
            let methods = entry.supported_generation_methods.as_ref();
            methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
        };
        let models = self.decode::<GeminiModelList>(&body)?.models.into_iter().filter(answers);
        Ok(models.map(|entry| entry.name.strip_prefix("models/").unwrap_or(&entry.name).to_owned()).collect())
    }

    fn url(&self, model: &str, method: &str) -> String {
        self.http.url(&format!("{}{}:{method}", self.version, model_path(model)))
    }
}

impl Model for Gemini {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> Provider {
        Provider::Gemini
    }

    fn set_retry_observer(&mut self, observer: RetryObserver) {
        self.http.options.retry.observer = Some(observer);
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        let url = format!("{}?alt=sse", self.url(&request.model, "streamGenerateContent"));
        let opened = self.http.post(&url, encode(&GenerateContentBody(request))?, cancel).await?;
        let stream = HttpStream::new(opened, Box::new(new_decoder()));
        Ok(ChunkStream::from_http(stream, cancel))
    }

    async fn generate(&self, request: &ModelRequest, cancel: &Cancel) -> Result<Chunk, ModelError> {
        let url = self.url(&request.model, "generateContent");
        let body = self.http.post_whole(&url, encode(&GenerateContentBody(request))?, cancel).await?;
        refuse_blocked(self.decode::<ChunkWire>(&body)?.into())
    }

    async fn count_tokens(&self, request: &ModelRequest, cancel: &Cancel) -> Result<u64, ModelError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CountTokensWire {
            total_tokens: u64,
        }
        let url = self.url(&request.model, "countTokens");
        let body = self.http.post_whole(&url, encode(&CountBody(request))?, cancel).await?;
        Ok(self.decode::<CountTokensWire>(&body)?.total_tokens)
    }
}

impl Gemini {
    fn decode<T: for<'de> Deserialize<'de>>(&self, body: &[u8]) -> Result<T, ModelError> {
        serde_json::from_slice(body).map_err(|error| ModelError::Malformed {
            server: self.http.server().to_owned(),
            detail: format!("{error}: {}", crate::api_error::quote(body)),
        })
    }
}

fn encode(body: &impl Serialize) -> Result<Vec<u8>, ModelError> {
    serde_json::to_vec(body).map_err(|error| ModelError::Config(format!("the request cannot be written: {error}")))
}

/// Returns the model's path: `models/NAME`, or the name itself if it contains a collection.
fn model_path(model: &str) -> String {
    // A hook may set the model's name, which must not lead to another URL.
    let own_path = model.contains('/') && !model.contains("..");
    let mut path = String::with_capacity(model.len() + 8);
    if !own_path {
        path.push_str("models/");
    }
    for byte in model.bytes() {
        match byte {
            b'/' if own_path => path.push('/'),
            b'-' | b'.' | b'_' | b'~' | b'@' => path.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// The body of `generateContent` and `streamGenerateContent`.
struct GenerateContentBody<'a>(&'a ModelRequest);

impl Serialize for GenerateContentBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_body(self.0, &mut map)?;
        map.end()
    }
}

/// The body of `countTokens`, which counts system text and tools only if it gets a whole request.
struct CountBody<'a>(&'a ModelRequest);

impl Serialize for CountBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct NamedRequestBody<'a>(&'a ModelRequest);
        impl Serialize for NamedRequestBody<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("model", &model_path(&self.0.model))?;
                write_body(self.0, &mut map)?;
                map.end()
            }
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("generateContentRequest", &NamedRequestBody(self.0))?;
        map.end()
    }
}

fn write_body<M: SerializeMap>(request: &ModelRequest, map: &mut M) -> Result<(), M::Error> {
    let signed = sign_unsigned_calls(request);
    map.serialize_entry("contents", &SharedContents(signed.as_ref().unwrap_or(&request.contents)))?;
    if let Some(system) = &request.system {
        map.serialize_entry("systemInstruction", &SystemInstruction(system))?;
    }
    let narrowed = narrow_tools(request);
    let request = narrowed.as_ref().unwrap_or(request);
    if !GeminiTools(request).is_empty() {
        map.serialize_entry("tools", &GeminiTools(request))?;
    }
    if let Some(choice) = request.tool_choice.as_ref().filter(|_| !request.tools.is_empty()) {
        map.serialize_entry("toolConfig", choice)?;
    }
    if !request.generation.is_empty() {
        map.serialize_entry("generationConfig", &request.generation)?;
    }
    Ok(())
}

/// Adds placeholder signatures to unsigned tool calls for Gemini 3.
///
/// Gemini 3 refuses a turn with a tool call that it did not sign, such as one made by a hook, a replay or another
/// model. The API documents a value for this case. Only the first call of each message since the last prompt needs it.
fn sign_unsigned_calls(request: &ModelRequest) -> Option<Vec<Arc<Content>>> {
    const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";
    let name = request.model.rsplit('/').next().unwrap_or_default();
    if !name.starts_with("gemini-3") {
        return None;
    }
    let is_prompt = |content: &Arc<Content>| {
        content.role == Role::User && !content.parts.iter().any(|part| part.as_function_response().is_some())
    };
    let turn = request.contents.iter().rposition(is_prompt).map_or(0, |at| at + 1);
    let mut signed: Option<Vec<Arc<Content>>> = None;
    for (at, content) in request.contents.iter().enumerate().skip(turn) {
        let call = content.parts.iter().position(|part| part.as_function_call().is_some());
        if let Some(call) = call.filter(|&call| content.parts[call].thought_signature.is_none()) {
            let copy = &mut signed.get_or_insert_with(|| request.contents.clone())[at];
            Arc::make_mut(copy).parts[call].thought_signature = Some(PLACEHOLDER_SIGNATURE.to_owned());
        }
    }
    signed
}

/// Narrows the declared tools to the allowed ones, because the API takes allowed names only with mode ANY.
fn narrow_tools(request: &ModelRequest) -> Option<ModelRequest> {
    let choice = request.tool_choice.as_ref()?;
    if choice.mode == ToolMode::Any || choice.allowed.is_empty() {
        return None;
    }
    let mut narrowed = request.clone();
    if choice.mode == ToolMode::Auto {
        narrowed.tools = request.tools.iter().filter(|tool| choice.allows(&tool.name)).cloned().collect();
    }
    narrowed.tool_choice = Some(ToolChoice { mode: choice.mode, allowed: Vec::new() });
    Some(narrowed)
}

/// Creates the decoder of a streamed answer.
pub(crate) fn new_decoder() -> impl ProviderDecoder {
    GeminiDecoder::default()
}

/// Reads the stream's events, each of which is a whole response object.
#[derive(Debug, Default)]
struct GeminiDecoder {
    finished: bool,
}

impl GeminiDecoder {
    fn push_response(&mut self, wire: ChunkWire, out: &mut VecDeque<Chunk>) -> Result<(), DecodeError> {
        if let Some(error) = &wire.error {
            let error = ApiError::from_json(Provider::Gemini, 200, error, None);
            return Err(DecodeError::Refused(error.into()));
        }
        let chunk = Chunk::from(wire);
        let refused = chunk.prompt_feedback.as_ref().is_some_and(|f| f.block_reason.is_some());
        self.finished |= chunk.finish_reason.is_some() || refused;
        out.push_back(chunk);
        Ok(())
    }
}

impl ProviderDecoder for GeminiDecoder {
    fn decode_event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<(), DecodeError> {
        if data.trim_ascii() == "[DONE]" {
            return Ok(());
        }
        let wire = serde_json::from_str(data).map_err(|error| DecodeError::from_json_error(&error, data.as_bytes()))?;
        self.push_response(wire, out)
    }

    /// Without `alt=sse`, which some gateways lose, the API answers with an array of chunks.
    fn decode_document(&mut self, body: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), DecodeError> {
        let unreadable = |error| DecodeError::from_json_error(&error, body);
        if body.trim_ascii_start().first() == Some(&b'[') {
            let wires: Vec<ChunkWire> = serde_json::from_slice(body).map_err(unreadable)?;
            return wires.into_iter().try_for_each(|wire| self.push_response(wire, out));
        }
        let wire: ChunkWire = serde_json::from_slice(body).map_err(unreadable)?;
        self.push_response(wire, out)
    }

    fn progress(&self) -> AnswerProgress {
        if self.finished { AnswerProgress::Complete } else { AnswerProgress::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, ToolDeclaration};
    use serde_json::{Value, json};

    fn gemini(base: &str) -> Gemini {
        Gemini::new(base, "key", "m", HttpOptions::default()).unwrap()
    }

    #[test]
    fn addresses_have_the_version_once() {
        let url = |base, model| gemini(base).url(model, "countTokens");
        assert_eq!(url("https://x.test", "m-1"), "https://x.test/v1beta/models/m-1:countTokens");
        assert_eq!(url("https://x.test/g/v1/", "tunedModels/t"), "https://x.test/g/v1/tunedModels/t:countTokens");
        assert_eq!(url("http://x.test:8", "a?b#c"), "http://x.test:8/v1beta/models/a%3Fb%23c:countTokens");
        assert_eq!(url("http://x.test", "../../x"), "http://x.test/v1beta/models/..%2F..%2Fx:countTokens");
    }

    #[test]
    fn an_invalid_base_url_is_refused() {
        for base in ["", "x.test", "ftp://x.test", "file:///x"] {
            assert!(Gemini::new(base, "k", "m", HttpOptions::default()).is_err(), "{base}");
        }
        let error = Gemini::new("http://x", "k\n1", "m", HttpOptions::default()).unwrap_err();
        assert!(!error.to_string().contains("k\n1"), "a key must not be shown: {error}");
    }

    #[test]
    fn allowed_names_are_sent_only_with_any() {
        let tool =
            |name: &str| ToolDeclaration { name: name.into(), description: String::new(), parameters: json!({}) };
        let body = |mode| {
            let mut request = ModelRequest::new("m", vec![Arc::new(Content::user_text("x"))]);
            request.tools = Arc::from(["a", "b"].map(|name| Arc::new(tool(name))));
            request.tool_choice = Some(ToolChoice { mode, allowed: vec!["b".into()] });
            serde_json::to_value(GenerateContentBody(&request)).unwrap()
        };
        let count = |body: &Value| body["tools"][0]["functionDeclarations"].as_array().unwrap().len();
        let any = body(ToolMode::Any);
        assert_eq!(count(&any), 2);
        assert_eq!(any["toolConfig"]["functionCallingConfig"], json!({"mode": "ANY", "allowedFunctionNames": ["b"]}));
        let auto = body(ToolMode::Auto);
        assert_eq!(count(&auto), 1);
        assert_eq!(auto["toolConfig"]["functionCallingConfig"], json!({"mode": "AUTO"}));
        let none = body(ToolMode::None);
        assert_eq!((count(&none), &none["toolConfig"]["functionCallingConfig"]), (2, &json!({"mode": "NONE"})));
    }

    #[test]
    fn unsigned_calls_get_a_placeholder_signature() {
        let call = || Part::function_call(None, "f", serde_json::Map::new());
        let result = || Part::function_response(None, "f", serde_json::Map::new());
        let mut own = call();
        own.thought_signature = Some("own".into());
        let contents = [
            Content::user_text("earlier"),
            Content::model(vec![call()]),
            Content::user(vec![result()]),
            Content::user_text("now"),
            Content::model(vec![Part::text("x"), call(), call()]),
            Content::user(vec![result()]),
            Content::model(vec![own]),
        ];
        let mut request = ModelRequest::new("gemini-3-pro", contents.into_iter().map(Arc::new).collect());
        let signatures = |request: &ModelRequest| {
            let body = serde_json::to_value(GenerateContentBody(request)).unwrap();
            let at = |content: usize, part: usize| body["contents"][content]["parts"][part]["thoughtSignature"].clone();
            [at(1, 0), at(4, 1), at(4, 2), at(6, 0)]
        };
        let stand_in = json!("skip_thought_signature_validator");
        assert_eq!(signatures(&request), [Value::Null, stand_in, Value::Null, json!("own")]);
        request.model = "gemini-2.5-pro".into();
        assert_eq!(signatures(&request)[1], Value::Null);
    }
}
