//! A change of a file, drawn: numbers of lines, marks, and the code in colours. What changed is `hookwright_tools`' to say.

use hookwright_tools::FileDiff;

use super::highlight;
use super::text::{BAD, DIM, GOOD, Line, PLAIN};
use crate::out::spelled;

/// A diff whose every character can be seen; that lines end in the way of another system is no secret.
pub(crate) fn spelled_diff(file: &FileDiff) -> FileDiff {
    let unified = spelled(&file.unified.replace("\r\n", "\n"));
    let (file_name, shown_path) = (spelled(&file.file_name), spelled(&file.shown_path));
    FileDiff { unified, file_name, shown_path, ..file.clone() }
}

/// A diff below its heading, and how much of it is not shown.
pub(crate) fn lines(file: &FileDiff, most: usize) -> Vec<Line> {
    let what = if file.is_new_file() { "new file" } else { "changed" };
    let heading = Line::of(DIM, format!("  {} {what} ", file.shown_path))
        .with(GOOD, format!("+{}", file.stat.added_lines))
        .with(PLAIN, " ")
        .with(BAD, format!("-{}", file.stat.removed_lines))
        .hanging(4);
    let mut lines = vec![heading];
    let body = body(&file.unified, highlight::language_of(&file.file_name));
    let hidden = body.len().saturating_sub(most);
    lines.extend(body.into_iter().take(most));
    if hidden > 0 {
        lines.push(Line::of(DIM, format!("  … {} (ctrl+o shows all)", more(hidden))));
    }
    lines
}

/// `1 more line`, `12 more lines`.
pub(crate) fn more(count: usize) -> String {
    format!("{count} more line{}", if count == 1 { "" } else { "s" })
}

/// The hunks of a unified diff, each line with its number: the old one where it goes, the new one elsewhere.
fn body(unified: &str, language: &str) -> Vec<Line> {
    let hunks = unified.lines().skip_while(|line| !line.starts_with("@@"));
    let width = hunks.clone().filter_map(numbers).map(|(old, new)| old.max(new) + 999).max().unwrap_or(0);
    let width = width.to_string().len().max(4);
    let (mut old, mut new) = (0, 0);
    let mut lines = Vec::new();
    for text in hunks {
        if let Some(begin) = numbers(text) {
            (old, new) = begin;
            if !lines.is_empty() {
                lines.push(Line::of(DIM, format!("  {:>width$}", "⋮")));
            }
            continue;
        }
        let Some(mark) = text.chars().next() else {
            // Some tools leave the blank of an empty line out.
            lines.push(numbered(new, width, ' ', "", language));
            (old, new) = (old + 1, new + 1);
            continue;
        };
        let code = &text[mark.len_utf8()..];
        match mark {
            '-' => {
                lines.push(numbered(old, width, mark, code, language));
                old += 1;
            }
            '+' => {
                lines.push(numbered(new, width, mark, code, language));
                new += 1;
            }
            ' ' => {
                lines.push(numbered(new, width, mark, code, language));
                (old, new) = (old + 1, new + 1);
            }
            // `\ No newline at end of file`
            _ => lines.push(Line::of(DIM, format!("  {:>width$}  {}", "", text)).hanging(width + 4)),
        }
    }
    lines
}

fn numbered(number: usize, width: usize, mark: char, code: &str, language: &str) -> Line {
    let style = match mark {
        '+' => GOOD,
        '-' => BAD,
        _ => DIM,
    };
    let mut line = Line::of(style, format!("  {number:>width$} {mark}")).hanging(width + 4);
    if highlight::is_plain(language) {
        return line.with(if mark == ' ' { PLAIN } else { style }, code);
    }
    // Before words are told apart, so that what steers a terminal can't hide between two of them.
    line.spans.extend(highlight::line(language, &super::text::clean(code)).spans);
    line
}

/// Where a hunk begins, in the old text and in the new one.
fn numbers(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let first = |range: &str| range.split(',').next()?.parse::<usize>().ok();
    Some((first(old)?, first(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(unified: &str) -> Vec<String> {
        body(unified, "rust").iter().map(Line::plain).collect()
    }

    #[test]
    fn every_line_has_its_number() {
        let unified =
            "Index: a\n--- a\n+++ a\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n c\n@@ -99,1 +100,2 @@\n x\n+y\n\\ No newline";
        assert_eq!(
            plain(unified),
            [
                "     1  a",
                "     2 -b",
                "     2 +B",
                "     3 +C",
                "     4  c",
                "     ⋮",
                "   100  x",
                "   101 +y",
                "        \\ No newline"
            ]
        );
    }

    #[test]
    fn strange_diffs_are_no_trouble() {
        for text in
            ["", "@@", "@@ -x +y @@\n+a", "@@ -1 +1 @@\n+é\n\n-", "@@ -1 +1 @@\n\u{1b}[2Jx", "@@ -0,0 +1 @@\n+new"]
        {
            assert!(plain(text).iter().all(|line| !line.contains('\u{1b}')), "{text:?}");
        }
        assert_eq!(plain("@@ -0,0 +1 @@\n+new"), ["     1 +new"]);
    }
}
