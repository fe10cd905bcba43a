//! What is wrong with a configuration: where, what was expected, what to write instead. Drawing it is the caller's work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something works differently from what its author must have meant.
    Warning,
    /// Something was left out.
    Error,
}

/// A place in a file. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The file.
    pub file: PathBuf,
    /// Where in it, if it could be read at all.
    pub span: Option<Span>,
    /// What was expected, to stand beside the marked text.
    pub expected: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// A stretch of one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The line, from 1.
    pub line: usize,
    /// The first column, from 1.
    pub column: usize,
    /// How many characters it covers; at least 1.
    pub length: usize,
    /// The line's text, shortened around the span where it is very long.
    pub text: String,
    /// How many characters of the line's start are missing from `text`.
    pub skipped: usize,
}

impl Diagnostic {
    /// About a whole file, such as one that cannot be read.
    pub fn about_file(severity: Severity, file: &Path, message: impl Into<String>) -> Self {
        let message = message.into();
        Diagnostic { severity, message, file: file.to_owned(), span: None, expected: None, help: None }
    }

    /// Says what was expected.
    #[must_use]
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// One line, for logs: place, severity, message, what to do.
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

/// A file's text with its line starts, to turn byte offsets into places.
pub struct SourceText<'a> {
    file: Arc<Path>,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> SourceText<'a> {
    /// Finds the line starts.
    pub fn new(file: &Path, text: &'a str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        SourceText { file: file.into(), text, line_starts: std::iter::once(0).chain(newlines).collect() }
    }

    /// The place of a byte offset.
    pub fn place(&self, offset: usize) -> Place {
        let (line, start) = self.line_of(offset);
        let column = self.text.get(start..offset).map_or(1, |before| before.chars().count() + 1);
        Place { file: self.file.clone(), line: line + 1, column }
    }

    /// A diagnostic about the bytes `start..end`.
    pub fn diagnose(&self, severity: Severity, start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
        let mut diagnostic = Diagnostic::about_file(severity, &self.file, message);
        diagnostic.span = Some(self.span(start, end));
        diagnostic
    }

    fn line_of(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1);
        (line, self.line_starts[line])
    }

    fn span(&self, start: usize, end: usize) -> Span {
        const CONTEXT: usize = 60;
        const LONGEST: usize = 160;
        let (line, line_start) = self.line_of(start);
        let line_end = self.line_starts.get(line + 1).copied().unwrap_or(self.text.len());
        let whole = self.text[line_start..line_end].trim_end_matches(['\n', '\r']);
        let column = self.text.get(line_start..start).map_or(0, |before| before.chars().count());
        let marked =
            self.text.get(start..end.min(line_start + whole.len()).max(start)).map_or(1, |text| text.chars().count());
        let long = whole.chars().nth(LONGEST).is_some();
        let skipped = if long && column + CONTEXT > LONGEST { column - CONTEXT } else { 0 };
        let text: String = whole.chars().skip(skipped).take(LONGEST).collect();
        let room = (skipped + text.chars().count()).saturating_sub(column);
        Span { line: line + 1, column: column + 1, length: marked.min(room).max(1), text, skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let source = SourceText::new(Path::new("f"), "a\nü\"x\"\r\n");
        let place = source.place(4);
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
}
