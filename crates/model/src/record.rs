//! Records any model's answers in the form that [`Replay`](crate::Replay) reads: `--record-responses`.
//! A call's line is written when the call ends; a call that is cut short is recorded with the chunks that arrived.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_disk::{ExistingFileMode, open_append};
use serde::Serialize;

use crate::error::ModelError;
use crate::replay::RecordedMethod;
use crate::request::ModelRequest;
use crate::response::Chunk;
use crate::stream::ChunkStream;
use crate::{Cancel, DynModel, Model, Provider, RetryObserver};

/// A model whose answers are recorded.
#[derive(Debug)]
pub struct RecordingModel {
    inner: Box<dyn DynModel>,
    log: Arc<RecordingFile>,
}

struct RecordingFile {
    path: PathBuf,
    file: Mutex<File>,
    /// The function applied to each line before it is written.
    rewrite_line: LineRewriter,
}

/// Changes a line of JSON into another, for example to remove secrets.
pub type LineRewriter = Box<dyn Fn(&str) -> String + Send + Sync>;

impl fmt::Debug for RecordingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("path", &self.path).finish_non_exhaustive()
    }
}

impl RecordingModel {
    /// Records `inner` by appending to the file at `path`. A new file is readable only by its owner.
    ///
    /// # Errors
    /// When the file cannot be opened for writing.
    pub fn new(inner: impl Model + 'static, path: impl Into<PathBuf>) -> Result<Self, ModelError> {
        Self::with_rewriter(inner, path, Box::new(str::to_owned))
    }

    /// Like [`new`](Self::new), with a function that is applied to each line before it is written.
    ///
    /// # Errors
    /// When the file cannot be opened for writing.
    pub fn with_rewriter(
        inner: impl Model + 'static,
        path: impl Into<PathBuf>,
        change: LineRewriter,
    ) -> Result<Self, ModelError> {
        let path = path.into();
        match open_append(&path, ExistingFileMode::Keep) {
            Ok(file) => {
                let log = Arc::new(RecordingFile { path, file: Mutex::new(file), rewrite_line: change });
                Ok(Self { inner: Box::new(inner), log })
            }
            Err(source) => Err(ModelError::Record { path, source }),
        }
    }
}

impl RecordingFile {
    fn append(&self, method: RecordedMethod, response: &impl Serialize) -> Result<(), ModelError> {
        let mut line = line_prefix(method);
        serde_json::to_writer(&mut line, response).map_err(|error| self.error(error.into()))?;
        self.write_line(line)
    }

    /// Writes the line in a single append, so that the recordings of two sessions do not mix.
    fn write_line(&self, mut line: Vec<u8>) -> Result<(), ModelError> {
        line.extend_from_slice(b"}\n");
        let line = match String::from_utf8(line) {
            Ok(line) => (self.rewrite_line)(&line).into_bytes(),
            Err(other) => other.into_bytes(),
        };
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        hookwright_disk::append_all(&file, &line).map_err(|error| self.error(error))
    }

    fn error(&self, source: io::Error) -> ModelError {
        ModelError::Record { path: self.path.clone(), source }
    }
}

fn line_prefix(method: RecordedMethod) -> Vec<u8> {
    format!(r#"{{"method":"{method}","response":"#).into_bytes()
}

impl Model for RecordingModel {
    fn name(&self) -> &str {
        self.inner.name_dyn()
    }

    fn provider(&self) -> Provider {
        self.inner.provider_dyn()
    }

    fn set_retry_observer(&mut self, observer: RetryObserver) {
        self.inner.set_retry_observer_dyn(observer);
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        let stream = self.inner.stream_dyn(request, cancel).await?;
        Ok(stream.with_tap(RecordingTap::new(Arc::clone(&self.log))))
    }

    async fn generate(&self, request: &ModelRequest, cancel: &Cancel) -> Result<Chunk, ModelError> {
        let whole = self.inner.generate_dyn(request, cancel).await?;
        self.log.append(RecordedMethod::GenerateContent, &whole)?;
        Ok(whole)
    }

    async fn count_tokens(&self, request: &ModelRequest, cancel: &Cancel) -> Result<u64, ModelError> {
        let count = self.inner.count_tokens_dyn(request, cancel).await?;
        self.log.append(RecordedMethod::CountTokens, &serde_json::json!({"totalTokens": count}))?;
        Ok(count)
    }
}

/// Records one stream and writes its line when it ends or is dropped.
#[derive(Debug)]
pub(crate) struct RecordingTap {
    log: Arc<RecordingFile>,
    /// The line so far; `None` once it is written.
    line: Option<Vec<u8>>,
}

impl RecordingTap {
    fn new(log: Arc<RecordingFile>) -> Self {
        let mut line = line_prefix(RecordedMethod::GenerateContentStream);
        line.push(b'[');
        Self { log, line: Some(line) }
    }

    pub(crate) fn push_chunk(&mut self, chunk: &Chunk) {
        let Some(line) = &mut self.line else { return };
        if line.last() != Some(&b'[') {
            line.push(b',');
        }
        // Serialising a chunk to memory cannot fail.
        let _ = serde_json::to_writer(line, chunk);
    }

    pub(crate) fn finish(mut self) -> Result<(), ModelError> {
        self.write()
    }

    fn write(&mut self) -> Result<(), ModelError> {
        match self.line.take() {
            Some(mut line) => {
                line.push(b']');
                self.log.write_line(line)
            }
            None => Ok(()),
        }
    }
}

impl Drop for RecordingTap {
    fn drop(&mut self) {
        // Drop cannot return an error, and the reader has already given up the stream.
        let _ = self.write();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Offline, Replay, ReplayOrder};

    fn say(text: &str) -> ModelRequest {
        ModelRequest::new("m", vec![Arc::new(Content::user_text(format!("say {text}")))])
    }

    #[tokio::test]
    async fn a_recording_can_be_replayed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let model = RecordingModel::new(Offline::new(), &path).unwrap();
        let cancel = Cancel::new();
        let request = say("one two three four five six seven eight nine ten");
        let first = model.stream(&request, &cancel).await.unwrap().collect().await.unwrap();
        let second = model.generate(&say("b"), &cancel).await.unwrap();
        let count = model.count_tokens(&request, &cancel).await.unwrap();

        let replay = Replay::load(&path, ReplayOrder::Strict).unwrap();
        let again = replay.stream(&request, &cancel).await.unwrap().collect().await.unwrap();
        assert_eq!(again, first);
        assert_eq!(replay.generate(&request, &cancel).await.unwrap(), second);
        assert_eq!(replay.count_tokens(&request, &cancel).await.unwrap(), count);
    }

    #[tokio::test]
    async fn a_stream_cut_short_is_recorded_as_far_as_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let model = RecordingModel::new(Offline::new(), &path).unwrap();
        let request = say("one two three four five six seven eight nine ten");

        let cancel = Cancel::new();
        let mut cancelled = model.stream(&request, &cancel).await.unwrap();
        let piece = cancelled.next().await.unwrap().unwrap().text();
        cancel.cancel();
        assert!(cancelled.next().await.unwrap().unwrap_err().is_cancelled());

        let mut dropped = model.stream(&request, &Cancel::new()).await.unwrap();
        dropped.next().await.unwrap().unwrap();
        drop(dropped);

        let replay = Replay::load(&path, ReplayOrder::Strict).unwrap();
        for _ in 0..2 {
            let stream = replay.stream(&request, &Cancel::new()).await.unwrap();
            assert_eq!(stream.collect().await.unwrap().text(), piece);
        }
    }

    #[test]
    fn an_unwritable_recording_path_is_named() {
        let error = RecordingModel::new(Offline::new(), "/nonexistent/dir/r").unwrap_err();
        assert!(error.to_string().starts_with("cannot record to /nonexistent/dir/r: "));
    }
}
