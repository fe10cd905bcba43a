//! Decodes an answer incrementally: bytes become events and events become chunks, wherever the network splits them.
//! It does no I/O and uses no clock. The provider's decoder interprets the events.

use std::collections::VecDeque;
use std::fmt;

use crate::api_error::quote;
use crate::error::ModelError;
use crate::memory_size::{MAX_JSON_VALUES, count_json_values};
use crate::response::Chunk;
use crate::sse::{MAX_EVENT_BYTES, SseDecoder};

/// Decodes the events of one provider.
pub(crate) trait ProviderDecoder: fmt::Debug + Send {
    /// Decodes one event.
    fn decode_event(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<(), DecodeError>;

    /// Decodes an answer that arrived as one JSON document.
    fn decode_document(&mut self, body: &[u8], out: &mut VecDeque<Chunk>) -> Result<(), DecodeError>;

    /// Returns the progress of the answer.
    fn progress(&self) -> AnswerProgress;

    /// Emits what was held back, after the last bytes.
    fn finish(&mut self, _out: &mut VecDeque<Chunk>) {}
}

/// The progress of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerProgress {
    /// The answer is incomplete.
    Open,
    /// The answer may end here, but more may follow.
    Complete,
    /// The answer has ended.
    Ended,
}

/// Why an event has no chunk.
#[derive(Debug)]
pub(crate) enum DecodeError {
    /// The event cannot be parsed.
    Unreadable(String),
    /// The event is an error of the server.
    Refused(ModelError),
}

impl DecodeError {
    /// Creates an error that quotes the start of the data.
    pub(crate) fn from_json_error(error: &serde_json::Error, data: &[u8]) -> Self {
        Self::Unreadable(format!("{error}: {}", quote(data)))
    }
}

/// Refuses JSON that would take far more memory than its bytes.
fn check_value_count(json: &[u8]) -> Result<(), DecodeError> {
    match count_json_values(json) {
        count if count > MAX_JSON_VALUES => {
            Err(DecodeError::Unreadable(format!("an event of more than {MAX_JSON_VALUES} values")))
        }
        _ => Ok(()),
    }
}

#[derive(Debug)]
enum BodyFormat {
    /// Only white space has arrived.
    Unknown(Vec<u8>),
    Events(SseDecoder),
    Document(Vec<u8>),
}

/// An answer that is being decoded.
#[derive(Debug)]
pub(crate) struct ResponseDecoder {
    server: String,
    /// The size limit of the answer.
    max_bytes: usize,
    received_bytes: usize,
    format: BodyFormat,
    decoder: Box<dyn ProviderDecoder>,
    ready: VecDeque<Chunk>,
    /// The error, returned after the chunks that were decoded before it.
    failure: Option<ModelError>,
    chunks_given: usize,
    ended: bool,
}

impl ResponseDecoder {
    /// Creates a decoder for an answer of at most `max_bytes` bytes from this server.
    pub(crate) fn new(server: String, max_bytes: usize, decoder: Box<dyn ProviderDecoder>) -> Self {
        Self {
            server,
            max_bytes,
            received_bytes: 0,
            format: BodyFormat::Unknown(Vec::new()),
            decoder,
            ready: VecDeque::new(),
            failure: None,
            chunks_given: 0,
            ended: false,
        }
    }

    /// Returns the server's name, for errors.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Returns how many chunks were returned by [`next`](Self::next).
    pub(crate) fn chunks_given(&self) -> usize {
        self.chunks_given
    }

    /// Returns whether only already decoded items remain.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Returns the progress of the answer.
    pub(crate) fn progress(&self) -> AnswerProgress {
        self.decoder.progress()
    }

    /// Returns the next decoded item.
    pub(crate) fn next(&mut self) -> Option<Result<Chunk, ModelError>> {
        if let Some(chunk) = self.ready.pop_front() {
            self.chunks_given += 1;
            return Some(Ok(chunk));
        }
        self.failure.take().map(Err)
    }

    /// Decodes the next bytes; returns whether they contained a part of the answer.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> bool {
        self.received_bytes = self.received_bytes.saturating_add(bytes.len());
        if self.received_bytes > self.max_bytes {
            let detail = format!("an answer of more than {} bytes", self.max_bytes);
            self.fail_decoding(DecodeError::Unreadable(detail));
            return false;
        }
        let joined;
        let mut bytes = bytes;
        if let BodyFormat::Unknown(blanks) = &mut self.format {
            // Content types are unreliable; the first character distinguishes the two formats.
            let form = bytes.trim_ascii_start().first().map(|first| match first {
                b'{' | b'[' | b'<' => BodyFormat::Document(Vec::new()),
                _ => BodyFormat::Events(SseDecoder::default()),
            });
            blanks.extend_from_slice(bytes);
            let Some(form) = form else { return false };
            joined = std::mem::take(blanks);
            (self.format, bytes) = (form, &joined);
        }
        match &mut self.format {
            BodyFormat::Events(_) => self.feed_events(bytes),
            BodyFormat::Document(body) | BodyFormat::Unknown(body) => {
                body.extend_from_slice(bytes);
                if body.len() > MAX_EVENT_BYTES {
                    let detail = format!("a document of more than {MAX_EVENT_BYTES} bytes");
                    self.fail_decoding(DecodeError::Unreadable(detail));
                }
                true
            }
        }
    }

    fn feed_events(&mut self, bytes: &[u8]) -> bool {
        let BodyFormat::Events(events) = &mut self.format else { return false };
        let (decoder, ready) = (&mut self.decoder, &mut self.ready);
        let before = ready.len();
        let mut result = Ok(());
        let pushed = events.push(bytes, |event| {
            // Events after the answer's end are ignored, even if they arrived with the same bytes.
            if result.is_ok() && decoder.progress() != AnswerProgress::Ended && !event.data.trim_ascii().is_empty() {
                result =
                    check_value_count(event.data.as_bytes()).and_then(|()| decoder.decode_event(&event.data, ready));
            }
        });
        let has_content = self.ready.iter().skip(before).any(|chunk| !chunk.is_empty());
        let too_large = |error: crate::sse::EventTooLarge| DecodeError::Unreadable(error.to_string());
        let pushed = if self.progress() == AnswerProgress::Ended { Ok(()) } else { pushed.map_err(too_large) };
        if let Err(broken) = result.and(pushed) {
            self.fail_decoding(broken);
        }
        has_content
    }

    /// Ends the input: the remaining bytes must complete the answer.
    pub(crate) fn finish_input(&mut self) {
        self.ended = true;
        let left = match &mut self.format {
            _ if self.decoder.progress() == AnswerProgress::Ended => Ok(()),
            BodyFormat::Document(body) => {
                let body = std::mem::take(body);
                let read = check_value_count(&body).and_then(|()| self.decoder.decode_document(&body, &mut self.ready));
                match read {
                    Ok(()) if self.decoder.progress() == AnswerProgress::Open => {
                        self.ready.clear();
                        let detail = format!("JSON that is not an answer: {}", quote(&body));
                        return self.fail_decoding(DecodeError::Unreadable(detail));
                    }
                    Ok(()) => Ok(()),
                    Err(broken) => return self.fail_decoding(broken),
                }
            }
            BodyFormat::Events(events) => match events.finish() {
                Some(event) => check_value_count(event.data.as_bytes())
                    .and_then(|()| self.decoder.decode_event(&event.data, &mut self.ready)),
                None => Ok(()),
            },
            BodyFormat::Unknown(_) => Ok(()),
        };
        match left {
            Err(DecodeError::Refused(error)) => return self.fail(error),
            // A partial event at the end of the input means that the connection was cut, not that the event is
            // malformed.
            Err(DecodeError::Unreadable(_)) if self.decoder.progress() == AnswerProgress::Open => {
                return self.fail_cut_off();
            }
            Err(DecodeError::Unreadable(_)) | Ok(()) => {}
        }
        if self.decoder.progress() == AnswerProgress::Open {
            return self.fail_cut_off();
        }
        self.decoder.finish(&mut self.ready);
    }

    fn fail_cut_off(&mut self) {
        let chunks = self.chunks_given + self.ready.len();
        let detail = format!("{} closed the connection", self.server);
        self.fail(ModelError::CutOff { chunks, detail });
    }

    fn fail_decoding(&mut self, broken: DecodeError) {
        self.fail(match broken {
            DecodeError::Refused(error) => error,
            DecodeError::Unreadable(detail) => ModelError::Malformed { server: self.server.clone(), detail },
        });
    }

    /// Ends the answer with an error.
    pub(crate) fn fail(&mut self, error: ModelError) {
        self.ended = true;
        self.failure = Some(error);
    }
}

/// Decodes an answer that arrives in these pieces from a server of this provider.
pub(crate) fn decode_pieces<'p>(
    provider: crate::Provider,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<Result<Chunk, ModelError>> {
    let decoder: Box<dyn ProviderDecoder> = match provider {
        crate::Provider::OpenAi => Box::new(crate::openai::new_decoder(0)),
        _ => Box::new(crate::gemini::new_decoder()),
    };
    let mut reading = ResponseDecoder::new("server".to_owned(), crate::sse::MAX_EVENT_BYTES, decoder);
    let mut items = Vec::new();
    for piece in pieces {
        if reading.is_ended() || reading.progress() == AnswerProgress::Ended {
            break;
        }
        reading.feed(piece);
        items.extend(std::iter::from_fn(|| reading.next()));
    }
    if !reading.is_ended() {
        reading.finish_input();
    }
    items.extend(std::iter::from_fn(|| reading.next()));
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider;

    /// Returns the answer's text and error, decoded at once and byte by byte.
    fn both(provider: Provider, text: &str) -> [String; 2] {
        let shown = |items: Vec<Result<Chunk, ModelError>>| {
            let item =
                |item: Result<Chunk, ModelError>| item.map_or_else(|error| error.to_string(), |chunk| chunk.text());
            items.into_iter().map(item).collect::<Vec<_>>().join("|")
        };
        [shown(decode_pieces(provider, [text.as_bytes()])), shown(decode_pieces(provider, text.as_bytes().chunks(1)))]
    }

    #[test]
    fn leading_white_space_does_not_decide_the_format() {
        let document = "\n {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}";
        assert_eq!(both(Provider::Gemini, document), ["a", "a"]);
        let events = "\r\n\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n";
        assert_eq!(both(Provider::Gemini, events), ["", ""]);
    }

    #[test]
    fn events_after_the_end_are_ignored() {
        let answer = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n";
        for late in ["data: {\"error\":\"late\"}\n\n", "data: garbage\n\n", "data: {\"error\":\"late\"}"] {
            assert_eq!(both(Provider::OpenAi, &format!("{answer}{late}")), ["a|", "a|"], "{late}");
        }
    }
}
