//! A bounded part of an output of any length. Pure: who reads it from where is not its business, nor what it says.

use std::collections::VecDeque;

/// Which part of an output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureLimit {
    /// The first so many bytes.
    Head(usize),
    /// So many bytes from both ends. The end gets more than the beginning: errors come last.
    HeadAndTail(usize),
}

/// What is kept of an output, and how much there was.
#[derive(Debug, Default)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total_bytes: u64,
}

impl Capture {
    /// Nothing yet.
    pub fn new(keep: CaptureLimit) -> Self {
        let (head_limit, tail_limit) = match keep {
            CaptureLimit::Head(limit) => (limit, 0),
            CaptureLimit::HeadAndTail(limit) => (limit / 4, limit - limit / 4),
        };
        Self { head_limit, tail_limit, ..Self::default() }
    }

    /// The beginning.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The end, as far as it is not in the beginning.
    pub fn tail(&self) -> Vec<u8> {
        let (front, back) = self.tail.as_slices();
        [front, back].concat()
    }

    /// How many bytes came in all.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// How many bytes between beginning and end were dropped.
    pub fn omitted_bytes(&self) -> u64 {
        self.total_bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// How many bytes still belong to the beginning.
    fn remaining_head_bytes(&self) -> usize {
        self.head_limit - self.head.len()
    }

    /// Adds a piece.
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
