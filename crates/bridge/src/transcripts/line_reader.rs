//! Reads a file line by line with a limit for the length of a line. A longer line is skipped without being held in
//! memory.

use std::io::{self, BufRead, BufReader, Read};

/// The length of a line up to which it is parsed: results of calls can hold images.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

const BUFFER_BYTES: usize = 64 << 10;

/// One line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadLine {
    /// A line without its end; the reader's buffer has it.
    Line,
    /// A line that is longer than [`MAX_LINE_BYTES`], which was skipped.
    TooLong,
}

/// A reader of lines.
pub(super) struct BoundedLineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    is_complete: bool,
}

impl<R: Read> BoundedLineReader<R> {
    pub(super) fn new(reader: R) -> BoundedLineReader<R> {
        BoundedLineReader {
            reader: BufReader::with_capacity(BUFFER_BYTES, reader),
            line: Vec::new(),
            number: 0,
            is_complete: true,
        }
    }

    /// Returns the number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the line that was read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns whether the line that was read last ends with a line feed.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Reads the next line; `None` at the end of the file.
    pub(super) fn read_line(&mut self) -> io::Result<Option<ReadLine>> {
        self.line.clear();
        self.is_complete = false;
        let (mut total, mut is_too_long) = (0_usize, false);
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = memchr::memchr(b'\n', buffer);
            let taken = end.map_or(buffer.len(), |end| end + 1);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            total = total.saturating_add(part.len());
            is_too_long |= total > MAX_LINE_BYTES;
            if is_too_long {
                // A long line must not leave its memory behind.
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let is_end_of_file = buffer.is_empty();
            self.reader.consume(taken);
            self.is_complete = end.is_some();
            if end.is_some() || is_end_of_file {
                if total == 0 && is_end_of_file {
                    return Ok(None);
                }
                self.number += 1;
                return Ok(Some(if is_too_long { ReadLine::TooLong } else { ReadLine::Line }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_the_last_may_lack_its_end() {
        let mut reader = BoundedLineReader::new(&b"one\n\nthree"[..]);
        let mut seen = Vec::new();
        while let Some(ReadLine::Line) = reader.read_line().unwrap() {
            seen.push((reader.number(), reader.line().to_vec(), reader.is_complete()));
        }
        assert_eq!(seen, [(1, b"one".to_vec(), true), (2, Vec::new(), true), (3, b"three".to_vec(), false)]);
    }

    #[test]
    fn line_of_50_mb_is_skipped_and_not_held() {
        let long = io::repeat(b'x').take(50 << 20).chain(&b"\nnext\n"[..]);
        let mut reader = BoundedLineReader::new(long);
        assert_eq!(reader.read_line().unwrap(), Some(ReadLine::TooLong));
        assert!(reader.line.capacity() < 1 << 20, "{}", reader.line.capacity());
        assert_eq!(reader.read_line().unwrap(), Some(ReadLine::Line));
        assert_eq!((reader.line(), reader.number()), (&b"next"[..], 2));
        assert_eq!(reader.read_line().unwrap(), None);
    }
}
