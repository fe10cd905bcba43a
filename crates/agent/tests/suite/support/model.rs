//! A model that says what a test wrote down for it, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hookwright_model::{
    Cancel, Chunk, ChunkStream, Content, FinishReason, Model, ModelError, Part, Provider, Request, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Answers, in the order in which they are asked for. Clones are the same script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    answers: Mutex<VecDeque<Turn>>,
    requests: Mutex<Vec<Request>>,
    /// Who answers instead, where the system prompt holds this word.
    others: Mutex<Vec<(String, Script)>>,
}

#[derive(Debug)]
enum Turn {
    /// It begins, and goes on as the channel does.
    Stream(Receiver<Result<Chunk, ModelError>>),
    /// It never begins.
    Nothing,
}

impl Script {
    pub(crate) fn new() -> Self {
        Script::default()
    }

    /// An answer in one piece.
    pub(crate) fn says(self, text: &str) -> Self {
        self.pieces(&[text])
    }

    /// An answer in several pieces.
    pub(crate) fn pieces(self, texts: &[&str]) -> Self {
        self.stream(texts.iter().map(|text| Ok(Chunk::text_piece(*text))).collect())
    }

    /// An answer of these chunks.
    pub(crate) fn chunks(self, chunks: Vec<Chunk>) -> Self {
        self.stream(chunks.into_iter().map(Ok).collect())
    }

    /// An answer of these parts.
    pub(crate) fn parts(self, parts: Vec<Part>) -> Self {
        self.stream(vec![Ok(Chunk { parts, ..Chunk::default() })])
    }

    /// An answer that costs so many tokens.
    /// An answer without content that ended for this reason.
    pub(crate) fn finishes(self, reason: FinishReason) -> Self {
        self.stream(vec![Ok(Chunk { finish_reason: Some(reason), ..Chunk::default() })])
    }

    pub(crate) fn says_at(self, text: &str, total: u64) -> Self {
        let usage = Some(Usage { total, ..Usage::default() });
        self.stream(vec![Ok(Chunk { usage, ..Chunk::text_piece(text) })])
    }

    /// An answer that breaks off.
    pub(crate) fn breaks_off(self, parts: Vec<Part>) -> Self {
        let cut = ModelError::CutOff { chunks: 1, detail: "the cable".to_owned() };
        self.stream(vec![Ok(Chunk { parts, ..Chunk::default() }), Err(cut)])
    }

    /// An answer that never begins.
    pub(crate) fn hangs(self) -> Self {
        self.0.answers.lock().unwrap().push_back(Turn::Nothing);
        self
    }

    /// An answer that comes as the test sends it, and is over when the sender is dropped.
    pub(crate) fn live(self) -> (Self, Sender<Result<Chunk, ModelError>>) {
        let (sender, receiver) = channel(1024);
        self.0.answers.lock().unwrap().push_back(Turn::Stream(receiver));
        (self, sender)
    }

    fn stream(self, pieces: Vec<Result<Chunk, ModelError>>) -> Self {
        let (script, sender) = self.live();
        pieces.into_iter().for_each(|piece| sender.try_send(piece).unwrap());
        script
    }

    /// Lets another script answer where the system prompt holds this word.
    pub(crate) fn other(self, word: &str, script: &Script) -> Self {
        self.0.others.lock().unwrap().push((word.to_owned(), script.clone()));
        self
    }

    /// What was asked, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.0.requests.lock().unwrap().clone()
    }

    /// All that the model was told with a request, as JSON.
    pub(crate) fn told(&self, request: usize) -> String {
        told(&self.requests()[request].contents)
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        "scripted"
    }

    fn provider(&self) -> Provider {
        Provider::Custom
    }

    async fn stream(&self, request: &Request, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        let inner = {
            let others = self.0.others.lock().unwrap();
            let system = request.system.as_deref().unwrap_or_default();
            let other = others.iter().find(|(word, _)| system.contains(word.as_str()));
            other.map_or_else(|| self.0.clone(), |(_, script)| script.0.clone())
        };
        inner.requests.lock().unwrap().push(request.clone());
        let turn = inner.answers.lock().unwrap().pop_front();
        match turn {
            Some(Turn::Stream(receiver)) => Ok(ChunkStream::from_channel(receiver, cancel)),
            Some(Turn::Nothing) => {
                cancel.cancelled().await;
                Err(ModelError::Cancelled)
            }
            None => Err(ModelError::Config("the script is at its end".to_owned())),
        }
    }

    async fn count_tokens(&self, _request: &Request, _cancel: &Cancel) -> Result<u64, ModelError> {
        Err(ModelError::Unsupported { provider: "the script", what: "count" })
    }
}

/// Messages as JSON.
pub(crate) fn told(contents: &[Arc<Content>]) -> String {
    serde_json::to_string(&contents.iter().map(|content| &**content).collect::<Vec<_>>()).unwrap()
}

/// A tool call.
pub(crate) fn call(tool: &str, args: Value) -> Part {
    part(None, tool, args)
}

/// A tool call with an id of the model's.
pub(crate) fn call_as(id: &str, tool: &str, args: Value) -> Part {
    part(Some(id.to_owned()), tool, args)
}

fn part(id: Option<String>, tool: &str, args: Value) -> Part {
    Part::function_call(id, tool, args.as_object().unwrap().clone())
}
