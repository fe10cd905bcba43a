//! A transcript of JSON lines: reads, filters and parses the lines, and passes them to the agent's format.

use std::io::Read;

use serde_json::Value;

use super::call_tracker::CallTracker;
use super::line_reader::{BoundedLineReader, ReadLine};

/// The number of lines at the beginning of a file among which one must be recognised.
const RECOGNITION_LINES: u64 = 20;

/// Reads the lines of one agent's transcripts.
pub(super) trait LineFormat {
    /// Returns texts one of which occurs in every line that matters. Other lines are not parsed.
    fn markers(&self) -> &'static [&'static str];

    /// Reads a line, and returns what it is.
    fn read_line(&mut self, line: &Value, number: u64, calls: &mut CallTracker) -> LineKind;
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A line of this format.
    Recognized,
    /// A line that this format does not have.
    Unrecognized,
    /// A line by which the whole file belongs to another program.
    OtherProgram,
}

/// A transcript that is being read.
pub(super) struct JsonLinesTranscript {
    reader: BoundedLineReader<Box<dyn Read>>,
    format: Box<dyn LineFormat>,
    is_recognized: bool,
    lines: u64,
}

impl JsonLinesTranscript {
    pub(super) fn new(file: Box<dyn Read>, format: Box<dyn LineFormat>) -> JsonLinesTranscript {
        JsonLinesTranscript { reader: BoundedLineReader::new(file), format, is_recognized: false, lines: 0 }
    }

    /// Reads one line; returns whether there may be more.
    pub(super) fn read_step(&mut self, calls: &mut CallTracker) -> bool {
        let read = self.reader.read_line();
        let number = self.reader.number();
        match read {
            Ok(Some(ReadLine::Line)) => self.parse_line(number, calls),
            Ok(Some(ReadLine::TooLong)) => {
                calls.report(Some(number), "is longer than 16 MiB and was not read");
                true
            }
            Ok(None) => {
                if self.lines > 0 && !self.is_recognized {
                    calls.report(None, "has a format that is not known");
                }
                calls.flush();
                false
            }
            Err(error) => {
                calls.report(Some(number + 1), format!("can't be read: {error}"));
                calls.flush();
                false
            }
        }
    }

    fn parse_line(&mut self, number: u64, calls: &mut CallTracker) -> bool {
        let line = self.reader.line().trim_ascii();
        if line.is_empty() {
            return true;
        }
        self.lines += 1;
        let is_head = !self.is_recognized && number <= RECOGNITION_LINES;
        let has_marker =
            || self.format.markers().iter().any(|marker| memchr::memmem::find(line, marker.as_bytes()).is_some());
        // Without its last byte, a line could have lost the marker too.
        if !is_head && line.ends_with(b"}") && !has_marker() {
            return true;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => match self.format.read_line(&value, number, calls) {
                LineKind::Recognized => self.is_recognized = true,
                LineKind::Unrecognized => {}
                LineKind::OtherProgram => return false,
            },
            Err(error) => {
                let is_cut_off = error.is_eof() || !self.reader.is_complete();
                calls.report(Some(number), if is_cut_off { "is cut off" } else { "is not JSON" });
            }
        }
        true
    }
}
