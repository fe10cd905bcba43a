//! A minimal HTTP server on this machine, which answers one request per connection as the test wants, and a minimal
//! browser that follows redirects. The server for HTTP hooks is in `service`.

pub mod service;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::deadline::{ListenerDeadline, ReceiverDeadline, connect_in_time};

/// A request that the test server received.
#[derive(Clone, Debug, Default)]
pub struct TestHttpRequest {
    /// The method: `GET`, `POST` …
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The part of the target after the `?`.
    pub query: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
    /// The position of the request in its connection, from 1 on.
    pub nth: usize,
}

impl TestHttpRequest {
    /// Returns a header's value; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns a field of the query or of a form in the body.
    pub fn field(&self, name: &str) -> Option<String> {
        form_field(&self.query, name).or_else(|| form_field(&self.body, name))
    }
}

/// A response of the test server.
#[derive(Debug)]
pub enum TestHttpResponse {
    /// A status, further headers, and the whole body.
    Full(u16, Vec<(String, String)>, String),
    /// Server-sent events, until the sender is dropped.
    Events(Receiver<String>),
}

impl TestHttpResponse {
    /// Creates a JSON response.
    pub fn json(value: &Value) -> TestHttpResponse {
        TestHttpResponse::Full(200, vec![("content-type".to_owned(), "application/json".to_owned())], value.to_string())
    }

    /// Creates a response with a status and no body.
    pub fn status(status: u16) -> TestHttpResponse {
        TestHttpResponse::Full(status, Vec::new(), String::new())
    }

    /// Adds a header to a full response.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> TestHttpResponse {
        match self {
            TestHttpResponse::Full(status, mut headers, body) => {
                headers.push((name.to_owned(), value.to_owned()));
                TestHttpResponse::Full(status, headers, body)
            }
            events @ TestHttpResponse::Events(_) => events,
        }
    }
}

/// A server that runs until the test program ends.
pub struct TestHttpServer {
    /// The base URL, without a slash at the end.
    pub address: String,
    requests: Arc<Mutex<Vec<TestHttpRequest>>>,
}

impl TestHttpServer {
    /// Starts a server that answers with this function.
    pub fn serve(answer: impl Fn(&TestHttpRequest) -> TestHttpResponse + Send + Sync + 'static) -> TestHttpServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (record, answer) = (requests.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.connections() {
                let (record, answer) = (record.clone(), answer.clone());
                // A client that hangs up early is no error.
                std::thread::spawn(move || handle_connection(stream, &record, answer.as_ref()));
            }
        });
        TestHttpServer { address, requests }
    }

    /// Returns the requests to this path so far.
    pub fn requests_to(&self, path: &str) -> Vec<TestHttpRequest> {
        let all = self.requests.lock().expect("nobody panicked");
        all.iter().filter(|request| request.path == path).cloned().collect()
    }
}

fn handle_connection(
    stream: TcpStream,
    record: &Mutex<Vec<TestHttpRequest>>,
    answer: &dyn Fn(&TestHttpRequest) -> TestHttpResponse,
) -> std::io::Result<()> {
    let request = read_request(&mut BufReader::new(stream.try_clone()?))?;
    record.lock().expect("nobody panicked").push(request.clone());
    let mut stream = stream;
    match answer(&request) {
        TestHttpResponse::Full(status, headers, body) => {
            let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let head =
                format!("HTTP/1.1 {status} X\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes())
        }
        TestHttpResponse::Events(events) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
            events.iter_in_time().try_for_each(|event| stream.write_all(event.as_bytes()))
        }
    }
}

fn read_request(from: &mut impl BufRead) -> std::io::Result<TestHttpRequest> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let (path, query) = words.next().map(|target| target.split_once('?').unwrap_or((target, ""))).unwrap_or_default();
    let mut request =
        TestHttpRequest { method, path: path.to_owned(), query: query.to_owned(), ..TestHttpRequest::default() };
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut body = vec![0; request.header("content-length").parse().unwrap_or(0)];
    from.read_exact(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(request)
}

/// Fetches an address on this machine, follows redirects, and returns the last status and the last response.
pub fn browse(address: &str) -> (u16, String) {
    let (place, target) = address.strip_prefix("http://").expect("an address").split_once('/').expect("a path");
    let mut stream = connect_in_time(place).expect("somebody listens");
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n").expect("it is heard");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.map_or((status, answer.clone()), |next| browse(next.trim()))
}

/// Returns a field of a query or a form, percent-decoded.
pub fn form_field(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).expect("an escape");
        bytes.push(match byte {
            b'%' => u8::try_from(hex(rest.next()) * 16 + hex(rest.next())).expect("a byte"),
            b'+' => b' ',
            byte => byte,
        });
    }
    Some(String::from_utf8(bytes).expect("text"))
}
