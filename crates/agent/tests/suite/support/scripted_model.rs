//! A model that gives the answers of a script and records the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hookwright_model::{
    Cancel, Chunk, ChunkStream, Content, FinishReason, Model, ModelError, ModelRequest, Part, Provider, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// A queue of answers. Clones share the same queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedModel(Arc<ScriptedModelState>);

#[derive(Debug, Default)]
struct ScriptedModelState {
    answers: Mutex<VecDeque<ScriptedAnswer>>,
    requests: Mutex<Vec<ModelRequest>>,
    /// Scripts that answer if the system prompt contains this word.
    overrides: Mutex<Vec<(String, ScriptedModel)>>,
}

#[derive(Debug)]
enum ScriptedAnswer {
    /// The answer begins, and goes on as the channel does.
    Stream(Receiver<Result<Chunk, ModelError>>),
    NeverBegins,
}

impl ScriptedModel {
    pub(crate) fn new() -> Self {
        ScriptedModel::default()
    }

    /// Adds an answer in one piece.
    pub(crate) fn answer(self, text: &str) -> Self {
        self.answer_in_pieces(&[text])
    }

    /// Adds an answer in several pieces.
    pub(crate) fn answer_in_pieces(self, texts: &[&str]) -> Self {
        self.push_stream(texts.iter().map(|text| Ok(Chunk::from_text(*text))).collect())
    }

    /// Adds an answer of these chunks.
    pub(crate) fn answer_in_chunks(self, chunks: Vec<Chunk>) -> Self {
        self.push_stream(chunks.into_iter().map(Ok).collect())
    }

    /// Adds an answer of these parts.
    pub(crate) fn answer_with_parts(self, parts: Vec<Part>) -> Self {
        self.push_stream(vec![Ok(Chunk { parts, ..Chunk::default() })])
    }

    /// Adds an answer without content that ended for this reason.
    pub(crate) fn finish_with(self, reason: FinishReason) -> Self {
        self.push_stream(vec![Ok(Chunk { finish_reason: Some(reason), ..Chunk::default() })])
    }

    pub(crate) fn answer_with_tokens(self, text: &str, total: u64) -> Self {
        let usage = Some(Usage { total, ..Usage::default() });
        self.push_stream(vec![Ok(Chunk { usage, ..Chunk::from_text(text) })])
    }

    /// Adds an answer that is cut off.
    pub(crate) fn answer_cut_off(self, parts: Vec<Part>) -> Self {
        let cut = ModelError::CutOff { chunks: 1, detail: "the cable".to_owned() };
        self.push_stream(vec![Ok(Chunk { parts, ..Chunk::default() }), Err(cut)])
    }

    /// Adds an answer that never begins.
    pub(crate) fn never_answer(self) -> Self {
        self.0.answers.lock().unwrap().push_back(ScriptedAnswer::NeverBegins);
        self
    }

    /// Adds an answer whose chunks the test sends, and which ends when the sender is dropped.
    pub(crate) fn answer_from_channel(self) -> (Self, Sender<Result<Chunk, ModelError>>) {
        let (sender, receiver) = channel(1024);
        self.0.answers.lock().unwrap().push_back(ScriptedAnswer::Stream(receiver));
        (self, sender)
    }

    fn push_stream(self, pieces: Vec<Result<Chunk, ModelError>>) -> Self {
        let (script, sender) = self.answer_from_channel();
        pieces.into_iter().for_each(|piece| sender.try_send(piece).unwrap());
        script
    }

    /// Lets another script answer if the system prompt contains this word.
    pub(crate) fn override_for(self, word: &str, script: &ScriptedModel) -> Self {
        self.0.overrides.lock().unwrap().push((word.to_owned(), script.clone()));
        self
    }

    /// Returns the requests, in order.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.0.requests.lock().unwrap().clone()
    }

    /// Returns the messages of a request as JSON.
    pub(crate) fn messages_json(&self, request: usize) -> String {
        contents_json(&self.requests()[request].contents)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn provider(&self) -> Provider {
        Provider::Custom
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        let inner = {
            let others = self.0.overrides.lock().unwrap();
            let system = request.system.as_deref().unwrap_or_default();
            let other = others.iter().find(|(word, _)| system.contains(word.as_str()));
            other.map_or_else(|| self.0.clone(), |(_, script)| script.0.clone())
        };
        inner.requests.lock().unwrap().push(request.clone());
        let turn = inner.answers.lock().unwrap().pop_front();
        match turn {
            Some(ScriptedAnswer::Stream(receiver)) => Ok(ChunkStream::from_channel(receiver, cancel)),
            Some(ScriptedAnswer::NeverBegins) => {
                cancel.cancelled().await;
                Err(ModelError::Cancelled)
            }
            None => Err(ModelError::Config("the script is at its end".to_owned())),
        }
    }

    async fn count_tokens(&self, _request: &ModelRequest, _cancel: &Cancel) -> Result<u64, ModelError> {
        Err(ModelError::Unsupported { provider: "the script", what: "count" })
    }
}

/// Returns messages as JSON.
pub(crate) fn contents_json(contents: &[Arc<Content>]) -> String {
    serde_json::to_string(&contents.iter().map(|content| &**content).collect::<Vec<_>>()).unwrap()
}

pub(crate) fn tool_call(tool: &str, args: Value) -> Part {
    function_call_part(None, tool, args)
}

/// A tool call with an id from the model.
pub(crate) fn tool_call_with_id(id: &str, tool: &str, args: Value) -> Part {
    function_call_part(Some(id.to_owned()), tool, args)
}

fn function_call_part(id: Option<String>, tool: &str, args: Value) -> Part {
    Part::function_call(id, tool, args.as_object().unwrap().clone())
}
