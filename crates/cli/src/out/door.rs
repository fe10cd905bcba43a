//! The one way to stdout and stderr. What goes to a terminal is made safe here, whoever wrote it; what goes into a pipe or a
//! file is left alone. Only this program's own styles reach a terminal, and only where colour is wanted. Whoever has stopped
//! listening stops nothing else: what is done, and the exit code that tells of it, are the same. A loop that only prints, and
//! would print for ever, asks [`is_stdout_closed`] and ends.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::Style;

use super::safe::safe;

/// Around the numbers of a style. Nobody writes these characters, and whoever does gets a colour.
const OPEN: char = '\u{f0000}';
const CLOSE: char = '\u{f0001}';

/// Text in a style, for a [`Door`].
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    let mark = |sequence: String| sequence.replace("\x1b[", OPEN.encode_utf8(&mut [0; 4])).replace('m', "\u{f0001}");
    format!("{}{text}{}", mark(style.render().to_string()), mark(style.render_reset().to_string()))
}

/// Text as somebody sees it who sees no colours.
pub(crate) fn unpainted(text: &str) -> Cow<'_, str> {
    if text.contains(OPEN) { Cow::Owned(styled(text, Colour::Off)) } else { Cow::Borrowed(text) }
}

/// Whether styles are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    On,
    Off,
}

/// Whether somebody may be looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Terminal,
    Program,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What somebody asked for: where it can't be kept, that is an error.
    Data,
    /// Words about it; nobody can be told that they could not be told.
    Words,
}

/// Where a stream leads, which stays so for as long as the program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    reader: Reader,
    colour: Colour,
}

impl Outside {
    pub(crate) fn of(stream: &impl anstream::stream::RawStream) -> Self {
        let reader = if stream.is_terminal() { Reader::Terminal } else { Reader::Program };
        let colour = match anstream::AutoStream::choice(stream) {
            anstream::ColorChoice::Never => Colour::Off,
            _ => Colour::On,
        };
        Outside { reader, colour }
    }
}

/// A stream on its way out.
pub(crate) struct Door<W: Write> {
    stream: W,
    kind: Kind,
    outside: Outside,
}

impl<W: Write> Door<W> {
    pub(crate) fn new(stream: W, kind: Kind, outside: Outside) -> Self {
        Door { stream, kind, outside }
    }
}

/// Whether nobody reads our stdout any more: the other end of a pipe is closed, or a terminal is gone.
pub(crate) fn is_unread(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || hookwright_process::is_hung_up(error)
}

/// Whether a write to stdout has found its reader gone.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether stdout has no reader any more. A loop that waits between two lines must ask: it may have nothing to write, and
/// would not find out.
pub(crate) fn is_stdout_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed) || hookwright_process::is_stdout_unread()
}

impl<W: Write> Door<W> {
    fn heard_or_not(&self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(_) if self.kind == Kind::Words => Ok(()),
            Err(error) if is_unread(&error) => {
                STDOUT_CLOSED.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to stdout: {error}"))),
            Ok(()) => Ok(()),
        }
    }
}

impl<W: Write> Write for Door<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Outside { reader, colour } = self.outside;
        let written = match (reader, std::str::from_utf8(bytes)) {
            (Reader::Program, Err(_)) => self.stream.write_all(bytes),
            (Reader::Program, Ok(text)) => self.stream.write_all(styled(text, colour).as_bytes()),
            (Reader::Terminal, text) => {
                let text = safe(&text.map_or_else(|_| String::from_utf8_lossy(bytes), Into::into));
                self.stream.write_all(styled(&text, colour).as_bytes())
            }
        };
        self.heard_or_not(written).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.heard_or_not(flushed)
    }
}

/// The text with its styles as sequences, or without them.
fn styled(text: &str, colour: Colour) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        out.push_str(&rest[..at]);
        rest = &rest[at + OPEN.len_utf8()..];
        let end = rest.find(|char: char| !matches!(char, '0'..='9' | ';')).unwrap_or(rest.len());
        let (numbers, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix(CLOSE) else { continue };
        if colour == Colour::On && numbers.split(';').all(only_styles) {
            out.push_str(&format!("\x1b[{numbers}m"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a number of a style changes how text looks, and does not hide it.
fn only_styles(number: &str) -> bool {
    matches!(number, "" | "0" | "1" | "2" | "3" | "4") || matches!(number.as_bytes(), [b'3' | b'9', b'0'..=b'7'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    const PIPE: Outside = Outside { reader: Reader::Program, colour: Colour::Off };

    fn through(reader: Reader, colour: Colour, text: &str) -> String {
        let mut door = Door::new(Vec::new(), Kind::Data, Outside { reader, colour });
        write!(door, "{text}").unwrap();
        String::from_utf8(door.stream).unwrap()
    }

    #[test]
    fn a_terminal_gets_our_styles_and_nobody_elses() {
        let bad = AnsiColor::Red.on_default().bold();
        let text = format!("{} \x1b[8mhidden\x1b]52;c;x\x07\u{9b}2J", paint(bad, "a\x1b[5mb"));
        assert_eq!(through(Reader::Terminal, Colour::On, &text), "\x1b[1m\x1b[31mab\x1b[0m hidden");
        assert_eq!(through(Reader::Terminal, Colour::Off, &text), "ab hidden");
        let forged = "\u{f0000}8\u{f0001}x\u{f0000}5;31\u{f0001}y\u{f0000}2Jz\u{f0000}";
        assert_eq!(through(Reader::Terminal, Colour::On, forged), "xy2Jz");
    }

    /// Takes nothing, and says why.
    struct Shut(io::ErrorKind);

    impl Write for Shut {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn whoever_stops_listening_stops_nothing_else_but_lost_data_is_an_error() {
        let (closed, full) = (io::ErrorKind::BrokenPipe, io::ErrorKind::StorageFull);
        let told = |why, kind| {
            let mut door = Door::new(Shut(why), kind, PIPE);
            door.write_all(b"x").and_then(|()| door.flush()).is_ok()
        };
        assert!(told(closed, Kind::Words) && told(full, Kind::Words));
        assert!(told(closed, Kind::Data) && !told(full, Kind::Data));
    }

    #[test]
    fn a_pipe_gets_what_was_written() {
        let text = "a\x1b[31mb\x1b]52;c;x\x07\r\u{9b}";
        assert_eq!(through(Reader::Program, Colour::Off, text), text);
        assert_eq!(through(Reader::Program, Colour::Off, &paint(AnsiColor::Green.on_default(), text)), text);
        let mut door = Door::new(Vec::new(), Kind::Data, PIPE);
        door.write_all(b"\xff\x1b[").unwrap();
        assert_eq!(door.stream, b"\xff\x1b[");
    }
}
