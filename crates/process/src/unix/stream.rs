//! The reading end of a pipe, with its capture and callback.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::io::Interest;
use tokio::net::unix::pipe::Receiver;
use tokio::task::coop::consume_budget;

use crate::{Capture, OutputCallback};

/// The largest capacity that an unprivileged user may give a pipe.
const MAX_PIPE_BYTES: usize = 1 << 20;

/// The output of a process. All of it is read, however little is kept, so that the writer never blocks.
pub(super) struct OutputStream {
    pipe: Option<Receiver>,
    on_output: Option<OutputCallback>,
    capture: Capture,
}

impl OutputStream {
    pub(super) fn new(pipe: Receiver, capture: Capture, live: Option<OutputCallback>) -> Self {
        OutputStream { pipe: Some(pipe), on_output: live, capture }
    }

    /// Creates a stream that is closed from the start.
    pub(super) fn closed() -> Self {
        OutputStream { pipe: None, on_output: None, capture: Capture::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Waits for output and reads some of it. Returns whether there was any; at the end of the stream it closes. Safe
    /// to drop.
    ///
    /// Yields to the runtime now and then, so that a process that floods its output cannot keep timers from firing.
    pub(super) async fn read_some(&mut self) -> bool {
        consume_budget().await;
        let Some(pipe) = &self.pipe else { return false };
        let ready = pipe.ready(Interest::READABLE).await;
        let count = self.read(|pipe, buffer| pipe.try_read(buffer));
        // The reactor never clears a hang-up: if another writer has opened the pipe since (through /proc), waiting for
        // the pipe to become readable would return at once for ever.
        if count == 0 && ready.map_or(true, |ready| ready.is_read_closed()) {
            self.pipe = None;
        }
        count > 0
    }

    /// Reads what is available, without waiting for processes that still hold the pipe, and returns the number of
    /// bytes.
    pub(super) fn drain(&mut self) -> usize {
        let mut drained = 0;
        while drained < MAX_PIPE_BYTES {
            // Directly from the system: the reactor may not know yet that there is output.
            match self.read(|pipe, buffer| Ok(rustix::io::read(pipe.as_fd(), buffer)?)) {
                0 => break,
                read => drained += read,
            }
        }
        drained
    }

    /// Reads once and returns the number of bytes: 0 if nothing is available now, or the stream has ended.
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
                if let Some(live) = &mut self.on_output {
                    live(&buffer[..count]);
                }
                return count;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => self.pipe = None,
        }
        0
    }

    /// Takes the pipe out, for another process to read from.
    pub(super) fn take_pipe(&mut self) -> Option<io::Result<OwnedFd>> {
        self.pipe.take().map(Receiver::into_blocking_fd)
    }

    /// Drops all output, kept and future.
    pub(super) fn discard(&mut self) {
        self.on_output = None;
        self.capture = Capture::default();
    }

    pub(super) fn capture(&self) -> &Capture {
        &self.capture
    }

    pub(super) fn into_capture(self) -> Capture {
        self.capture
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::super::process::output_pipe;
    use super::*;
    use crate::CaptureLimit;

    /// Runs a test on a thread of its own: a loop that never yields cannot be ended by a timer of its own runtime.
    fn run_on_own_thread<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(test());
            let _ = sender.send(());
        });
        ended.recv_timeout(Duration::from_secs(10)).expect("it ends");
    }

    #[test]
    fn hung_up_pipe_closes_even_if_reopened() {
        run_on_own_thread(|| async {
            let (write, pipe) = output_pipe().unwrap();
            let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
            let mut stream = OutputStream::new(pipe, Capture::new(CaptureLimit::Head(10)), None);
            assert!(timeout(Duration::from_millis(20), stream.read_some()).await.is_err());
            drop(write);
            // The reactor sees the hang-up before the next writer opens the pipe.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let Ok(_late) = std::fs::OpenOptions::new().write(true).open(path) else { return };
            while stream.is_open() {
                stream.read_some().await;
            }
        });
    }

    #[test]
    fn flooding_output_does_not_starve_timers() {
        run_on_own_thread(|| async {
            let (write, pipe) = output_pipe().unwrap();
            std::thread::spawn(move || {
                let mut write = std::fs::File::from(write);
                while write.write_all(&[b'x'; 64 << 10]).is_ok() {}
            });
            let mut stream = OutputStream::new(pipe, Capture::new(CaptureLimit::Head(10)), None);
            let flood = async {
                loop {
                    stream.read_some().await;
                }
            };
            assert!(timeout(Duration::from_millis(50), flood).await.is_err());
        });
    }
}
