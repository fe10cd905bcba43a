//! A message of the protocol: one line of JSON, of which only the envelope is read. Messages that pass keep their bytes.

use std::borrow::Cow;

use hookwright_hooks::strict_json;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The error code of a refused request. `-32000` would make an editor ask the user to sign in.
const REFUSED_CODE: i64 = -32001;
const INVALID_REQUEST_CODE: i64 = -32600;
const INTERNAL_ERROR_CODE: i64 = -32603;

/// What a line is.
#[derive(Debug)]
pub(super) enum RpcMessage<'l> {
    /// A request, or a notification if it has no id.
    Call {
        id: Option<MessageId>,
        method: Cow<'l, str>,
        params: Option<&'l RawValue>,
    },
    Response {
        id: Option<MessageId>,
        result: Option<&'l RawValue>,
        error: Option<&'l RawValue>,
    },
    /// Several messages in one line, which the protocol does not have.
    Batch,
    Blank,
    /// The line is no message, or two programs could read it in two ways.
    Malformed(String),
}

/// The id of a request, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessageId(String);

impl MessageId {
    fn new(raw: &RawValue) -> MessageId {
        MessageId(raw.get().to_owned())
    }

    /// Returns the same text for ids that are equal, however they are written.
    pub(super) fn key(&self) -> String {
        match serde_json::from_str(&self.0) {
            Ok(Value::Number(number)) => match number.as_f64() {
                Some(float) if number.as_i64().is_none() && float.fract() == 0.0 && float.abs() < 9e15 => {
                    format!("{float:.0}")
                }
                _ => number.to_string(),
            },
            Ok(value) => value.to_string(),
            Err(_) => self.0.clone(),
        }
    }

    /// Returns an id of a request of the guard's own, which no other program uses.
    pub(super) fn own() -> MessageId {
        MessageId(format!("\"hookwright-{}\"", uuid::Uuid::new_v4()))
    }
}

/// The fields that decide what a message is. A field that is there twice is an error.
#[derive(Deserialize)]
struct Envelope<'l> {
    #[serde(borrow, default)]
    id: Option<&'l RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'l, str>>,
    #[serde(borrow, default)]
    params: Option<&'l RawValue>,
    #[serde(borrow, default)]
    result: Option<&'l RawValue>,
    #[serde(borrow, default)]
    error: Option<&'l RawValue>,
}

impl<'l> RpcMessage<'l> {
    pub(super) fn parse(line: &'l [u8]) -> RpcMessage<'l> {
        match line.trim_ascii_start().first() {
            None => return RpcMessage::Blank,
            Some(b'[') => return RpcMessage::Batch,
            Some(b'{') => {}
            Some(_) => return RpcMessage::Malformed("it is no JSON object".to_owned()),
        }
        let Ok(text) = str::from_utf8(line) else { return RpcMessage::Malformed("it is not UTF-8".to_owned()) };
        let envelope: Envelope<'l> = match serde_json::from_str(text) {
            Ok(envelope) => envelope,
            Err(error) => return RpcMessage::Malformed(error.to_string()),
        };
        let Envelope { id, method, params, result, error } = envelope;
        let id = id.map(MessageId::new);
        match method {
            Some(_) if result.is_some() || error.is_some() => {
                RpcMessage::Malformed("it is a request and a response at once".to_owned())
            }
            Some(method) => RpcMessage::Call { id, method, params },
            None => RpcMessage::Response { id, result, error },
        }
    }
}

/// Returns parameters as an object of which every program reads the same.
pub(super) fn strict_params(params: Option<&RawValue>) -> Result<Map<String, Value>, String> {
    let params = params.ok_or("it has no parameters")?;
    strict_json::object_from_slice(params.get().as_bytes()).map_err(|error| format!("its parameters: {error}"))
}

/// Returns the fields of an object that decides nothing; none if it can't be read.
pub(super) fn lenient_object(raw: Option<&RawValue>) -> Map<String, Value> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Returns a message as a line.
pub(super) fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

pub(super) fn request(id: &MessageId, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id.0.trim_matches('"'), "method": method, "params": params}))
}

pub(super) fn notification(method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

pub(super) fn result(id: &MessageId, result: &Value) -> Vec<u8> {
    response(Some(id), "result", result)
}

/// Returns the answer to a request that hooks refuse.
pub(super) fn refused(id: &MessageId, reason: &str) -> Vec<u8> {
    error(Some(id), REFUSED_CODE, reason)
}

/// Returns the answer to a request that is not valid; without an id, to a line of which the id is not known.
pub(super) fn invalid(id: Option<&MessageId>, reason: &str) -> Vec<u8> {
    error(id, INVALID_REQUEST_CODE, reason)
}

/// Returns the answer to a request that the other side does not answer any more.
pub(super) fn abandoned(id: &MessageId, reason: &str) -> Vec<u8> {
    error(Some(id), INTERNAL_ERROR_CODE, reason)
}

fn error(id: Option<&MessageId>, code: i64, message: &str) -> Vec<u8> {
    response(id, "error", &json!({"code": code, "message": message}))
}

/// Returns a response whose id is written as the request had it.
fn response(id: Option<&MessageId>, field: &str, value: &Value) -> Vec<u8> {
    let id = id.map_or("null", |id| &id.0);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{field}\":{value}}}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(line: &str) -> Option<MessageId> {
        match RpcMessage::parse(line.as_bytes()) {
            RpcMessage::Call { id, .. } | RpcMessage::Response { id, .. } => id,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn ids_of_any_type_are_kept_and_compared() {
        for id in ["1", "\"a\"", "\"\\u0061\"", "1.5", "[1]", "{\"a\": 1}", "-7", "18446744073709551615", "1e400"] {
            let read = id_of(&format!("{{\"id\": {id}, \"method\": \"m\"}}")).unwrap();
            assert_eq!(read.0, id);
            assert!(!read.key().is_empty());
        }
        let key = |id: &str| id_of(&format!("{{\"id\":{id},\"result\":1}}")).unwrap().key();
        assert_eq!(key("\"\\u0061\""), key("\"a\""));
        assert_eq!(key("1.0"), key("1"));
        assert_ne!(key("1"), key("\"1\""));
        assert_eq!(id_of("{\"method\":\"m\"}"), None);
        assert_eq!(id_of("{\"id\":null,\"method\":\"m\"}"), None);
    }

    #[test]
    fn a_line_that_could_be_read_in_two_ways_is_malformed() {
        for line in [
            &b"hello"[..],
            b"{\"method\":\"a\",\"method\":\"fs/write_text_file\"}",
            b"{\"method\":\"a\",\"m\\u0065thod\":\"fs/write_text_file\"}",
            b"{\"id\":1,\"method\":\"a\",\"result\":1}",
            b"{\"method\":\"a\"} {\"method\":\"b\"}",
            b"{\"method\":7}",
            b"{\"method\":\"a\",}",
            b"{\"method\":\"a\",\"x\":\"\xff\"}",
            b"\xef\xbb\xbf{\"method\":\"a\"}",
            b"{\"method\":\"a\"",
            b"nul",
        ] {
            let read = RpcMessage::parse(line);
            assert!(matches!(read, RpcMessage::Malformed(_)), "{}: {read:?}", String::from_utf8_lossy(line));
        }
        assert!(matches!(RpcMessage::parse(b" [{}]"), RpcMessage::Batch));
        assert!(matches!(RpcMessage::parse(b" \r\n"), RpcMessage::Blank));
        let deep = format!("{{\"method\":\"a\",\"params\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        let read = RpcMessage::parse(deep.as_bytes());
        assert!(matches!(read, RpcMessage::Call { .. } | RpcMessage::Malformed(_)));
        if let RpcMessage::Call { params, .. } = read {
            assert!(strict_params(params).is_err());
        }
    }

    #[test]
    fn parameters_without_doubt_are_read() {
        let params = |text: &str| {
            let line = format!("{{\"method\":\"m\",\"params\":{text}}}");
            match RpcMessage::parse(line.as_bytes()) {
                RpcMessage::Call { params, .. } => strict_params(params),
                other => panic!("{other:?}"),
            }
        };
        assert!(params("{\"path\":\"a\"}").is_ok());
        assert!(params("{\"path\":\"a\",\"path\":\"b\"}").is_err());
        assert!(params("{\"path\":\"\\ud800\"}").is_err());
        assert!(params("[]").is_err());
        assert!(params("null").is_err());
    }
}
