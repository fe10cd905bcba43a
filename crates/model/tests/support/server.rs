//! A small HTTP/1.1 server that plays one scripted reply per request and records the requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// One step of sending a reply's body.
#[derive(Debug, Clone)]
pub(crate) enum ReplyAction {
    /// Writes these bytes at once.
    Send(Vec<u8>),
    /// Pauses for this long.
    Wait(Duration),
    /// Sends nothing more and keeps the connection open.
    Hang,
    /// Closes the connection without ending the body.
    Disconnect,
}

/// How the end of the body is marked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Framing {
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone)]
pub(crate) struct ScriptedReply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    actions: Vec<ReplyAction>,
    framing: Framing,
}

impl ScriptedReply {
    pub(crate) fn new(status: u16, acts: Vec<ReplyAction>) -> Self {
        Self { status, headers: Vec::new(), actions: acts, framing: Framing::Chunked }
    }

    /// Creates a reply with these bytes as its body.
    pub(crate) fn body(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, vec![ReplyAction::Send(body.into())])
    }

    /// Creates a stream of these events.
    pub(crate) fn events<T: AsRef<str>>(events: impl IntoIterator<Item = T>) -> Self {
        let events = events.into_iter();
        let acts = events.map(|data| ReplyAction::Send(format!("data: {}\n\n", data.as_ref()).into_bytes()));
        Self::new(200, acts.collect()).header("content-type", "text/event-stream")
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Continues with these actions.
    pub(crate) fn then(mut self, acts: impl IntoIterator<Item = ReplyAction>) -> Self {
        self.actions.extend(acts);
        self
    }

    /// Marks the body's end by closing the connection, so that a cut looks like an end.
    pub(crate) fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct CapturedRequest {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl CapturedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
pub(crate) struct ScriptedServer {
    pub(crate) base: String,
    state: Arc<ScriptedServerState>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct ScriptedServerState {
    replies: Mutex<VecDeque<ScriptedReply>>,
    requests: Mutex<Vec<CapturedRequest>>,
    connections: Mutex<usize>,
}

impl ScriptedServer {
    pub(crate) async fn start(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        hookwright_testkit::watchdog::watch();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(ScriptedServerState {
            replies: Mutex::new(replies.into_iter().collect()),
            requests: Mutex::default(),
            connections: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *shared.connections.lock().unwrap() += 1;
                stream.set_nodelay(true).unwrap();
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    // Some tests close the client's connection early, so errors are ignored.
                    let _ = serve(BufReader::new(stream), &state).await;
                });
            }
        });
        Self { base, state, task }
    }

    pub(crate) fn requests(&self) -> Vec<CapturedRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.state.connections.lock().unwrap()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: BufReader<TcpStream>, state: &ScriptedServerState) -> std::io::Result<()> {
    while let Some(seen) = read_request(&mut stream).await? {
        state.requests.lock().unwrap().push(seen);
        let reply = state.replies.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| ScriptedReply::body(418, "the script is over"));
        if !play(stream.get_mut(), reply).await? {
            return Ok(());
        }
    }
    Ok(())
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<CapturedRequest>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
    stream.read_exact(&mut body).await?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(CapturedRequest { target, headers, body }))
}

/// Plays a reply; returns whether the connection can be reused.
async fn play(stream: &mut TcpStream, reply: ScriptedReply) -> std::io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(match reply.framing {
        Framing::Chunked => "transfer-encoding: chunked\r\n\r\n",
        Framing::UntilClose => "connection: close\r\n\r\n",
    });
    stream.write_all(head.as_bytes()).await?;
    for act in reply.actions {
        match act {
            ReplyAction::Send(bytes) if reply.framing == Framing::Chunked => {
                stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
                stream.write_all(&bytes).await?;
                stream.write_all(b"\r\n").await?;
            }
            ReplyAction::Send(bytes) => stream.write_all(&bytes).await?,
            ReplyAction::Wait(time) => tokio::time::sleep(time).await,
            ReplyAction::Hang => std::future::pending().await,
            ReplyAction::Disconnect => return Ok(false),
        }
    }
    if reply.framing == Framing::Chunked {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    Ok(reply.framing == Framing::Chunked)
}
