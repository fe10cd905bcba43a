//! Removes content that the user wants gone, and segments that are too old or too many.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use jiff::Timestamp;

use crate::chain::SplitLine;
use crate::content::{body_references, remove_bodies};
use crate::entry::Entry;
use crate::index::{Index, Row, write_index};
use crate::segment::{JournalError, Segment, index_path, list_segments};
use crate::writer::{Journal, JournalOptions};

/// The lines whose content is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetSelection {
    /// All lines of a session.
    Session(String),
    /// All lines before a time.
    Before(Timestamp),
}

impl std::fmt::Display for ForgetSelection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ForgetSelection::Session(session) => write!(f, "session {session}"),
            ForgetSelection::Before(time) => write!(f, "before {time}"),
        }
    }
}

impl ForgetSelection {
    fn matches(&self, index: &Index, row: &Row) -> bool {
        match self {
            ForgetSelection::Session(session) => index.word(row.session) == session,
            ForgetSelection::Before(time) => row.time < time.as_millisecond(),
        }
    }
}

/// Removes the content of lines, and returns how many had any. What was removed is put on record first, so that a check
/// finds no damage however this ends.
///
/// # Errors
/// If a segment cannot be read or written.
pub fn forget(journal: &mut Journal, selection: &ForgetSelection) -> Result<u64, JournalError> {
    journal.close_segment()?;
    journal.maintaining(|journal| forget_in_closed(journal, selection))
}

fn forget_in_closed(journal: &mut Journal, selection: &ForgetSelection) -> Result<u64, JournalError> {
    let dir = journal.dir().to_owned();
    let mut chosen: Vec<(Segment, HashSet<u64>)> = Vec::new();
    for segment in list_segments(&dir)?.into_iter().filter(|segment| segment.compressed) {
        let index = Index::load(&dir, &segment)?;
        let rows = index.rows.iter().filter(|row| selection.matches(&index, row));
        let offsets: HashSet<u64> = rows.map(|row| row.seq).collect();
        let with_content = lines_with_content(&segment, &offsets)?;
        if !with_content.is_empty() {
            chosen.push((segment, with_content));
        }
    }
    let count = chosen.iter().map(|(_, lines)| lines.len() as u64).sum();
    if count == 0 {
        return Ok(0);
    }
    let lines = ranges(chosen.iter().flat_map(|(_, lines)| lines.iter().copied()).collect());
    journal.append(&Entry::Forgot { what: selection.to_string(), lines }, None)?;
    let mut bodies = HashSet::new();
    for (segment, lines) in &chosen {
        bodies.extend(forget_in_segment(&dir, segment, lines)?);
    }
    remove_unreferenced(&dir, bodies)?;
    Ok(count)
}

fn lines_with_content(segment: &Segment, chosen: &HashSet<u64>) -> Result<HashSet<u64>, JournalError> {
    let mut found = HashSet::new();
    if chosen.is_empty() {
        return Ok(found);
    }
    for line in segment.lines()? {
        let line = line?;
        if let Some(split) = SplitLine::parse(&line.text)
            && split.content.is_some()
            && chosen.contains(&split.seq)
        {
            found.insert(split.seq);
        }
    }
    Ok(found)
}

/// Rewrites a segment without the content of these lines; returns the bodies that the content referred to.
fn forget_in_segment(dir: &Path, segment: &Segment, lines: &HashSet<u64>) -> Result<HashSet<String>, JournalError> {
    let (mut text, mut bodies) = (String::new(), HashSet::new());
    for line in segment.lines()? {
        let line = line?;
        match SplitLine::parse(&line.text).filter(|split| lines.contains(&split.seq)) {
            Some(split) => {
                bodies.extend(split.content.map(body_references).unwrap_or_default());
                text.push_str(&split.without_content(&line.text));
            }
            None => text.push_str(&line.text),
        }
        text.push('\n');
    }
    segment.rewrite(dir, text.as_bytes())?;
    let rewritten = list_segments(dir)?.into_iter().find(|other| other.number == segment.number);
    if let Some(segment) = rewritten {
        write_index(dir, &segment)?;
    }
    Ok(bodies)
}

/// Removes bodies that no line refers to any more.
fn remove_unreferenced(dir: &Path, mut bodies: HashSet<String>) -> Result<(), JournalError> {
    if bodies.is_empty() {
        return Ok(());
    }
    for segment in list_segments(dir)? {
        for line in segment.lines()? {
            let line = line?;
            if let Some(content) = SplitLine::parse(&line.text).and_then(|split| split.content) {
                body_references(content).iter().for_each(|body| {
                    bodies.remove(body);
                });
            }
        }
    }
    remove_bodies(dir, &bodies);
    Ok(())
}

/// Joins numbers that follow each other.
fn ranges(mut numbers: Vec<u64>) -> Vec<(u64, u64)> {
    numbers.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// Removes the oldest segments while the journal is too large or they are too old. That goes on record first.
pub(crate) fn drop_old_segments(journal: &mut Journal, options: &JournalOptions) -> Result<(), JournalError> {
    let dir = journal.dir().to_owned();
    let closed: Vec<Segment> = list_segments(&dir)?.into_iter().filter(|segment| segment.compressed).collect();
    let mut total: u64 = closed.iter().map(Segment::file_bytes).sum();
    let age_limit = Timestamp::now().as_millisecond()
        - i64::try_from(options.keep_days).unwrap_or(i64::MAX / 86_400_000) * 86_400_000;
    let mut dropped: Vec<(&Segment, u64)> = Vec::new();
    for segment in &closed {
        let index = Index::load(&dir, segment)?;
        let Some(last) = index.rows.last() else { break };
        if total <= options.max_bytes && last.time >= age_limit {
            break;
        }
        total = total.saturating_sub(segment.file_bytes());
        dropped.push((segment, last.seq));
    }
    let (Some((first, _)), Some((last, last_line))) = (dropped.first(), dropped.last()) else { return Ok(()) };
    let entry = Entry::Dropped { segments: (first.number, last.number), last_line: *last_line };
    journal.append(&entry, None)?;
    let mut bodies = HashSet::new();
    for (segment, _) in &dropped {
        for line in segment.lines()? {
            let line = line?;
            bodies.extend(
                SplitLine::parse(&line.text).and_then(|split| split.content).map(body_references).unwrap_or_default(),
            );
        }
        let _ = fs::remove_file(index_path(&dir, segment.number));
        fs::remove_file(&segment.path).map_err(JournalError::io(&segment.path))?;
    }
    remove_unreferenced(&dir, bodies)
}
