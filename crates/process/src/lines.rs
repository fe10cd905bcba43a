//! A conversation with a process, line by line. What the lines mean is their speakers' business.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::system::{Hearing, Process, Speaking, converse};
use crate::{Exit, Finished, Groups, Keep, Live, Program, Until};

/// A process whose input and output somebody else writes and reads, both at once. Waiting for the process passes on what it
/// says on stderr; dropping it ends it with all of its group.
pub struct Pipes {
    /// The process.
    pub process: Process,
    /// What it reads; dropped, its input ends.
    pub to: Speaking,
    /// What it prints.
    pub from: Hearing,
}

impl Pipes {
    /// Starts a program.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
    pub fn open(program: &mut Program<'_>, complaints: Live, groups: &Arc<Groups>) -> io::Result<Self> {
        let (process, to, from) = converse(program, Keep::Head(0), Some(complaints), groups)?;
        Ok(Pipes { process, to, from })
    }
}

/// A process that is told lines and answers with lines. Dropping it ends the process with all of its group.
pub struct Conversation {
    process: Process,
    to: Option<Speaking>,
    from: Hearing,
    heard: Vec<u8>,
    longest: usize,
}

/// Why a line was not heard.
#[derive(Debug, thiserror::Error)]
pub enum HearError {
    /// What comes next is not a line of a size that anybody wants. The conversation has lost its thread.
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    /// The process closed its output in the middle of a line.
    #[error("the last line has no end")]
    Unfinished,
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Conversation {
    /// Starts a program. A line of its answers may have `longest` bytes; of its stderr `complaints` is kept.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
    pub fn start(
        program: &mut Program<'_>,
        longest: usize,
        complaints: Keep,
        groups: &Arc<Groups>,
    ) -> io::Result<Self> {
        let (process, to, from) = converse(program, complaints, None, groups)?;
        Ok(Conversation { process, to: Some(to), from, heard: Vec::new(), longest })
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
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        if line.contains('\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than one line"));
        }
        let bytes = [line.as_bytes(), b"\n"].concat();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let Some(to) = &mut self.to else { return Err(io::ErrorKind::BrokenPipe.into()) };
            tokio::select! {
                biased;
                written = to.write(rest) => rest = &rest[written?..],
                () = self.process.complaint() => {}
            }
        }
        Ok(())
    }

    /// Hears the next line, without its end; nothing once the process has closed its output. Safe to drop.
    ///
    /// # Errors
    /// If what comes is too long or breaks off, or cannot be read.
    pub async fn hear(&mut self) -> Result<Option<Vec<u8>>, HearError> {
        // What was looked through before holds no end of a line.
        let mut seen = 0;
        loop {
            if let Some(end) = self.heard[seen..].iter().position(|byte| *byte == b'\n').map(|end| seen + end) {
                if end > self.longest {
                    return Err(HearError::TooLong(self.longest));
                }
                let rest = self.heard.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.heard, rest);
                line.pop();
                return Ok(Some(line));
            }
            if self.heard.len() > self.longest {
                return Err(HearError::TooLong(self.longest));
            }
            seen = self.heard.len();
            let mut buffer = [0; 8 << 10];
            let count = tokio::select! {
                biased;
                count = self.from.read(&mut buffer) => count?,
                () = self.process.complaint() => continue,
            };
            match count {
                0 if self.heard.is_empty() => return Ok(None),
                0 => return Err(HearError::Unfinished),
                count => self.heard.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Says no more: the process reads the end of its input.
    pub fn close(&mut self) {
        self.to = None;
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If its end could not be seen.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        self.process.wait().await
    }

    /// Asks the whole group to end, waits at most the grace, and then forces it.
    pub async fn end(&mut self, grace: Duration, until: Until) {
        self.close();
        self.process.end(grace, until).await;
    }

    /// What it said on stderr, and whether it left others behind in its group.
    pub fn finish(self) -> Finished {
        self.process.finish()
    }
}
