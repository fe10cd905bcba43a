//! Diagnostics of a configuration: where the problem is, what was expected, what to write instead. The caller displays
//! them.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something works differently from its author's intention.
    Warning,
    /// Something was not loaded.
    Error,
}

/// A location in a file; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// The path of the file.
    pub file: Arc<Path>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl std::fmt::Display for FileLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// One problem in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The severity of the problem.
    pub severity: Severity,
    /// The description of the problem.
    pub message: String,
    /// The path of the file.
    pub file: PathBuf,
    /// The location in the file, if the problem has one.
    pub span: Option<SourceSpan>,
    /// What was expected, to be shown next to the marked text.
    pub expected: Option<String>,
    /// A suggestion that fixes the problem.
    pub help: Option<String>,
}

/// A marked part of one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceSpan {
    /// The line, counted from 1.
    pub line: usize,
    /// The first column, counted from 1.
    pub column: usize,
    /// The number of characters that are marked; at least 1.
    pub length: usize,
    /// The text of the line, shortened around the span where it is very long.
    pub text: String,
    /// The number of characters that are missing from the start of `text`.
    pub skipped: usize,
}

impl Diagnostic {
    /// A diagnostic about a whole file, such as one that cannot be read.
    pub fn about_file(severity: Severity, file: &Path, message: impl Into<String>) -> Self {
        let message = message.into();
        Diagnostic { severity, message, file: file.to_owned(), span: None, expected: None, help: None }
    }

    /// A diagnostic about a location in a file whose text is not available.
    pub(crate) fn about_location(severity: Severity, place: &FileLocation, message: impl Into<String>) -> Self {
        let span = SourceSpan { line: place.line, column: place.column, length: 1, text: String::new(), skipped: 0 };
        Diagnostic { span: Some(span), ..Diagnostic::about_file(severity, &place.file, message) }
    }

    /// Sets what was expected.
    #[must_use]
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    /// Sets the suggestion.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// Formats one line for logs: location, severity, message, suggestion.
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(span) = &self.span {
            write!(f, ":{}:{}", span.line, span.column)?;
        }
        let severity = if self.severity == Severity::Error { "error" } else { "warning" };
        write!(f, ": {severity}: {}", self.message)?;
        self.expected.iter().try_for_each(|text| write!(f, "; {text}"))?;
        self.help.iter().try_for_each(|text| write!(f, " ({text})"))
    }
}

/// The text of a file with the offsets of its lines, which converts byte offsets to locations.
pub struct SourceText<'a> {
    file: Arc<Path>,
    text: &'a str,
    line_starts: Vec<usize>,
    /// The last offset and its column.
    ///
    /// Settings can be one long line with thousands of mistakes, each a little further on than the last.
    column_cache: Cell<(usize, usize)>,
}

impl<'a> SourceText<'a> {
    /// Indexes the lines of a text.
    pub fn new(file: &Path, text: &'a str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(newlines).collect();
        SourceText { file: file.into(), text, line_starts, column_cache: Cell::default() }
    }

    /// The location of a byte offset.
    pub fn location(&self, offset: usize) -> FileLocation {
        let (line, start) = self.line_at(offset);
        FileLocation { file: self.file.clone(), line: line + 1, column: self.count_chars(start, offset) + 1 }
    }

    /// A diagnostic about the bytes `start..end`.
    pub fn diagnose(&self, severity: Severity, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        let mut diagnostic = Diagnostic::about_file(severity, &self.file, message);
        diagnostic.span = Some(self.span(start, end));
        diagnostic
    }

    fn line_at(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1);
        (line, self.line_starts[line])
    }

    /// The number of characters between a line's start and an offset in it.
    fn count_chars(&self, line_start: usize, offset: usize) -> usize {
        let (known, count) = self.column_cache.get();
        let (from, before) = if (line_start..=offset).contains(&known) { (known, count) } else { (line_start, 0) };
        let count = before + self.text.get(from..offset).map_or(0, |between| between.chars().count());
        self.column_cache.set((offset, count));
        count
    }

    fn span(&self, start: usize, end: usize) -> SourceSpan {
        const CONTEXT_CHARS: usize = 60;
        const MAX_LINE_CHARS: usize = 160;
        let (line, line_start) = self.line_at(start);
        let line_end = self.line_starts.get(line + 1).copied().unwrap_or(self.text.len());
        let whole = self.text[line_start..line_end].trim_end_matches(['\n', '\r']);
        let column = self.count_chars(line_start, start);
        let marked =
            self.text.get(start..end.min(line_start + whole.len()).max(start)).map_or(1, |text| text.chars().count());
        let long = whole.chars().nth(MAX_LINE_CHARS).is_some();
        let skipped = if long && column + CONTEXT_CHARS > MAX_LINE_CHARS { column - CONTEXT_CHARS } else { 0 };
        let shown = match skipped {
            0 => line_start,
            _ => self.text[..start].char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(line_start, |(at, _)| at),
        };
        let text: String = self.text[shown..line_start + whole.len()].chars().take(MAX_LINE_CHARS).collect();
        let room = (skipped + text.chars().count()).saturating_sub(column);
        SourceSpan { line: line + 1, column: column + 1, length: marked.min(room).max(1), text, skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_count_characters_from_one() {
        let source = SourceText::new(Path::new("f"), "a\nü\"x\"\r\n");
        let place = source.location(4);
        assert_eq!((place.line, place.column), (2, 2));
        let diagnostic = source.diagnose(Severity::Error, 4, 7, "bad");
        let span = diagnostic.span.clone().unwrap();
        assert_eq!((span.text.as_str(), span.column, span.length), ("ü\"x\"", 2, 3));
        assert_eq!(diagnostic.to_string(), "f:2:2: error: bad");
    }

    #[test]
    fn a_long_line_is_shortened_around_the_span() {
        let text = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let span = SourceText::new(Path::new("f"), &text).span(5000, 5001);
        assert_eq!((span.column, span.skipped, span.length), (5001, 4940, 1));
        assert_eq!(span.text.chars().nth(span.column - 1 - span.skipped), Some('X'));
        assert!(span.text.len() <= 160);
    }

    #[test]
    fn locations_do_not_depend_on_query_order() {
        let text = format!("ééé {}\n{}", "ü".repeat(400), "x".repeat(400));
        let source = SourceText::new(Path::new("f"), &text);
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let place = |source: &SourceText<'_>, at: usize| {
            let span = source.span(at, at + 1);
            (source.location(at).line, source.location(at).column, span.column, span.text, span.skipped)
        };
        for step in [1, 7, 401, 803] {
            for at in offsets.iter().cycle().step_by(step).take(offsets.len()) {
                assert_eq!(place(&source, *at), place(&SourceText::new(Path::new("f"), &text), *at), "{at}");
            }
        }
    }
}
