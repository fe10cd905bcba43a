//! Draws a file's diff with line numbers, marks and highlighted code.
//!
//! The diff itself comes from `hookwright_tools`.

use hookwright_tools::FileDiff;

use super::highlight;
use super::humanize::more_lines_text;
use super::styled_text::{BAD, DIM, GOOD, PLAIN, StyledLine};
use crate::output::escape_invisible;

/// Returns a diff with invisible characters spelt out, except for the carriage returns of CRLF line ends.
pub(crate) fn escape_invisible_in_diff(file: &FileDiff) -> FileDiff {
    let unified = escape_invisible(&file.unified.replace("\r\n", "\n"));
    let (file_name, shown_path) = (escape_invisible(&file.file_name), escape_invisible(&file.shown_path));
    FileDiff { unified, file_name, shown_path, ..file.clone() }
}

/// Returns a diff's lines below a heading, and the number of lines that are not shown.
pub(crate) fn diff_lines(file: &FileDiff, most: usize) -> Vec<StyledLine> {
    let what = if file.is_new_file() { "new file" } else { "changed" };
    let heading = StyledLine::styled(DIM, format!("  {} {what} ", file.shown_path))
        .with_text(GOOD, format!("+{}", file.stat.added_lines))
        .with_text(PLAIN, " ")
        .with_text(BAD, format!("-{}", file.stat.removed_lines))
        .with_hanging_indent(4);
    let mut lines = vec![heading];
    let body = hunk_lines(&file.unified, highlight::language_of(&file.file_name));
    let hidden = body.len().saturating_sub(most);
    lines.extend(body.into_iter().take(most));
    if hidden > 0 {
        lines.push(StyledLine::styled(DIM, format!("  … {} (ctrl+o shows all)", more_lines_text(hidden))));
    }
    lines
}

/// Returns the hunks of a unified diff with line numbers: the old number for removed lines, the new one for others.
fn hunk_lines(unified: &str, language: &str) -> Vec<StyledLine> {
    let hunks = unified.lines().skip_while(|line| !line.starts_with("@@"));
    let width = hunks.clone().filter_map(hunk_start).map(|(old, new)| old.max(new) + 999).max().unwrap_or(0);
    let width = width.to_string().len().max(4);
    let (mut old, mut new) = (0, 0);
    let mut lines = Vec::new();
    for text in hunks {
        if let Some(begin) = hunk_start(text) {
            (old, new) = begin;
            if !lines.is_empty() {
                lines.push(StyledLine::styled(DIM, format!("  {:>width$}", "⋮")));
            }
            continue;
        }
        let Some(mark) = text.chars().next() else {
            // Some tools leave out the blank that marks an empty context line.
            lines.push(numbered_line(new, width, ' ', "", language));
            (old, new) = (old + 1, new + 1);
            continue;
        };
        let code = &text[mark.len_utf8()..];
        match mark {
            '-' => {
                lines.push(numbered_line(old, width, mark, code, language));
                old += 1;
            }
            '+' => {
                lines.push(numbered_line(new, width, mark, code, language));
                new += 1;
            }
            ' ' => {
                lines.push(numbered_line(new, width, mark, code, language));
                (old, new) = (old + 1, new + 1);
            }
            // `\ No newline at end of file`
            _ => lines
                .push(StyledLine::styled(DIM, format!("  {:>width$}  {}", "", text)).with_hanging_indent(width + 4)),
        }
    }
    lines
}

fn numbered_line(number: usize, width: usize, mark: char, code: &str, language: &str) -> StyledLine {
    let style = match mark {
        '+' => GOOD,
        '-' => BAD,
        _ => DIM,
    };
    let mut line = StyledLine::styled(style, format!("  {number:>width$} {mark}")).with_hanging_indent(width + 4);
    if highlight::is_plain(language) {
        return line.with_text(if mark == ' ' { PLAIN } else { style }, code);
    }
    // The line is sanitized before it is split into tokens, so that a control sequence cannot hide between two of them.
    line.spans.extend(highlight::highlight_line(language, &super::styled_text::single_line(code)).spans);
    line
}

/// Returns a line of a guard's diff, styled.
pub(crate) fn guard_diff_line(line: &str) -> StyledLine {
    let style = match line.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => DIM,
        _ => PLAIN,
    };
    StyledLine::styled(style, format!("    {}", escape_invisible(line))).with_hanging_indent(6)
}

/// Returns where a hunk begins in the old and in the new text.
fn hunk_start(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let first = |range: &str| range.split(',').next()?.parse::<usize>().ok();
    Some((first(old)?, first(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(unified: &str) -> Vec<String> {
        hunk_lines(unified, "rust").iter().map(StyledLine::plain).collect()
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
    fn malformed_diffs_are_rendered_without_a_panic() {
        for text in
            ["", "@@", "@@ -x +y @@\n+a", "@@ -1 +1 @@\n+é\n\n-", "@@ -1 +1 @@\n\u{1b}[2Jx", "@@ -0,0 +1 @@\n+new"]
        {
            assert!(plain(text).iter().all(|line| !line.contains('\u{1b}')), "{text:?}");
        }
        assert_eq!(plain("@@ -0,0 +1 @@\n+new"), ["     1 +new"]);
    }
}
