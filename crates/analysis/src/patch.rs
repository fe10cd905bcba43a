//! Parses patches in the format that models write for `apply_patch`: `*** Begin Patch` … `*** End Patch`.
//!
//! The result says which files a patch adds, changes, moves and deletes, and what its hunks contain. The parser reads
//! and writes no file; paths are as written. Text that it does not understand is an error with its line number, never a
//! guess.

use std::str::Lines;

use thiserror::Error;

/// The maximum length of a patch; longer ones are not parsed.
const MAX_PATCH_BYTES: usize = 8 * 1024 * 1024;

const BEGIN_MARKER: &str = "*** Begin Patch";
const END_MARKER: &str = "*** End Patch";
const ADD_FILE_MARKER: &str = "*** Add File:";
const DELETE_FILE_MARKER: &str = "*** Delete File:";
const UPDATE_FILE_MARKER: &str = "*** Update File:";
const MOVE_TO_MARKER: &str = "*** Move to:";
const END_OF_FILE_MARKER: &str = "*** End of File";

/// The change that a patch makes to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// The file is created, or replaced as a whole.
    Add {
        /// The path, as written.
        path: String,
        /// The whole content; every line ends with a line feed.
        content: String,
    },
    /// Parts of the file are replaced, or the file is moved, or both.
    Update {
        /// The path before the change, as written.
        path: String,
        /// The path after the change, if the file is moved.
        moved_to: Option<String>,
        /// The replaced parts, in order.
        hunks: Vec<Hunk>,
    },
    /// The file is deleted.
    Delete {
        /// The path, as written.
        path: String,
    },
}

impl FileChange {
    /// The path of the file before the change.
    pub fn path(&self) -> &str {
        match self {
            FileChange::Add { path, .. } | FileChange::Update { path, .. } | FileChange::Delete { path } => path,
        }
    }
}

/// A changed part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The texts after `@@`: lines that occur somewhere above the hunk.
    pub headers: Vec<String>,
    /// The lines of the hunk, in order.
    pub lines: Vec<HunkLine>,
    /// Whether the hunk ends at the end of the file.
    pub at_end_of_file: bool,
}

impl Hunk {
    /// The text before the change; every line ends with a line feed.
    pub fn old_text(&self) -> String {
        self.collect_text(|line| !matches!(line, HunkLine::Added(_)))
    }

    /// The text after the change; every line ends with a line feed.
    pub fn new_text(&self) -> String {
        self.collect_text(|line| !matches!(line, HunkLine::Removed(_)))
    }

    fn collect_text(&self, counts: impl Fn(&HunkLine) -> bool) -> String {
        self.lines.iter().filter(|line| counts(line)).flat_map(|line| [line.text(), "\n"]).collect()
    }
}

/// A line of a hunk, without its sign and its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// A line that stays.
    Context(String),
    /// A line that is removed.
    Removed(String),
    /// A line that is added.
    Added(String),
}

impl HunkLine {
    fn text(&self) -> &str {
        match self {
            HunkLine::Context(text) | HunkLine::Removed(text) | HunkLine::Added(text) => text,
        }
    }
}

/// Why a text is not a patch that can be parsed. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatchError {
    /// The text exceeds the maximum length.
    #[error("the patch is longer than {MAX_PATCH_BYTES} bytes")]
    TooLong,
    /// The text does not begin like a patch.
    #[error("line 1: expected `{BEGIN_MARKER}`")]
    NoBegin,
    /// The text does not end like a patch: it may be truncated.
    #[error("the patch does not end with `{END_MARKER}`")]
    NoEnd,
    /// The patch names no file.
    #[error("the patch changes no file")]
    Empty,
    /// A file has no path.
    #[error("line {0}: a path is missing")]
    NoPath(usize),
    /// A hunk has no lines.
    #[error("line {0}: the hunk has no lines")]
    EmptyHunk(usize),
    /// A line is not valid in its place.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Unexpected {
        /// The number of the line.
        line: usize,
        /// The lines that would be valid.
        expected: &'static str,
        /// The text of the line, shortened.
        found: String,
    },
}

/// Whether a text looks like a patch that [`parse`] can be tried on.
pub fn is_patch(text: &str) -> bool {
    strip_heredoc(text).trim_start().starts_with(BEGIN_MARKER)
}

/// Parses a patch into its changes, in order.
///
/// ```
/// use hookwright_analysis::patch;
///
/// let text = "*** Begin Patch\n*** Delete File: old.txt\n*** End Patch\n";
/// let changes = patch::parse(text).unwrap();
/// assert_eq!(changes, [patch::FileChange::Delete { path: "old.txt".into() }]);
/// ```
///
/// # Errors
/// If the text is not a complete patch that can be understood.
pub fn parse(text: &str) -> Result<Vec<FileChange>, PatchError> {
    if text.len() > MAX_PATCH_BYTES {
        return Err(PatchError::TooLong);
    }
    let mut reader = PatchParser::new(strip_heredoc(text.trim()));
    if reader.next().is_none_or(|line| line.trim() != BEGIN_MARKER) {
        return Err(PatchError::NoBegin);
    }
    let mut changes = Vec::new();
    loop {
        let line = reader.next().ok_or(PatchError::NoEnd)?.trim();
        if line == END_MARKER {
            break;
        }
        if line.is_empty() {
            continue;
        }
        changes.push(reader.parse_file_change(line)?);
    }
    match reader.next_non_blank() {
        Some(line) => Err(reader.unexpected_line("nothing after the end of the patch", line)),
        None if changes.is_empty() => Err(PatchError::Empty),
        None => Ok(changes),
    }
}

/// Removes a here-document around the text, which models write out of habit.
fn strip_heredoc(text: &str) -> &str {
    let inside = || {
        let (first, rest) = text.trim().split_once('\n')?;
        let word = first.trim().strip_prefix("<<")?.trim_start_matches('-').trim();
        let word = word.trim_matches(|char| matches!(char, '\'' | '"'));
        (!word.is_empty()).then_some(())?;
        rest.trim_end().strip_suffix(word)?.strip_suffix('\n')
    };
    inside().unwrap_or(text)
}

struct PatchParser<'t> {
    lines: Lines<'t>,
    /// The number of the line that was read last, counted from 1.
    line_number: usize,
}

impl<'t> PatchParser<'t> {
    fn new(text: &'t str) -> Self {
        PatchParser { lines: text.lines(), line_number: 0 }
    }

    fn peek(&self) -> Option<&'t str> {
        self.lines.clone().next()
    }

    fn next(&mut self) -> Option<&'t str> {
        self.line_number += 1;
        self.lines.next()
    }

    fn next_if(&mut self, fits: impl FnOnce(&str) -> bool) -> Option<&'t str> {
        self.peek().filter(|line| fits(line))?;
        self.next()
    }

    fn next_non_blank(&mut self) -> Option<&'t str> {
        while self.next_if(|line| line.trim().is_empty()).is_some() {}
        self.next()
    }

    fn unexpected_line(&self, expected: &'static str, found: &str) -> PatchError {
        PatchError::Unexpected { line: self.line_number, expected, found: found.chars().take(80).collect() }
    }

    fn parse_path(&self, text: &str) -> Result<String, PatchError> {
        let path = text.trim();
        if path.is_empty() { Err(PatchError::NoPath(self.line_number)) } else { Ok(path.to_owned()) }
    }

    /// Parses the change of one file, whose first line has been read.
    fn parse_file_change(&mut self, line: &str) -> Result<FileChange, PatchError> {
        if let Some(path) = line.strip_prefix(ADD_FILE_MARKER) {
            return Ok(FileChange::Add { path: self.parse_path(path)?, content: self.parse_added_lines() });
        }
        if let Some(path) = line.strip_prefix(DELETE_FILE_MARKER) {
            return Ok(FileChange::Delete { path: self.parse_path(path)? });
        }
        if let Some(path) = line.strip_prefix(UPDATE_FILE_MARKER) {
            return self.parse_update(self.parse_path(path)?);
        }
        Err(self.unexpected_line("`*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`", line))
    }

    fn parse_added_lines(&mut self) -> String {
        let mut content = String::new();
        while let Some(line) = self.next_if(|line| line.starts_with('+')) {
            content.push_str(&line[1..]);
            content.push('\n');
        }
        content
    }

    fn parse_update(&mut self, path: String) -> Result<FileChange, PatchError> {
        let moved = self.next_if(|line| line.trim().starts_with(MOVE_TO_MARKER));
        let moved_to = match moved {
            Some(line) => Some(self.parse_path(&line.trim()[MOVE_TO_MARKER.len()..])?),
            None => None,
        };
        let mut hunks = Vec::new();
        loop {
            match self.peek() {
                Some(line) if line.trim().is_empty() => drop(self.next()),
                Some(line) if !line.starts_with("***") => hunks.push(self.parse_hunk(hunks.is_empty())?),
                _ => break,
            }
        }
        if hunks.is_empty() && moved_to.is_none() {
            return Err(PatchError::EmptyHunk(self.line_number));
        }
        Ok(FileChange::Update { path, moved_to, hunks })
    }

    /// Parses `@@ …` and the lines after it; the first hunk of a file may do without `@@`.
    fn parse_hunk(&mut self, is_first: bool) -> Result<Hunk, PatchError> {
        let mut hunk = Hunk::default();
        let mut marked = is_first;
        while let Some(line) = self.next_if(|line| line.trim_end() == "@@" || line.starts_with("@@ ")) {
            marked = true;
            hunk.headers.extend(Some(line[2..].trim().to_owned()).filter(|header| !header.is_empty()));
        }
        while let Some(line) = self.next_if(|line| !line.starts_with("@@")) {
            let text = || line.get(1..).unwrap_or_default().to_owned();
            match line.chars().next() {
                _ if line.trim_end() == END_OF_FILE_MARKER => {
                    hunk.at_end_of_file = true;
                    break;
                }
                None => hunk.lines.push(HunkLine::Context(String::new())),
                Some(' ') if marked => hunk.lines.push(HunkLine::Context(text())),
                Some('-') if marked => hunk.lines.push(HunkLine::Removed(text())),
                Some('+') if marked => hunk.lines.push(HunkLine::Added(text())),
                Some(_) => return Err(self.unexpected_line("a line of a hunk (`@@`, ` `, `-` or `+`)", line)),
            }
            if self.peek().is_some_and(|line| line.starts_with("***") && line.trim_end() != END_OF_FILE_MARKER) {
                break;
            }
        }
        if hunk.lines.is_empty() { Err(PatchError::EmptyHunk(self.line_number)) } else { Ok(hunk) }
    }
}

#[cfg(test)]
mod tests;
