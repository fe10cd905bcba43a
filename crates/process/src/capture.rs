//! A bounded part of an output of any length. It does no I/O: the caller reads the output and pushes it piece by piece.

use std::collections::VecDeque;

/// Which part of an output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureLimit {
    /// The first bytes, up to this number.
    Head(usize),
    /// Bytes from both ends, up to this number in all.
    ///
    /// The end gets three quarters, because errors are usually printed last.
    HeadAndTail(usize),
}

/// The kept part of an output, and the number of bytes that there were.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total_bytes: u64,
}

impl Capture {
    /// Creates an empty capture that keeps the part of the output that `keep` names.
    pub fn new(keep: CaptureLimit) -> Self {
        let (head_limit, tail_limit) = match keep {
            CaptureLimit::Head(limit) => (limit, 0),
            CaptureLimit::HeadAndTail(limit) => (limit / 4, limit - limit / 4),
        };
        Self { head_limit, tail_limit, ..Self::default() }
    }

    /// Returns the kept beginning of the output.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the kept end of the output, without the bytes that [`head`](Self::head) holds.
    pub fn tail(&self) -> Vec<u8> {
        let (front, back) = self.tail.as_slices();
        [front, back].concat()
    }

    /// Returns the number of bytes pushed in all, kept or not.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns the number of bytes between beginning and end that were dropped.
    pub fn omitted_bytes(&self) -> u64 {
        self.total_bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns how many bytes still go to the beginning.
    fn remaining_head_bytes(&self) -> usize {
        self.head_limit - self.head.len()
    }

    /// Adds the next piece of the output.
    pub fn push(&mut self, piece: &[u8]) {
        let (to_head, rest) = piece.split_at(piece.len().min(self.remaining_head_bytes()));
        self.head.extend_from_slice(to_head);
        let useful = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let overflow = (self.tail.len() + useful.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..overflow);
        self.tail.extend(useful);
        self.total_bytes += piece.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture_pieces(keep: CaptureLimit, pieces: &[&str]) -> (String, String, u64) {
        let mut capture = Capture::new(keep);
        pieces.iter().for_each(|piece| capture.push(piece.as_bytes()));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(capture.total_bytes(), pieces.concat().len() as u64);
        (text(capture.head()), text(&capture.tail()), capture.omitted_bytes())
    }

    #[test]
    fn the_head_is_kept_and_the_rest_counted() {
        assert_eq!(capture_pieces(CaptureLimit::Head(4), &["ab", "cd"]), ("abcd".into(), "".into(), 0));
        assert_eq!(capture_pieces(CaptureLimit::Head(4), &["abc", "def", "g"]), ("abcd".into(), "".into(), 3));
        assert_eq!(capture_pieces(CaptureLimit::Head(0), &["abc"]), ("".into(), "".into(), 3));
    }

    #[test]
    fn both_ends_are_kept_and_the_middle_counted() {
        assert_eq!(capture_pieces(CaptureLimit::HeadAndTail(8), &["1234", "5678"]), ("12".into(), "345678".into(), 0));
        assert_eq!(
            capture_pieces(CaptureLimit::HeadAndTail(8), &["12", "3456", "789abcdef"]),
            ("12".into(), "abcdef".into(), 7)
        );
        assert_eq!(capture_pieces(CaptureLimit::HeadAndTail(0), &["abc"]), ("".into(), "".into(), 3));
    }
}
