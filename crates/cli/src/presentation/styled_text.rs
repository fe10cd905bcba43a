//! Styled text: spans, lines, and wrapping by columns.
//!
//! Text is sanitized when it is added to a line, so that the output of a model, a tool or a hook cannot control the
//! terminal.

use anstyle::{AnsiColor, Style};

use super::theme::Theme;
use crate::output::{is_control_or_bidi, sanitize, strip_styles};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

// These are the terminal's own sixteen colours, so that light and dark backgrounds both stay readable.
pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default();
pub(crate) const ACCENT: Style = AnsiColor::Blue.on_default();
pub(crate) const CODE: Style = AnsiColor::Magenta.on_default();

/// A piece of text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledSpan {
    pub(crate) style: Style,
    pub(crate) text: String,
}

/// A line of text; if it is too long, the rest continues below, indented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledLine {
    pub(crate) spans: Vec<StyledSpan>,
    pub(crate) indent: usize,
}

impl StyledLine {
    /// Returns an empty line.
    pub(crate) fn new() -> Self {
        StyledLine::default()
    }

    /// Returns a line in one style.
    pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> Self {
        StyledLine::new().with_text(style, text)
    }

    /// Returns the line with text appended.
    #[must_use]
    pub(crate) fn with_text(mut self, style: Style, text: impl AsRef<str>) -> Self {
        self.push(style, text.as_ref());
        self
    }

    /// Returns the line with an indent for its continuation lines.
    #[must_use]
    pub(crate) fn with_hanging_indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Returns the line indented by so many columns.
    #[must_use]
    pub(crate) fn indented_by(mut self, by: usize) -> Self {
        self.spans.insert(0, StyledSpan { style: PLAIN, text: " ".repeat(by) });
        self.indent += by;
        self
    }

    /// Appends sanitized text.
    pub(crate) fn push(&mut self, style: Style, text: &str) {
        let text = single_line(text);
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(StyledSpan { style, text }),
        }
    }

    /// Returns the width in columns.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns the text without styles.
    pub(crate) fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Wraps the line to so many columns, between words where possible.
    pub(crate) fn wrap(&self, columns: usize) -> Vec<StyledLine> {
        let columns = columns.max(2);
        if self.width() <= columns {
            return vec![self.clone()];
        }
        let indent = if self.indent * 2 > columns { 0 } else { self.indent };
        let cells: Vec<TextCell<'_>> = self
            .spans
            .iter()
            .flat_map(|span| {
                span.text.graphemes(true).map(|text| TextCell {
                    text,
                    style: span.style,
                    width: text.width().min(columns),
                })
            })
            .collect();
        let mut lines = Vec::new();
        let mut start = 0;
        while start < cells.len() {
            let room = if lines.is_empty() { columns } else { columns - indent };
            let (end, next) = line_break(&cells, start, room);
            let mut line = StyledLine::new();
            if !lines.is_empty() {
                line.push(PLAIN, &" ".repeat(indent));
            }
            cells[start..end].iter().for_each(|cell| line.push(cell.style, cell.text));
            lines.push(line);
            start = next;
        }
        lines
    }

    /// Returns the line cut to so many columns, with an ellipsis if something is missing.
    pub(crate) fn clip(&self, columns: usize) -> StyledLine {
        if self.width() <= columns {
            return self.clone();
        }
        let mut line = StyledLine::new();
        let mut used = 1;
        'spans: for span in &self.spans {
            for text in span.text.graphemes(true) {
                used += text.width();
                if used > columns {
                    break 'spans;
                }
                line.push(span.style, text);
            }
        }
        line.with_text(DIM, "…")
    }

    /// Returns the line with escape sequences for its styles.
    pub(crate) fn encode(&self, colour: bool) -> String {
        self.encode_in(Theme::Terminal, colour)
    }

    /// Returns the line with escape sequences for its styles in a theme.
    pub(crate) fn encode_in(&self, theme: Theme, colour: bool) -> String {
        let mut text = String::new();
        for span in &self.spans {
            // The high-contrast theme works without colours, so it applies even if colour is off.
            let style = if colour || theme == Theme::HighContrast { theme.style(span.style) } else { span.style };
            let style = if colour { style } else { style.fg_color(None).bg_color(None) };
            text.push_str(&format!("{style}{}{style:#}", span.text));
        }
        text
    }
}

struct TextCell<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

/// Returns where the line that begins at `start` ends, and where the next one begins.
fn line_break(cells: &[TextCell<'_>], start: usize, room: usize) -> (usize, usize) {
    let mut used = 0;
    let mut space = None;
    for (at, cell) in cells.iter().enumerate().skip(start) {
        used += cell.width;
        if used > room {
            return match space {
                _ if cell.text == " " => (at, at + 1),
                Some(space) if is_good_break(cells, start, space, room) => (space, space + 1),
                _ => (at.max(start + 1), at.max(start + 1)),
            };
        }
        if cell.text == " " {
            space = Some(at);
        }
    }
    (cells.len(), cells.len())
}

/// Returns whether a space is a good place to break: not within an indent, nor before a word that fits on no line
/// anyway.
fn is_good_break(cells: &[TextCell<'_>], start: usize, space: usize, room: usize) -> bool {
    let word = cells[space + 1..].iter().take_while(|cell| cell.text != " ").take(room + 1);
    cells[start..space].iter().any(|cell| cell.text != " ") && word.map(|cell| cell.width).sum::<usize>() <= room
}

/// Returns sanitized text for one line, without styles; tabs and line feeds become spaces.
pub(crate) fn single_line(text: &str) -> String {
    let text = &*strip_styles(text);
    if !text.contains(|char: char| char.is_control() || is_control_or_bidi(char)) {
        return text.to_owned();
    }
    sanitize(text).replace('\t', "    ").replace('\n', " ")
}

/// Returns the lines of a text in one style.
pub(crate) fn styled_lines(style: Style, text: &str) -> Vec<StyledLine> {
    text.lines().map(|line| StyledLine::styled(style, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        StyledLine::styled(PLAIN, text).with_hanging_indent(2).wrap(columns).iter().map(StyledLine::plain).collect()
    }

    #[test]
    fn lines_break_between_words_and_continue_indented() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "  three", "  four"]);
        assert_eq!(wrapped("abcdefghijkl", 5), ["abcde", "  fgh", "  ijk", "  l"]);
        assert_eq!(wrapped("short", 80), ["short"]);
    }

    #[test]
    fn wide_characters_count_twice_and_are_never_split() {
        assert_eq!(wrapped("日本語テキスト", 6), ["日本語", "  テキ", "  スト"]);
        for line in StyledLine::styled(PLAIN, "👩‍👩‍👧 family 👍🏽 ok 日本").wrap(7) {
            assert!(line.width() <= 7, "{line:?}");
        }
        assert_eq!(StyledLine::styled(PLAIN, "日本語").clip(5).plain(), "日本…");
    }

    #[test]
    fn control_sequences_and_styles_are_removed() {
        assert_eq!(single_line("a\u{1b}[31mb\u{1b}]0;title\u{7}c\rd\te\u{202e}f"), "abc d    ef");
        assert_eq!(single_line(&crate::output::paint(BAD, "not a\tletter")), "not a    letter");
        assert_eq!(StyledLine::styled(BAD, "x").encode(false), "x");
    }
}
