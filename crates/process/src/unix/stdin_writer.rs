//! Writes the input of a process, which may never read it.

use std::io;
use std::os::fd::OwnedFd;

use bytes::Bytes;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::task::coop::consume_budget;

/// The capacity of a pipe by default.
#[cfg(target_os = "linux")]
const DEFAULT_PIPE_BYTES: usize = 64 << 10;
/// The fastest capacity for large inputs: few wake-ups, and it still fits the processor's cache.
#[cfg(target_os = "linux")]
const LARGE_PIPE_BYTES: usize = 256 << 10;

/// The pieces that have not been written yet, and the pipe to write them to.
#[derive(Default)]
pub(super) struct StdinWriter {
    pipe: Option<Sender>,
    chunks: Vec<Bytes>,
    chunk_index: usize,
    offset: usize,
}

impl StdinWriter {
    /// Writes as much as fits at once. For all but large inputs that is everything, and the reactor is not involved.
    pub(super) fn start(pipe: OwnedFd, pieces: Vec<Bytes>) -> io::Result<StdinWriter> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        #[cfg(target_os = "linux")]
        if pieces.iter().map(Bytes::len).sum::<usize>() > DEFAULT_PIPE_BYTES {
            let _ = rustix::pipe::fcntl_setpipe_size(&pipe, LARGE_PIPE_BYTES);
        }
        let mut feed = StdinWriter { pipe: None, chunks: pieces, chunk_index: 0, offset: 0 };
        let unfinished = feed.write_with(|bytes| Ok(rustix::io::write(&pipe, bytes)?));
        if unfinished {
            feed.pipe = Some(Sender::from_owned_fd_unchecked(pipe)?);
        }
        Ok(feed)
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Writes until the pipe is full; closes it at the end of the input, or when it has no reader left. Safe to drop.
    pub(super) async fn write_ready(&mut self) {
        consume_budget().await;
        let Some(pipe) = &self.pipe else { return };
        // The reactor never clears a hang-up, so a pipe that has hung up must not be waited for again.
        let is_open = pipe.ready(Interest::WRITABLE).await.is_ok_and(|ready| !ready.is_write_closed());
        if let Some(pipe) = self.pipe.take()
            && is_open
            && self.write_with(|bytes| pipe.try_write(bytes))
        {
            self.pipe = Some(pipe);
        }
    }

    /// Writes until the pipe is full, and returns whether input is left.
    fn write_with(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> bool {
        while let Some(piece) = self.chunks.get(self.chunk_index) {
            if self.offset == piece.len() {
                self.chunk_index += 1;
                self.offset = 0;
                continue;
            }
            match write(&piece[self.offset..]) {
                Ok(written) => self.offset += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A process need not read its input.
                Err(_) => return false,
            }
        }
        false
    }
}
