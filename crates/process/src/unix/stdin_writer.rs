//! Input on its way to a process that may never read it.

use std::io;
use std::os::fd::OwnedFd;

use bytes::Bytes;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::task::coop::consume_budget;

/// What a pipe holds by default.
#[cfg(target_os = "linux")]
const DEFAULT_PIPE_BYTES: usize = 64 << 10;
/// What is quickest for large inputs: few wakings, and it still fits the processor's cache.
#[cfg(target_os = "linux")]
const LARGE_PIPE_BYTES: usize = 256 << 10;

/// The pieces that have not been written yet, and where to.
#[derive(Default)]
pub(super) struct StdinWriter {
    pipe: Option<Sender>,
    chunks: Vec<Bytes>,
    chunk_index: usize,
    offset: usize,
}

impl StdinWriter {
    /// Writes what fits at once: for all but large inputs that is everything, and no reactor is troubled.
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
        // The reactor never takes a hang-up back, so a pipe that has hung up must not be waited for again.
        let is_open = pipe.ready(Interest::WRITABLE).await.is_ok_and(|ready| !ready.is_write_closed());
        if let Some(pipe) = self.pipe.take()
            && is_open
            && self.write_with(|bytes| pipe.try_write(bytes))
        {
            self.pipe = Some(pipe);
        }
    }

    /// Whether there is more to write, later.
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
                // Nobody has to read its input.
                Err(_) => return false,
            }
        }
        false
    }
}
