//! One line of the log: time, level, process, target, spans, message and fields.
//!
//! Control characters are escaped, secrets are hidden, and long lines are cut.

use std::fmt::{self, Write};

use tracing::Level;
use tracing::field::{Field, Visit};

use hookwright_settings::{Secrets, is_secret_name};

/// The length at which a line is cut; a logged request can be as long as a conversation.
const MAX_LOG_LINE_BYTES: usize = 64 << 10;

/// The message and fields of an event or span, with secrets hidden and control characters escaped.
pub(super) struct LogFields<'s> {
    secrets: &'s Secrets,
    pub(super) message: String,
    pub(super) other_fields: String,
}

impl<'s> LogFields<'s> {
    pub(super) fn new(secrets: &'s Secrets) -> Self {
        LogFields { secrets, message: String::new(), other_fields: String::new() }
    }

    fn add(&mut self, name: &str, value: &str) {
        // Secrets are hidden before the line is cut: half a secret would not be recognised.
        let value = if is_secret_name(name) { "***".to_owned() } else { self.secrets.hide(value) };
        let value = strip_controls(&value);
        if name == "message" {
            self.message = value;
            return;
        }
        self.other_fields.push_str(if self.other_fields.is_empty() { "" } else { " " });
        self.other_fields.push_str(name);
        self.other_fields.push('=');
        if value.is_empty() || value.contains([' ', '"', '=']) {
            self.other_fields.push_str(&format!("\"{}\"", value.replace('"', "\\\"")));
        } else {
            self.other_fields.push_str(&value);
        }
    }
}

impl Visit for LogFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }
}

/// Returns the whole line, with its line feed.
pub(super) fn format_line(level: Level, place: &str, spans: &str, fields: &LogFields<'_>) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ");
    let mut line = format!("{now} {level:>5} {} {place}", std::process::id());
    for (before, text) in [(" ", spans), (": ", &fields.message), (" ", &fields.other_fields)] {
        if !text.is_empty() {
            line.push_str(before);
            line.push_str(text);
        }
    }
    if line.len() > MAX_LOG_LINE_BYTES {
        let dropped = line.len() - line.floor_char_boundary(MAX_LOG_LINE_BYTES);
        line.truncate(line.len() - dropped);
        // Writing to a string cannot fail.
        let _ = write!(line, " … and {dropped} bytes more");
    }
    line.push('\n');
    line
}

/// Returns the text with control characters and bidirectional marks escaped.
fn strip_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if char.is_control() || is_direction_mark(char) => out.extend(char.escape_unicode()),
            char => out.push(char),
        }
    }
    out
}

/// Returns whether a character changes the direction of text, or is a line separator to some viewers.
fn is_direction_mark(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<'s>(secrets: &'s Secrets, all: &[(&str, &str)]) -> LogFields<'s> {
        let mut fields = LogFields::new(secrets);
        all.iter().for_each(|(name, value)| fields.add(name, value));
        fields
    }

    #[test]
    fn a_line_contains_no_line_break_or_control_character() {
        let secrets = Secrets::default();
        let all = [
            ("message", "hook\nended"),
            ("hook", "\u{1b}[2Jx\u{9b}1m \"y\""),
            ("empty", ""),
            ("exit", "2"),
            ("api_key", "a"),
        ];
        let line = format_line(Level::WARN, "hooks::firing", "turn{id=1}", &fields(&secrets, &all));
        let expected = " hooks::firing turn{id=1}: hook\\nended hook=\"\\u{1b}[2Jx\\u{9b}1m \\\"y\\\"\" empty=\"\" exit=2 api_key=***\n";
        assert!(line.ends_with(expected), "{line}");
        assert!(line.contains("  WARN "), "{line}");
        assert_eq!(line.chars().filter(|char| char.is_control()).count(), 1);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let secrets = Secrets::default();
        let line =
            format_line(Level::TRACE, "model", "", &fields(&secrets, &[("message", &"ü".repeat(MAX_LOG_LINE_BYTES))]));
        assert!(line.len() < MAX_LOG_LINE_BYTES + 40 && line.contains("üü … and ") && line.ends_with(" bytes more\n"));
    }
}
