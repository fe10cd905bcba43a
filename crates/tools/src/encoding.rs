//! Conversion between bytes and text: byte-order marks, UTF-8, UTF-16, line endings, and detection of binary data. It
//! does no I/O.

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

/// The line ending of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnding {
    Lf,
    CrLf,
}

/// Whether decoding preserved every byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fidelity {
    Exact,
    /// Some bytes were invalid and became U+FFFD, so that encoding does not restore them.
    Lossy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodedText {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
    pub(crate) fidelity: Fidelity,
}

impl Encoding {
    fn byte_order_mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"",
            Self::Utf8Bom => b"\xEF\xBB\xBF",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
        }
    }

    fn detect(bytes: &[u8]) -> Self {
        [Self::Utf8Bom, Self::Utf16Le, Self::Utf16Be]
            .into_iter()
            .find(|encoding| bytes.starts_with(encoding.byte_order_mark()))
            .unwrap_or(Self::Utf8)
    }

    /// Encodes `text`, with the byte-order mark first.
    pub(crate) fn encode(self, text: &str) -> Vec<u8> {
        let mut bytes = self.byte_order_mark().to_vec();
        match self {
            Self::Utf8 | Self::Utf8Bom => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Self::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        }
        bytes
    }
}

/// Decodes `bytes`, without the byte-order mark.
pub(crate) fn decode(bytes: &[u8]) -> DecodedText {
    let encoding = Encoding::detect(bytes);
    let decoder = match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom => encoding_rs::UTF_8,
        Encoding::Utf16Le => encoding_rs::UTF_16LE,
        Encoding::Utf16Be => encoding_rs::UTF_16BE,
    };
    let (text, bad) = decoder.decode_without_bom_handling(&bytes[encoding.byte_order_mark().len()..]);
    let fidelity = if bad { Fidelity::Lossy } else { Fidelity::Exact };
    DecodedText { text: text.into_owned(), encoding, fidelity }
}

/// Decodes `bytes` that are labelled with an encoding.
///
/// Valid UTF-8 takes precedence over the label: few texts are valid UTF-8 by accident, and many are labelled wrongly.
pub(crate) fn decode_labelled(bytes: &[u8], label: &str) -> String {
    let labelled = encoding_rs::Encoding::for_label(label.as_bytes());
    match (decode(bytes), labelled) {
        (DecodedText { fidelity: Fidelity::Lossy, encoding: Encoding::Utf8, .. }, Some(labelled)) => {
            labelled.decode(bytes).0.into_owned()
        }
        (decoded, _) => decoded.text,
    }
}

/// Returns whether `bytes`, a file's beginning, are binary. Invalid UTF-8 alone may be text in an older encoding.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(8192)];
    if sample.is_empty() || matches!(Encoding::detect(sample), Encoding::Utf16Le | Encoding::Utf16Be) {
        return false;
    }
    if sample.contains(&0) {
        return true;
    }
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B | 0x08);
    sample.iter().filter(is_control).count() * 10 > sample.len() * 3
}

impl LineEnding {
    /// Returns the line ending of most lines of `text`.
    pub(crate) fn detect(text: &str) -> Self {
        let all = text.matches('\n').count();
        let with_return = text.matches("\r\n").count();
        if with_return * 2 > all { Self::CrLf } else { Self::Lf }
    }

    /// Returns `text` with this line ending. LF keeps carriage returns, which may be intended.
    pub(crate) fn apply(self, text: &str) -> String {
        match self {
            Self::Lf => text.to_owned(),
            Self::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        }
    }
}

/// A text with LF line endings that records where carriage returns were, so that a range found in it can be replaced in
/// the original without changing any other byte.
pub(crate) struct NormalizedText {
    pub(crate) text: String,
    /// The offsets in `text` of line feeds that followed a carriage return.
    carriage_returns: Vec<usize>,
}

impl NormalizedText {
    pub(crate) fn new(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut returns = Vec::new();
        let mut rest = original;
        while let Some(at) = rest.find("\r\n") {
            text.push_str(&rest[..at]);
            returns.push(text.len());
            text.push('\n');
            rest = &rest[at + 2..];
        }
        text.push_str(rest);
        Self { text, carriage_returns: returns }
    }

    /// Returns the offset in the original for an offset in `text`.
    pub(crate) fn original_offset(&self, offset: usize) -> usize {
        offset + self.carriage_returns.partition_point(|at| *at < offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_round_trips() {
        for encoding in [Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be] {
            let text = "héllo 🌍\r\nx";
            let decoded = decode(&encoding.encode(text));
            assert_eq!(decoded, DecodedText { text: text.into(), encoding, fidelity: Fidelity::Exact });
        }
        assert_eq!(decode(b"").text, "");
    }

    #[test]
    fn bad_bytes_are_lossy() {
        assert_eq!(decode(b"a\xFFb").fidelity, Fidelity::Lossy);
        assert_eq!(decode(b"a\xFFb").text, "a\u{FFFD}b");
        assert_eq!(decode(b"\xFF\xFEa").fidelity, Fidelity::Lossy);
        assert_eq!(decode(b"\xFF\xFE\x00\xD8").fidelity, Fidelity::Lossy);
        assert_eq!(decode(b"\xEF\xBB\xBF\xFF").fidelity, Fidelity::Lossy);
    }

    #[test]
    fn binary_or_not() {
        assert!(is_binary(b"\x7FELF\0\0"));
        assert!(is_binary(b"\x01\x02\x03\x04abc"));
        assert!(!is_binary("naïve".as_bytes()));
        assert!(!is_binary(b"caf\xE9 au lait"));
        assert!(!is_binary(b"\xFF\xFEa\0b\0"));
        assert!(!is_binary(b""));
        assert!(!is_binary(b"\x1b[31mred\x1b[0m\n"));
    }

    #[test]
    fn most_lines_decide_the_ending() {
        assert_eq!(LineEnding::detect("a\r\nb\r\nc\n"), LineEnding::CrLf);
        assert_eq!(LineEnding::detect("a\nb\nc\r\n"), LineEnding::Lf);
        assert_eq!(LineEnding::detect(""), LineEnding::Lf);
        assert_eq!(LineEnding::CrLf.apply("a\nb\r\nc"), "a\r\nb\r\nc");
    }

    proptest::proptest! {
        #[test]
        fn unified_offsets_lead_back(parts in proptest::collection::vec("a|\r\n|\n|\r|é", 0..20)) {
            let original = parts.concat();
            let unified = NormalizedText::new(&original);
            proptest::prop_assert_eq!(&unified.text, &original.replace("\r\n", "\n"));
            for (offset, found) in unified.text.char_indices() {
                let at = unified.original_offset(offset);
                let there = original[at..].chars().next();
                proptest::prop_assert!(there == Some(found) || (found == '\n' && original[at..].starts_with("\r\n")));
            }
            proptest::prop_assert_eq!(unified.original_offset(unified.text.len()), original.len());
        }
    }
}
