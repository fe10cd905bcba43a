//! The agent behind the guard: a child process that is ended, with its group, when the connection ends.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use hookwright_process::{
    Exit, PipedProcess, Process, ProcessGroups, ProcessStdin, ProcessStdout, ProgramSpec, TerminationWait, signal_name,
};
use hookwright_settings::ProcessEnv;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::transport::{MAX_MESSAGE_BYTES, message_too_long};
use crate::{exit, output};

/// How long the agent may take to end after its input is closed, and after SIGTERM.
const STDIN_CLOSE_GRACE_PERIOD: Duration = Duration::from_secs(5);
const TERMINATE_GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Messages to the agent that wait before their sender waits.
const MAX_UNWRITTEN_MESSAGES: usize = 256;
/// Pieces of the agent's stderr that wait to be printed; more are dropped.
const MAX_UNPRINTED_PIECES: usize = 64;
/// The exit code of a process that a signal ended is this and the signal's number, as a shell reports it.
const SIGNAL_EXIT_BASE: i32 = 128;

/// Why the agent could not be started, and the exit code that says so.
pub(super) struct AgentStartError {
    pub(super) message: String,
    pub(super) exit_code: u8,
}

impl AgentStartError {
    fn not_found(name: &str) -> AgentStartError {
        AgentStartError { message: format!("there is no program {name}"), exit_code: exit::NOT_FOUND }
    }
}

/// The running agent.
pub(super) struct AgentProcess {
    pub(super) incoming: Receiver<io::Result<Vec<u8>>>,
    pub(super) outgoing: Sender<Vec<u8>>,
    pub(super) watch: AgentWatch,
}

/// The process's end.
pub(super) struct AgentWatch {
    /// Cancelled once the process has ended.
    pub(super) exited: CancellationToken,
    ending: CancellationToken,
    watcher: JoinHandle<Option<Exit>>,
}

impl AgentProcess {
    pub(super) fn spawn(words: &[OsString], process_env: &ProcessEnv) -> Result<AgentProcess, AgentStartError> {
        let (command, args) = words.split_first().ok_or_else(|| AgentStartError::not_found(""))?;
        let name = command.to_string_lossy();
        let cwd: &Path = &process_env.cwd;
        let program = hookwright_tools::find_program(&name, process_env.var_os("PATH"), cwd)
            .ok_or_else(|| AgentStartError::not_found(&name))?;
        let env = process_env.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let mut env = env.collect::<Vec<(&OsStr, &OsStr)>>().into_iter();
        let mut spec = ProgramSpec { path: &program, name: command, args, cwd, cwd_handle: None, env: &mut env };
        let failed = |error: io::Error| AgentStartError {
            message: format!("{} can't be started: {error}", program.display()),
            exit_code: exit::NOT_EXECUTABLE,
        };
        let pieces = print_stderr().map_err(failed)?;
        let on_stderr = Box::new(move |piece: &[u8]| drop(pieces.try_send(piece.to_vec())));
        let pipes = PipedProcess::spawn(&mut spec, on_stderr, &Arc::new(ProcessGroups::default())).map_err(failed)?;
        let (line_sender, incoming) = channel(1);
        tokio::spawn(read_lines(pipes.stdout, line_sender));
        let (outgoing, messages) = channel(MAX_UNWRITTEN_MESSAGES);
        tokio::spawn(write_lines(pipes.stdin, messages));
        let (ending, exited) = (CancellationToken::new(), CancellationToken::new());
        let watcher = tokio::spawn(watch_process(pipes.process, ending.clone(), exited.clone()));
        Ok(AgentProcess { incoming, outgoing, watch: AgentWatch { exited, ending, watcher } })
    }
}

impl AgentWatch {
    /// Waits until the process has ended, however it does; none if its end could not be observed.
    pub(super) async fn end(self) -> Option<Exit> {
        self.ending.cancel();
        self.watcher.await.ok().flatten()
    }
}

/// Returns the exit code that a shell would report.
pub(super) fn exit_code(exit: Option<Exit>) -> u8 {
    match exit {
        Some(Exit::Code(code)) => u8::try_from(code).unwrap_or(exit::ERROR),
        Some(Exit::Signal(signal)) => u8::try_from(SIGNAL_EXIT_BASE + signal).unwrap_or(exit::ERROR),
        None => exit::ERROR,
    }
}

/// Returns how a process ended, as the rest of a sentence.
pub(super) fn describe_exit(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("exited with code {code}"),
        Some(Exit::Signal(number)) => match signal_name(number) {
            Some(name) => format!("was ended by {name}"),
            None => format!("was ended by signal {number}"),
        },
        None => "ended".to_owned(),
    }
}

/// Passes the process's stderr on until it has ended; once that is wanted, gives it some time and ends its group.
async fn watch_process(mut process: Process, ending: CancellationToken, exited: CancellationToken) -> Option<Exit> {
    let mut exit = tokio::select! {
        exit = process.wait() => exit.ok(),
        () = ending.cancelled() => {
            // Its input is closed, which asks it to end.
            tokio::time::timeout(STDIN_CLOSE_GRACE_PERIOD, process.wait()).await.ok().and_then(Result::ok)
        }
    };
    if exit.is_none() {
        process.terminate(TERMINATE_GRACE_PERIOD, TerminationWait::Group).await;
        exit = process.wait().await.ok();
    }
    process.terminate_group(Duration::ZERO).await;
    exited.cancel();
    exit
}

/// Prints pieces of stderr on a thread, because a reader of this program's stderr may be slow.
fn print_stderr() -> io::Result<SyncSender<Vec<u8>>> {
    let (sender, pieces) = sync_channel::<Vec<u8>>(MAX_UNPRINTED_PIECES);
    std::thread::Builder::new().name("acp-agent-log".to_owned()).spawn(move || {
        for piece in pieces {
            let mut stderr = output::stderr();
            let _ = stderr.write_all(&piece).and_then(|()| stderr.flush());
        }
    })?;
    Ok(sender)
}

async fn read_lines(stdout: ProcessStdout, sender: Sender<io::Result<Vec<u8>>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let read = (&mut stdout).take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line).await;
        let message = match read {
            Ok(0) => return,
            Ok(_) if line.len() as u64 == MAX_MESSAGE_BYTES && !line.ends_with(b"\n") => Err(message_too_long()),
            Ok(_) => Ok(line),
            Err(error) => Err(error),
        };
        let is_end = message.is_err();
        if sender.send(message).await.is_err() || is_end {
            return;
        }
    }
}

async fn write_lines(mut stdin: ProcessStdin, mut messages: Receiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        // The agent may have ended; its output says so.
        if stdin.write_all(&message).await.is_err() {
            return;
        }
    }
}
