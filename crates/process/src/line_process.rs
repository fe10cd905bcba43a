//! A conversation with a process, line by line. What the lines mean is their speakers' business.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::system::{Process, ProcessStdin, ProcessStdout, spawn_interactive};
use crate::{CaptureLimit, Exit, FinishedProcess, OutputCallback, ProcessGroups, ProgramSpec, TerminationWait};

/// A process whose input and output somebody else writes and reads, both at once. Waiting for the process passes on what it
/// says on stderr; dropping it ends it with all of its group.
pub struct PipedProcess {
    /// The process.
    pub process: Process,
    /// What it reads; dropped, its input ends.
    pub stdin: ProcessStdin,
    /// What it prints.
    pub stdout: ProcessStdout,
}

impl PipedProcess {
    /// Starts a program.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
    pub fn spawn(
        program: &mut ProgramSpec<'_>,
        complaints: OutputCallback,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Self> {
        let (process, to, from) = spawn_interactive(program, CaptureLimit::Head(0), Some(complaints), groups)?;
        Ok(PipedProcess { process, stdin: to, stdout: from })
    }
}

/// A process that is told lines and answers with lines. Dropping it ends the process with all of its group.
pub struct LineProcess {
    process: Process,
    stdin: Option<ProcessStdin>,
    stdout: ProcessStdout,
    read_buffer: Vec<u8>,
    max_line_bytes: usize,
}

/// Why a line was not heard.
#[derive(Debug, thiserror::Error)]
pub enum ReadLineError {
    /// What comes next is not a line of a size that anybody wants. The conversation has lost its thread.
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    /// The process closed its output in the middle of a line.
    #[error("the last line has no end")]
    UnterminatedLine,
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LineProcess {
    /// Starts a program. A line of its answers may have `longest` bytes; of its stderr `complaints` is kept.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
    pub fn spawn(
        program: &mut ProgramSpec<'_>,
        longest: usize,
        complaints: CaptureLimit,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Self> {
        let (process, to, from) = spawn_interactive(program, complaints, None, groups)?;
        Ok(LineProcess { process, stdin: Some(to), stdout: from, read_buffer: Vec::new(), max_line_bytes: longest })
    }

    /// Its number, which is its group's and its session's too.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Says one line. Waits for as long as the process does not read; if that is given up, half a line may have been
    /// said, and the conversation has lost its thread.
    ///
    /// # Errors
    /// If the line is several, if the conversation was closed, or if the process does not listen any more.
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

    /// Hears the next line, without its end; nothing once the process has closed its output. Safe to drop.
    ///
    /// # Errors
    /// If what comes is too long or breaks off, or cannot be read.
    pub async fn read_line(&mut self) -> Result<Option<Vec<u8>>, ReadLineError> {
        // What was looked through before holds no end of a line.
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

    /// Says no more: the process reads the end of its input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If its end could not be seen.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        self.process.wait().await
    }

    /// Asks the whole group to end, waits at most the grace, and then forces it.
    pub async fn terminate(&mut self, grace: Duration, until: TerminationWait) {
        self.close_stdin();
        self.process.terminate(grace, until).await;
    }

    /// What it said on stderr, and whether it left others behind in its group.
    pub fn finish(self) -> FinishedProcess {
        self.process.finish()
    }
}
