//! The one reader of patches as models write them for `apply_patch`: `*** Begin Patch` … `*** End Patch`.
//!
//! It says which files a patch adds, changes, moves and deletes, and what stands in its hunks. It touches no file and
//! applies nothing; paths are as they are written. What it does not understand is an error with its line, never a guess.

use std::str::Lines;

use thiserror::Error;

/// Longer patches are not read.
const LONGEST: usize = 8 * 1024 * 1024;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// The file is made, or replaced whole.
    Add {
        /// Where, as written.
        path: String,
        /// All of it; every line ends with a line feed.
        content: String,
    },
    /// Parts of the file are replaced, or it is moved, or both.
    Update {
        /// Where it is, as written.
        path: String,
        /// Where it is afterwards, if that is elsewhere.
        moved_to: Option<String>,
        /// What is replaced, in order.
        hunks: Vec<Hunk>,
    },
    /// The file is removed.
    Delete {
        /// Where it was, as written.
        path: String,
    },
}

impl FileChange {
    /// The file that is changed, where it was before.
    pub fn path(&self) -> &str {
        match self {
            FileChange::Add { path, .. } | FileChange::Update { path, .. } | FileChange::Delete { path } => path,
        }
    }
}

/// One place of a file and what is changed there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The words behind `@@`: lines that stand somewhere above.
    pub headers: Vec<String>,
    /// The lines, in order.
    pub lines: Vec<Line>,
    /// Whether it ends where the file ends.
    pub at_end: bool,
}

impl Hunk {
    /// What stands there before; every line ends with a line feed.
    pub fn before(&self) -> String {
        self.text(|line| !matches!(line, Line::Added(_)))
    }

    /// What stands there afterwards.
    pub fn after(&self) -> String {
        self.text(|line| !matches!(line, Line::Removed(_)))
    }

    fn text(&self, counts: impl Fn(&Line) -> bool) -> String {
        self.lines.iter().filter(|line| counts(line)).flat_map(|line| [line.text(), "\n"]).collect()
    }
}

/// A line of a hunk, without its sign and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// It stays.
    Kept(String),
    /// It goes.
    Removed(String),
    /// It comes.
    Added(String),
}

impl Line {
    fn text(&self) -> &str {
        match self {
            Line::Kept(text) | Line::Removed(text) | Line::Added(text) => text,
        }
    }
}

/// Why a text is not a patch, or not one that is understood. Lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatchError {
    /// It is longer than anything that is read.
    #[error("the patch is longer than {LONGEST} bytes")]
    TooLong,
    /// It does not begin as a patch does.
    #[error("line 1: expected `{BEGIN}`")]
    NoBegin,
    /// It does not end as a patch does: it may have been cut off.
    #[error("the patch does not end with `{END}`")]
    NoEnd,
    /// It names no file.
    #[error("the patch changes no file")]
    Empty,
    /// A file without a name.
    #[error("line {0}: a path is missing")]
    NoPath(usize),
    /// A hunk that changes and shows nothing.
    #[error("line {0}: the hunk has no lines")]
    EmptyHunk(usize),
    /// A line that has no place here.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Unexpected {
        /// Which line.
        line: usize,
        /// What could stand there.
        expected: &'static str,
        /// What stands there, shortened.
        found: String,
    },
}

/// Whether a text looks like a patch: what [`read`] is worth trying on.
pub fn is_patch(text: &str) -> bool {
    unwrapped(text).trim_start().starts_with(BEGIN)
}

/// Reads a patch: every change, in order, or an error.
pub fn read(text: &str) -> Result<Vec<FileChange>, PatchError> {
    if text.len() > LONGEST {
        return Err(PatchError::TooLong);
    }
    let mut reader = Reader::new(unwrapped(text.trim()));
    if reader.next().is_none_or(|line| line.trim() != BEGIN) {
        return Err(PatchError::NoBegin);
    }
    let mut changes = Vec::new();
    loop {
        let line = reader.next().ok_or(PatchError::NoEnd)?.trim();
        if line == END {
            break;
        }
        if line.is_empty() {
            continue;
        }
        changes.push(reader.change(line)?);
    }
    match reader.next_that_is_not_blank() {
        Some(line) => Err(reader.unexpected("nothing behind the patch's end", line)),
        None if changes.is_empty() => Err(PatchError::Empty),
        None => Ok(changes),
    }
}

/// The text without a here-document around it, which models write out of habit.
fn unwrapped(text: &str) -> &str {
    let inside = || {
        let (first, rest) = text.trim().split_once('\n')?;
        let word = first.trim().strip_prefix("<<")?.trim_start_matches('-').trim();
        let word = word.trim_matches(|char| matches!(char, '\'' | '"'));
        (!word.is_empty()).then_some(())?;
        rest.trim_end().strip_suffix(word)?.strip_suffix('\n')
    };
    inside().unwrap_or(text)
}

struct Reader<'t> {
    lines: Lines<'t>,
    /// The line that was read last, counted from 1.
    at: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Reader { lines: text.lines(), at: 0 }
    }

    fn peek(&self) -> Option<&'t str> {
        self.lines.clone().next()
    }

    fn next(&mut self) -> Option<&'t str> {
        self.at += 1;
        self.lines.next()
    }

    fn next_if(&mut self, fits: impl FnOnce(&str) -> bool) -> Option<&'t str> {
        self.peek().filter(|line| fits(line))?;
        self.next()
    }

    fn next_that_is_not_blank(&mut self) -> Option<&'t str> {
        while self.next_if(|line| line.trim().is_empty()).is_some() {}
        self.next()
    }

    fn unexpected(&self, expected: &'static str, found: &str) -> PatchError {
        PatchError::Unexpected { line: self.at, expected, found: found.chars().take(80).collect() }
    }

    fn path(&self, text: &str) -> Result<String, PatchError> {
        let path = text.trim();
        if path.is_empty() { Err(PatchError::NoPath(self.at)) } else { Ok(path.to_owned()) }
    }

    /// One file; its first line has been read.
    fn change(&mut self, line: &str) -> Result<FileChange, PatchError> {
        if let Some(path) = line.strip_prefix(ADD) {
            return Ok(FileChange::Add { path: self.path(path)?, content: self.content() });
        }
        if let Some(path) = line.strip_prefix(DELETE) {
            return Ok(FileChange::Delete { path: self.path(path)? });
        }
        if let Some(path) = line.strip_prefix(UPDATE) {
            return self.update(self.path(path)?);
        }
        Err(self.unexpected("`*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`", line))
    }

    fn content(&mut self) -> String {
        let mut content = String::new();
        while let Some(line) = self.next_if(|line| line.starts_with('+')) {
            content.push_str(&line[1..]);
            content.push('\n');
        }
        content
    }

    fn update(&mut self, path: String) -> Result<FileChange, PatchError> {
        let moved = self.next_if(|line| line.trim().starts_with(MOVE));
        let moved_to = match moved {
            Some(line) => Some(self.path(&line.trim()[MOVE.len()..])?),
            None => None,
        };
        let mut hunks = Vec::new();
        loop {
            match self.peek() {
                Some(line) if line.trim().is_empty() => drop(self.next()),
                Some(line) if !line.starts_with("***") => hunks.push(self.hunk(hunks.is_empty())?),
                _ => break,
            }
        }
        if hunks.is_empty() && moved_to.is_none() {
            return Err(PatchError::EmptyHunk(self.at));
        }
        Ok(FileChange::Update { path, moved_to, hunks })
    }

    /// `@@ …` and what follows; the first hunk of a file may do without.
    fn hunk(&mut self, is_first: bool) -> Result<Hunk, PatchError> {
        let mut hunk = Hunk::default();
        let mut marked = is_first;
        while let Some(line) = self.next_if(|line| line.trim_end() == "@@" || line.starts_with("@@ ")) {
            marked = true;
            hunk.headers.extend(Some(line[2..].trim().to_owned()).filter(|header| !header.is_empty()));
        }
        while let Some(line) = self.next_if(|line| !line.starts_with("@@")) {
            let text = || line.get(1..).unwrap_or_default().to_owned();
            match line.chars().next() {
                _ if line.trim_end() == END_OF_FILE => {
                    hunk.at_end = true;
                    break;
                }
                None => hunk.lines.push(Line::Kept(String::new())),
                Some(' ') if marked => hunk.lines.push(Line::Kept(text())),
                Some('-') if marked => hunk.lines.push(Line::Removed(text())),
                Some('+') if marked => hunk.lines.push(Line::Added(text())),
                Some(_) => return Err(self.unexpected("a line of a hunk (`@@`, ` `, `-` or `+`)", line)),
            }
            if self.peek().is_some_and(|line| line.starts_with("***") && line.trim_end() != END_OF_FILE) {
                break;
            }
        }
        if hunk.lines.is_empty() { Err(PatchError::EmptyHunk(self.at)) } else { Ok(hunk) }
    }
}

#[cfg(test)]
mod tests;
