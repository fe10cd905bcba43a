//! Encodes keys as the bytes that a terminal sends to a program.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Returns the bytes of a key, or none for a key that sends nothing.
///
/// `cursor_keys` is the application mode for cursor keys, which programs can enable.
pub(super) fn encode_key(key: KeyEvent, cursor_keys: bool) -> Option<Vec<u8>> {
    let plain = match key.code {
        KeyCode::Char(char) => return Some(prefix_alt(key, encode_character(char, key.modifiers))),
        KeyCode::Enter => b"\r".to_vec(),
        KeyCode::Tab => b"\t".to_vec(),
        KeyCode::BackTab => b"\x1b[Z".to_vec(),
        KeyCode::Backspace if key.modifiers.contains(KeyModifiers::CONTROL) => b"\x08".to_vec(),
        KeyCode::Backspace => b"\x7f".to_vec(),
        KeyCode::Esc => b"\x1b".to_vec(),
        code => return encode_special(code, key.modifiers, cursor_keys),
    };
    Some(prefix_alt(key, plain))
}

fn prefix_alt(key: KeyEvent, mut bytes: Vec<u8>) -> Vec<u8> {
    if key.modifiers.contains(KeyModifiers::ALT) {
        bytes.insert(0, 0x1b);
    }
    bytes
}

fn encode_character(char: char, modifiers: KeyModifiers) -> Vec<u8> {
    if modifiers.contains(KeyModifiers::CONTROL) {
        let low = char.to_ascii_lowercase();
        let code = match low {
            'a'..='z' => Some(low as u8 - b'a' + 1),
            ' ' | '@' | '2' => Some(0),
            '[' | '3' => Some(0x1b),
            '\\' | '4' => Some(0x1c),
            ']' | '5' => Some(0x1d),
            '^' | '6' => Some(0x1e),
            '_' | '7' | '/' => Some(0x1f),
            '?' | '8' => Some(0x7f),
            _ => None,
        };
        if let Some(code) = code {
            return vec![code];
        }
    }
    char.encode_utf8(&mut [0; 4]).as_bytes().to_vec()
}

/// Returns the escape sequence of a special key, with its modifiers as a number.
fn encode_special(code: KeyCode, modifiers: KeyModifiers, cursor_keys: bool) -> Option<Vec<u8>> {
    let held = |modifier: KeyModifiers, worth: u8| if modifiers.contains(modifier) { worth } else { 0 };
    let modifier = 1 + held(KeyModifiers::SHIFT, 1) + held(KeyModifiers::ALT, 2) + held(KeyModifiers::CONTROL, 4);
    let letter = |letter: char| match modifier {
        1 if cursor_keys => format!("\x1bO{letter}"),
        1 => format!("\x1b[{letter}"),
        _ => format!("\x1b[1;{modifier}{letter}"),
    };
    let number = |number: u8| match modifier {
        1 => format!("\x1b[{number}~"),
        _ => format!("\x1b[{number};{modifier}~"),
    };
    let sequence = match code {
        KeyCode::Up => letter('A'),
        KeyCode::Down => letter('B'),
        KeyCode::Right => letter('C'),
        KeyCode::Left => letter('D'),
        KeyCode::Home => letter('H'),
        KeyCode::End => letter('F'),
        KeyCode::Insert => number(2),
        KeyCode::Delete => number(3),
        KeyCode::PageUp => number(5),
        KeyCode::PageDown => number(6),
        KeyCode::F(at @ 1..=4) if modifier == 1 => format!("\x1bO{}", char::from(b'P' + at - 1)),
        KeyCode::F(at @ 1..=4) => format!("\x1b[1;{modifier}{}", char::from(b'P' + at - 1)),
        KeyCode::F(at @ 5..=12) => number([15, 17, 18, 19, 20, 21, 23, 24][usize::from(at) - 5]),
        _ => return None,
    };
    Some(sequence.into_bytes())
}

/// Returns the bytes of pasted text, with carriage returns as line ends.
///
/// If `marked`, the text stands between bracketed-paste marks; its escape characters are removed, so that it cannot end
/// the marks.
pub(super) fn encode_paste(text: &str, marked: bool) -> Vec<u8> {
    let text = text.replace("\r\n", "\r").replace('\n', "\r");
    if marked { format!("\x1b[200~{}\x1b[201~", text.replace('\x1b', "")).into_bytes() } else { text.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(code: KeyCode, modifiers: KeyModifiers) -> String {
        String::from_utf8(encode_key(KeyEvent::new(code, modifiers), false).unwrap_or_default()).unwrap()
    }

    #[test]
    fn keys_are_sent_as_a_terminal_sends_them() {
        use KeyModifiers as With;
        assert_eq!(sent(KeyCode::Char('é'), With::NONE), "é");
        assert_eq!(sent(KeyCode::Char('A'), With::SHIFT), "A");
        assert_eq!(sent(KeyCode::Char('c'), With::CONTROL), "\x03");
        assert_eq!(sent(KeyCode::Char('x'), With::ALT), "\x1bx");
        assert_eq!(sent(KeyCode::Char('7'), With::CONTROL), "\x1f");
        assert_eq!(sent(KeyCode::Enter, With::NONE), "\r");
        assert_eq!(sent(KeyCode::Backspace, With::NONE), "\x7f");
        assert_eq!(sent(KeyCode::Esc, With::NONE), "\x1b");
        assert_eq!(sent(KeyCode::Up, With::NONE), "\x1b[A");
        assert_eq!(sent(KeyCode::Left, With::CONTROL | With::SHIFT), "\x1b[1;6D");
        assert_eq!(sent(KeyCode::Delete, With::NONE), "\x1b[3~");
        assert_eq!(sent(KeyCode::PageDown, With::ALT), "\x1b[6;3~");
        assert_eq!([sent(KeyCode::F(1), With::NONE), sent(KeyCode::F(12), With::NONE)], ["\x1bOP", "\x1b[24~"]);
        assert_eq!(sent(KeyCode::F(40), With::NONE), "");
        assert_eq!(encode_key(KeyEvent::new(KeyCode::Up, With::NONE), true), Some(b"\x1bOA".to_vec()));
    }

    #[test]
    fn pasted_text_cannot_end_its_marks() {
        assert_eq!(encode_paste("a\nb\r\n", false), b"a\rb\r");
        assert_eq!(encode_paste("a\x1b[201~rm\n", true), b"\x1b[200~a[201~rm\r\x1b[201~");
    }
}
