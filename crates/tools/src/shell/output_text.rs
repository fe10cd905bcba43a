//! Converts a command's output to text: decodes it across chunk boundaries and removes terminal control
//! (`terminal_text.rs`).

use hookwright_process::Capture;

use super::terminal_text::render_plain;

/// Returns the output as a screen with `rows` rows would show it; for binary output only the size.
pub(super) fn render_output(output: &Capture, rows: usize) -> String {
    if output.head().iter().take(4096).any(|byte| *byte == 0) {
        return format!("[binary output, {} bytes]", output.total_bytes());
    }
    if output.omitted_bytes() == 0 {
        return render_plain(&String::from_utf8_lossy(&[output.head(), &output.tail()].concat()), rows);
    }
    let head = render_plain(&String::from_utf8_lossy(output.head()), rows);
    let tail = render_plain(&String::from_utf8_lossy(&output.tail()), rows);
    format!(
        "{}\n[... {} bytes left out ...]\n{}",
        head.trim_end_matches('\u{FFFD}'),
        output.omitted_bytes(),
        tail.trim_start_matches('\u{FFFD}')
    )
}

/// Decodes UTF-8 in chunks that may split characters.
#[derive(Debug, Default)]
pub(super) struct Utf8StreamDecoder {
    pending: Vec<u8>,
}

impl Utf8StreamDecoder {
    /// Returns the text that is complete so far; at most three bytes are kept for the next chunk.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut waiting = Vec::new();
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            waiting = chunk.invalid().to_vec();
            let at_end = chunk.invalid().as_ptr_range().end == self.pending.as_ptr_range().end;
            if !(waiting.is_empty() || at_end && is_incomplete_char(&waiting)) {
                text.push(char::REPLACEMENT_CHARACTER);
                waiting.clear();
            }
        }
        self.pending = waiting;
        text
    }
}

/// Returns whether more bytes could complete a character.
fn is_incomplete_char(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_process::CaptureLimit;

    fn captured(limit: usize, chunks: &[&[u8]]) -> String {
        let mut capture = Capture::new(CaptureLimit::HeadAndTail(limit));
        for chunk in chunks {
            capture.push(chunk);
        }
        render_output(&capture, 24)
    }

    #[test]
    fn short_output_is_whole() {
        assert_eq!(captured(100, &[b"hello ", b"world\n"]), "hello world\n");
        assert_eq!(captured(8, &[b"12345678"]), "12345678");
        assert_eq!(captured(100, &[]), "");
    }

    #[test]
    fn long_output_keeps_both_ends() {
        assert_eq!(captured(8, &[b"123456789"]), "12\n[... 1 bytes left out ...]\n456789");
        assert_eq!(captured(8, &[b"12", b"3456", b"789abcdef"]), "12\n[... 7 bytes left out ...]\nabcdef");
        let cut_character = captured(8, &["aéé".as_bytes(), &[b'x'; 20]]);
        assert!(cut_character.starts_with("a\n["), "{cut_character}");
    }

    #[test]
    fn a_zero_limit_keeps_nothing() {
        assert_eq!(captured(0, &[b"abc"]), "\n[... 3 bytes left out ...]\n");
    }

    #[test]
    fn binary_output_is_only_counted() {
        assert_eq!(captured(100, &[b"\x7FELF\0\0"]), "[binary output, 6 bytes]");
    }

    proptest::proptest! {
        #[test]
        fn pieces_decode_like_the_whole(text in ".{0,40}", cuts in proptest::collection::vec(0usize..60, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let mut stream = Utf8StreamDecoder::default();
            let decoded: String = cuts.windows(2).map(|pair| stream.push(&bytes[pair[0]..pair[1]])).collect();
            proptest::prop_assert_eq!(decoded, text);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80), limit in 0usize..50) {
            let mut stream = Utf8StreamDecoder::default();
            let mut capture = Capture::new(CaptureLimit::HeadAndTail(limit));
            for piece in bytes.chunks(7) {
                stream.push(piece);
                capture.push(piece);
            }
            proptest::prop_assert!(stream.pending.len() <= 3);
            proptest::prop_assert!(capture.head().len() + capture.tail().len() <= limit);
            render_output(&capture, 24);
        }
    }
}
