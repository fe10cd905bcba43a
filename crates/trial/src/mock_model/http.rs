//! The part of HTTP/1.1 that the agents' clients need: one request per connection, bodies by length or in chunks.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// The largest request; more than an agent sends.
const MAX_REQUEST_BYTES: u64 = 64 << 20;

pub(super) struct MockHttpRequest {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: Vec<u8>,
}

impl MockHttpRequest {
    /// Returns the target without its query.
    pub(super) fn path(&self) -> String {
        self.target.split('?').next().unwrap_or_default().to_owned()
    }
}

pub(super) struct MockHttpResponse {
    status: &'static str,
    content_type: &'static str,
    body: Vec<u8>,
}

impl MockHttpResponse {
    pub(super) fn json(value: &Value) -> Self {
        MockHttpResponse { status: "200 OK", content_type: "application/json", body: value.to_string().into_bytes() }
    }

    /// Creates a stream of events; some wire formats name them.
    pub(super) fn event_stream(events: impl IntoIterator<Item = (Option<&'static str>, String)>) -> Self {
        let mut body = String::new();
        for (name, data) in events {
            if let Some(name) = name {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {data}\n\n"));
        }
        MockHttpResponse { status: "200 OK", content_type: "text/event-stream", body: body.into_bytes() }
    }

    pub(super) fn not_found() -> Self {
        let body = br#"{"error": {"message": "the stand-in has no such address", "type": "not_found"}}"#;
        MockHttpResponse { status: "404 Not Found", content_type: "application/json", body: body.to_vec() }
    }
}

/// Reads the request of a connection; `None` if it is malformed.
pub(super) async fn read_request(stream: &mut TcpStream) -> Option<MockHttpRequest> {
    let mut reader = BufReader::new(stream.take(MAX_REQUEST_BYTES));
    let first = read_line(&mut reader).await?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut chunked) = (0, false);
    loop {
        let line = read_line(&mut reader).await?;
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "transfer-encoding" => chunked = value.to_ascii_lowercase().contains("chunked"),
            "expect" => reader.get_mut().get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?,
            _ => {}
        }
    }
    let body = if chunked { read_chunks(&mut reader).await? } else { read_exactly(&mut reader, length).await? };
    Some(MockHttpRequest { method, target, body })
}

type RequestReader<'a> = BufReader<tokio::io::Take<&'a mut TcpStream>>;

async fn read_line(reader: &mut RequestReader<'_>) -> Option<String> {
    let mut line = String::new();
    let read = reader.read_line(&mut line).await.ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

async fn read_exactly(reader: &mut RequestReader<'_>, length: u64) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body).await.ok()?;
    (body.len() as u64 == length).then_some(body)
}

async fn read_chunks(reader: &mut RequestReader<'_>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = read_line(reader).await?;
        let size = u64::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        body.extend(read_exactly(reader, size).await?);
        read_line(reader).await?;
        if size == 0 {
            return Some(body);
        }
    }
}

/// Writes a response and closes the connection.
pub(super) async fn write_response(stream: &mut TcpStream, answer: &MockHttpResponse) -> io::Result<()> {
    let MockHttpResponse { status, content_type: kind, body } = answer;
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}
