//! Styled text as values: spans, lines, wrapping by columns. Everything that is drawn passes through here, so nothing a
//! model, a tool or a hook says can steer the terminal.

use anstyle::{AnsiColor, Style};

use super::theme::Theme;
use crate::output::{is_control_or_bidi, sanitize, strip_styles};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

// The terminal's own sixteen colours, so that light and dark backgrounds both stay readable.
pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default();
pub(crate) const ACCENT: Style = AnsiColor::Blue.on_default();
pub(crate) const CODE: Style = AnsiColor::Magenta.on_default();

/// Text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledSpan {
    pub(crate) style: Style,
    pub(crate) text: String,
}

/// A line of text. Where it is too long, the rest goes on below, indented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StyledLine {
    pub(crate) spans: Vec<StyledSpan>,
    pub(crate) indent: usize,
}

impl StyledLine {
    /// An empty line.
    pub(crate) fn new() -> Self {
        StyledLine::default()
    }

    /// A line in one style.
    pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> Self {
        StyledLine::new().with_text(style, text)
    }

    /// The line with more behind it.
    #[must_use]
    pub(crate) fn with_text(mut self, style: Style, text: impl AsRef<str>) -> Self {
        self.push(style, text.as_ref());
        self
    }

    /// The line, whose continuation is indented by so much.
    #[must_use]
    pub(crate) fn with_hanging_indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// The line with so much room before it.
    #[must_use]
    pub(crate) fn indented_by(mut self, by: usize) -> Self {
        self.spans.insert(0, StyledSpan { style: PLAIN, text: " ".repeat(by) });
        self.indent += by;
        self
    }

    /// Adds text; what could steer a terminal is taken out.
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

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The text without styles.
    pub(crate) fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The line in so many columns: one or more lines, broken between words where possible.
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

    /// The line cut to so many columns, with a mark where something is missing.
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

    /// The line as a terminal takes it.
    pub(crate) fn encode(&self, colour: bool) -> String {
        self.encode_in(Theme::Terminal, colour)
    }

    /// The same in a theme.
    pub(crate) fn encode_in(&self, theme: Theme, colour: bool) -> String {
        let mut text = String::new();
        for span in &self.spans {
            // What contrast is made of is no colour.
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

/// Where the line that begins at `start` ends, and where the next one begins.
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

/// Whether a space is a good place to break: not within an indent, nor ahead of a word that fits on no line anyway.
fn is_good_break(cells: &[TextCell<'_>], start: usize, space: usize, room: usize) -> bool {
    let word = cells[space + 1..].iter().take_while(|cell| cell.text != " ").take(room + 1);
    cells[start..space].iter().any(|cell| cell.text != " ") && word.map(|cell| cell.width).sum::<usize>() <= room
}

/// Text for one line that only shows, in a style of the line's: tabs and line ends are spaces.
pub(crate) fn single_line(text: &str) -> String {
    let text = &*strip_styles(text);
    if !text.contains(|char: char| char.is_control() || is_control_or_bidi(char)) {
        return text.to_owned();
    }
    sanitize(text).replace('\t', "    ").replace('\n', " ")
}

/// Text of several lines in one style.
pub(crate) fn styled_lines(style: Style, text: &str) -> Vec<StyledLine> {
    text.lines().map(|line| StyledLine::styled(style, line)).collect()
}

/// `0.3 s`, `12 s`, `3 min 5 s`.
pub(crate) fn format_elapsed(duration: std::time::Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// `12`, `3.4k`, `1.2M`.
pub(crate) fn format_tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize) -> Vec<String> {
        StyledLine::styled(PLAIN, text).with_hanging_indent(2).wrap(columns).iter().map(StyledLine::plain).collect()
    }

    #[test]
    fn lines_break_between_words_and_go_on_indented() {
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
    fn nothing_steers_the_terminal() {
        assert_eq!(single_line("a\u{1b}[31mb\u{1b}]0;title\u{7}c\rd\te\u{202e}f"), "abc d    ef");
        assert_eq!(single_line(&crate::output::paint(BAD, "not a\tletter")), "not a    letter");
        assert_eq!(StyledLine::styled(BAD, "x").encode(false), "x");
    }
}
