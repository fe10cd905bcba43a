//! Makes text safe for a terminal: removes escape sequences and control characters, or spells them out.

/// Returns the text without escape sequences, control characters (except line feeds and tabs) and bidirectional marks.
pub(crate) fn sanitize(text: &str) -> String {
    if !text.contains(is_control_or_bidi) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_control_or_bidi) {
        safe.push_str(&rest[..at]);
        let (shown, after) = strip_one(&rest[at..]);
        safe.push_str(shown);
        rest = after;
    }
    safe.push_str(rest);
    safe
}

/// Returns whether a character is a control code (C0 or C1, except line feed and tab) or a bidirectional mark.
///
/// Bidirectional marks can make a command look like another one.
pub(crate) fn is_control_or_bidi(char: char) -> bool {
    let reorders =
        matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    (char.is_control() && !matches!(char, '\n' | '\t')) || reorders
}

/// Returns the text with every invisible character spelt out.
///
/// The user must read exactly the text that will run. Line feeds stay.
pub(crate) fn escape_invisible(text: &str) -> String {
    if !text.contains(|char: char| is_invisible(char) && char != '\n') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\n' => out.push(char),
            '\t' => out.push_str("    "),
            _ if is_invisible(char) => out.extend(char.escape_default()),
            _ => out.push(char),
        }
    }
    out
}

/// Returns whether a character is invisible or changes how its neighbours are drawn.
fn is_invisible(char: char) -> bool {
    let blank = matches!(
        char,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    blank || char.is_control() || is_control_or_bidi(char)
}

/// Returns the replacement for the sequence or character at the start of `text`, and the text after it.
fn strip_one(text: &str) -> (&'static str, &str) {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let rest = chars.as_str();
    match first {
        '\x1b' => {
            let introducer = chars.next();
            match introducer {
                Some('[') => ("", skip_csi(chars.as_str())),
                Some(']' | 'P' | 'X' | '^' | '_') => ("", skip_control_string(chars.as_str())),
                // A sequence of two characters. If a longer one was cut off, its rest is harmless text.
                Some(' '..='~') => ("", chars.as_str()),
                _ => ("", rest),
            }
        }
        '\u{9b}' => ("", skip_csi(rest)),
        '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => ("", skip_control_string(rest)),
        '\r' if rest.starts_with('\n') => ("", rest),
        // Text that would overwrite the line gets a line of its own.
        '\r' => ("\n", rest),
        _ => ("", rest),
    }
}

/// Returns the text after the parameters and the final byte of a control sequence.
fn skip_csi(text: &str) -> &str {
    let rest = text.trim_start_matches(|char| matches!(char, ' '..='?'));
    rest.strip_prefix(|char| matches!(char, '@'..='~')).unwrap_or(rest)
}

/// Returns the text after a control string.
///
/// A string without a terminator on its line hides nothing: it is shown as text.
fn skip_control_string(text: &str) -> &str {
    let line = text.split('\n').next().unwrap_or_default();
    let ends = ["\x07", "\x1b\\", "\u{9c}"];
    let end = ends.iter().filter_map(|end| Some(line.find(end)? + end.len())).min();
    end.map_or(text, |end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        for (text, shown) in [
            ("ls -l\n\tcat x", "ls -l\n    cat x"),
            ("größe 日本 👍", "größe 日本 👍"),
            ("rm x\r ls y", "rm x\\r ls y"),
            ("\x1b[2Kls", "\\u{1b}[2Kls"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("l\u{200b}s\u{feff}", "l\\u{200b}s\\u{feff}"),
            ("x\u{a0}y\u{e0041}\0", "x\\u{a0}y\\u{e0041}\\u{0}"),
        ] {
            assert_eq!(escape_invisible(text), shown);
        }
    }

    #[test]
    fn escape_sequences_are_removed_and_text_stays() {
        for (text, shown) in [
            ("plain\n\ttext é 日本 🦀", "plain\n\ttext é 日本 🦀"),
            ("a\x1b[31mred\x1b[0m b", "ared b"),
            ("a\x1b]52;c;aGk=\x07b", "ab"),
            ("a\x1b]0;title\x1b\\b", "ab"),
            ("a\u{9d}52;c;aGk=\u{9c}b", "ab"),
            ("a\u{9b}2Jb\u{85}c", "abc"),
            ("a\x1bPq#0\x1b\\b\x1b_x\x07c", "abc"),
            ("no end \x1b]52;c;and then\nmore", "no end 52;c;and then\nmore"),
            ("a\rb\r\nc", "a\nb\nc"),
            ("\x08\x07\0a\x7f", "a"),
            ("rm \u{202e}txt.exe\u{2066}", "rm txt.exe"),
            ("end\x1b", "end"),
            ("end\x1b[", "end"),
            ("\x1b[?1049h\x1b[2J\x1bcx", "x"),
            ("\x1b\x1b]52;c;x\x07y", "y"),
        ] {
            assert_eq!(sanitize(text), shown, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_control_sequence_is_left(text in "(\x1b|\\[|\\]|[a-z;0-9\\\\]|\u{9b}|\u{9d}|\u{9c}|\r|\n|\x07|\u{202e}|é){0,40}") {
            let once = sanitize(&text);
            proptest::prop_assert!(!once.contains(is_control_or_bidi), "{once:?}");
            proptest::prop_assert_eq!(sanitize(&once), once.clone());
        }
    }
}
