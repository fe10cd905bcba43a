//! Where a text says `@path`: the mentions in it and the ways each can be read. Looks at no file.

/// A token longer than this names no file.
const MAX_MENTION_BYTES: usize = 1024;
/// How many ways to read one mention are tried.
const MAX_READINGS: usize = 8;
/// Marks that may belong to a path or to the sentence around it.
const PUNCTUATION_CHARS: &[char] = &['.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '{', '}', '\'', '*', '#'];
/// What may stand directly before a mention, beside blanks.
const OPENING_CHARS: &[char] = &['(', '[', '{', '<', '"', '\'', '`', ',', ';', ':', '=', '*', '|'];

/// One `@…` of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// Where the `@` is.
    pub(super) at: usize,
    /// The longest first; the one that exists is meant.
    pub(super) readings: Vec<MentionReading>,
}

/// One way to read a mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MentionReading {
    /// The path, its quotes and backslashes gone.
    pub(super) path: String,
    /// Where the text goes on.
    pub(super) end: usize,
}

/// The first mention at or after `from`. An `@` inside a word, as in an address of mail, or after a backslash is none.
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

/// Up to the next blank, and what is left of that when the sentence's marks are taken off.
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

/// On Windows a backslash parts directories, and only a blank after it says otherwise.
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
    fn spaces_in_a_name() {
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
