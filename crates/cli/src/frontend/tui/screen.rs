//! Draws on the terminal's normal screen: finished blocks go into the scrollback once, and only the live part below
//! them is redrawn.
//!
//! The terminal is never asked for the cursor position, which would cost a round trip over ssh: the live part is found
//! by counting up from the cursor. After a resize its position is computed with `rewrap.rs`, and lines that have
//! scrolled away are not written again.

use std::collections::VecDeque;
use std::io::{self, Write};

use hookwright_settings::ProcessEnv;

use super::block::{ScrollbackBlock, render_all};
use super::rewrap::{Rewrap, wrapped_rows};
use super::terminal;
use crate::presentation::styled_text::StyledLine;
use crate::presentation::theme::Theme;

/// The live part below the scrollback.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ScreenFrame {
    pub(crate) lines: Vec<StyledLine>,
    /// Row and column of the cursor, if it is shown.
    pub(crate) cursor: Option<(usize, usize)>,
    /// Columns and rows of the terminal that it was rendered for, if they are known.
    pub(crate) size: Option<(usize, usize)>,
}

const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?25l";
const END_FRAME: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Clears everything below the cursor.
///
/// Some terminals move a screen that is cleared from its first cell on into the scrollback; the blank prevents that.
const CLEAR_BELOW: &str = "\r \x1b[J\r";
/// The number of visible blocks that are remembered; more would hardly fit on a screen.
const MAX_SHOWN_BLOCKS: usize = 500;

/// A finished block, and the number of its rows.
struct ShownBlock {
    block: ScrollbackBlock,
    rows: usize,
    /// The number of rows that have scrolled away.
    scrolled_rows: usize,
}

/// The state of the terminal's screen.
pub(crate) struct TerminalScreen<W: Write> {
    out: W,
    colour: bool,
    theme: Theme,
    rewrap: Rewrap,
    live: Vec<String>,
    /// The width of each line of the live part.
    widths: Vec<usize>,
    /// The row of the live part that the cursor is in.
    cursor_row: usize,
    cursor: Option<(usize, usize)>,
    size: Option<(usize, usize)>,
    /// The finished blocks that are still partly visible.
    shown: VecDeque<ShownBlock>,
    /// Whether the last line is empty.
    after_gap: bool,
    is_on_alternate_screen: bool,
}

impl TerminalScreen<terminal::ScreenWriter> {
    /// Returns the screen of the user's terminal.
    pub(crate) fn open(world: &ProcessEnv) -> Self {
        let colour = world.var("NO_COLOR").is_none_or(str::is_empty);
        TerminalScreen::new(terminal::raw_stdout(), colour, Rewrap::detect(world))
    }
}

impl<W: Write> TerminalScreen<W> {
    fn new(out: W, colour: bool, rewrap: Rewrap) -> Self {
        TerminalScreen {
            out,
            colour,
            theme: Theme::Terminal,
            rewrap,
            live: Vec::new(),
            widths: Vec::new(),
            cursor_row: 0,
            cursor: None,
            size: None,
            shown: VecDeque::new(),
            after_gap: true,
            is_on_alternate_screen: false,
        }
    }

    /// Sets the theme for everything drawn from now on; lines that have scrolled away stay as they are.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Adds finished blocks to the scrollback and draws the live part below them; writes nothing if nothing changed.
    pub(crate) fn draw(&mut self, finished: Vec<ScrollbackBlock>, frame: &ScreenFrame) -> io::Result<()> {
        let live: Vec<String> = frame.lines.iter().map(|line| line.encode_in(self.theme, self.colour)).collect();
        let resized = frame.size.is_some() && self.size.is_some() && frame.size != self.size;
        if finished.is_empty()
            && live == self.live
            && frame.cursor == self.cursor
            && !self.is_on_alternate_screen
            && !resized
        {
            return Ok(());
        }
        let mut text = String::from(BEGIN_FRAME);
        text.push_str(self.leave_page());
        let mut lines = if resized { self.resize(frame, &mut text) } else { Vec::new() };
        lines.extend(self.push_blocks(finished, frame));
        move_up(&mut text, self.cursor_row);
        for line in &lines {
            text.push_str(&format!("\r\x1b[K{}\r\n", line.encode_in(self.theme, self.colour)));
        }
        let common = self.live.iter().zip(&live).take_while(|(old, new)| old == new).count();
        let same = if lines.is_empty() && !resized { common } else { 0 };
        for (row, line) in live.iter().enumerate() {
            // Everything below is cleared before the line is written: clearing after a full line would erase its last
            // character.
            text.push_str(if row == same { "\r\x1b[J" } else { "" });
            text.push_str(if row >= same { line } else { "" });
            text.push_str(if row + 1 < live.len() { "\r\n" } else { "" });
        }
        if live.is_empty() {
            text.push_str("\r\x1b[J");
        } else if same == live.len() && self.live.len() > same {
            text.push_str("\r\n\x1b[J\x1b[A");
        }
        self.cursor_row = live.len().saturating_sub(1);
        if let Some((row, column)) = frame.cursor {
            move_up(&mut text, self.cursor_row.saturating_sub(row));
            self.cursor_row = row;
            text.push_str(&format!("\x1b[{}G{SHOW_CURSOR}", column + 1));
        }
        text.push_str(END_FRAME);
        self.live = live;
        self.widths = frame.lines.iter().map(StyledLine::width).collect();
        self.cursor = frame.cursor;
        self.size = frame.size.or(self.size);
        self.forget_scrolled();
        self.write(&text)
    }

    /// Moves to where the live part begins after a resize and clears it, and returns the finished lines that must be
    /// written again.
    fn resize(&mut self, frame: &ScreenFrame, text: &mut String) -> Vec<StyledLine> {
        let (columns, rows) = frame.size.unwrap_or((80, 24));
        let again = match self.rewrap {
            Rewrap::ByTerminal => {
                let column = self.cursor.map_or_else(|| self.widths.last().copied().unwrap_or(0), |(_, column)| column);
                let above: usize =
                    self.widths.iter().take(self.cursor_row).map(|width| wrapped_rows(*width, columns)).sum();
                move_up(text, (above + wrapped_rows(column, columns) - 1).min(rows.saturating_sub(1)));
                Vec::new()
            }
            Rewrap::ByProgram => {
                text.push_str("\x1b[H");
                self.shown.iter_mut().flat_map(|piece| piece.rewrap_shown(columns)).collect()
            }
        };
        text.push_str(CLEAR_BELOW);
        self.forget_live();
        again
    }

    /// Renders finished blocks, and remembers them as visible.
    fn push_blocks(&mut self, finished: Vec<ScrollbackBlock>, frame: &ScreenFrame) -> Vec<StyledLine> {
        let (columns, _) = frame.size.or(self.size).unwrap_or((80, 24));
        let drawn = render_all(finished, columns, &mut self.after_gap);
        let keep = |(block, lines): (ScrollbackBlock, Vec<StyledLine>)| {
            self.shown.push_back(ShownBlock { block, rows: lines.len(), scrolled_rows: 0 });
            lines
        };
        drawn.into_iter().flat_map(keep).collect()
    }

    /// Forgets blocks that have scrolled out of sight.
    fn forget_scrolled(&mut self) {
        let (_, rows) = self.size.unwrap_or((80, 24));
        let mut over = self
            .shown
            .iter()
            .map(ShownBlock::visible_rows)
            .sum::<usize>()
            .saturating_sub(rows.saturating_sub(self.live.len()));
        while let Some(first) = self.shown.front_mut() {
            let visible = first.visible_rows();
            if over < visible && self.shown.len() <= MAX_SHOWN_BLOCKS {
                if let Some(first) = self.shown.front_mut() {
                    first.scrolled_rows += over;
                }
                return;
            }
            over = over.saturating_sub(visible);
            self.shown.pop_front();
        }
    }

    /// Draws a whole page on the alternate screen, until the next [`TerminalScreen::draw`].
    pub(crate) fn draw_page(&mut self, lines: &[StyledLine], rows: usize) -> io::Result<()> {
        let mut text = String::from(BEGIN_FRAME);
        // Another program may have left the alternate screen meanwhile.
        if !std::mem::replace(&mut self.is_on_alternate_screen, true) || !terminal::is_on_alternate_screen() {
            text.push_str(terminal::ENTER_ALTERNATE_SCREEN);
            terminal::set_on_alternate_screen(true);
        }
        text.push_str("\x1b[H");
        for (row, line) in lines.iter().take(rows).enumerate() {
            text.push_str(if row == 0 { "" } else { "\r\n" });
            text.push_str(&format!("\x1b[K{}", line.encode_in(self.theme, self.colour)));
        }
        if lines.len() < rows {
            text.push_str("\r\n\x1b[J");
        }
        text.push_str(END_FRAME);
        self.write(&text)
    }

    fn leave_page(&mut self) -> &'static str {
        if !std::mem::take(&mut self.is_on_alternate_screen) || !terminal::is_on_alternate_screen() {
            return "";
        }
        terminal::set_on_alternate_screen(false);
        terminal::LEAVE_ALTERNATE_SCREEN
    }

    /// Clears the screen and redraws the visible blocks.
    pub(crate) fn clear_and_redraw(&mut self, frame: &ScreenFrame) -> io::Result<()> {
        let leave = self.leave_page();
        self.write(&format!("{BEGIN_FRAME}{leave}\x1b[H{CLEAR_BELOW}"))?;
        self.redraw_below(frame)
    }

    /// Redraws the visible blocks below the output of another program.
    pub(crate) fn redraw_below(&mut self, frame: &ScreenFrame) -> io::Result<()> {
        self.forget_live();
        self.size = frame.size;
        self.after_gap = true;
        let shown = std::mem::take(&mut self.shown).into_iter().map(|piece| piece.block).collect();
        self.draw(shown, frame)
    }

    /// Leaves everything drawn so far to the scrollback, and starts with an empty screen.
    pub(crate) fn scroll_away(&mut self, frame: &ScreenFrame) -> io::Result<()> {
        self.finish()?;
        let (_, rows) = frame.size.unwrap_or((80, 24));
        self.write(&format!("{BEGIN_FRAME}{}\x1b[H", "\r\n".repeat(rows)))?;
        self.shown.clear();
        self.redraw_below(frame)
    }

    /// Forgets the live part, so that the next one is drawn whole at the cursor.
    pub(crate) fn forget_live(&mut self) {
        self.live.clear();
        self.widths.clear();
        self.cursor_row = 0;
        self.cursor = None;
    }

    /// Removes the live part and leaves the cursor on an empty line.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let empty = ScreenFrame::default();
        self.draw(Vec::new(), &empty)?;
        self.write(&format!("\r\x1b[J{SHOW_CURSOR}"))
    }

    /// Writes a sequence to the terminal.
    ///
    /// That the terminal is gone is no error here: the key reader notices it.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.or_else(|error| if crate::output::is_reader_gone(&error) { Ok(()) } else { Err(error) })
    }
}

impl ShownBlock {
    fn visible_rows(&self) -> usize {
        self.rows.saturating_sub(self.scrolled_rows)
    }

    /// Returns the visible lines at another width; the share that has scrolled away stays the same.
    fn rewrap_shown(&mut self, columns: usize) -> Vec<StyledLine> {
        let mut lines = self.block.render(columns);
        self.scrolled_rows = self.scrolled_rows * lines.len() / self.rows.max(1);
        self.rows = lines.len();
        lines.drain(..self.scrolled_rows.min(self.rows));
        lines
    }
}

fn move_up(text: &mut String, rows: usize) {
    if rows > 0 {
        text.push_str(&format!("\x1b[{rows}A"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presentation::styled_text::PLAIN;

    fn frame(lines: &[&str]) -> ScreenFrame {
        let lines = lines.iter().map(|line| StyledLine::styled(PLAIN, line)).collect();
        ScreenFrame { lines, cursor: Some((0, 1)), size: Some((10, 6)) }
    }

    fn shown(bytes: &[u8]) -> String {
        let mut parser = vt100::Parser::new(6, 10, 100);
        parser.process(bytes);
        parser.screen().contents()
    }

    #[test]
    fn finished_lines_stay_and_the_live_part_is_replaced() {
        let mut screen = TerminalScreen::new(Vec::new(), false, Rewrap::ByTerminal);
        screen.draw(Vec::new(), &frame(&["> a", "status"])).unwrap();
        screen
            .draw(
                vec![ScrollbackBlock::line(StyledLine::styled(PLAIN, "done 1"))],
                &frame(&["> b", "0123456789", "status"]),
            )
            .unwrap();
        screen
            .draw(vec![ScrollbackBlock::line(StyledLine::styled(PLAIN, "done 2"))], &frame(&["> c", "status"]))
            .unwrap();
        assert_eq!(shown(&screen.out), "done 1\ndone 2\n> c\nstatus");
        let before = screen.out.len();
        screen.draw(Vec::new(), &frame(&["> c", "status"])).unwrap();
        assert_eq!(screen.out.len(), before, "nothing changed, nothing is written");
    }

    #[test]
    fn a_full_screen_scrolls() {
        let mut screen = TerminalScreen::new(Vec::new(), false, Rewrap::ByTerminal);
        for number in 0..20 {
            screen
                .draw(
                    vec![ScrollbackBlock::line(StyledLine::styled(PLAIN, format!("line {number}")))],
                    &frame(&["> x", "status"]),
                )
                .unwrap();
        }
        assert_eq!(shown(&screen.out), "line 16\nline 17\nline 18\nline 19\n> x\nstatus");
        screen.draw_page(&[StyledLine::styled(PLAIN, "page")], 6).unwrap();
        assert_eq!(shown(&screen.out), "page");
        screen.draw(Vec::new(), &frame(&["> y", "status"])).unwrap();
        assert_eq!(shown(&screen.out), "line 16\nline 17\nline 18\nline 19\n> y\nstatus");
    }
}
