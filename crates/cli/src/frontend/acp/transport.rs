//! The lines of the protocol on stdin and stdout, each on a thread of its own, so that neither an editor that does not
//! read nor one that does not write blocks the sessions.

use std::io::{self, BufRead, Read, Write};

use agent_client_protocol::{Agent, ConnectTo, Lines};
use futures_util::{sink, stream};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The largest message that is read. A prompt may hold images, in base64.
pub(super) const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// Messages that wait to be written before their sender waits.
const MAX_UNWRITTEN_MESSAGES: usize = 256;

/// Returns the transport on stdin and stdout, and a receiver that ends when everything is written.
pub(super) fn open() -> io::Result<(impl ConnectTo<Agent> + 'static, Receiver<()>)> {
    let EditorLines { incoming, outgoing, written } = EditorLines::open()?;
    let outgoing = sink::unfold(outgoing, async |sender: Sender<Vec<u8>>, message: String| {
        let line = (message + "\n").into_bytes();
        sender.send(line).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(sender)
    });
    let incoming = stream::unfold(incoming, async |mut lines: Receiver<io::Result<Vec<u8>>>| {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        lines.recv().await.map(|line| (line.and_then(|line| String::from_utf8(line).map_err(invalid)), lines))
    });
    Ok((Lines::new(outgoing, incoming), written))
}

/// The lines of stdin and stdout, with their line endings.
pub(super) struct EditorLines {
    pub(super) incoming: Receiver<io::Result<Vec<u8>>>,
    pub(super) outgoing: Sender<Vec<u8>>,
    /// Ends when everything is written, or the editor does not read any more.
    pub(super) written: Receiver<()>,
}

impl EditorLines {
    pub(super) fn open() -> io::Result<EditorLines> {
        let (outgoing, messages) = channel(MAX_UNWRITTEN_MESSAGES);
        let (done, written) = channel(1);
        spawn_thread("acp-out", move || {
            // The reader is gone; the session ends when stdin does.
            let _ = write_lines(messages);
            drop(done);
        })?;
        let (line_sender, incoming) = channel(1);
        spawn_thread("acp-in", move || read_lines(&line_sender))?;
        Ok(EditorLines { incoming, outgoing, written })
    }
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "the protocol goes to a program, byte for byte")]
fn write_lines(mut messages: Receiver<Vec<u8>>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    while let Some(message) = messages.blocking_recv() {
        stdout.write_all(&message)?;
        stdout.flush()?;
    }
    Ok(())
}

fn read_lines(lines: &Sender<io::Result<Vec<u8>>>) {
    let mut stdin = io::stdin().lock();
    loop {
        let line = read_line(&mut stdin);
        let is_end = !matches!(line, Ok(Some(_)));
        if let Some(line) = line.transpose()
            && lines.blocking_send(line).is_err()
        {
            return;
        }
        if is_end {
            return;
        }
    }
}

/// Reads a line with its line ending; none at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line)?;
    if read as u64 == MAX_MESSAGE_BYTES && line.last() != Some(&b'\n') {
        return Err(message_too_long());
    }
    Ok((read > 0).then_some(line))
}

/// Returns the error of a message that exceeds [`MAX_MESSAGE_BYTES`].
pub(super) fn message_too_long() -> io::Error {
    let error = format!("a message is longer than {} MiB", MAX_MESSAGE_BYTES >> 20);
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_the_input() {
        let mut input = &b"one\ntwo"[..];
        assert_eq!(read_line(&mut input).unwrap().as_deref(), Some(&b"one\n"[..]));
        assert_eq!(read_line(&mut input).unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(read_line(&mut input).unwrap(), None);
    }

    #[test]
    fn a_message_without_an_end_is_not_read_for_ever() {
        let mut input = io::repeat(b'x');
        assert!(read_line(&mut io::BufReader::new(&mut input)).is_err());
    }
}
