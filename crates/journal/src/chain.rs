//! Digests of lines, and the Merkle root of a segment.

use std::fmt;

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of these bytes.
    pub fn compute(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Parses 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Digest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Digest(bytes))
    }

    fn join(left: Digest, right: Digest) -> Digest {
        // The prefix keeps an inner node from being taken for a line.
        let mut hash = Sha256::new_with_prefix([1]);
        hash.update(left.0);
        hash.update(right.0);
        Digest(hash.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the Merkle root of the digests of a segment's lines. A node without a sibling moves up unchanged.
pub(crate) fn merkle_root(mut level: Vec<Digest>) -> Digest {
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => Digest::join(*left, *right),
                rest => rest.first().copied().unwrap_or_default(),
            })
            .collect();
    }
    level.first().copied().unwrap_or_default()
}

/// A line, split into the part that the chain covers and its content.
pub(crate) struct SplitLine<'l> {
    pub(crate) seq: u64,
    pub(crate) prev: Digest,
    /// The digest of the line without its content.
    pub(crate) digest: Digest,
    pub(crate) content_digest: Option<Digest>,
    pub(crate) content: Option<&'l str>,
}

/// The text between the chained part of a line and its content.
const CONTENT_KEY: &str = ",\"content\":";

#[derive(serde::Deserialize)]
struct ChainFields<'l> {
    seq: u64,
    prev: &'l str,
    content_digest: Option<&'l str>,
    #[serde(borrow)]
    content: Option<&'l RawValue>,
}

impl<'l> SplitLine<'l> {
    /// Parses a line; `None` if it is not a line of a journal.
    pub(crate) fn parse(line: &'l str) -> Option<SplitLine<'l>> {
        let fields: ChainFields<'l> = serde_json::from_str(line).ok()?;
        let content = fields.content.map(RawValue::get);
        let digest = match content {
            None => Digest::compute(line.as_bytes()),
            Some(content) => {
                let start = line.strip_suffix('}')?.strip_suffix(content)?.strip_suffix(CONTENT_KEY)?;
                Digest::compute(&[start.as_bytes(), b"}"].concat())
            }
        };
        Some(SplitLine {
            seq: fields.seq,
            prev: Digest::from_hex(fields.prev)?,
            digest,
            content_digest: fields.content_digest.and_then(Digest::from_hex),
            content,
        })
    }

    /// Returns the line without its content.
    pub(crate) fn without_content(&self, line: &str) -> String {
        let start =
            self.content.and_then(|content| line.strip_suffix('}')?.strip_suffix(content)?.strip_suffix(CONTENT_KEY));
        start.map_or_else(|| line.to_owned(), |start| format!("{start}}}"))
    }
}

/// Builds the text of a line from the JSON object of its entry, and returns it with its digest.
pub(crate) fn build_line(seq: u64, prev: Digest, time: &str, entry: &str, content: Option<&str>) -> (String, Digest) {
    let fields = entry.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    let digest_field =
        content.map(|content| format!(",\"content_digest\":\"{}\"", Digest::compute(content.as_bytes())));
    let mut line = format!(
        "{{\"seq\":{seq},\"prev\":\"{prev}\",\"time\":\"{time}\",{fields}{}}}",
        digest_field.unwrap_or_default()
    );
    let digest = Digest::compute(line.as_bytes());
    if let Some(content) = content {
        line.pop();
        line.push_str(CONTENT_KEY);
        line.push_str(content);
        line.push('}');
    }
    (line, digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_can_be_taken_out_without_changing_the_digest() {
        let content = r#"{"salt":"x","input":{"a":"}"}}"#;
        let (line, digest) = build_line(7, Digest::default(), "t", r#"{"kind":"gap","problem":"p"}"#, Some(content));
        let split = SplitLine::parse(&line).unwrap();
        assert_eq!((split.seq, split.digest, split.content), (7, digest, Some(content)));
        assert_eq!(split.content_digest, Some(Digest::compute(content.as_bytes())));
        let bare = split.without_content(&line);
        let split = SplitLine::parse(&bare).unwrap();
        assert_eq!((split.digest, split.content), (digest, None));
    }

    #[test]
    fn every_leaf_changes_the_root() {
        let leaves = |count: u8| (0..count).map(|byte| Digest::compute(&[byte])).collect::<Vec<_>>();
        for count in 1..20 {
            let root = merkle_root(leaves(count));
            assert_ne!(root, merkle_root(leaves(count + 1)));
            for at in 0..usize::from(count) {
                let mut changed = leaves(count);
                changed[at] = Digest::compute(b"other");
                assert_ne!(merkle_root(changed), root);
            }
        }
    }

    #[test]
    fn hexadecimal_is_read_back() {
        let digest = Digest::compute(b"x");
        assert_eq!(Digest::from_hex(&digest.to_string()), Some(digest));
        for bad in ["", "zz", &"é".repeat(32), &"g".repeat(64)] {
            assert_eq!(Digest::from_hex(bad), None);
        }
    }
}
