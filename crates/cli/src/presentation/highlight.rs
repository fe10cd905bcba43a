//! Highlights code line by line: comments, strings, numbers and common keywords.
//!
//! There is no parser: an occasional wrong guess does no harm, but slow drawing would.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::styled_text::{ACCENT, BAD, CODE, DIM, GOOD, NOTE, PLAIN, StyledLine};

/// Keywords of many languages.
static KEYWORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "abstract and as async await begin break case catch class const continue def default defer delete do done \
     elif else end enum esac except export extends extern false fi final finally fn for from func function go \
     goto if impl implements import in interface is lambda let local loop match mod module move mut namespace new \
     nil None not null or package pass private protected pub public raise ref require return select self Self \
     static struct super switch then this throw throws trait true True False try type typeof union unsafe use \
     using var void where while with yield SELECT FROM WHERE INSERT UPDATE DELETE JOIN AND OR"
        .split(' ')
        .collect()
});

/// Returns a line of code, highlighted for a language.
pub(crate) fn highlight_line(language: &str, text: &str) -> StyledLine {
    if language == "diff" || language == "patch" {
        return diff_line(text);
    }
    let plain = is_plain(language);
    if plain || text.len() > 2000 {
        return StyledLine::styled(if plain { CODE } else { PLAIN }, text);
    }
    let comment: &[&str] = match language {
        "python" | "py" | "sh" | "bash" | "zsh" | "shell" | "ruby" | "rb" | "yaml" | "yml" | "toml" | "perl"
        | "make" | "makefile" | "dockerfile" | "r" | "elixir" | "pl" | "ex" | "exs" | "mk" | "conf" => &["#"],
        "sql" | "lua" | "haskell" | "hs" | "ada" => &["--"],
        "lisp" | "clojure" | "scheme" | "ini" => &[";"],
        _ => &["//", "/*"],
    };
    highlight_code(text, comment)
}

fn highlight_code(text: &str, comment: &[&str]) -> StyledLine {
    let mut line = StyledLine::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if comment.iter().any(|mark| rest.starts_with(mark)) {
            line.push(DIM, rest);
            return line;
        }
        let (length, style) = match first {
            '"' | '\'' | '`' => (string_length(rest, first), GOOD),
            '0'..='9' => (prefix_length(rest, |char| char.is_ascii_alphanumeric() || char == '.' || char == '_'), NOTE),
            char if char.is_alphabetic() || char == '_' => {
                let length = prefix_length(rest, |char| char.is_alphanumeric() || char == '_');
                (length, if KEYWORDS.contains(&rest[..length]) { ACCENT } else { PLAIN })
            }
            char => (char.len_utf8(), PLAIN),
        };
        line.push(style, &rest[..length]);
        rest = &rest[length..];
    }
    line
}

fn prefix_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|char| !belongs(char)).unwrap_or(text.len())
}

/// Returns the length of a quoted string, or that of the quote if it is never closed (as in `it's` or `'a`).
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            char if char == quote => return at + 1,
            _ => {}
        }
    }
    1
}

/// Returns whether text in a language is not highlighted.
pub(crate) fn is_plain(language: &str) -> bool {
    matches!(language, "" | "text" | "txt" | "plain" | "markdown" | "md" | "console" | "output" | "csv" | "log")
}

/// Returns the language of a file by its name.
pub(crate) fn language_of(file: &str) -> &str {
    match file.rsplit_once('.') {
        Some((_, extension)) => extension,
        None if file.eq_ignore_ascii_case("makefile") => "make",
        None if file.eq_ignore_ascii_case("dockerfile") => "dockerfile",
        None => "text",
    }
}

/// Returns a line of a unified diff, styled.
pub(crate) fn diff_line(text: &str) -> StyledLine {
    let style = match text.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => NOTE,
        _ => PLAIN,
    };
    StyledLine::styled(style, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlighting_keeps_every_character() {
        for text in ["let a = \"x\\\"y\"; // done", "it's 'quoted' 12.5", "日本 = '語'", "\"open", ""] {
            assert_eq!(highlight_line("rust", text).plain(), text);
        }
    }

    #[test]
    fn keywords_are_told_from_strings_and_comments() {
        let styles: Vec<_> =
            highlight_line("rust", "let x = \"let\"; // let").spans.iter().map(|span| span.style).collect();
        assert_eq!(styles, [ACCENT, PLAIN, GOOD, PLAIN, DIM]);
    }
}
