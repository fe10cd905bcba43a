//! What is drawn on a command's terminal, as lines of ours: its end on a card, all of it on a page with the cursor and how
//! to come back. Only words and styles are taken over.

use std::time::Instant;

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};
use hookwright_tools::Manner;

use super::{Console, Consoles, QUIET, lock};
use crate::tui::text::{DIM, Line, NOTE, PLAIN, Span, WARN, elapsed};

/// How the keyboard is given away.
const HOW: &str = "Ctrl+F or Tab gives it the keyboard";

impl Consoles {
    /// The last lines that are drawn on a call's terminal, and what the user should know of it.
    pub(crate) fn tail(&self, console: &Console, most: usize, now: Instant) -> Vec<Line> {
        let drawn = lock(&console.drawn);
        let mut lines = self.lines(drawn.parser.screen());
        let end = lines.iter().rposition(|line| !line.spans.is_empty()).map_or(0, |last| last + 1);
        lines.truncate(end);
        lines.drain(..lines.len().saturating_sub(most));
        let mut lines: Vec<Line> = lines.into_iter().map(|line| line.indented(2)).collect();
        let quiet = now.saturating_duration_since(drawn.last);
        let why = match console.terminal.manner() {
            _ if drawn.parser.screen().alternate_screen() => Some("it has drawn a whole screen".to_owned()),
            Manner::Hidden => Some("it asks for something that is not shown, such as a password".to_owned()),
            Manner::Keys => Some("it takes single keys".to_owned()),
            Manner::Lines if quiet >= QUIET => Some(format!("quiet for {}; if it waits for you", elapsed(quiet))),
            Manner::Lines => None,
        };
        lines.extend(why.map(|why| Line::of(WARN, format!("  {why}: ")).with(DIM, HOW)));
        lines
    }

    /// All of a call's terminal, a line that says whose the keyboard is, and where the cursor is.
    pub(crate) fn page(
        &self,
        console: &Console,
        title: &str,
        notice: Option<&str>,
    ) -> (Vec<Line>, Option<(usize, usize)>) {
        let drawn = lock(&console.drawn);
        let screen = drawn.parser.screen();
        let (row, column) = screen.cursor_position();
        let cursor = (!screen.hide_cursor()).then_some((usize::from(row), usize::from(column)));
        let mut lines = self.lines(screen);
        let (_, columns) = screen.size();
        let back = if screen.alternate_screen() || console.terminal.manner() == Manner::Keys {
            "Ctrl+F comes back"
        } else {
            "Ctrl+F or Esc comes back"
        };
        drop(drawn);
        let mut foot = Line::of(NOTE.invert(), " the keyboard is the program's ").with(NOTE, format!(" {back} "));
        if let Some(notice) = notice {
            foot.push(WARN, &format!("· {notice} "));
        }
        lines.push(foot.with(DIM, format!("· {title}")).clip(usize::from(columns)));
        (lines, cursor)
    }

    /// All that is drawn on a call's terminal, as a card has it.
    pub(crate) fn drawn(&self, console: &Console) -> Vec<Line> {
        let lines = self.lines(lock(&console.drawn).parser.screen());
        lines.into_iter().map(|line| line.indented(2)).collect()
    }

    pub(super) fn lines(&self, screen: &vt100::Screen) -> Vec<Line> {
        let in_colour = self.in_colour.load(std::sync::atomic::Ordering::Relaxed);
        let (rows, columns) = screen.size();
        (0..rows).map(|row| line(screen, row, columns, in_colour)).collect()
    }
}

/// One row; blanks at its end are left out unless they are coloured.
fn line(screen: &vt100::Screen, row: u16, columns: u16, in_colour: bool) -> Line {
    let mut line = Line::new();
    let mut end = 0;
    for cell in (0..columns).filter_map(|column| screen.cell(row, column)) {
        if cell.is_wide_continuation() {
            continue;
        }
        let style = if in_colour { style(cell) } else { PLAIN };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        line.push(style, text);
        if cell.has_contents() && text != " " || style != PLAIN {
            end = line.spans.iter().map(|span| span.text.len()).sum();
        }
    }
    cut(&mut line.spans, end);
    line
}

/// Keeps so many bytes, which end where a character does.
fn cut(spans: &mut Vec<Span>, mut left: usize) {
    for span in spans.iter_mut() {
        span.text.truncate(left.min(span.text.len()));
        left -= span.text.len();
    }
    spans.retain(|span| !span.text.is_empty());
}

fn style(cell: &vt100::Cell) -> Style {
    let mut style = Style::new().fg_color(colour(cell.fgcolor())).bg_color(colour(cell.bgcolor()));
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

fn colour(colour: vt100::Color) -> Option<Color> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(number) => {
            let number = Ansi256Color(number);
            Some(number.into_ansi().map_or(Color::Ansi256(number), |named: AnsiColor| Color::Ansi(named)))
        }
        vt100::Color::Rgb(red, green, blue) => Some(Color::Rgb(RgbColor(red, green, blue))),
    }
}

/// Lines whose words stand in one of the others get its colours. Both are looked through from their ends.
pub(crate) fn same_words_in_colour(lines: &mut [Line], coloured: &[Line]) {
    let words = |line: &Line| line.spans.iter().map(|span| span.text.as_str()).collect::<String>().trim().to_owned();
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
