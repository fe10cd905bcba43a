//! A command's output as text: decoded across borders of pieces, rid of terminal control. Pure.

use hookwright_process::Capture;

/// The output for reading. Of a binary one only the size.
pub(super) fn of(output: &Capture) -> String {
    if output.head().iter().take(4096).any(|byte| *byte == 0) {
        return format!("[binary output, {} bytes]", output.bytes());
    }
    if output.left_out() == 0 {
        return plain(&String::from_utf8_lossy(&[output.head(), &output.tail()].concat()));
    }
    let head = plain(&String::from_utf8_lossy(output.head()));
    let tail = plain(&String::from_utf8_lossy(&output.tail()));
    format!(
        "{}\n[... {} bytes left out ...]\n{}",
        head.trim_end_matches('\u{FFFD}'),
        output.left_out(),
        tail.trim_start_matches('\u{FFFD}')
    )
}

/// Decodes UTF-8 that comes in pieces cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Utf8Stream {
    pending: Vec<u8>,
}

impl Utf8Stream {
    /// The text that is complete so far; at most three bytes wait for the next piece.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut waiting = Vec::new();
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            waiting = chunk.invalid().to_vec();
            let at_end = chunk.invalid().as_ptr_range().end == self.pending.as_ptr_range().end;
            if !(waiting.is_empty() || at_end && is_beginning(&waiting)) {
                text.push(char::REPLACEMENT_CHARACTER);
                waiting.clear();
            }
        }
        self.pending = waiting;
        text
    }
}

/// True if more bytes could make a character of these.
fn is_beginning(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

/// `text` as a screen would leave it: no escape sequences, and of a line redrawn with carriage returns its last state.
fn plain(text: &str) -> String {
    let text = strip_escapes(text);
    if !text.contains('\r') {
        return text;
    }
    let redrawn = |line: &str| -> String {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.rsplit('\r').find(|state| !state.is_empty()).unwrap_or_default().to_owned()
    };
    text.split('\n').map(redrawn).collect::<Vec<_>>().join("\n")
}

fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\u{1B}' {
            out.push(char);
            continue;
        }
        match chars.next() {
            // Colours, cursor movement: parameters, then one final character.
            Some('[') => {
                while chars.next_if(|next| ('\x20'..='\x3F').contains(next)).is_some() {}
                chars.next_if(|next| ('\x40'..='\x7E').contains(next));
            }
            // Titles, links: up to a bell or the string's end.
            Some(']') => {
                while let Some(next) = chars.next() {
                    if next == '\u{7}' || next == '\u{1B}' && chars.next_if_eq(&'\\').is_some() {
                        break;
                    }
                }
            }
            // Character sets take one more.
            Some('(' | ')' | '#') => {
                chars.next();
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_process::Keep;

    fn captured(limit: usize, chunks: &[&[u8]]) -> String {
        let mut capture = Capture::new(Keep::Ends(limit));
        for chunk in chunks {
            capture.push(chunk);
        }
        of(&capture)
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

    #[test]
    fn terminal_control_is_taken_out() {
        assert_eq!(plain("\u{1B}[1;31mred\u{1B}[0m"), "red");
        assert_eq!(plain("\u{1B}]0;title\u{7}x\u{1B}]8;;u\u{1B}\\y"), "xy");
        assert_eq!(plain("10%\r50%\r100%\r\ndone\r\n"), "100%\ndone\n");
        assert_eq!(plain("a\u{1B}(Bb\u{1B}"), "ab");
        assert_eq!(plain("\u{1B}["), "");
    }

    proptest::proptest! {
        #[test]
        fn pieces_decode_like_the_whole(text in ".{0,40}", cuts in proptest::collection::vec(0usize..60, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let mut stream = Utf8Stream::default();
            let decoded: String = cuts.windows(2).map(|pair| stream.push(&bytes[pair[0]..pair[1]])).collect();
            proptest::prop_assert_eq!(decoded, text);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..80), limit in 0usize..50) {
            let mut stream = Utf8Stream::default();
            let mut capture = Capture::new(Keep::Ends(limit));
            for piece in bytes.chunks(7) {
                stream.push(piece);
                capture.push(piece);
            }
            proptest::prop_assert!(stream.pending.len() <= 3);
            proptest::prop_assert!(capture.head().len() + capture.tail().len() <= limit);
            of(&capture);
        }
    }
}
