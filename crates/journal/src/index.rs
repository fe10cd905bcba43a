//! The index of a closed segment: one fixed-size row per line and one per hook run, so that queries and statistics read
//! no line that they do not show.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use hookwright_disk::{FilePrivacy, SymlinkPolicy};
use serde::Deserialize;

use crate::entry::Verdict;
use crate::segment::{JournalError, Segment, index_path};

const MAGIC: &[u8; 8] = b"HWINDEX1";
/// The bound of an index file that is read.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// The row of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) seq: u64,
    /// Milliseconds since 1970.
    pub(crate) time: i64,
    /// Where the line starts in the segment's text.
    pub(crate) offset: u32,
    pub(crate) ms: f32,
    pub(crate) kind: u32,
    pub(crate) agent: u32,
    pub(crate) event: u32,
    pub(crate) tool: u32,
    pub(crate) session: u32,
    pub(crate) project: u32,
    pub(crate) turn: u32,
    /// The position of the first run in the table of runs.
    pub(crate) first_run: u32,
    pub(crate) runs: u16,
    pub(crate) verdict: u8,
    pub(crate) has_loss: u8,
}

const ROW_BYTES: usize = 60;

/// The row of a hook's run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RunRow {
    pub(crate) hook: u32,
    pub(crate) decision: u32,
    pub(crate) status: u32,
    pub(crate) ms: f32,
    pub(crate) flags: u32,
}

const RUN_BYTES: usize = 20;
pub(crate) const RUN_IS_GUARD: u32 = 1;
pub(crate) const RUN_IS_SHADOW: u32 = 2;
pub(crate) const RUN_HAS_FAILED: u32 = 4;

/// The index of one segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Index {
    /// The words that rows refer to; the first one is empty.
    pub(crate) words: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) runs: Vec<RunRow>,
}

#[derive(Deserialize)]
struct IndexedLine<'l> {
    seq: u64,
    #[serde(borrow)]
    time: Cow<'l, str>,
    #[serde(borrow)]
    kind: Cow<'l, str>,
    #[serde(default, borrow)]
    agent: Cow<'l, str>,
    #[serde(default, borrow)]
    event: Cow<'l, str>,
    #[serde(default, borrow)]
    tool: Cow<'l, str>,
    #[serde(default, borrow)]
    session: Cow<'l, str>,
    #[serde(default, borrow)]
    project: Cow<'l, str>,
    #[serde(default, borrow)]
    turn: Cow<'l, str>,
    #[serde(default)]
    verdict: Verdict,
    #[serde(default)]
    policy: IndexedPolicy,
    #[serde(default)]
    ms: f32,
    #[serde(default, borrow)]
    hooks: Vec<IndexedRun<'l>>,
    #[serde(default)]
    lost: Vec<serde::de::IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct IndexedPolicy {
    #[serde(default)]
    verdict: Verdict,
}

#[derive(Deserialize)]
struct IndexedRun<'l> {
    #[serde(default, borrow)]
    hook: Cow<'l, str>,
    #[serde(default, borrow)]
    decision: Cow<'l, str>,
    #[serde(default, borrow)]
    status: Cow<'l, str>,
    #[serde(default)]
    ms: f32,
    #[serde(default)]
    guard: bool,
    #[serde(default, borrow)]
    mode: Cow<'l, str>,
    #[serde(default)]
    failure: Option<serde::de::IgnoredAny>,
}

/// Builds an index line by line.
#[derive(Default)]
pub(crate) struct IndexBuilder {
    index: Index,
    numbers: HashMap<String, u32>,
}

impl IndexBuilder {
    fn word(&mut self, text: &str) -> u32 {
        if self.index.words.is_empty() {
            self.index.words.push(String::new());
        }
        if text.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.index.words.len()).unwrap_or(0);
        self.index.words.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// Adds a line. Text that is no line is left out.
    pub(crate) fn add(&mut self, offset: u64, text: &str) {
        let Ok(line) = serde_json::from_str::<IndexedLine<'_>>(text) else { return };
        let first_run = u32::try_from(self.index.runs.len()).unwrap_or(u32::MAX);
        for run in &line.hooks {
            let flags = [
                (run.guard, RUN_IS_GUARD),
                (run.mode == "shadow", RUN_IS_SHADOW),
                (run.failure.is_some(), RUN_HAS_FAILED),
            ];
            let row = RunRow {
                hook: self.word(&run.hook),
                decision: self.word(&run.decision),
                status: self.word(&run.status),
                ms: run.ms,
                flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum(),
            };
            self.index.runs.push(row);
        }
        let row = Row {
            seq: line.seq,
            time: line.time.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond),
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            ms: line.ms,
            kind: self.word(&line.kind),
            agent: self.word(&line.agent),
            event: self.word(&line.event),
            tool: self.word(&line.tool),
            session: self.word(&line.session),
            project: self.word(&line.project),
            turn: self.word(&line.turn),
            first_run,
            runs: u16::try_from(line.hooks.len()).unwrap_or(u16::MAX),
            // A call that a policy denied is found like one that a hook denied.
            verdict: line.verdict.max(line.policy.verdict) as u8,
            has_loss: u8::from(!line.lost.is_empty()),
        };
        self.index.rows.push(row);
    }

    pub(crate) fn finish(mut self) -> Index {
        self.word("");
        self.index
    }
}

impl Index {
    /// Returns a word of a row.
    pub(crate) fn word(&self, number: u32) -> &str {
        self.words.get(number as usize).map_or("", String::as_str)
    }

    /// Returns the runs of a row.
    pub(crate) fn runs_of(&self, row: &Row) -> &[RunRow] {
        let first = row.first_run as usize;
        self.runs.get(first..first + usize::from(row.runs)).unwrap_or_default()
    }

    /// Builds the index of a segment by reading it.
    pub(crate) fn build(segment: &Segment) -> Result<Index, JournalError> {
        let mut builder = IndexBuilder::default();
        for line in segment.lines()? {
            let line = line?;
            if line.complete {
                builder.add(line.offset, &line.text);
            }
        }
        Ok(builder.finish())
    }

    /// Returns the index of a segment: the stored one if it can be read, else a new one.
    pub(crate) fn load(dir: &Path, segment: &Segment) -> Result<Index, JournalError> {
        let path = index_path(dir, segment.number);
        let stored = hookwright_disk::read(&path, MAX_INDEX_BYTES, SymlinkPolicy::Refuse).ok();
        match stored.filter(|_| segment.compressed).and_then(|bytes| Index::decode(&bytes)) {
            Some(index) => Ok(index),
            None => Index::build(segment),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let count = |bytes: &mut Vec<u8>, number: usize| {
            bytes.extend_from_slice(&u32::try_from(number).unwrap_or(0).to_le_bytes());
        };
        for number in [self.words.len(), self.rows.len(), self.runs.len()] {
            count(&mut bytes, number);
        }
        for row in &self.rows {
            bytes.extend_from_slice(&row.seq.to_le_bytes());
            bytes.extend_from_slice(&row.time.to_le_bytes());
            let numbers = [row.offset, row.ms.to_bits(), row.kind, row.agent, row.event, row.tool, row.session];
            let more = [row.project, row.turn, row.first_run];
            numbers.iter().chain(&more).for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            bytes.extend_from_slice(&row.runs.to_le_bytes());
            bytes.extend_from_slice(&[row.verdict, row.has_loss]);
        }
        for run in &self.runs {
            let numbers = [run.hook, run.decision, run.status, run.ms.to_bits(), run.flags];
            numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        }
        for word in &self.words {
            count(&mut bytes, word.len());
            bytes.extend_from_slice(word.as_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Index> {
        let mut bytes = bytes.strip_prefix(MAGIC)?;
        let counts: [u32; 3] = std::array::from_fn(|_| take_u32(&mut bytes).unwrap_or(u32::MAX));
        let [words, rows, runs] = counts.map(|count| count as usize);
        let tables = rows.checked_mul(ROW_BYTES)?.checked_add(runs.checked_mul(RUN_BYTES)?)?;
        if bytes.len() < tables {
            return None;
        }
        let (row_bytes, rest) = bytes.split_at(rows * ROW_BYTES);
        let (run_bytes, mut rest) = rest.split_at(runs * RUN_BYTES);
        let rows = row_bytes.chunks_exact(ROW_BYTES).map(decode_row).collect::<Option<_>>()?;
        let runs = run_bytes.chunks_exact(RUN_BYTES).map(decode_run).collect::<Option<_>>()?;
        let mut all = Vec::new();
        for _ in 0..words {
            let length = take_u32(&mut rest)? as usize;
            let word = rest.get(..length)?;
            all.push(String::from_utf8_lossy(word).into_owned());
            rest = &rest[length..];
        }
        Some(Index { words: all, rows, runs })
    }
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*first))
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

fn decode_row(mut bytes: &[u8]) -> Option<Row> {
    let bytes = &mut bytes;
    Some(Row {
        seq: take_u64(bytes)?,
        time: take_u64(bytes)?.cast_signed(),
        offset: take_u32(bytes)?,
        ms: f32::from_bits(take_u32(bytes)?),
        kind: take_u32(bytes)?,
        agent: take_u32(bytes)?,
        event: take_u32(bytes)?,
        tool: take_u32(bytes)?,
        session: take_u32(bytes)?,
        project: take_u32(bytes)?,
        turn: take_u32(bytes)?,
        first_run: take_u32(bytes)?,
        runs: u16::from_le_bytes(*bytes.first_chunk::<2>()?),
        verdict: *bytes.get(2)?,
        has_loss: *bytes.get(3)?,
    })
}

fn decode_run(mut bytes: &[u8]) -> Option<RunRow> {
    let bytes = &mut bytes;
    Some(RunRow {
        hook: take_u32(bytes)?,
        decision: take_u32(bytes)?,
        status: take_u32(bytes)?,
        ms: f32::from_bits(take_u32(bytes)?),
        flags: take_u32(bytes)?,
    })
}

/// Writes the index of a segment beside it.
pub(crate) fn write_index(dir: &Path, segment: &Segment) -> Result<(), JournalError> {
    let path = index_path(dir, segment.number);
    let bytes = Index::build(segment)?.encode();
    hookwright_disk::write_atomic(&path, &bytes, FilePrivacy::Private, SymlinkPolicy::Refuse)
        .map_err(JournalError::io(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Index {
        let mut builder = IndexBuilder::default();
        let line = r#"{"seq":3,"prev":"","time":"2026-11-18T10:00:00.000Z","kind":"event","agent":"codex","event":"BeforeTool","tool":"run_shell_command","session":"s","verdict":"deny","hooks":[{"hook":"a","decision":"deny","status":"ok","ms":1.5,"guard":true},{"hook":"b","status":"failed","failure":"exit","ms":2.0}],"ms":4.5}"#;
        builder.add(0, line);
        builder.add(400, "no line");
        builder.add(500, r#"{"seq":4,"prev":"","time":"x","kind":"gap","problem":"\u00e9"}"#);
        builder.finish()
    }

    #[test]
    fn an_index_is_read_back() {
        let index = sample();
        assert_eq!((index.rows.len(), index.runs.len()), (2, 2));
        assert_eq!(Index::decode(&index.encode()), Some(index.clone()));
        let row = &index.rows[0];
        assert_eq!((index.word(row.agent), row.verdict, row.ms), ("codex", Verdict::Deny as u8, 4.5));
        let hooks: Vec<&str> = index.runs_of(row).iter().map(|run| index.word(run.hook)).collect();
        assert_eq!(hooks, ["a", "b"]);
    }

    #[test]
    fn a_damaged_index_is_not_used() {
        let bytes = sample().encode();
        for length in 0..bytes.len() {
            assert_eq!(Index::decode(&bytes[..length]), None, "cut at {length}");
        }
        let mut huge = bytes;
        huge[8..12].fill(0xff);
        huge[12..16].fill(0xff);
        assert_eq!(Index::decode(&huge), None);
    }
}
