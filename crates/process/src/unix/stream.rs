//! The reading end of a pipe, with what is kept of it and who hears it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::net::unix::pipe::Receiver;

use crate::{Capture, Live};

/// The most that an ordinary user may make a pipe hold.
const PIPE_LARGEST: usize = 1 << 20;

/// What a process prints. All of it is read, however little is kept, so that the writer never blocks.
pub(super) struct Stream {
    pipe: Option<Receiver>,
    live: Option<Live>,
    capture: Capture,
}

impl Stream {
    pub(super) fn new(pipe: Receiver, capture: Capture, live: Option<Live>) -> Self {
        Stream { pipe: Some(pipe), live, capture }
    }

    /// One that has ended before it began.
    pub(super) fn closed() -> Self {
        Stream { pipe: None, live: None, capture: Capture::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads some once there is some; whether there was, or it is the end.
    pub(super) async fn fill(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        if pipe.readable().await.is_err() {
            self.pipe = None;
            return false;
        }
        self.read(|pipe, buffer| pipe.try_read(buffer)) > 0
    }

    /// Reads what is there, without waiting for anybody who still holds the pipe; how much it was.
    pub(super) fn drain(&mut self) -> usize {
        let mut drained = 0;
        while drained < PIPE_LARGEST {
            // Straight from the system: the reactor may not have heard yet that there is something.
            match self.read(|pipe, buffer| Ok(rustix::io::read(pipe.as_fd(), buffer)?)) {
                0 => break,
                read => drained += read,
            }
        }
        drained
    }

    /// How much was read: nothing if there is nothing now, or nothing more to come.
    fn read(&mut self, read: impl Fn(&Receiver, &mut [u8]) -> io::Result<usize>) -> usize {
        let Some(pipe) = &self.pipe else { return 0 };
        let mut buffer = [0; 16 << 10];
        let count = loop {
            match read(pipe, &mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match count {
            Ok(count @ 1..) => {
                self.capture.push(&buffer[..count]);
                if let Some(live) = &mut self.live {
                    live(&buffer[..count]);
                }
                return count;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => self.pipe = None,
        }
        0
    }

    /// The pipe, for somebody else to read from.
    pub(super) fn take_pipe(&mut self) -> Option<io::Result<OwnedFd>> {
        self.pipe.take().map(Receiver::into_blocking_fd)
    }

    /// From now on everything is dropped.
    pub(super) fn mute(&mut self) {
        self.live = None;
        self.capture = Capture::default();
    }

    pub(super) fn capture(&self) -> &Capture {
        &self.capture
    }

    pub(super) fn into_capture(self) -> Capture {
        self.capture
    }
}
