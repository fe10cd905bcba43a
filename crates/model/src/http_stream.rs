//! An answer on its way in over HTTP, as far as it has arrived, and how long to wait for more of it.
//! What the bytes mean is `reading.rs`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Response;

use crate::error::ModelError;
use crate::http::{Opened, body_error};
use crate::reading::{Decode, Progress, Reading};
use crate::response::Chunk;

/// How long to wait for the connection's end after the answer's end, so that it can be used again.
const DRAIN: Duration = Duration::from_millis(50);

/// A streamed answer over HTTP.
#[derive(Debug)]
pub(crate) struct HttpStream {
    reading: Reading,
    /// The longest pause between two pieces.
    pause: Duration,
    /// When something of the answer last came.
    heard: Instant,
    first: Option<Bytes>,
    rest: Response,
}

impl HttpStream {
    pub(crate) fn new(opened: Opened, decoder: Box<dyn Decode>) -> Self {
        let Opened { server, bounds, first, rest } = opened;
        let reading = Reading::new(server, bounds.bytes, decoder);
        Self { reading, pause: bounds.pause, heard: Instant::now(), first: Some(first), rest }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            if let Some(item) = self.reading.next() {
                return Some(item);
            }
            if self.reading.is_ended() {
                return None;
            }
            if self.reading.progress() == Progress::Over {
                let _ = tokio::time::timeout(DRAIN, self.rest.chunk()).await;
                self.reading.end();
                continue;
            }
            let bytes = match self.first.take() {
                Some(first) => Ok(Some(first)),
                None => {
                    let patience = self.pause.saturating_sub(self.heard.elapsed());
                    match tokio::time::timeout(patience, self.rest.chunk()).await {
                        Ok(bytes) => bytes,
                        // Signs of life without end are no answer.
                        Err(_) => {
                            self.reading.fail(ModelError::Timeout { server: self.reading.server().to_owned() });
                            continue;
                        }
                    }
                }
            };
            match bytes {
                Ok(Some(bytes)) => {
                    if self.reading.feed(&bytes) {
                        self.heard = Instant::now();
                    }
                }
                Ok(None) => self.reading.end(),
                // Some servers never end the transfer properly; a complete answer is complete.
                Err(_) if self.reading.progress() != Progress::Open => self.reading.end(),
                Err(error) => {
                    let error = body_error(&error, self.reading.server(), self.reading.given());
                    self.reading.fail(error);
                }
            }
        }
    }
}
