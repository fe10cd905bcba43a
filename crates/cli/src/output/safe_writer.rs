//! The writer around stdout and stderr.
//!
//! Output to a terminal is sanitized; of escape sequences only this program's own styles get through, and only if
//! colour is on. Output to a pipe or a file is left as it is, but for those styles.
//!
//! A closed reader is no error: the command does its work and returns the exit code of that work. A loop that only
//! prints, and would print for ever, checks [`is_stdout_closed`] and ends.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;

use super::sanitize::sanitize;

/// Marks the start of a style's numbers, as [`paint`] writes them.
///
/// The mark is a private-use character. Text that contains it can set a style, but nothing else.
const STYLE_START: char = '\u{f0000}';
const STYLE_END: char = '\u{f0001}';

/// Returns text in a style, for a [`SafeWriter`].
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    let mark =
        |sequence: String| sequence.replace("\x1b[", STYLE_START.encode_utf8(&mut [0; 4])).replace('m', "\u{f0001}");
    format!("{}{text}{}", mark(style.render().to_string()), mark(style.render_reset().to_string()))
}

/// Returns the text without its styles.
pub(crate) fn strip_styles(text: &str) -> Cow<'_, str> {
    if text.contains(STYLE_START) { Cow::Owned(render_styles(text, OutputColour::Off)) } else { Cow::Borrowed(text) }
}

/// Whether styles are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputColour {
    On,
    Off,
}

/// Whether a stream is read at a terminal or by a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputReader {
    Terminal,
    Program,
}

/// The kind of output, which decides whether a failed write is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    /// Output that the user asked for: a failed write is an error, unless the reader has closed the stream.
    Data,
    /// Messages about the data: a failed write is ignored, since it could not be reported either.
    Messages,
}

/// The reader and colour of a stream, detected once for the whole run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputTarget {
    reader: OutputReader,
    colour: OutputColour,
}

impl OutputTarget {
    pub(crate) fn detect(stream: &impl anstream::stream::RawStream) -> Self {
        let reader = if stream.is_terminal() { OutputReader::Terminal } else { OutputReader::Program };
        let colour = match anstream::AutoStream::choice(stream) {
            anstream::ColorChoice::Never => OutputColour::Off,
            _ => OutputColour::On,
        };
        OutputTarget { reader, colour }
    }
}

/// A stream that sanitizes text for its target.
pub(crate) struct SafeWriter<W: Write> {
    stream: W,
    kind: OutputKind,
    target: OutputTarget,
}

impl<W: Write> SafeWriter<W> {
    pub(crate) fn new(stream: W, kind: OutputKind, outside: OutputTarget) -> Self {
        SafeWriter { stream, kind, target: outside }
    }
}

/// Returns whether a write failed because its reader is gone: the pipe is closed or the terminal has hung up.
pub(crate) fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || hookwright_process::is_terminal_hangup(error)
}

/// Whether a write to stdout has failed because its reader is gone.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether stdout has lost its reader.
///
/// A loop that waits between two lines must check this: without a write it would not find out.
pub(crate) fn is_stdout_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed) || hookwright_process::is_stdout_closed()
}

impl<W: Write> SafeWriter<W> {
    fn ignore_gone_reader(&self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(_) if self.kind == OutputKind::Messages => Ok(()),
            Err(error) if is_reader_gone(&error) => {
                STDOUT_CLOSED.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to stdout: {error}"))),
            Ok(()) => Ok(()),
        }
    }
}

impl<W: Write> Write for SafeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let OutputTarget { reader, colour } = self.target;
        let written = match (reader, std::str::from_utf8(bytes)) {
            (OutputReader::Program, Err(_)) => self.stream.write_all(bytes),
            (OutputReader::Program, Ok(text)) => self.stream.write_all(render_styles(text, colour).as_bytes()),
            (OutputReader::Terminal, text) => {
                let text = sanitize(&text.map_or_else(|_| String::from_utf8_lossy(bytes), Into::into));
                self.stream.write_all(render_styles(&text, colour).as_bytes())
            }
        };
        self.ignore_gone_reader(written).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.ignore_gone_reader(flushed)
    }
}

/// Returns the text with its styles as escape sequences, or without them.
fn render_styles(text: &str, colour: OutputColour) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(STYLE_START) {
        out.push_str(&rest[..at]);
        rest = &rest[at + STYLE_START.len_utf8()..];
        let end = rest.find(|char: char| !matches!(char, '0'..='9' | ';')).unwrap_or(rest.len());
        let (numbers, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix(STYLE_END) else { continue };
        if colour == OutputColour::On && numbers.split(';').all(is_visible_style) {
            out.push_str(&format!("\x1b[{numbers}m"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns whether a style number changes how text looks without hiding it.
fn is_visible_style(number: &str) -> bool {
    matches!(number, "" | "0" | "1" | "2" | "3" | "4") || matches!(number.as_bytes(), [b'3' | b'9', b'0'..=b'7'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    const PIPE: OutputTarget = OutputTarget { reader: OutputReader::Program, colour: OutputColour::Off };

    fn write_through(reader: OutputReader, colour: OutputColour, text: &str) -> String {
        let mut writer = SafeWriter::new(Vec::new(), OutputKind::Data, OutputTarget { reader, colour });
        write!(writer, "{text}").unwrap();
        String::from_utf8(writer.stream).unwrap()
    }

    #[test]
    fn a_terminal_gets_our_styles_and_no_others() {
        let bad = AnsiColor::Red.on_default().bold();
        let text = format!("{} \x1b[8mhidden\x1b]52;c;x\x07\u{9b}2J", paint(bad, "a\x1b[5mb"));
        assert_eq!(write_through(OutputReader::Terminal, OutputColour::On, &text), "\x1b[1m\x1b[31mab\x1b[0m hidden");
        assert_eq!(write_through(OutputReader::Terminal, OutputColour::Off, &text), "ab hidden");
        let forged = "\u{f0000}8\u{f0001}x\u{f0000}5;31\u{f0001}y\u{f0000}2Jz\u{f0000}";
        assert_eq!(write_through(OutputReader::Terminal, OutputColour::On, forged), "xy2Jz");
    }

    /// A stream whose writes fail with the given error.
    struct ClosedStream(io::ErrorKind);

    impl Write for ClosedStream {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_reader_is_ignored_and_lost_data_is_an_error() {
        let (closed, full) = (io::ErrorKind::BrokenPipe, io::ErrorKind::StorageFull);
        let is_ok = |why, kind| {
            let mut writer = SafeWriter::new(ClosedStream(why), kind, PIPE);
            writer.write_all(b"x").and_then(|()| writer.flush()).is_ok()
        };
        assert!(is_ok(closed, OutputKind::Messages) && is_ok(full, OutputKind::Messages));
        assert!(is_ok(closed, OutputKind::Data) && !is_ok(full, OutputKind::Data));
    }

    #[test]
    fn a_pipe_gets_what_was_written() {
        let text = "a\x1b[31mb\x1b]52;c;x\x07\r\u{9b}";
        assert_eq!(write_through(OutputReader::Program, OutputColour::Off, text), text);
        assert_eq!(
            write_through(OutputReader::Program, OutputColour::Off, &paint(AnsiColor::Green.on_default(), text)),
            text
        );
        let mut writer = SafeWriter::new(Vec::new(), OutputKind::Data, PIPE);
        writer.write_all(b"\xff\x1b[").unwrap();
        assert_eq!(writer.stream, b"\xff\x1b[");
    }
}
