//! Reads lines: the ones that a query selects, one by number, or all in order.

use std::path::{Path, PathBuf};

use crate::content::resolve_bodies;
use crate::entry::JournalLine;
use crate::index::{Index, Row};
use crate::query::Query;
use crate::segment::{JournalError, list_segments};
use crate::stats::{JournalStats, StatsBuilder};
use crate::writer::Head;

/// Reads a journal. Lines that are appended meanwhile may be missing.
#[derive(Clone, Debug)]
pub struct Reader {
    dir: PathBuf,
}

/// The lines that a query selects.
#[derive(Debug, Default)]
pub struct Selection {
    /// The number of lines that match.
    pub matched: u64,
    /// The last of them, oldest first.
    pub lines: Vec<JournalLine>,
}

impl Reader {
    /// Reads the journal in this directory. A missing directory is an empty journal.
    pub fn new(dir: &Path) -> Reader {
        Reader { dir: dir.to_owned() }
    }

    /// The directory of the journal.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns how many lines match, and the last `limit` of them.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn select(&self, query: &Query, limit: usize) -> Result<Selection, JournalError> {
        let mut selection = Selection::default();
        let mut newest_first = Vec::new();
        for segment in list_segments(&self.dir)?.iter().rev() {
            let index = Index::load(&self.dir, segment)?;
            let filter = query.compile(&index);
            let rows: Vec<&Row> = index.rows.iter().filter(|row| filter.matches(&index, row)).collect();
            let is_text_query = !query.texts.is_empty();
            if !is_text_query {
                selection.matched += rows.len() as u64;
            }
            let missing = limit - newest_first.len();
            if rows.is_empty() || missing == 0 && !is_text_query {
                continue;
            }
            let text = segment.read_text()?;
            let wanted = if is_text_query { rows.len() } else { missing };
            for row in rows.iter().rev().take(wanted) {
                let Some(line) = line_at(&text, row).filter(|line| query.matches_text(line)) else { continue };
                selection.matched += u64::from(is_text_query);
                if newest_first.len() < limit {
                    newest_first.extend(parse_line(line));
                }
            }
        }
        newest_first.reverse();
        selection.lines = newest_first;
        Ok(selection)
    }

    /// Calls a function with every matching line, oldest first, until it returns `false`.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn for_each(
        &self,
        query: &Query,
        mut visit: impl FnMut(&str, JournalLine) -> bool,
    ) -> Result<(), JournalError> {
        self.for_each_unparsed(query, |line| parse_line(line).is_none_or(|parsed| visit(line, parsed)))
    }

    /// Calls a function with the text of every matching line, oldest first, until it returns `false`. The text is one
    /// that may not parse as a line.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn for_each_unparsed(&self, query: &Query, mut visit: impl FnMut(&str) -> bool) -> Result<(), JournalError> {
        for segment in list_segments(&self.dir)? {
            let index = Index::load(&self.dir, &segment)?;
            let filter = query.compile(&index);
            let rows: Vec<&Row> = index.rows.iter().filter(|row| filter.matches(&index, row)).collect();
            if rows.is_empty() {
                continue;
            }
            let text = segment.read_text()?;
            for line in rows.into_iter().filter_map(|row| line_at(&text, row)) {
                if query.matches_text(line) && !visit(line) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns how many lines match, without reading them, if the query asks for no text.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn count(&self, query: &Query) -> Result<u64, JournalError> {
        Ok(self.select(query, 0)?.matched)
    }

    /// Returns the number of the last line; 0 for an empty journal.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn last_line(&self) -> Result<u64, JournalError> {
        if let Some(head) = Head::read(&self.dir) {
            return Ok(head.seq);
        }
        let Some(last) = list_segments(&self.dir)?.pop() else { return Ok(0) };
        Ok(Index::load(&self.dir, &last)?.rows.last().map_or(0, |row| row.seq))
    }

    /// Returns the first line that is still there.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn first_line(&self) -> Result<Option<JournalLine>, JournalError> {
        let mut first = None;
        self.for_each(&Query::default(), |_, line| {
            first = Some(line);
            false
        })?;
        Ok(first)
    }

    /// Returns the line of this number.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn line(&self, seq: u64) -> Result<Option<JournalLine>, JournalError> {
        for segment in list_segments(&self.dir)?.iter().rev() {
            let index = Index::load(&self.dir, segment)?;
            let Some(row) = index.rows.iter().find(|row| row.seq == seq) else { continue };
            let text = segment.read_text()?;
            return Ok(line_at(&text, row).and_then(parse_line));
        }
        Ok(None)
    }

    /// Returns statistics on the hooks of the matching lines.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn stats(&self, query: &Query) -> Result<JournalStats, JournalError> {
        let mut builder = StatsBuilder::default();
        for segment in list_segments(&self.dir)? {
            let index = Index::load(&self.dir, &segment)?;
            let filter = query.compile(&index);
            index.rows.iter().filter(|row| filter.matches(&index, row)).for_each(|row| builder.add(&index, row));
        }
        Ok(builder.finish())
    }

    /// Replaces references to large bodies in a line's content by the bodies, as far as they are still there.
    pub fn resolve(&self, line: &mut JournalLine) {
        if let Some(content) = &mut line.content {
            resolve_bodies(&self.dir, content);
        }
    }
}

/// Returns the line that a row is about.
fn line_at<'t>(text: &'t [u8], row: &Row) -> Option<&'t str> {
    let rest = text.get(row.offset as usize..)?;
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()
}

/// Parses a line. Text that is no line is left out; a check of the journal names it.
fn parse_line(line: &str) -> Option<JournalLine> {
    serde_json::from_str(line).ok()
}
