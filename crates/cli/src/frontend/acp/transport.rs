//! The lines of the protocol on stdin and stdout, each on a thread of its own, so that neither an editor that does not
//! read nor one that does not write blocks the sessions.

use std::io::{self, BufRead, Read, Write};

use agent_client_protocol::{Agent, ConnectTo, Lines};
use futures_util::{sink, stream};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The largest message that is read. A prompt may hold images, in base64.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// Messages that wait to be written before their sender waits.
const MAX_UNWRITTEN_MESSAGES: usize = 256;

/// Returns the transport on stdin and stdout, and a receiver that ends when everything is written.
pub(super) fn open() -> io::Result<(impl ConnectTo<Agent> + 'static, Receiver<()>)> {
    let (message_sender, messages) = channel(MAX_UNWRITTEN_MESSAGES);
    let (done, written) = channel(1);
    spawn_thread("acp-out", move || {
        // The reader is gone; the session ends when stdin does.
        let _ = write_lines(messages);
        drop(done);
    })?;
    let (line_sender, lines) = channel(1);
    spawn_thread("acp-in", move || read_lines(&line_sender))?;
    let outgoing = sink::unfold(message_sender, async |sender: Sender<String>, message: String| {
        sender.send(message).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(sender)
    });
    let incoming = stream::unfold(lines, async |mut lines: Receiver<io::Result<String>>| {
        lines.recv().await.map(|line| (line, lines))
    });
    Ok((Lines::new(outgoing, incoming), written))
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "the protocol goes to a program, byte for byte")]
fn write_lines(mut messages: Receiver<String>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    while let Some(message) = messages.blocking_recv() {
        stdout.write_all(message.as_bytes())?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    }
    Ok(())
}

fn read_lines(lines: &Sender<io::Result<String>>) {
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

/// Reads a line without its line ending; none at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = input.by_ref().take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line)?;
    if read as u64 == MAX_MESSAGE_BYTES && line.last() != Some(&b'\n') {
        let error = format!("a message is longer than {} MiB", MAX_MESSAGE_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, error));
    }
    if read == 0 {
        return Ok(None);
    }
    String::from_utf8(line).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_the_input() {
        let mut input = &b"one\ntwo"[..];
        assert_eq!(read_line(&mut input).unwrap().as_deref(), Some("one\n"));
        assert_eq!(read_line(&mut input).unwrap().as_deref(), Some("two"));
        assert_eq!(read_line(&mut input).unwrap(), None);
        assert!(read_line(&mut &b"\xff\n"[..]).is_err());
    }

    #[test]
    fn a_message_without_an_end_is_not_read_for_ever() {
        let mut input = io::repeat(b'x');
        assert!(read_line(&mut io::BufReader::new(&mut input)).is_err());
    }
}
