//! Draws on the normal screen: what is finished goes into the scrollback once and for all, and only the live part below it
//! is drawn again.
//!
//! No position is ever asked of the terminal, which would cost a round trip over ssh: the live part is found by counting
//! up from the cursor. After a resize nobody knows how the terminal rearranged its lines, so the screen is drawn afresh.

use std::io::{self, Write};

use super::terminal;
use super::text::Line;

/// What is drawn below the scrollback.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line>,
    /// Row and column of the cursor, if it is shown.
    pub(crate) cursor: Option<(usize, usize)>,
}

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// The screen.
pub(crate) struct Screen<W: Write> {
    out: W,
    colour: bool,
    live: Vec<String>,
    /// The row of the live part that the cursor is in.
    at: usize,
    cursor: Option<(usize, usize)>,
    full: bool,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, colour: bool) -> Self {
        Screen { out, colour, live: Vec::new(), at: 0, cursor: None, full: false }
    }

    /// Adds finished lines to the scrollback and draws the live part below them; nothing is written if nothing changed.
    pub(crate) fn draw(&mut self, finished: &[Line], frame: &Frame) -> io::Result<()> {
        let live: Vec<String> = frame.lines.iter().map(|line| line.encode(self.colour)).collect();
        if finished.is_empty() && live == self.live && frame.cursor == self.cursor && !self.full {
            return Ok(());
        }
        let mut text = String::from(BEGIN);
        text.push_str(self.leave_page());
        up(&mut text, self.at);
        for line in finished {
            text.push_str(&format!("\r\x1b[K{}\r\n", line.encode(self.colour)));
        }
        let common = self.live.iter().zip(&live).take_while(|(old, new)| old == new).count();
        let same = if finished.is_empty() { common } else { 0 };
        for (row, line) in live.iter().enumerate() {
            // Everything below is cleared before it is written: clearing behind a full line would take its last
            // character along.
            text.push_str(if row == same { "\r\x1b[J" } else { "" });
            text.push_str(if row >= same { line } else { "" });
            text.push_str(if row + 1 < live.len() { "\r\n" } else { "" });
        }
        if live.is_empty() {
            text.push_str("\r\x1b[J");
        } else if same == live.len() && self.live.len() > same {
            text.push_str("\r\n\x1b[J\x1b[A");
        }
        self.at = live.len().saturating_sub(1);
        if let Some((row, column)) = frame.cursor {
            up(&mut text, self.at.saturating_sub(row));
            self.at = row;
            text.push_str(&format!("\x1b[{}G{SHOW_CURSOR}", column + 1));
        }
        text.push_str(END);
        self.live = live;
        self.cursor = frame.cursor;
        self.write(&text)
    }

    /// Draws a whole page on the other screen, until the next [`Screen::draw`].
    pub(crate) fn page(&mut self, lines: &[Line], rows: usize) -> io::Result<()> {
        let mut text = String::from(BEGIN);
        if !std::mem::replace(&mut self.full, true) {
            text.push_str(terminal::ENTER_OTHER_SCREEN);
            terminal::on_other_screen(true);
        }
        text.push_str("\x1b[H");
        for (row, line) in lines.iter().take(rows).enumerate() {
            text.push_str(if row == 0 { "" } else { "\r\n" });
            text.push_str(&format!("\x1b[K{}", line.encode(self.colour)));
        }
        if lines.len() < rows {
            text.push_str("\r\n\x1b[J");
        }
        text.push_str(END);
        self.write(&text)
    }

    fn leave_page(&mut self) -> &'static str {
        if !std::mem::take(&mut self.full) {
            return "";
        }
        terminal::on_other_screen(false);
        terminal::LEAVE_OTHER_SCREEN
    }

    /// Clears the screen and draws its lower part again, after a resize.
    pub(crate) fn afresh(&mut self, finished: &[Line], frame: &Frame) -> io::Result<()> {
        self.forget();
        let leave = self.leave_page();
        self.write(&format!("{BEGIN}{leave}\x1b[H\x1b[2J"))?;
        self.draw(finished, frame)
    }

    /// Whatever was drawn is somewhere above by now: the next live part is drawn whole, below it.
    pub(crate) fn forget(&mut self) {
        self.live.clear();
        self.at = 0;
        self.cursor = None;
    }

    /// Leaves the cursor on a line of its own below everything.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let empty = Frame::default();
        self.draw(&[], &empty)?;
        self.write(&format!("\r\x1b[J{SHOW_CURSOR}"))
    }

    /// Writes something that draws nothing. A terminal that is gone is noticed by whoever reads its keys.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.or_else(|error| if crate::out::is_unread(&error) { Ok(()) } else { Err(error) })
    }
}

fn up(text: &mut String, rows: usize) {
    if rows > 0 {
        text.push_str(&format!("\x1b[{rows}A"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::PLAIN;
    use super::*;

    fn frame(lines: &[&str]) -> Frame {
        Frame { lines: lines.iter().map(|line| Line::of(PLAIN, line)).collect(), cursor: Some((0, 1)) }
    }

    fn shown(bytes: &[u8]) -> String {
        let mut parser = vt100::Parser::new(6, 10, 100);
        parser.process(bytes);
        parser.screen().contents()
    }

    #[test]
    fn finished_lines_stay_and_the_live_part_is_replaced() {
        let mut screen = Screen::new(Vec::new(), false);
        screen.draw(&[], &frame(&["> a", "status"])).unwrap();
        screen.draw(&[Line::of(PLAIN, "done 1")], &frame(&["> b", "0123456789", "status"])).unwrap();
        screen.draw(&[Line::of(PLAIN, "done 2")], &frame(&["> c", "status"])).unwrap();
        assert_eq!(shown(&screen.out), "done 1\ndone 2\n> c\nstatus");
        let before = screen.out.len();
        screen.draw(&[], &frame(&["> c", "status"])).unwrap();
        assert_eq!(screen.out.len(), before, "nothing changed, nothing is written");
    }

    #[test]
    fn a_full_screen_scrolls() {
        let mut screen = Screen::new(Vec::new(), false);
        for number in 0..20 {
            screen.draw(&[Line::of(PLAIN, format!("line {number}"))], &frame(&["> x", "status"])).unwrap();
        }
        assert_eq!(shown(&screen.out), "line 16\nline 17\nline 18\nline 19\n> x\nstatus");
        screen.page(&[Line::of(PLAIN, "page")], 6).unwrap();
        assert_eq!(shown(&screen.out), "page");
        screen.draw(&[], &frame(&["> y", "status"])).unwrap();
        assert_eq!(shown(&screen.out), "line 16\nline 17\nline 18\nline 19\n> y\nstatus");
    }
}
