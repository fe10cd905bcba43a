//! An answer on its way in: bytes → events → chunks, as far as they have arrived.
//! What an event says is the provider's decoder's knowledge; an answer that is one JSON document works too.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Response;

use crate::api_error::quote;
use crate::error::ModelError;
use crate::http::{Bounds, Opened, body_error};
use crate::response::Chunk;
use crate::sse::SseDecoder;

/// How long to wait for the connection's end after the answer's end, so that it can be used again.
const DRAIN: Duration = Duration::from_millis(50);

/// A provider's reading of its own stream.
pub(crate) trait Decode: fmt::Debug + Send {
    /// Reads one event.
    fn event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<(), Broken>;

    /// Reads an answer that came as one JSON document.
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), Broken>;

    /// Where the answer stands.
    fn progress(&self) -> Progress;

    /// The bytes are over: hands out what was held back.
    fn finish(&mut self, _out: &mut VecDeque<Chunk>) {}
}

/// Where an answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More must come.
    Open,
    /// It may end here, but something may follow.
    Complete,
    /// Nothing follows.
    Over,
}

/// Why an event is no chunk.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It cannot be read.
    Unreadable(String),
    /// It is an error of the server's.
    Refused(ModelError),
}

impl Broken {
    /// Names what cannot be read and quotes its start.
    pub(crate) fn unreadable(error: &serde_json::Error, data: &[u8]) -> Self {
        Self::Unreadable(format!("{error}: {}", quote(data)))
    }
}

#[derive(Debug)]
enum Form {
    Events(SseDecoder),
    Document(Vec<u8>),
}

/// A streamed answer over HTTP.
#[derive(Debug)]
pub(crate) struct HttpStream {
    server: String,
    bounds: Bounds,
    /// How many bytes have come.
    bytes: usize,
    /// When something of the answer last came.
    heard: Instant,
    first: Option<Bytes>,
    rest: Response,
    form: Form,
    decoder: Box<dyn Decode>,
    ready: VecDeque<Chunk>,
    /// Comes after the chunks that were read before it.
    failure: Option<ModelError>,
    given: usize,
    ended: bool,
}

impl HttpStream {
    pub(crate) fn new(opened: Opened, decoder: Box<dyn Decode>) -> Self {
        let Opened { server, bounds, first, rest } = opened;
        // Content types are not to be trusted; the first character tells the two apart.
        let form = match first.trim_ascii_start().first() {
            Some(b'{' | b'[' | b'<') => Form::Document(Vec::new()),
            _ => Form::Events(SseDecoder::default()),
        };
        Self {
            server,
            bounds,
            bytes: 0,
            heard: Instant::now(),
            first: Some(first),
            rest,
            form,
            decoder,
            ready: VecDeque::new(),
            failure: None,
            given: 0,
            ended: false,
        }
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                self.given += 1;
                return Some(Ok(chunk));
            }
            if let Some(failure) = self.failure.take() {
                return Some(Err(failure));
            }
            if self.ended {
                return None;
            }
            if self.decoder.progress() == Progress::Over {
                let _ = tokio::time::timeout(DRAIN, self.rest.chunk()).await;
                self.end();
                continue;
            }
            let bytes = match self.first.take() {
                Some(first) => Ok(Some(first)),
                None => {
                    let patience = self.bounds.pause.saturating_sub(self.heard.elapsed());
                    match tokio::time::timeout(patience, self.rest.chunk()).await {
                        Ok(bytes) => bytes,
                        // Signs of life without end are no answer.
                        Err(_) => {
                            self.fail(ModelError::Timeout { server: self.server.clone() });
                            continue;
                        }
                    }
                }
            };
            match bytes {
                Ok(Some(bytes)) => self.feed(&bytes),
                Ok(None) => self.end(),
                // Some servers never end the transfer properly; a complete answer is complete.
                Err(_) if self.decoder.progress() != Progress::Open => self.end(),
                Err(error) => self.fail(body_error(&error, &self.server, self.given)),
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > self.bounds.bytes {
            let detail = format!("an answer of more than {} bytes", self.bounds.bytes);
            return self.broken(Broken::Unreadable(detail));
        }
        let events = match &mut self.form {
            Form::Events(events) => events,
            Form::Document(body) => {
                self.heard = Instant::now();
                body.extend_from_slice(bytes);
                return;
            }
        };
        let (decoder, ready) = (&mut self.decoder, &mut self.ready);
        let before = ready.len();
        let mut result = Ok(());
        let pushed = events.push(bytes, |event| {
            if result.is_ok() && !event.data.trim_ascii().is_empty() {
                result = decoder.event(&event.data, ready);
            }
        });
        if self.ready.iter().skip(before).any(|chunk| !chunk.is_empty()) {
            self.heard = Instant::now();
        }
        let too_large = |error: crate::sse::EventTooLarge| Broken::Unreadable(error.to_string());
        if let Err(broken) = result.and(pushed.map_err(too_large)) {
            self.broken(broken);
        }
    }

    /// The bytes are over: what is left over must complete the answer.
    fn end(&mut self) {
        self.ended = true;
        let left = match &mut self.form {
            Form::Document(body) => {
                let body = std::mem::take(body);
                let read = self.decoder.whole(&body, &mut self.ready);
                match read {
                    Ok(()) if self.decoder.progress() == Progress::Open => {
                        self.ready.clear();
                        let detail = format!("JSON that is no answer: {}", quote(&body));
                        return self.broken(Broken::Unreadable(detail));
                    }
                    Ok(()) => Ok(()),
                    Err(broken) => return self.broken(broken),
                }
            }
            Form::Events(events) => match events.finish() {
                Some(event) => self.decoder.event(&event.data, &mut self.ready),
                None => Ok(()),
            },
        };
        match left {
            Err(Broken::Refused(error)) => return self.fail(error),
            // Half an event is no malformed one: the rest of it was cut off.
            Err(Broken::Unreadable(_)) if self.decoder.progress() == Progress::Open => {
                return self.cut_off();
            }
            Err(Broken::Unreadable(_)) | Ok(()) => {}
        }
        if self.decoder.progress() == Progress::Open {
            return self.cut_off();
        }
        self.decoder.finish(&mut self.ready);
    }

    fn cut_off(&mut self) {
        let chunks = self.given + self.ready.len();
        let detail = format!("{} closed the connection", self.server);
        self.fail(ModelError::CutOff { chunks, detail });
    }

    fn broken(&mut self, broken: Broken) {
        self.fail(match broken {
            Broken::Refused(error) => error,
            Broken::Unreadable(detail) => ModelError::Malformed { server: self.server.clone(), detail },
        });
    }

    fn fail(&mut self, error: ModelError) {
        self.ended = true;
        self.failure = Some(error);
    }
}
