//! Terminal output: stdout and stderr, styles that vanish in pipes and under NO_COLOR, messages and tables.
//!
//! Data goes to stdout, messages about it to stderr. Colour never carries meaning of its own. Both streams are wrapped
//! in the [`SafeWriter`] of `output/safe_writer.rs`. Three writers bypass it: [`notify`], the full-screen front end
//! (`frontend/tui/terminal.rs`) and the last output of a process that a signal ends (`hookwright_process`).

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

/// Returns stdout, locked, for data that the user asked for.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stdout() -> impl Write {
    static STDOUT_TARGET: OnceLock<OutputTarget> = OnceLock::new();
    let stream = io::stdout().lock();
    let outside = *STDOUT_TARGET.get_or_init(|| OutputTarget::detect(&stream));
    SafeWriter::new(stream, OutputKind::Data, outside)
}

/// Returns stderr, locked, for messages.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stderr() -> impl Write {
    static STDERR_TARGET: OnceLock<OutputTarget> = OnceLock::new();
    let stream = io::stderr().lock();
    let outside = *STDERR_TARGET.get_or_init(|| OutputTarget::detect(&stream));
    SafeWriter::new(stream, OutputKind::Messages, outside)
}

/// Returns whether stderr is a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn stderr_is_terminal() -> bool {
    io::IsTerminal::is_terminal(&io::stderr())
}

/// Sends the user a notification, if stdout is a terminal.
///
/// Bypasses [`SafeWriter`], which would strip the escape sequence; [`notification_sequence`] sanitizes the text.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn notify(how: NotificationMode, world: &ProcessEnv, text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if !stdout.is_terminal() {
        return Ok(());
    }
    stdout.write_all(notification_sequence(how, world, text).as_bytes())?;
    stdout.flush()
}

/// Prints one JSON document to stdout.
pub(crate) fn print_json(value: &serde_json::Value) -> io::Result<()> {
    writeln!(stdout(), "{value:#}")
}

/// Prints a line to stderr.
pub(crate) fn stderr_line(text: &str) -> io::Result<()> {
    writeln!(stderr(), "{text}")
}

/// Prints a warning to stderr.
pub(crate) fn warn(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(WARN, "warning:"))
}

/// Prints an error to stderr.
pub(crate) fn error(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(BAD, "error:"))
}

/// Prints a note to stderr.
pub(crate) fn note(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(NOTE, "note:"))
}

/// Prints to stderr what to do about an error or a warning.
pub(crate) fn hint(text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(stderr(), "{} {text}", paint(NOTE, "hint:"))
}

/// Returns the style in which a hook's state is printed.
pub(crate) fn state_style(state: &ArmedState) -> Style {
    match state {
        ArmedState::Armed => GOOD,
        ArmedState::Disabled(_) => DIM,
        ArmedState::Untrusted(_) | ArmedState::Shadow => WARN,
        ArmedState::Inert(_) | ArmedState::NeverMatches(_) => BAD,
    }
}

/// A table with headings, each column as wide as its widest cell.
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

    /// Prints the table. On a terminal it fits the width: the last column is wrapped.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_within(terminal_columns(), out)
    }

    fn print_within(&self, columns: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|(_, text)| text.width());
            cells.chain([self.headings[column].width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let last = widths.pop().unwrap_or(0);
        let room = columns.map_or(last, |columns| columns.saturating_sub(widths.iter().map(|width| width + 2).sum()));
        // A column of less is no help, and the terminal wraps the lines.
        let room = if room < MIN_WRAPPED_COLUMNS { last } else { room };
        let headings = self.headings.iter().map(|text| (BOLD, (*text).to_owned())).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((style, text), width) in row.iter().zip(&widths) {
                line.push_str(&paint(*style, text));
                line.push_str(&" ".repeat(width - text.width() + 2));
            }
            let indent = " ".repeat(widths.iter().map(|width| width + 2).sum());
            let (style, text) = row.get(widths.len()).cloned().unwrap_or_default();
            for (at, part) in wrap_words(&text, room).iter().enumerate() {
                let before = if at == 0 { &line } else { &indent };
                writeln!(out, "{}", format!("{before}{}", paint(style, part)).trim_end())?;
            }
        }
        Ok(())
    }
}

/// The width below which a table's last column is not wrapped.
const MIN_WRAPPED_COLUMNS: usize = 16;

/// Returns the width of the terminal that stdout is, if it is one.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn terminal_columns() -> Option<usize> {
    let columns = || crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    io::stdout().is_terminal().then(columns).flatten().filter(|columns| *columns > 0)
}

/// Breaks a text between words into lines of at most so many columns; a longer word has a line of its own.
fn wrap_words(text: &str, columns: usize) -> Vec<String> {
    if text.width() <= columns {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().filter(|line| line.is_empty() || line.width() + 1 + word.width() <= columns);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the text on one line: every control character becomes a space, so that a name cannot move the cursor.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Returns the text cut to at most `columns` columns, with an ellipsis if anything was cut.
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
    fn a_table_fits_the_terminal() {
        let mut table = TextTable::new(&["A", "WHAT IT DOES"]);
        table.add_row(vec![(PLAIN, "abc".into()), (PLAIN, "a log of JSON lines, one per event".into())]);
        let mut text = Vec::new();
        table.print_within(Some(24), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(strip_styles(&text), "A    WHAT IT DOES\nabc  a log of JSON\n     lines, one per\n     event\n");
        let mut piped = Vec::new();
        table.print_within(None, &mut piped).unwrap();
        assert_eq!(String::from_utf8(piped).unwrap().lines().count(), 2);
    }

    #[test]
    fn shortening_counts_columns() {
        assert_eq!(truncate_columns("日本語", 5), "日本…");
        assert_eq!(truncate_columns("abc", 3), "abc");
    }
}
