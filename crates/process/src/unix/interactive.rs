//! The sockets that are stdin and stdout of a process that is written to and read from for as long as it lives.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Socket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::net::UnixStream;

use super::groups::ProcessGroups;
use super::launch::launch;
use super::process::{Process, output_pipe};
use super::stream::OutputStream;
use crate::{Capture, CaptureLimit, OutputCallback, ProgramSpec};

/// The socket from which the process's stdout is read.
pub type ProcessStdout = UnixStream;

/// The socket to which the process's stdin is written.
///
/// It is registered with the reactor only while it is full. Otherwise the reactor would wake this task, in the middle
/// of an answer, whenever the process reads a line and so makes room.
#[derive(Debug)]
pub struct ProcessStdin {
    socket: Socket,
    waiting_socket: Option<UnixStream>,
}

impl AsyncWrite for ProcessStdin {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let ProcessStdin { socket, waiting_socket: full } = &mut *self;
        if full.is_none() {
            match socket.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    *full = socket.try_clone().and_then(UnixStream::from_std).ok();
                }
                written => return Poll::Ready(written),
            }
        }
        let Some(waiting) = full else {
            // No descriptor is left to wait with: yield to other tasks and try again.
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        let written = Pin::new(waiting).poll_write(context, bytes);
        if written.is_ready() {
            *full = None;
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.shutdown(std::net::Shutdown::Write))
    }
}

/// Reads what is available now, directly from the system, because the reactor may not know of it yet.
///
/// # Errors
/// Returns the system's error; [`io::ErrorKind::WouldBlock`] if nothing is available.
pub fn read_nonblocking(from: &ProcessStdout, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(from.as_fd(), buffer)?)
}

/// Returns whether a process that is gone had not read all of its input.
pub fn has_unread_input(stdin: &ProcessStdin) -> bool {
    let error = stdin.socket.take_error().ok().flatten();
    error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
}

/// Starts a program whose stdin and stdout are sockets that the caller reads and writes.
///
/// Pipes would not do: any other program of this user could open the pipe of a long-running process by its name under
/// `/proc`, read the requests and answer in its place.
pub(crate) fn spawn_interactive(
    program: &mut ProgramSpec<'_>,
    complaints: CaptureLimit,
    live: Option<OutputCallback>,
    groups: &Arc<ProcessGroups>,
) -> io::Result<(Process, ProcessStdin, ProcessStdout)> {
    let ((stdin, to), (stdout, from), (stderr, complaining)) = (socket_pair()?, socket_pair()?, output_pipe()?);
    let leader = launch(program, [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()], groups)?;
    let stderr = OutputStream::new(complaining, Capture::new(complaints), live);
    let to = ProcessStdin { socket: to, waiting_socket: None };
    Ok((Process::from_leader(leader, OutputStream::closed(), stderr, groups), to, UnixStream::from_std(from)?))
}

/// Creates a pair of sockets: the process's end, and ours, which is non-blocking.
fn socket_pair() -> io::Result<(OwnedFd, Socket)> {
    let (theirs, ours) = Socket::pair()?;
    ours.set_nonblocking(true)?;
    Ok((theirs.into(), ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;
    use std::io::Read;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn blocked_write_resumes_once_the_socket_drains() {
        let (theirs, ours) = socket_pair().unwrap();
        let mut stdin = ProcessStdin { socket: ours, waiting_socket: None };
        let long = vec![b'x'; 8 << 20];
        let read = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let mut received = Vec::new();
            Socket::from(theirs).read_to_end(&mut received).map(|_| received)
        });
        stdin.write_all(&long).await.unwrap();
        assert!(stdin.waiting_socket.is_none(), "the reactor is not asked once all is said");
        stdin.write_all(b"end").await.unwrap();
        drop(stdin);
        let received = read.join_in_time().unwrap().unwrap();
        assert_eq!(received.len(), long.len() + 3);
        assert!(received.ends_with(b"xend"));
    }

    #[tokio::test]
    async fn closed_peer_is_an_error_whether_or_not_the_socket_was_full() {
        let (theirs, ours) = socket_pair().unwrap();
        let mut stdin = ProcessStdin { socket: ours, waiting_socket: None };
        stdin.write_all(b"unread").await.unwrap();
        let gone = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            drop(theirs);
        });
        assert!(stdin.write_all(&vec![b'x'; 8 << 20]).await.is_err());
        gone.join_in_time().unwrap();
        assert!(stdin.write_all(b"more").await.is_err());
    }
}
