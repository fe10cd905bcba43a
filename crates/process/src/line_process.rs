//! Exchange of lines with a process. It does not interpret the lines.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::system::{Process, ProcessStdin, ProcessStdout, spawn_interactive};
use crate::{CaptureLimit, Exit, FinishedProcess, OutputCallback, ProcessGroups, ProgramSpec, TerminationWait};

/// A process whose stdin and stdout the caller writes and reads, both at once.
///
/// Waiting for the process passes its stderr to the callback. Dropping it ends the process with its whole group.
pub struct PipedProcess {
    /// The running process.
    pub process: Process,
    /// The process's standard input; dropping it ends the input.
    pub stdin: ProcessStdin,
    /// The process's standard output.
    pub stdout: ProcessStdout,
}

impl PipedProcess {
    /// Starts a program, whose stderr is passed to `complaints`.
    ///
    /// # Errors
    /// Returns the system's error if the program cannot be started or its pipes cannot be made.
    pub fn spawn(
        program: &mut ProgramSpec<'_>,
        complaints: OutputCallback,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Self> {
        let (process, to, from) = spawn_interactive(program, CaptureLimit::Head(0), Some(complaints), groups)?;
        Ok(PipedProcess { process, stdin: to, stdout: from })
    }
}

/// A process that reads lines and answers with lines. Dropping it ends the process with its whole group.
pub struct LineProcess {
    process: Process,
    stdin: Option<ProcessStdin>,
    stdout: ProcessStdout,
    read_buffer: Vec<u8>,
    max_line_bytes: usize,
}

/// The reason why a line could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadLineError {
    /// The next line is longer than the limit. No further line can be read.
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    /// The process closed its output in the middle of a line.
    #[error("the last line is not complete")]
    UnterminatedLine,
    /// Reading from the process failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LineProcess {
    /// Starts a program. A line of its output may have `longest` bytes; `complaints` is the captured part of its
    /// stderr.
    ///
    /// # Errors
    /// Returns the system's error if the program cannot be started or its pipes cannot be made.
    pub fn spawn(
        program: &mut ProgramSpec<'_>,
        longest: usize,
        complaints: CaptureLimit,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Self> {
        let (process, to, from) = spawn_interactive(program, complaints, None, groups)?;
        Ok(LineProcess { process, stdin: Some(to), stdout: from, read_buffer: Vec::new(), max_line_bytes: longest })
    }

    /// Returns the process id, which is also that of its group and, on Linux and macOS, of its session.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Writes one line, and waits for as long as the process does not read.
    ///
    /// If the future is dropped, half a line may have been written, and the connection cannot be used any more.
    ///
    /// # Errors
    /// Returns an error if the text has a line break, if stdin was closed, or if the process does not read any more.
    pub async fn write_line(&mut self, line: &str) -> io::Result<()> {
        if line.contains('\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than one line"));
        }
        let bytes = [line.as_bytes(), b"\n"].concat();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let Some(to) = &mut self.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
            tokio::select! {
                biased;
                written = to.write(rest) => rest = &rest[written?..],
                () = self.process.wait_for_stderr() => {}
            }
        }
        Ok(())
    }

    /// Reads the next line, without its line break; `None` once the process has closed its output. Cancel-safe.
    ///
    /// # Errors
    /// Returns an error if the line is too long or has no end, or if reading fails.
    pub async fn read_line(&mut self) -> Result<Option<Vec<u8>>, ReadLineError> {
        // The bytes before `seen` hold no line break.
        let mut seen = 0;
        loop {
            if let Some(end) = self.read_buffer[seen..].iter().position(|byte| *byte == b'\n').map(|end| seen + end) {
                if end > self.max_line_bytes {
                    return Err(ReadLineError::TooLong(self.max_line_bytes));
                }
                let rest = self.read_buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.read_buffer, rest);
                line.pop();
                return Ok(Some(line));
            }
            if self.read_buffer.len() > self.max_line_bytes {
                return Err(ReadLineError::TooLong(self.max_line_bytes));
            }
            seen = self.read_buffer.len();
            let mut buffer = [0; 8 << 10];
            let count = tokio::select! {
                biased;
                count = self.stdout.read(&mut buffer) => count?,
                () = self.process.wait_for_stderr() => continue,
            };
            match count {
                0 if self.read_buffer.is_empty() => return Ok(None),
                0 => return Err(ReadLineError::UnterminatedLine),
                count => self.read_buffer.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Closes stdin, so that the process reads the end of its input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    /// Returns an error if the end of the process could not be observed.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        self.process.wait().await
    }

    /// Closes stdin, sends SIGTERM to the whole group, waits at most the grace period, and then kills it.
    pub async fn terminate(&mut self, grace: Duration, until: TerminationWait) {
        self.close_stdin();
        self.process.terminate(grace, until).await;
    }

    /// Returns the captured stderr, and whether the group still has members.
    pub fn finish(self) -> FinishedProcess {
        self.process.finish()
    }
}
