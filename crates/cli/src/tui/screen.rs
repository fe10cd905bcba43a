//! Draws on the normal screen: what is finished goes into the scrollback once and for all, and only the live part below it
//! is drawn again.
//!
//! No position is ever asked of the terminal, which would cost a round trip over ssh: the live part is found by counting
//! up from the cursor. After a resize it is where `rewrap.rs` says; nothing that scrolled away is written a second time.

use std::collections::VecDeque;
use std::io::{self, Write};

use super::block::{Block, render_all};
use super::rewrap::{Rewrap, rows_of};
use super::terminal;
use super::text::Line;
use super::theme::Theme;

/// What is drawn below the scrollback.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line>,
    /// Row and column of the cursor, if it is shown.
    pub(crate) cursor: Option<(usize, usize)>,
    /// Columns and rows of the terminal that it was made for; nothing if nobody knows.
    pub(crate) size: Option<(usize, usize)>,
}

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Clears what is below. Some terminals move a screen that is cleared from its first cell on into the scrollback; the blank
/// keeps them from it.
const CLEAR_BELOW: &str = "\r \x1b[J\r";
/// No terminal shows more pieces, and none is worth it.
const MOST_PIECES: usize = 500;

/// A finished piece, and how many rows of it there are.
struct Piece {
    block: Block,
    rows: usize,
    /// So many of them have scrolled away.
    gone: usize,
}

/// The screen.
pub(crate) struct Screen<W: Write> {
    out: W,
    colour: bool,
    theme: Theme,
    rewrap: Rewrap,
    live: Vec<String>,
    /// How many columns each line of the live part takes.
    widths: Vec<usize>,
    /// The row of the live part that the cursor is in.
    at: usize,
    cursor: Option<(usize, usize)>,
    size: Option<(usize, usize)>,
    /// The finished pieces of which the terminal still shows something.
    shown: VecDeque<Piece>,
    /// Whether the last line is empty.
    after_gap: bool,
    full: bool,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, colour: bool, rewrap: Rewrap) -> Self {
        Screen {
            out,
            colour,
            theme: Theme::Terminal,
            rewrap,
            live: Vec::new(),
            widths: Vec::new(),
            at: 0,
            cursor: None,
            size: None,
            shown: VecDeque::new(),
            after_gap: true,
            full: false,
        }
    }

    /// Draws in other colours from now on; what has scrolled away stays as it is.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Adds finished pieces to the scrollback and draws the live part below them; nothing is written if nothing changed.
    pub(crate) fn draw(&mut self, finished: Vec<Block>, frame: &Frame) -> io::Result<()> {
        let live: Vec<String> = frame.lines.iter().map(|line| line.encode_in(self.theme, self.colour)).collect();
        let resized = frame.size.is_some() && self.size.is_some() && frame.size != self.size;
        if finished.is_empty() && live == self.live && frame.cursor == self.cursor && !self.full && !resized {
            return Ok(());
        }
        let mut text = String::from(BEGIN);
        text.push_str(self.leave_page());
        let mut lines = if resized { self.resize(frame, &mut text) } else { Vec::new() };
        lines.extend(self.finish_pieces(finished, frame));
        up(&mut text, self.at);
        for line in &lines {
            text.push_str(&format!("\r\x1b[K{}\r\n", line.encode_in(self.theme, self.colour)));
        }
        let common = self.live.iter().zip(&live).take_while(|(old, new)| old == new).count();
        let same = if lines.is_empty() && !resized { common } else { 0 };
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
        self.widths = frame.lines.iter().map(Line::width).collect();
        self.cursor = frame.cursor;
        self.size = frame.size.or(self.size);
        self.scroll();
        self.write(&text)
    }

    /// Goes to where the live part begins now that the terminal has another size, and clears it; the finished lines that
    /// have to be written again.
    fn resize(&mut self, frame: &Frame, text: &mut String) -> Vec<Line> {
        let (columns, rows) = frame.size.unwrap_or((80, 24));
        let again = match self.rewrap {
            Rewrap::ByTerminal => {
                let column = self.cursor.map_or_else(|| self.widths.last().copied().unwrap_or(0), |(_, column)| column);
                let above: usize = self.widths.iter().take(self.at).map(|width| rows_of(*width, columns)).sum();
                up(text, (above + rows_of(column, columns) - 1).min(rows.saturating_sub(1)));
                Vec::new()
            }
            Rewrap::ByUs => {
                text.push_str("\x1b[H");
                self.shown.iter_mut().flat_map(|piece| piece.at_width(columns)).collect()
            }
        };
        text.push_str(CLEAR_BELOW);
        self.forget();
        again
    }

    /// The lines of finished pieces, which are kept in mind.
    fn finish_pieces(&mut self, finished: Vec<Block>, frame: &Frame) -> Vec<Line> {
        let (columns, _) = frame.size.or(self.size).unwrap_or((80, 24));
        let drawn = render_all(finished, columns, &mut self.after_gap);
        let keep = |(block, lines): (Block, Vec<Line>)| {
            self.shown.push_back(Piece { block, rows: lines.len(), gone: 0 });
            lines
        };
        drawn.into_iter().flat_map(keep).collect()
    }

    /// Forgets what has scrolled out of sight.
    fn scroll(&mut self) {
        let (_, rows) = self.size.unwrap_or((80, 24));
        let mut over =
            self.shown.iter().map(Piece::visible).sum::<usize>().saturating_sub(rows.saturating_sub(self.live.len()));
        while let Some(first) = self.shown.front_mut() {
            let visible = first.visible();
            if over < visible && self.shown.len() <= MOST_PIECES {
                if let Some(first) = self.shown.front_mut() {
                    first.gone += over;
                }
                return;
            }
            over = over.saturating_sub(visible);
            self.shown.pop_front();
        }
    }

    /// Draws a whole page on the other screen, until the next [`Screen::draw`].
    pub(crate) fn page(&mut self, lines: &[Line], rows: usize) -> io::Result<()> {
        let mut text = String::from(BEGIN);
        // Somebody else may have had the terminal meanwhile.
        if !std::mem::replace(&mut self.full, true) || !terminal::is_on_other_screen() {
            text.push_str(terminal::ENTER_OTHER_SCREEN);
            terminal::on_other_screen(true);
        }
        text.push_str("\x1b[H");
        for (row, line) in lines.iter().take(rows).enumerate() {
            text.push_str(if row == 0 { "" } else { "\r\n" });
            text.push_str(&format!("\x1b[K{}", line.encode_in(self.theme, self.colour)));
        }
        if lines.len() < rows {
            text.push_str("\r\n\x1b[J");
        }
        text.push_str(END);
        self.write(&text)
    }

    fn leave_page(&mut self) -> &'static str {
        if !std::mem::take(&mut self.full) || !terminal::is_on_other_screen() {
            return "";
        }
        terminal::on_other_screen(false);
        terminal::LEAVE_OTHER_SCREEN
    }

    /// Clears the screen and draws what it shows again.
    pub(crate) fn afresh(&mut self, frame: &Frame) -> io::Result<()> {
        let leave = self.leave_page();
        self.write(&format!("{BEGIN}{leave}\x1b[H{CLEAR_BELOW}"))?;
        self.again(frame)
    }

    /// Draws what the screen shows below whatever somebody else has written meanwhile.
    pub(crate) fn again(&mut self, frame: &Frame) -> io::Result<()> {
        self.forget();
        self.size = frame.size;
        self.after_gap = true;
        let shown = std::mem::take(&mut self.shown).into_iter().map(|piece| piece.block).collect();
        self.draw(shown, frame)
    }

    /// Everything drawn so far is left to the scrollback, and the screen is empty.
    pub(crate) fn scroll_away(&mut self, frame: &Frame) -> io::Result<()> {
        self.finish()?;
        let (_, rows) = frame.size.unwrap_or((80, 24));
        self.write(&format!("{BEGIN}{}\x1b[H", "\r\n".repeat(rows)))?;
        self.shown.clear();
        self.again(frame)
    }

    /// Whatever was drawn is somewhere above by now: the next live part is drawn whole, below it.
    pub(crate) fn forget(&mut self) {
        self.live.clear();
        self.widths.clear();
        self.at = 0;
        self.cursor = None;
    }

    /// Leaves the cursor on a line of its own below everything.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let empty = Frame::default();
        self.draw(Vec::new(), &empty)?;
        self.write(&format!("\r\x1b[J{SHOW_CURSOR}"))
    }

    /// Writes something that draws nothing. A terminal that is gone is noticed by whoever reads its keys.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.or_else(|error| if crate::out::is_unread(&error) { Ok(()) } else { Err(error) })
    }
}

impl Piece {
    fn visible(&self) -> usize {
        self.rows.saturating_sub(self.gone)
    }

    /// What is to be seen of it at another width: as much of it as before has scrolled away.
    fn at_width(&mut self, columns: usize) -> Vec<Line> {
        let mut lines = self.block.render(columns);
        self.gone = self.gone * lines.len() / self.rows.max(1);
        self.rows = lines.len();
        lines.drain(..self.gone.min(self.rows));
        lines
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
        let lines = lines.iter().map(|line| Line::of(PLAIN, line)).collect();
        Frame { lines, cursor: Some((0, 1)), size: Some((10, 6)) }
    }

    fn shown(bytes: &[u8]) -> String {
        let mut parser = vt100::Parser::new(6, 10, 100);
        parser.process(bytes);
        parser.screen().contents()
    }

    #[test]
    fn finished_lines_stay_and_the_live_part_is_replaced() {
        let mut screen = Screen::new(Vec::new(), false, Rewrap::ByTerminal);
        screen.draw(Vec::new(), &frame(&["> a", "status"])).unwrap();
        screen.draw(vec![Block::line(Line::of(PLAIN, "done 1"))], &frame(&["> b", "0123456789", "status"])).unwrap();
        screen.draw(vec![Block::line(Line::of(PLAIN, "done 2"))], &frame(&["> c", "status"])).unwrap();
        assert_eq!(shown(&screen.out), "done 1\ndone 2\n> c\nstatus");
        let before = screen.out.len();
        screen.draw(Vec::new(), &frame(&["> c", "status"])).unwrap();
        assert_eq!(screen.out.len(), before, "nothing changed, nothing is written");
    }

    #[test]
    fn a_full_screen_scrolls() {
        let mut screen = Screen::new(Vec::new(), false, Rewrap::ByTerminal);
        for number in 0..20 {
            screen
                .draw(vec![Block::line(Line::of(PLAIN, format!("line {number}")))], &frame(&["> x", "status"]))
                .unwrap();
        }
        assert_eq!(shown(&screen.out), "line 16\nline 17\nline 18\nline 19\n> x\nstatus");
        screen.page(&[Line::of(PLAIN, "page")], 6).unwrap();
        assert_eq!(shown(&screen.out), "page");
        screen.draw(Vec::new(), &frame(&["> y", "status"])).unwrap();
        assert_eq!(shown(&screen.out), "line 16\nline 17\nline 18\nline 19\n> y\nstatus");
    }
}
