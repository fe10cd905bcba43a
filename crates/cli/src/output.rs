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
        ArmedState::Untrusted(_) => WARN,
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
    fn shortening_counts_columns() {
        assert_eq!(truncate_columns("日本語", 5), "日本…");
        assert_eq!(truncate_columns("abc", 3), "abc");
    }
}
