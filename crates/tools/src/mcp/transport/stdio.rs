//! Servers that are programs on this machine: started as child processes, with one message per line over pipes.

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hookwright_process::{
    Exit, PipedProcess, Process, ProcessStdin, ProcessStdout, ProgramSpec, TerminationWait, signal_name,
};
use hookwright_settings::{McpServer, McpTransport};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::inbound::InboundScreen;
use super::sse::{MESSAGE_QUEUE_CAPACITY, forward_message};
use super::{DisconnectReason, MAX_MESSAGE_BYTES, McpConnection, handshake};
use crate::mcp::access::McpAccess;
use crate::mcp::error::McpError;

/// The time that a server has to end after its input is closed, and after SIGTERM.
const STDIN_CLOSE_GRACE_PERIOD: Duration = Duration::from_millis(300);
const TERMINATE_GRACE_PERIOD: Duration = Duration::from_secs(2);

pub(super) async fn connect(server: &McpServer, access: &McpAccess) -> Result<McpConnection, McpError> {
    let stderr_tail = Arc::new(Mutex::new(StderrTail::default()));
    let pipes = spawn_server(server, access, stderr_tail.clone())?;
    let (stop, disconnect_reason) = (CancellationToken::new(), DisconnectReason::default());
    let from = BoundedLines { stdout: pipes.stdout, line_bytes: 0, disconnect_reason: disconnect_reason.clone() };
    let inbound = InboundScreen::new();
    let (sender, messages) = mpsc::channel(MESSAGE_QUEUE_CAPACITY);
    tokio::spawn(watch_process(pipes.process, stderr_tail, disconnect_reason.clone(), stop.clone()));
    tokio::spawn(forward_lines(from, sender, inbound.clone(), stop.clone()));
    let to = Arc::new(tokio::sync::Mutex::new(Some(pipes.stdin)));
    handshake(
        StdioTransport { stdin: to, messages, inbound: inbound.clone() },
        access,
        &inbound,
        disconnect_reason,
        stop,
    )
    .await
}

/// Reads a program's messages line by line, until its output ends.
async fn forward_lines(
    from: BoundedLines,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    inbound: Arc<InboundScreen>,
    stop: CancellationToken,
) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        let passed = async {
            let count = from.read_until(b'\n', &mut line).await?;
            let blank = line.trim_ascii().is_empty();
            Ok::<_, io::Error>(count > 0 && (blank || forward_message(&inbound, line.trim_ascii(), &sender).await))
        };
        tokio::select! {
            passed = passed => if !passed.unwrap_or(false) { return },
            () = stop.cancelled() => return,
        }
    }
}

struct StdioTransport {
    stdin: Arc<tokio::sync::Mutex<Option<ProcessStdin>>>,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    inbound: Arc<InboundScreen>,
}

impl rmcp::transport::Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (to, inbound) = (self.stdin.clone(), self.inbound.clone());
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut to = to.lock().await;
            let Some(to) = to.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
            to.write_all(&line).await?;
            to.flush().await?;
            inbound.note_sent(&message);
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close();
        self.stdin.lock().await.take();
        Ok(())
    }
}

fn spawn_server(
    server: &McpServer,
    access: &McpAccess,
    stderr_tail: Arc<Mutex<StderrTail>>,
) -> Result<PipedProcess, McpError> {
    let McpTransport::Stdio { command, args, env, cwd } = &server.transport else {
        return Err(McpError::Unreachable("it is not a program".to_owned()));
    };
    let cwd = cwd.as_ref().map_or_else(|| access.directory.clone(), |cwd| access.directory.join(cwd));
    let failed = |why: String| McpError::SpawnFailed { command: command.clone(), why };
    if !cwd.is_dir() {
        return Err(failed(format!("there is no directory {}", cwd.display())));
    }
    let variables = access.environment.get();
    let given = variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let own = env.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let all: Vec<(&OsStr, &OsStr)> = given.chain(own).collect();
    let path = all.iter().rev().find(|(name, _)| *name == "PATH").map(|(_, value)| *value);
    let program =
        crate::shell::find_program(command, path, &cwd).ok_or_else(|| failed("there is no such program".to_owned()))?;
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let on_stderr =
        Box::new(move |piece: &[u8]| stderr_tail.lock().unwrap_or_else(PoisonError::into_inner).push(piece));
    let mut program = ProgramSpec {
        path: &program,
        name: OsStr::new(command),
        args: &args,
        cwd: &cwd,
        cwd_handle: None,
        env: &mut all.into_iter(),
    };
    PipedProcess::spawn(&mut program, on_stderr, &access.groups).map_err(|error| failed(error.to_string()))
}

/// Waits until the process ends or the connection is stopped; then ends its process group.
async fn watch_process(
    mut process: Process,
    stderr_tail: Arc<Mutex<StderrTail>>,
    disconnect_reason: DisconnectReason,
    stop: CancellationToken,
) {
    tokio::select! {
        exit = process.wait() => disconnect_reason.set_once(|| describe_exit(exit.ok(), &stderr_tail)),
        () = stop.cancelled() => {
            // Its input is closed, which asks it to end.
            let ended = tokio::time::timeout(STDIN_CLOSE_GRACE_PERIOD, process.wait()).await;
            // If the process ended first, the end of its output was seen before its exit.
            if let Ok(exit) = ended {
                disconnect_reason.set_once(|| describe_exit(exit.ok(), &stderr_tail));
            }
        }
    }
    process.terminate(TERMINATE_GRACE_PERIOD, TerminationWait::Group).await;
    process.terminate_group(Duration::ZERO).await;
    stop.cancel();
}

fn describe_exit(exit: Option<Exit>, stderr_tail: &Mutex<StderrTail>) -> String {
    let how = match exit {
        Some(Exit::Code(code)) => format!("it exited with code {code}"),
        Some(Exit::Signal(number)) => {
            format!("it was ended by {}", signal_name(number).map_or_else(|| format!("signal {number}"), str::to_owned))
        }
        None => "it ended".to_owned(),
    };
    match stderr_tail.lock().unwrap_or_else(PoisonError::into_inner).finish_last_line() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

/// Logs a server's stderr line by line, and keeps the last line, which often says why it ended.
#[derive(Default)]
struct StderrTail {
    line: Vec<u8>,
    last_line: Option<String>,
}

impl StderrTail {
    /// The length limit of a line.
    const MAX_STDERR_LINE_BYTES: usize = 2000;

    fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (words, ends) = part.strip_suffix(b"\n").map_or((part, false), |words| (words, true));
            let room = Self::MAX_STDERR_LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&words[..words.len().min(room)]);
            if ends {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = super::shorten(&String::from_utf8_lossy(&std::mem::take(&mut self.line)));
        if !line.is_empty() {
            tracing::debug!("the server says: {line}");
            self.last_line = Some(line);
        }
    }

    fn finish_last_line(&mut self) -> Option<String> {
        self.end_line();
        self.last_line.clone()
    }
}

/// A server's output, in which no line may be longer than the largest message.
struct BoundedLines {
    stdout: ProcessStdout,
    line_bytes: usize,
    disconnect_reason: DisconnectReason,
}

impl AsyncRead for BoundedLines {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stdout).poll_read(context, buffer))?;
        let piece = &buffer.filled()[before..];
        self.line_bytes = match piece.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => piece.len() - end - 1,
            None => self.line_bytes + piece.len(),
        };
        if self.line_bytes > MAX_MESSAGE_BYTES {
            self.disconnect_reason
                .set_once(|| format!("it sent a message of more than {} MiB", MAX_MESSAGE_BYTES >> 20));
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        Poll::Ready(Ok(()))
    }
}
