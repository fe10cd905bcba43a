//! Writing to the terminal: styles that vanish in pipes and under NO_COLOR, words that can't steer it, and tables.
//!
//! Data goes to stdout, everything about it to stderr. Colour never carries meaning of its own. Nothing else in the program
//! opens these two; what stands between is `out/door.rs`.

mod attention;
mod door;
mod safe;

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
pub(crate) use attention::{notice, title};
use door::{Door, Kind, Outside};
pub(crate) use door::{is_stdout_closed, is_unread, paint, unpainted};
use hookwright_agent::session::Armed;
use hookwright_settings::{Notifications, World};
pub(crate) use safe::{safe, spelled, steers};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default();

/// Where data goes.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stdout() -> impl Write {
    static OUTSIDE: OnceLock<Outside> = OnceLock::new();
    let stream = io::stdout().lock();
    let outside = *OUTSIDE.get_or_init(|| Outside::of(&stream));
    Door::new(stream, Kind::Data, outside)
}

/// Where words about it go.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stderr() -> impl Write {
    static OUTSIDE: OnceLock<Outside> = OnceLock::new();
    let stream = io::stderr().lock();
    let outside = *OUTSIDE.get_or_init(|| Outside::of(&stream));
    Door::new(stream, Kind::Words, outside)
}

/// Whether words go to a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stderr_is_terminal() -> bool {
    io::IsTerminal::is_terminal(&io::stderr())
}

/// Tells a user who looks elsewhere that something waits for them, on a terminal; the sequence is ours, its words are safe.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn notify(how: Notifications, world: &World, text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if !stdout.is_terminal() {
        return Ok(());
    }
    stdout.write_all(notice(how, world, text).as_bytes())?;
    stdout.flush()
}

/// One JSON document on stdout.
pub(crate) fn json(value: &serde_json::Value) -> io::Result<()> {
    writeln!(stdout(), "{value:#}")
}

/// A line on stderr.
pub(crate) fn stderr_line(text: &str) -> io::Result<()> {
    writeln!(stderr(), "{text}")
}

/// A warning on stderr.
pub(crate) fn warn(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(WARN, "warning:"))
}

/// An error on stderr.
pub(crate) fn error(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(BAD, "error:"))
}

/// A note on stderr.
pub(crate) fn note(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(NOTE, "note:"))
}

/// What to do about an error or a warning, on stderr.
pub(crate) fn hint(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(NOTE, "hint:"))
}

/// How a hook's state looks.
pub(crate) fn state_style(state: &Armed) -> Style {
    match state {
        Armed::Yes => GOOD,
        Armed::Disabled(_) => DIM,
        Armed::Untrusted(_) => WARN,
        Armed::Inert(_) | Armed::Idle(_) => BAD,
    }
}

/// Rows under headings, each column as wide as its widest cell.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<(Style, String)>>,
}

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Table { headings: headings.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<(Style, String)>) {
        self.rows.push(cells.into_iter().map(|(style, text)| (style, one_line(&text))).collect());
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|(_, text)| text.width());
            cells.chain([self.headings[column].width()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let headings = self.headings.iter().map(|text| (BOLD, (*text).to_owned())).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (column, (style, text)) in row.iter().enumerate() {
                line.push_str(&paint(*style, text));
                if column + 1 < row.len() {
                    line.push_str(&" ".repeat(widths[column] - text.width() + 2));
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Text for one line of a terminal: no control characters, so that nobody's name can draw on the screen.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Text of at most so many columns.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text = one_line(text);
    if text.width() <= columns {
        return text;
    }
    let mut used = 1;
    let fits = |char: &char| {
        used += char.width().unwrap_or(0);
        used <= columns
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_their_width() {
        let mut table = Table::new(&["A", "B", "C"]);
        table.row(vec![(PLAIN, "日本".into()), (PLAIN, "x".into()), (PLAIN, "end".into())]);
        table.row(vec![(PLAIN, "abcde".into()), (PLAIN, "yy\n".into()), (PLAIN, String::new())]);
        let mut text = Vec::new();
        table.print(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let text = unpainted(&text);
        assert_eq!(text, "A      B    C\n日本   x    end\nabcde  yy\n");
    }

    #[test]
    fn shortening_counts_columns() {
        assert_eq!(shorten("日本語", 5), "日本…");
        assert_eq!(shorten("abc", 3), "abc");
    }
}
