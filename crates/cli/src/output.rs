//! Writing to the terminal: styles that vanish in pipes and under NO_COLOR, words that can't steer it, and tables.
//!
//! Data goes to stdout, everything about it to stderr. Colour never carries meaning of its own. Nothing else in the program
//! opens these two; what stands between is `out/door.rs`.

pub(crate) mod diagnostics;
pub(crate) mod error_report;
mod notification;
mod safe_writer;
mod sanitize;

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use hookwright_agent::session::ArmedState;
use hookwright_settings::{NotificationMode, ProcessEnv};
pub(crate) use notification::{notification_sequence, title_sequence};
use safe_writer::{OutputKind, OutputTarget, SafeWriter};
pub(crate) use safe_writer::{is_reader_gone, is_stdout_closed, paint, strip_styles};
pub(crate) use sanitize::{escape_invisible, is_control_or_bidi, sanitize};
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
    static STDOUT_TARGET: OnceLock<OutputTarget> = OnceLock::new();
    let stream = io::stdout().lock();
    let outside = *STDOUT_TARGET.get_or_init(|| OutputTarget::detect(&stream));
    SafeWriter::new(stream, OutputKind::Data, outside)
}

/// Where words about it go.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stderr() -> impl Write {
    static STDERR_TARGET: OnceLock<OutputTarget> = OnceLock::new();
    let stream = io::stderr().lock();
    let outside = *STDERR_TARGET.get_or_init(|| OutputTarget::detect(&stream));
    SafeWriter::new(stream, OutputKind::Messages, outside)
}

/// Whether words go to a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stderr_is_terminal() -> bool {
    io::IsTerminal::is_terminal(&io::stderr())
}

/// Tells a user who looks elsewhere that something waits for them, on a terminal; the sequence is ours, its words are safe.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn notify(how: NotificationMode, world: &ProcessEnv, text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if !stdout.is_terminal() {
        return Ok(());
    }
    stdout.write_all(notification_sequence(how, world, text).as_bytes())?;
    stdout.flush()
}

/// One JSON document on stdout.
pub(crate) fn print_json(value: &serde_json::Value) -> io::Result<()> {
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
pub(crate) fn state_style(state: &ArmedState) -> Style {
    match state {
        ArmedState::Armed => GOOD,
        ArmedState::Disabled(_) => DIM,
        ArmedState::Untrusted(_) => WARN,
        ArmedState::Inert(_) | ArmedState::NeverMatches(_) => BAD,
    }
}

/// Rows under headings, each column as wide as its widest cell.
pub(crate) struct TextTable {
    headings: Vec<&'static str>,
    rows: Vec<Vec<(Style, String)>>,
}

impl TextTable {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        TextTable { headings: headings.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn add_row(&mut self, cells: Vec<(Style, String)>) {
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
pub(crate) fn truncate_columns(text: &str, columns: usize) -> String {
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
        let mut table = TextTable::new(&["A", "B", "C"]);
        table.add_row(vec![(PLAIN, "日本".into()), (PLAIN, "x".into()), (PLAIN, "end".into())]);
        table.add_row(vec![(PLAIN, "abcde".into()), (PLAIN, "yy\n".into()), (PLAIN, String::new())]);
        let mut text = Vec::new();
        table.print(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let text = strip_styles(&text);
        assert_eq!(text, "A      B    C\n日本   x    end\nabcde  yy\n");
    }

    #[test]
    fn shortening_counts_columns() {
        assert_eq!(truncate_columns("日本語", 5), "日本…");
        assert_eq!(truncate_columns("abc", 3), "abc");
    }
}
