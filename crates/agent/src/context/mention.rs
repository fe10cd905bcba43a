//! Finds `@path` mentions in a text, and the ways to read each. It accesses no file.

/// The length above which a token names no file.
const MAX_MENTION_BYTES: usize = 1024;
/// The maximum number of readings of one mention.
const MAX_READINGS: usize = 8;
/// The punctuation that may belong to a path or to the sentence around it.
const PUNCTUATION_CHARS: &[char] = &['.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '{', '}', '\'', '*', '#'];
/// The characters that may precede a mention, besides whitespace.
const OPENING_CHARS: &[char] = &['(', '[', '{', '<', '"', '\'', '`', ',', ';', ':', '=', '*', '|'];

/// A mention `@…` in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The offset of the `@`.
    pub(super) at: usize,
    /// The possible readings, longest first; the first one that exists is meant.
    pub(super) readings: Vec<MentionReading>,
}

/// A possible reading of a mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MentionReading {
    /// The path without quotes and backslashes.
    pub(super) path: String,
    /// The offset after the mention.
    pub(super) end: usize,
}

/// Returns the first mention at or after `from`. An `@` within a word, as in an email
/// address, or after a backslash is no mention.
pub(super) fn next_mention(text: &str, from: usize) -> Option<Mention> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find('@')?;
        from = at + 1;
        let before = text[..at].chars().next_back();
        if before.is_none_or(|before| before.is_whitespace() || OPENING_CHARS.contains(&before)) {
            let readings = mention_readings(text, from);
            if !readings.is_empty() {
                return Some(Mention { at, readings });
            }
        }
    }
}

fn mention_readings(text: &str, start: usize) -> Vec<MentionReading> {
    let rest = &text[start..];
    match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted_reading(rest, quote, start).into_iter().collect(),
        _ => bare_readings(rest, start),
    }
}

fn quoted_reading(rest: &str, quote: char, start: usize) -> Option<MentionReading> {
    let inner = &rest[1..];
    let end = inner
        .char_indices()
        .take_while(|(at, char)| *char != '\n' && *at <= MAX_MENTION_BYTES)
        .find(|(_, c)| *c == quote)?
        .0;
    (end > 0).then(|| MentionReading { path: inner[..end].to_owned(), end: start + end + 2 })
}

/// Returns the text up to the next whitespace, and shorter readings without the punctuation of the sentence.
fn bare_readings(rest: &str, start: usize) -> Vec<MentionReading> {
    let mut path = String::new();
    let mut marks: Vec<(usize, usize, char)> = Vec::new();
    let mut end = 0;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let stops = char.is_whitespace() || char.is_control() || matches!(char, '"' | '`' | '<' | '>' | '|');
        if stops || at > MAX_MENTION_BYTES {
            break;
        }
        match chars.peek() {
            Some((_, escaped)) if char == '\\' && is_escapable(*escaped) => {
                path.push(*escaped);
                chars.next();
            }
            _ => {
                if PUNCTUATION_CHARS.contains(&char) {
                    marks.push((at, path.len(), char));
                }
                path.push(char);
            }
        }
        end = chars.peek().map_or(rest.len(), |(next, _)| *next);
    }
    let mut found = Vec::new();
    let mut add = |length: usize, end: usize| {
        if length > 0 && found.len() < MAX_READINGS {
            found.push(MentionReading { path: path[..length].to_owned(), end: start + end });
        }
    };
    add(path.len(), end);
    let mut tail = end;
    for (at, length, mark) in marks.into_iter().rev() {
        let trails = at + mark.len_utf8() == tail;
        if trails {
            tail = at;
        }
        // A full stop inside a name is part of it: `a.rs` is never the file `a`.
        if trails || mark != '.' {
            add(length, at);
        }
    }
    found
}

/// Returns whether a backslash escapes the character. On Windows it separates directories, unless a space follows.
fn is_escapable(char: char) -> bool {
    char == ' ' || (!cfg!(windows) && !char.is_alphanumeric() && !char.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        next_mention(text, 0)
            .map(|found| found.readings.into_iter().map(|reading| reading.path).collect())
            .unwrap_or_default()
    }

    #[test]
    fn path_ends_at_whitespace() {
        let found = next_mention("see @src/main.rs please", 0).unwrap();
        assert_eq!((found.at, found.readings.len()), (4, 1));
        assert_eq!(found.readings[0], MentionReading { path: "src/main.rs".into(), end: 16 });
    }

    #[test]
    fn punctuation_may_belong_to_the_path() {
        assert_eq!(paths("(@a.rs)."), ["a.rs).", "a.rs)", "a.rs"]);
        assert_eq!(paths("@a.rs:12,"), ["a.rs:12,", "a.rs:12", "a.rs"]);
        assert_eq!(paths("@a.txt,@b.txt"), ["a.txt,@b.txt", "a.txt"]);
        assert_eq!(paths("@app/[id]/p.tsx"), ["app/[id]/p.tsx", "app/[id", "app/"]);
        assert_eq!(paths("@..."), ["...", "..", "."]);
    }

    #[test]
    fn path_with_spaces_is_quoted_or_escaped() {
        assert_eq!(paths(r"@a\ b.txt x"), ["a b.txt"]);
        assert_eq!(paths(r#"read @"a b.txt"."#), ["a b.txt"]);
        assert_eq!(paths("@'a b.txt'"), ["a b.txt"]);
        assert_eq!(next_mention(r#"@"a b" c"#, 0).unwrap().readings[0].end, 6);
        assert_eq!(paths("@\"never closed\n\""), Vec::<String>::new());
        assert_eq!(paths(r"@a\b"), [r"a\b"]);
    }

    #[test]
    fn not_every_at_sign_is_a_mention() {
        for text in ["me@example.org", r"\@a.txt", "@", "@ a", "a/@types/x", "x@@y", "", "@\"\""] {
            assert_eq!(paths(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(next_mention("a@b.c and @d", 0).unwrap().at, 10);
    }

    #[test]
    fn unusual_text_does_not_panic() {
        assert_eq!(paths("@ß\\ é.md…"), ["ß é.md…"]);
        assert_eq!(paths("@a\\"), ["a\\"]);
        let long = format!("@{}", ",@".repeat(100_000));
        assert!(next_mention(&long, 0).unwrap().readings.len() <= MAX_READINGS);
        assert_eq!(next_mention("é", 1), None);
    }
}
