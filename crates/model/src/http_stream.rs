//! A streamed answer over HTTP: reads the bytes and enforces the time limit.
//! `response_decoder.rs` decodes the bytes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Response;

use crate::error::ModelError;
use crate::http::{OpenedResponse, body_error};
use crate::response::Chunk;
use crate::response_decoder::{AnswerProgress, ProviderDecoder, ResponseDecoder};

/// The time limit for the response's end after the answer's end, so that the connection can be reused.
const CONNECTION_DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// A streamed answer over HTTP.
#[derive(Debug)]
pub(crate) struct HttpStream {
    decoder: ResponseDecoder,
    /// The longest pause between two chunks.
    read_timeout: Duration,
    /// The time at which a chunk last arrived.
    last_progress: Instant,
    first_bytes: Option<Bytes>,
    response: Response,
}

impl HttpStream {
    pub(crate) fn new(opened: OpenedResponse, decoder: Box<dyn ProviderDecoder>) -> Self {
        let OpenedResponse { server, limits: bounds, first_bytes: first, response: rest } = opened;
        let reading = ResponseDecoder::new(server, bounds.max_bytes, decoder);
        Self {
            decoder: reading,
            read_timeout: bounds.read_timeout,
            last_progress: Instant::now(),
            first_bytes: Some(first),
            response: rest,
        }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            if let Some(item) = self.decoder.next() {
                return Some(item);
            }
            if self.decoder.is_ended() {
                return None;
            }
            if self.decoder.progress() == AnswerProgress::Ended {
                let _ = tokio::time::timeout(CONNECTION_DRAIN_TIMEOUT, self.response.chunk()).await;
                self.decoder.finish_input();
                continue;
            }
            let bytes = match self.first_bytes.take() {
                Some(first) => Ok(Some(first)),
                None => {
                    let patience = self.read_timeout.saturating_sub(self.last_progress.elapsed());
                    match tokio::time::timeout(patience, self.response.chunk()).await {
                        Ok(bytes) => bytes,
                        // Bytes that contain no chunk, such as keep-alive comments, do not extend the time.
                        Err(_) => {
                            self.decoder.fail(ModelError::Timeout { server: self.decoder.server().to_owned() });
                            continue;
                        }
                    }
                }
            };
            match bytes {
                Ok(Some(bytes)) => {
                    if self.decoder.feed(&bytes) {
                        self.last_progress = Instant::now();
                    }
                }
                Ok(None) => self.decoder.finish_input(),
                // Some servers never end the transfer properly; the answer is complete without that.
                Err(_) if self.decoder.progress() != AnswerProgress::Open => self.decoder.finish_input(),
                Err(error) => {
                    let error = body_error(&error, self.decoder.server(), self.decoder.chunks_given());
                    self.decoder.fail(error);
                }
            }
        }
    }
}
