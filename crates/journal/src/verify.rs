//! Checks the chain: every line, every seal, and the head.

use std::path::Path;

use serde::Serialize;

use crate::chain::{Digest, SplitLine, merkle_root};
use crate::entry::{Entry, JournalLine};
use crate::segment::{JournalError, Segment, list_segments};
use crate::writer::Head;

/// Something that is wrong with a journal.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Finding {
    /// The segment.
    pub segment: u64,
    /// The number of the line, if it is known.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line} (segment {}): {}", self.segment, self.problem),
            None => write!(f, "segment {}: {}", self.segment, self.problem),
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
pub struct VerifyReport {
    /// The number of lines that were read.
    pub lines: u64,
    /// The number of segments.
    pub segments: u64,
    /// The first line that is still there, if older ones have been removed by age or size.
    pub first_line: Option<u64>,
    /// The number of the last line.
    pub last_line: u64,
    /// The digest of the last line.
    pub head: String,
    /// The number of lines whose content was forgotten.
    pub forgotten: u64,
    /// What is wrong, in order.
    pub findings: Vec<Finding>,
}

/// What is known while the lines are read in order.
struct Chain {
    report: VerifyReport,
    /// The number and digest of the line before.
    last: Option<(u64, Digest)>,
    /// Lines without content that a later line must account for.
    bare: Vec<(u64, u64)>,
    /// The lines of the segment before, for its seal.
    sealed: Option<(u64, Vec<Digest>)>,
    /// The last line that was removed by age or size, as far as the journal says.
    dropped_to: u64,
    /// The lines whose removal of content is on record.
    forgotten: Vec<(u64, u64)>,
    /// The digest of the line that a caller asks for.
    wanted: Option<u64>,
    wanted_digest: Option<Digest>,
}

/// Checks a journal.
///
/// # Errors
/// If a file cannot be read at all; damage that can be named is in the report.
pub fn verify(dir: &Path) -> Result<VerifyReport, JournalError> {
    check_chain(dir, None).map(|(report, _)| report)
}

/// Checks a journal, and returns the digest of one of its lines.
pub(crate) fn check_chain(dir: &Path, wanted: Option<u64>) -> Result<(VerifyReport, Option<Digest>), JournalError> {
    let mut chain = Chain {
        report: VerifyReport::default(),
        last: None,
        bare: Vec::new(),
        sealed: None,
        dropped_to: 0,
        forgotten: Vec::new(),
        wanted,
        wanted_digest: None,
    };
    let segments = list_segments(dir)?;
    let mut expected = segments.first().map_or(1, |segment| segment.number);
    for segment in &segments {
        if segment.number != expected {
            chain.find(segment.number, None, format!("segments {expected} to {} are missing", segment.number - 1));
        }
        chain.check_segment(segment);
        expected = segment.number + 1;
    }
    chain.finish(dir, segments.last().map_or(0, |segment| segment.number));
    Ok((chain.report, chain.wanted_digest))
}

impl Chain {
    fn find(&mut self, segment: u64, line: Option<u64>, problem: impl Into<String>) {
        self.report.findings.push(Finding { segment, line, problem: problem.into() });
    }

    fn check_segment(&mut self, segment: &Segment) {
        self.report.segments += 1;
        let mut digests = Vec::new();
        let lines = match segment.lines() {
            Ok(lines) => lines,
            Err(error) => return self.find(segment.number, None, error.to_string()),
        };
        for line in lines {
            let line = match line {
                Ok(line) => line,
                Err(error) => return self.find(segment.number, None, error.to_string()),
            };
            let Some(split) = SplitLine::parse(&line.text) else {
                let what = if line.complete { "this is no line of a journal" } else { "the last line is cut off" };
                let after = self.last.map_or(0, |(seq, _)| seq);
                self.find(segment.number, None, format!("after line {after}: {what}"));
                continue;
            };
            self.check_line(segment.number, &split);
            self.check_entry(segment.number, &line.text);
            digests.push(split.digest);
        }
        self.sealed = Some((segment.number, digests));
    }

    fn check_line(&mut self, segment: u64, line: &SplitLine<'_>) {
        self.report.lines += 1;
        match self.last {
            None => self.report.first_line = (line.seq > 1).then_some(line.seq),
            Some((seq, _)) if line.seq <= seq => {
                self.find(segment, Some(line.seq), format!("it stands after line {seq}, out of order"));
            }
            Some((seq, _)) if line.seq > seq + 1 => {
                self.find(
                    segment,
                    Some(line.seq),
                    format!("lines {} to {} before it are missing", seq + 1, line.seq - 1),
                );
            }
            Some((seq, digest)) if digest != line.prev => {
                self.find(segment, Some(seq), "it was changed after it was written");
            }
            Some(_) => {}
        }
        match (line.content, line.content_digest) {
            (Some(content), Some(digest)) if Digest::compute(content.as_bytes()) != digest => {
                self.find(segment, Some(line.seq), "its content was changed after it was written");
            }
            (Some(_), None) => self.find(segment, Some(line.seq), "content was added to it"),
            (None, Some(_)) => self.bare.push((segment, line.seq)),
            _ => {}
        }
        if self.wanted == Some(line.seq) {
            self.wanted_digest = Some(line.digest);
        }
        self.last = Some((line.seq, line.digest));
    }

    /// Checks what a line says about the journal itself.
    fn check_entry(&mut self, segment: u64, text: &str) {
        // Most lines are events, which say nothing about the journal.
        let is_own = ["\"kind\":\"seal\"", "\"kind\":\"gap\"", "\"kind\":\"forgot\"", "\"kind\":\"dropped\""];
        if !is_own.iter().any(|kind| text.contains(kind)) {
            return;
        }
        let Ok(line) = serde_json::from_str::<JournalLine>(text) else { return };
        match line.entry {
            Entry::Gap { problem } => self.find(segment, Some(line.seq), format!("the writer found that {problem}")),
            Entry::Forgot { lines, .. } => self.forgotten.extend(lines),
            Entry::Dropped { last_line, .. } => self.dropped_to = self.dropped_to.max(last_line),
            Entry::Seal { segment: sealed, lines, root } => {
                let Some((number, digests)) = self.sealed.take().filter(|(number, _)| *number == sealed) else {
                    return;
                };
                if digests.len() as u64 != lines || merkle_root(digests).to_string() != root {
                    self.find(number, None, format!("its {lines} lines are not the ones that were sealed"));
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, dir: &Path, last_segment: u64) {
        if let Some(first) = self.report.first_line
            && self.dropped_to + 1 < first
        {
            self.find(
                0,
                Some(first),
                format!("lines up to {} are missing, and were not removed by age or size", first - 1),
            );
        }
        let is_on_record =
            |seq: u64, ranges: &[(u64, u64)]| ranges.iter().any(|(from, to)| (*from..=*to).contains(&seq));
        for (segment, seq) in std::mem::take(&mut self.bare) {
            if is_on_record(seq, &self.forgotten) {
                self.report.forgotten += 1;
            } else {
                self.find(segment, Some(seq), "its content is gone, and no `journal forget` is on record");
            }
        }
        if let Some((seq, digest)) = self.last {
            (self.report.last_line, self.report.head) = (seq, digest.to_string());
        }
        match (Head::read(dir), self.last) {
            (Some(head), Some((seq, _))) if head.seq > seq => {
                self.find(last_segment, None, format!("lines {} to {} at the end are missing", seq + 1, head.seq));
            }
            (Some(head), Some((seq, digest))) if head.seq == seq && head.digest != digest => {
                self.find(last_segment, Some(seq), "it was changed after it was written");
            }
            (Some(head), None) if head.seq > 0 => self.find(0, None, format!("all {} lines are missing", head.seq)),
            (None, Some(_)) => self.find(last_segment, None, "the head file is missing or damaged"),
            // A line after the head was written by a process that was killed before it moved the head.
            _ => {}
        }
    }
}
