//! Renders the screen of a command's terminal: its last lines on a card, or the whole on a page with the cursor and a
//! status line.
//!
//! Only text and styles are taken over.

use std::time::Instant;

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};
use hookwright_tools::TerminalInputMode;

use super::{IDLE_NOTICE_DELAY, ScreenConsole, ScreenConsoles, lock};
use crate::presentation::humanize::format_elapsed;
use crate::presentation::styled_text::{DIM, NOTE, PLAIN, StyledLine, StyledSpan, WARN};

/// The hint how to give a command the keyboard.
const KEYBOARD_HINT: &str = "Ctrl+F or Tab gives it the keyboard";

impl ScreenConsoles {
    /// Returns the last lines of a terminal's screen, and a notice if the command seems to wait for input.
    pub(crate) fn tail_lines(&self, console: &ScreenConsole, most: usize, now: Instant) -> Vec<StyledLine> {
        let drawn = lock(&console.screen);
        let mut lines = self.screen_lines(drawn.parser.screen());
        let end = lines.iter().rposition(|line| !line.spans.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(end);
        lines.drain(..lines.len().saturating_sub(most));
        let mut lines: Vec<StyledLine> = lines.into_iter().map(|line| line.indented_by(2)).collect();
        let quiet = now.saturating_duration_since(drawn.last_draw);
        let why = match console.terminal.input_mode() {
            _ if drawn.parser.screen().alternate_screen() => Some("it has drawn a whole screen".to_owned()),
            TerminalInputMode::HiddenLines => {
                Some("it asks for something that is not shown, such as a password".to_owned())
            }
            TerminalInputMode::Keys => Some("it takes single keys".to_owned()),
            TerminalInputMode::Lines if quiet >= IDLE_NOTICE_DELAY => {
                Some(format!("quiet for {}; if it waits for you", format_elapsed(quiet)))
            }
            TerminalInputMode::Lines => None,
        };
        lines.extend(why.map(|why| StyledLine::styled(WARN, format!("  {why}: ")).with_text(DIM, KEYBOARD_HINT)));
        lines
    }

    /// Returns a terminal's whole screen with a status line below it, and the position of the cursor.
    pub(crate) fn page_lines(
        &self,
        console: &ScreenConsole,
        title: &str,
        notice: Option<&str>,
    ) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let drawn = lock(&console.screen);
        let screen = drawn.parser.screen();
        let (row, column) = screen.cursor_position();
        let cursor = (!screen.hide_cursor()).then_some((usize::from(row), usize::from(column)));
        let mut lines = self.screen_lines(screen);
        let (_, columns) = screen.size();
        let back = if screen.alternate_screen() || console.terminal.input_mode() == TerminalInputMode::Keys {
            "Ctrl+F comes back"
        } else {
            "Ctrl+F or Esc comes back"
        };
        drop(drawn);
        let mut foot =
            StyledLine::styled(NOTE.invert(), " the keyboard is the program's ").with_text(NOTE, format!(" {back} "));
        if let Some(notice) = notice {
            foot.push(WARN, &format!("· {notice} "));
        }
        lines.push(foot.with_text(DIM, format!("· {title}")).clip(usize::from(columns)));
        (lines, cursor)
    }

    /// Returns a terminal's whole screen, indented as on a card.
    pub(crate) fn all_lines(&self, console: &ScreenConsole) -> Vec<StyledLine> {
        let lines = self.screen_lines(lock(&console.screen).parser.screen());
        lines.into_iter().map(|line| line.indented_by(2)).collect()
    }

    pub(super) fn screen_lines(&self, screen: &vt100::Screen) -> Vec<StyledLine> {
        let in_colour = self.in_colour.load(std::sync::atomic::Ordering::Relaxed);
        let (rows, columns) = screen.size();
        (0..rows).map(|row| row_line(screen, row, columns, in_colour)).collect()
    }
}

/// Returns one row without the blanks at its end, unless they are coloured.
fn row_line(screen: &vt100::Screen, row: u16, columns: u16, in_colour: bool) -> StyledLine {
    let mut line = StyledLine::new();
    let mut end = 0;
    for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
        if cell.is_wide_continuation() {
            continue;
        }
        let style = if in_colour { cell_style(cell) } else { PLAIN };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        line.push(style, text);
        if cell.has_contents() && text != " " || style != PLAIN {
            end = line.spans.iter().map(|span| span.text.len()).sum();
        }
    }
    truncate_spans(&mut line.spans, end);
    line
}

/// Truncates spans to so many bytes in all, which must end at a character boundary.
fn truncate_spans(spans: &mut Vec<StyledSpan>, mut left: usize) {
    for span in spans.iter_mut() {
        span.text.truncate(left.min(span.text.len()));
        left -= span.text.len();
    }
    spans.retain(|span| !span.text.is_empty());
}

fn cell_style(cell: &vt100::Cell) -> Style {
    let mut style = Style::new().fg_color(convert_colour(cell.fgcolor())).bg_color(convert_colour(cell.bgcolor()));
    for (has, with) in [
        (cell.bold(), anstyle::Effects::BOLD),
        (cell.dim(), anstyle::Effects::DIMMED),
        (cell.italic(), anstyle::Effects::ITALIC),
        (cell.underline(), anstyle::Effects::UNDERLINE),
        (cell.inverse(), anstyle::Effects::INVERT),
    ] {
        if has {
            style |= with;
        }
    }
    style
}

fn convert_colour(colour: vt100::Color) -> Option<Color> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(number) => {
            let number = Ansi256Color(number);
            Some(number.into_ansi().map_or(Color::Ansi256(number), |named: AnsiColor| Color::Ansi(named)))
        }
        vt100::Color::Rgb(red, green, blue) => Some(Color::Rgb(RgbColor(red, green, blue))),
    }
}

/// Gives lines the colours of the drawn lines with the same text; both are matched from their ends.
pub(crate) fn recolour_matching_lines(lines: &mut [StyledLine], coloured: &[StyledLine]) {
    let words =
        |line: &StyledLine| line.spans.iter().map(|span| span.text.as_str()).collect::<String>().trim().to_owned();
    let mut known = coloured.iter().rev().map(|line| (words(line), line)).filter(|(words, _)| !words.is_empty());
    let Some(mut next) = known.next() else { return };
    for line in lines.iter_mut().rev() {
        if words(line) == next.0 {
            line.spans.clone_from(&next.1.spans);
            match known.next() {
                Some(following) => next = following,
                None => return,
            }
        }
    }
}
