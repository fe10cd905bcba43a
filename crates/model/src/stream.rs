//! The stream of chunks that every model returns; cancelling ends it at once.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::Cancel;
use crate::error::ModelError;
use crate::http_stream::HttpStream;
use crate::own_json::read_own_json;
use crate::record::RecordingTap;
use crate::response::Chunk;

/// The chunks of a streamed answer.
#[derive(Debug)]
pub struct ChunkStream {
    source: ChunkSource,
    cancel: Cancel,
    taps: Vec<RecordingTap>,
    ended: bool,
}

#[derive(Debug)]
enum ChunkSource {
    Ready(VecDeque<Chunk>),
    /// Recorded chunks that were checked when they were loaded.
    Recorded(std::vec::IntoIter<Box<RawValue>>),
    Channel(mpsc::Receiver<Result<Chunk, ModelError>>),
    Http(Box<HttpStream>),
}

impl ChunkStream {
    /// Creates a stream of chunks that are already there.
    #[must_use]
    pub fn from_chunks(chunks: impl IntoIterator<Item = Chunk>, cancel: &Cancel) -> Self {
        Self::new(ChunkSource::Ready(chunks.into_iter().collect()), cancel)
    }

    pub(crate) fn from_recorded(pieces: Vec<Box<RawValue>>, cancel: &Cancel) -> Self {
        Self::new(ChunkSource::Recorded(pieces.into_iter()), cancel)
    }

    /// Creates a stream of the items of a channel, until the channel is closed.
    #[must_use]
    pub fn from_channel(receiver: mpsc::Receiver<Result<Chunk, ModelError>>, cancel: &Cancel) -> Self {
        Self::new(ChunkSource::Channel(receiver), cancel)
    }

    pub(crate) fn from_http(stream: HttpStream, cancel: &Cancel) -> Self {
        Self::new(ChunkSource::Http(Box::new(stream)), cancel)
    }

    fn new(source: ChunkSource, cancel: &Cancel) -> Self {
        Self { source, cancel: cancel.clone(), taps: Vec::new(), ended: false }
    }

    pub(crate) fn with_tap(mut self, tap: RecordingTap) -> Self {
        self.taps.push(tap);
        self
    }

    /// Returns the next chunk, or `None` at the end. No item follows an error.
    ///
    /// The future is cancel-safe: dropping it loses no chunk.
    pub async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        if self.ended {
            return None;
        }
        let item = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Some(Err(ModelError::Cancelled)),
            item = self.source.next() => item,
        };
        if let Some(Ok(chunk)) = &item {
            self.taps.iter_mut().for_each(|tap| tap.push_chunk(chunk));
            return item;
        }
        self.ended = true;
        let recorded = self.taps.drain(..).try_for_each(RecordingTap::finish);
        // An error of the answer takes precedence over an error of the recording.
        item.or_else(|| recorded.err().map(Err))
    }

    /// Reads to the end and merges all chunks.
    ///
    /// # Errors
    /// The first error of the stream.
    pub async fn collect(mut self) -> Result<Chunk, ModelError> {
        let mut whole = Chunk::default();
        while let Some(chunk) = self.next().await {
            whole.merge(chunk?);
        }
        Ok(whole)
    }
}

impl ChunkSource {
    async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        match self {
            Self::Ready(chunks) => chunks.pop_front().map(refuse_blocked),
            Self::Recorded(pieces) => pieces.next().map(|piece| {
                let broken = |error: serde_json::Error| ModelError::Config(error.to_string());
                read_own_json(piece.get().as_bytes()).map_err(broken).and_then(refuse_blocked)
            }),
            Self::Channel(receiver) => receiver.recv().await,
            Self::Http(stream) => stream.next().await.map(|item| item.and_then(refuse_blocked)),
        }
    }
}

/// Turns a refused prompt, which arrives as an empty chunk with a reason, into an error.
pub(crate) fn refuse_blocked(chunk: Chunk) -> Result<Chunk, ModelError> {
    let Chunk { prompt_feedback: Some(feedback), .. } = &chunk else {
        return Ok(chunk);
    };
    match &feedback.block_reason {
        Some(reason) if chunk.parts.is_empty() => {
            Err(ModelError::Blocked { reason: reason.clone(), message: feedback.block_reason_message.clone() })
        }
        _ => Ok(chunk),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn chunks_come_in_order_and_add_up() {
        let chunks = ["a", "b", "c"].map(Chunk::from_text);
        let stream = ChunkStream::from_chunks(chunks, &Cancel::new());
        assert_eq!(stream.collect().await.unwrap().text(), "abc");
    }

    #[tokio::test]
    async fn cancelling_ends_the_stream_with_one_error() {
        let cancel = Cancel::new();
        let (sender, receiver) = mpsc::channel(4);
        let mut stream = ChunkStream::from_channel(receiver, &cancel);
        sender.send(Ok(Chunk::from_text("a"))).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap().text(), "a");
        let (item, ()) = tokio::join!(stream.next(), async { cancel.cancel() });
        assert!(item.unwrap().unwrap_err().is_cancelled());
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn a_refused_prompt_is_an_error() {
        let chunk: Chunk =
            serde_json::from_str(r#"{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"no"}}"#).unwrap();
        let error = ChunkStream::from_chunks([chunk], &Cancel::new()).collect().await.unwrap_err();
        assert_eq!(error.to_string(), "the prompt was refused: SAFETY: no");
    }
}
