//! Finds the code in a Markdown text: fenced blocks, and spans between backticks. Other Markdown syntax is ignored.

use std::collections::HashMap;
use std::ops::Range;

/// Returns the ranges of code in `text`, in order. The time is linear in its length.
pub(super) fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut fence: Option<(usize, &str)> = None;
    let mut paragraph = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        match (fence, fence_of(line)) {
            (Some((start, open)), Some(mark)) if closes_fence(open, mark, line) => {
                found.push(start..next);
                (fence, paragraph) = (None, next);
            }
            (None, Some(mark)) => {
                push_code_spans(text, paragraph..at, &mut found);
                fence = Some((at, mark));
            }
            (None, None) if line.trim().is_empty() => {
                push_code_spans(text, paragraph..at, &mut found);
                paragraph = next;
            }
            _ => {}
        }
        at = next;
    }
    match fence {
        Some((start, _)) => found.push(start..text.len()),
        None => push_code_spans(text, paragraph..text.len(), &mut found),
    }
    found
}

/// Returns the run of three or more backticks or tildes at the start of a line.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let run = line.len() - line.trim_start_matches(mark).len();
    // Further backticks on the same line make it a span: ```like this```.
    let is_fence = run >= 3 && (mark == '~' || !line[run..].contains('`'));
    is_fence.then(|| &line[..run])
}

fn closes_fence(open: &str, mark: &str, line: &str) -> bool {
    mark.starts_with(open) && line.trim().trim_start_matches(['>', ' ', '\t']) == mark
}

/// Adds the code spans of a paragraph: from a run of backticks to the next run of the same length.
fn push_code_spans(text: &str, paragraph: Range<usize>, found: &mut Vec<Range<usize>>) {
    let runs = backtick_runs(text, paragraph);
    let last: HashMap<usize, usize> = runs.iter().enumerate().map(|(index, run)| (run.len(), index)).collect();
    let mut index = 0;
    while let Some(run) = runs.get(index) {
        if last.get(&run.len()).is_some_and(|last| *last > index)
            && let Some(close) = (index + 1..runs.len()).find(|next| runs[*next].len() == run.len())
        {
            found.push(run.start..runs[close].end);
            index = close;
        }
        index += 1;
    }
}

fn backtick_runs(text: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let (from, bytes) = (paragraph.start, &text.as_bytes()[paragraph]);
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'`') {
        match runs.last_mut() {
            Some(run) if run.end == from + at => run.end += 1,
            _ => runs.push(from + at..from + at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<&str> {
        code_ranges(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn fenced_blocks_are_code() {
        assert_eq!(code("a\n```sh\nb\n```\nc"), ["```sh\nb\n```\n"]);
        assert_eq!(code("~~~\n```\n~~~~\nx"), ["~~~\n```\n~~~~\n"]);
        assert_eq!(code("````\n```\n````\n`x`"), ["````\n```\n````\n", "`x`"]);
        assert_eq!(code("- item\n  ```\n  b\n  ```\n"), ["  ```\n  b\n  ```\n"]);
        assert_eq!(code("```\nnever closed"), ["```\nnever closed"]);
        assert_eq!(code("> ```\n> a\n> ```\nb"), ["> ```\n> a\n> ```\n"]);
    }

    #[test]
    fn spans_between_backticks_are_code() {
        assert_eq!(code("a `b` c ``d ` e`` f"), ["`b`", "``d ` e``"]);
        assert_eq!(code("a ` b\n\nc ` d"), Vec::<&str>::new());
        assert_eq!(code("a `b\nc` d"), ["`b\nc`"]);
        assert_eq!(code("```x``` y"), ["```x```"]);
        assert_eq!(code("``` `"), Vec::<&str>::new());
    }

    #[test]
    fn unmatched_backticks_take_linear_time() {
        let text: String = (1..1500).map(|length| format!("{} ", "`".repeat(length))).collect();
        assert!(code(&text).is_empty());
    }
}
