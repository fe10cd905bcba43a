//! As much of HTTP/1.1 as the agents' clients need: one request per connection, bodies by length or in chunks.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// No agent's first request is as long as this.
const LONGEST: u64 = 64 << 20;

/// One request.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The target without its query.
    pub(super) fn path(&self) -> String {
        self.target.split('?').next().unwrap_or_default().to_owned()
    }
}

/// One answer.
pub(super) struct Answer {
    status: &'static str,
    kind: &'static str,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(value: &Value) -> Self {
        Answer { status: "200 OK", kind: "application/json", body: value.to_string().into_bytes() }
    }

    /// A stream of events; those of some wires have names.
    pub(super) fn events(events: impl IntoIterator<Item = (Option<&'static str>, String)>) -> Self {
        let mut body = String::new();
        for (name, data) in events {
            if let Some(name) = name {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {data}\n\n"));
        }
        Answer { status: "200 OK", kind: "text/event-stream", body: body.into_bytes() }
    }

    pub(super) fn not_found() -> Self {
        let body = br#"{"error": {"message": "the stand-in knows no such place", "type": "not_found"}}"#;
        Answer { status: "404 Not Found", kind: "application/json", body: body.to_vec() }
    }
}

/// The request on a connection, if it is one.
pub(super) async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream.take(LONGEST));
    let first = line(&mut reader).await?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut chunked) = (0, false);
    loop {
        let line = line(&mut reader).await?;
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "transfer-encoding" => chunked = value.to_ascii_lowercase().contains("chunked"),
            "expect" => reader.get_mut().get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?,
            _ => {}
        }
    }
    let body = if chunked { chunks(&mut reader).await? } else { exactly(&mut reader, length).await? };
    Some(Request { method, target, body })
}

type Reader<'a> = BufReader<tokio::io::Take<&'a mut TcpStream>>;

async fn line(reader: &mut Reader<'_>) -> Option<String> {
    let mut line = String::new();
    let read = reader.read_line(&mut line).await.ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

async fn exactly(reader: &mut Reader<'_>, length: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).await.ok()?;
    (body.len() as u64 == length).then_some(body)
}

async fn chunks(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(reader).await?;
        let size = u64::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        body.extend(exactly(reader, size).await?);
        line(reader).await?;
        if size == 0 {
            return Some(body);
        }
    }
}

/// Writes an answer and closes the connection.
pub(super) async fn write(stream: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer { status, kind, body } = answer;
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}
