//! Answers requests from a file instead of a model: `--fake-responses`. The file has JSON lines in the form that Gemini
//! CLI records.
//! In strict order one cursor runs over all lines; otherwise each request takes the first line of its method.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::ModelError;
use crate::memory_size::{MAX_JSON_VALUES, count_json_values};
use crate::own_json::read_own_json;
use crate::request::ModelRequest;
use crate::response::Chunk;
use crate::stream::{ChunkStream, refuse_blocked};
use crate::{Cancel, Model, Provider};

/// The size limit of a replay file.
const MAX_REPLAY_FILE_BYTES: u64 = 64 << 20;
/// The largest number of JSON values in one line.
const MAX_LINE_VALUES: usize = 1_000_000;

/// The kind of request that a line answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedMethod {
    /// A streamed answer.
    GenerateContentStream,
    /// A whole answer.
    GenerateContent,
    /// A token count.
    CountTokens,
    /// An embedding, supported so that such lines parse; no request asks for one.
    EmbedContent,
}

impl RecordedMethod {
    const ALL: [Self; 4] = [Self::GenerateContentStream, Self::GenerateContent, Self::CountTokens, Self::EmbedContent];

    /// Returns the name in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GenerateContentStream => "generateContentStream",
            Self::GenerateContent => "generateContent",
            Self::CountTokens => "countTokens",
            Self::EmbedContent => "embedContent",
        }
    }
}

impl fmt::Display for RecordedMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The order in which lines answer requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayOrder {
    /// The next line answers; another method on it is an error.
    Strict,
    /// The first remaining line of the request's method answers.
    ByMethod,
}

/// Why a replay has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("cannot read replay file {}: {source}", .path.display())]
    Read {
        /// The path of the replay file.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: hookwright_disk::ReadError,
    },
    /// A line is not a recorded answer.
    #[error("{}:{line}: {reason}", .path.display())]
    Line {
        /// The path of the replay file.
        path: PathBuf,
        /// The line number, counted from 1.
        line: usize,
        /// The parse error or the unknown method.
        reason: String,
    },
    /// The next line answers another kind of request.
    #[error("{}:{line}: the next recorded answer is for {recorded}, but the request is {asked}", .path.display())]
    WrongMethod {
        /// The path of the replay file.
        path: PathBuf,
        /// The line number, counted from 1.
        line: usize,
        /// The method that the line answers.
        recorded: RecordedMethod,
        /// The method of the request.
        asked: RecordedMethod,
    },
    /// No line is left. The message is Gemini CLI's, because test harnesses search for it.
    #[error("No more mock responses for {asked}, got request:\n{request}")]
    Exhausted {
        /// The method of the request.
        asked: RecordedMethod,
        /// The request as JSON.
        request: String,
    },
}

impl ReplayError {
    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Read { .. } => Some("--record-responses FILE writes such a file"),
            Self::Line { .. } => Some(r#"each line is {"method": "generateContentStream", "response": [chunk, …]}"#),
            Self::WrongMethod { .. } => Some("reorder the file, or use --fake-responses-non-strict"),
            Self::Exhausted { .. } => None,
        }
    }
}

#[derive(Debug)]
struct RecordedLine {
    line: usize,
    answer: RecordedAnswer,
}

#[derive(Debug)]
enum RecordedAnswer {
    /// Each piece is checked when the file is loaded and parsed again on use, because the text takes the least memory.
    Stream(Vec<Box<RawValue>>),
    Whole(Box<Chunk>),
    Count(u64),
    Embedding,
}

impl RecordedAnswer {
    fn method(&self) -> RecordedMethod {
        match self {
            Self::Stream(_) => RecordedMethod::GenerateContentStream,
            Self::Whole(_) => RecordedMethod::GenerateContent,
            Self::Count(_) => RecordedMethod::CountTokens,
            Self::Embedding => RecordedMethod::EmbedContent,
        }
    }
}

/// A model that answers from a file.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    order: ReplayOrder,
    remaining: Mutex<VecDeque<RecordedLine>>,
}

impl Replay {
    /// Reads and checks the whole file, so that errors appear at once and not in the middle of a turn.
    ///
    /// # Errors
    /// When the file cannot be read or a line is not a recorded answer.
    pub fn load(path: impl Into<PathBuf>, order: ReplayOrder) -> Result<Self, ReplayError> {
        let path = path.into();
        match hookwright_disk::read_text(&path, MAX_REPLAY_FILE_BYTES) {
            Ok(text) => Self::parse(path, &text, order),
            Err(source) => Err(ReplayError::Read { path, source }),
        }
    }

    /// Reads the lines from a text; `path` only appears in errors.
    ///
    /// # Errors
    /// When a line is not a recorded answer.
    pub fn parse(path: impl Into<PathBuf>, text: &str, order: ReplayOrder) -> Result<Self, ReplayError> {
        let path = path.into();
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        let left = lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| parse_line(&path, at + 1, line))
            .collect::<Result<_, _>>()?;
        Ok(Self { path, order, remaining: Mutex::new(left) })
    }

    fn next_answer(&self, asked: RecordedMethod, request: &ModelRequest) -> Result<RecordedAnswer, ReplayError> {
        let mut left = self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match self.order {
            ReplayOrder::Strict => left.pop_front(),
            ReplayOrder::ByMethod => {
                let at = left.iter().position(|recorded| recorded.answer.method() == asked);
                at.and_then(|at| left.remove(at))
            }
        };
        let Some(RecordedLine { line, answer }) = next else {
            let request = serde_json::to_string(request).unwrap_or_default();
            return Err(ReplayError::Exhausted { asked, request });
        };
        let recorded = answer.method();
        if recorded == asked {
            return Ok(answer);
        }
        Err(ReplayError::WrongMethod { path: self.path.clone(), line, recorded, asked })
    }
}

fn parse_line(path: &Path, line: usize, text: &str) -> Result<RecordedLine, ReplayError> {
    #[derive(Deserialize)]
    struct ReplayLineWire<'a> {
        method: String,
        #[serde(borrow)]
        response: &'a RawValue,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RecordedCountWire {
        total_tokens: u64,
    }
    let wrong = |reason: String| ReplayError::Line { path: path.to_owned(), line, reason };
    if count_json_values(text.as_bytes()) > MAX_LINE_VALUES {
        return Err(wrong(format!("an answer of more than {MAX_LINE_VALUES} values")));
    }
    let json = |error: serde_json::Error| wrong(error.to_string());
    let ReplayLineWire { method, response } = serde_json::from_str(text).map_err(json)?;
    let method = RecordedMethod::ALL.into_iter().find(|known| known.as_str() == method).ok_or_else(|| {
        wrong(format!(
            "unknown method `{method}`, expected one of {}",
            RecordedMethod::ALL.map(RecordedMethod::as_str).join(", ")
        ))
    })?;
    let json = |error: serde_json::Error| wrong(format!("response of {method}: {error}"));
    let body = response.get().as_bytes();
    let answer = match method {
        RecordedMethod::GenerateContentStream => RecordedAnswer::Stream(parse_pieces(response.get()).map_err(json)?),
        RecordedMethod::GenerateContent => RecordedAnswer::Whole(read_own_json(body).map_err(json)?),
        RecordedMethod::CountTokens => {
            RecordedAnswer::Count(read_own_json::<RecordedCountWire>(body).map_err(json)?.total_tokens)
        }
        RecordedMethod::EmbedContent => RecordedAnswer::Embedding,
    };
    Ok(RecordedLine { line, answer })
}

/// Returns the pieces of a streamed answer after checking that each is a valid chunk.
fn parse_pieces(body: &str) -> Result<Vec<Box<RawValue>>, serde_json::Error> {
    let pieces: Vec<Box<RawValue>> = serde_json::from_str(body)?;
    for piece in &pieces {
        if count_json_values(piece.get().as_bytes()) > MAX_JSON_VALUES {
            return Err(serde::de::Error::custom(format!("a piece of more than {MAX_JSON_VALUES} values")));
        }
        read_own_json::<Chunk>(piece.get().as_bytes())?;
    }
    Ok(pieces)
}

impl Model for Replay {
    fn name(&self) -> &str {
        "replay"
    }

    fn provider(&self) -> Provider {
        Provider::Replay
    }

    async fn stream(&self, request: &ModelRequest, cancel: &Cancel) -> Result<ChunkStream, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        let pieces = match self.next_answer(RecordedMethod::GenerateContentStream, request)? {
            RecordedAnswer::Stream(pieces) => pieces,
            _ => Vec::new(),
        };
        Ok(ChunkStream::from_recorded(pieces, cancel))
    }

    async fn generate(&self, request: &ModelRequest, cancel: &Cancel) -> Result<Chunk, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        match self.next_answer(RecordedMethod::GenerateContent, request)? {
            RecordedAnswer::Whole(chunk) => refuse_blocked(*chunk),
            _ => Ok(Chunk::default()),
        }
    }

    async fn count_tokens(&self, request: &ModelRequest, _cancel: &Cancel) -> Result<u64, ModelError> {
        match self.next_answer(RecordedMethod::CountTokens, request)? {
            RecordedAnswer::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;
    use std::sync::Arc;

    const REPLAY_TEXT: &str = concat!(
        r#"{"method":"generateContentStream","response":[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"usageMetadata":{}}]}"#,
        "\n\n  \r\n",
        r#"{"method":"generateContent","response":{"candidates":[{"content":{"parts":[{"text":"b"}]}}]}}"#,
        "\n",
        r#"{"method":"embedContent","response":{"embeddings":[]}}"#,
        "\n",
        r#"{"method":"countTokens","response":{"totalTokens":7}}"#,
    );

    fn request() -> ModelRequest {
        ModelRequest::new("m", vec![Arc::new(Content::user_text("hi"))])
    }

    async fn stream_text(replay: &Replay) -> Result<String, ModelError> {
        let stream = replay.stream(&request(), &Cancel::new()).await?;
        Ok(stream.collect().await?.text())
    }

    #[tokio::test]
    async fn lines_answer_in_order() {
        let replay = Replay::parse("f", REPLAY_TEXT, ReplayOrder::Strict).unwrap();
        let cancel = Cancel::new();
        assert_eq!(stream_text(&replay).await.unwrap(), "a");
        assert_eq!(replay.generate(&request(), &cancel).await.unwrap().text(), "b");
        let wrong = replay.count_tokens(&request(), &cancel).await.unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "f:5: the next recorded answer is for embedContent, but the request is countTokens"
        );
        assert!(wrong.hint().unwrap().contains("non-strict"));
        assert_eq!(replay.count_tokens(&request(), &cancel).await.unwrap(), 7);
        let out = stream_text(&replay).await.unwrap_err().to_string();
        assert_eq!(
            out,
            "No more mock responses for generateContentStream, got request:\n\
             {\"model\":\"m\",\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}],\"config\":{}}"
        );
    }

    #[tokio::test]
    async fn by_method_each_request_takes_a_line_of_its_method() {
        let replay = Replay::parse("f", REPLAY_TEXT, ReplayOrder::ByMethod).unwrap();
        let cancel = Cancel::new();
        assert_eq!(replay.count_tokens(&request(), &cancel).await.unwrap(), 7);
        assert_eq!(replay.generate(&request(), &cancel).await.unwrap().text(), "b");
        assert_eq!(stream_text(&replay).await.unwrap(), "a");
        let out = replay.generate(&request(), &cancel).await.unwrap_err();
        assert!(out.to_string().starts_with("No more mock responses for generateContent, got request:"));
    }

    #[test]
    fn an_invalid_line_is_named_with_its_number() {
        let error = |text: &str| Replay::parse("dir/f.jsonl", text, ReplayOrder::Strict).unwrap_err().to_string();
        assert!(error("\n{\"method\":").starts_with("dir/f.jsonl:2: EOF while parsing"));
        assert!(
            error(r#"{"method":"x","response":1}"#)
                .contains("unknown method `x`, expected one of generateContentStream")
        );
        assert!(
            error(r#"{"method":"generateContentStream","response":{}}"#)
                .contains("response of generateContentStream: invalid type: map, expected a sequence")
        );
        assert!(error(r#"{"response":[]}"#).contains("missing field `method`"));
    }

    #[test]
    fn a_missing_replay_file_is_named() {
        let error = Replay::load("/nonexistent/x.jsonl", ReplayOrder::Strict).unwrap_err();
        assert!(error.to_string().starts_with("cannot read replay file /nonexistent/x.jsonl: "));
    }
}
