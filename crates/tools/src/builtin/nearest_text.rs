//! Finds the lines of a text that are most similar to a text that was not found.
//!
//! The result is only a hint in an error message; no edit relies on it. Its work is limited by the constants below.

use std::fmt::Write as _;

/// The limits of lines that are compared for similarity, and of characters compared in each.
const MAX_LINE_COMPARISONS: usize = 20_000;
const MAX_COMPARED_CHARS: usize = 120;
/// The largest number of lines of the wanted text that are compared.
const MAX_SAMPLE_LINES: usize = 30;
/// The least similarity at which lines are shown.
const MIN_SHOWN_SIMILARITY: f64 = 0.5;
const MAX_SHOWN_LINES: usize = 20;

/// Returns a hint about which lines of `text` may be the intended ones.
pub(super) fn hint(text: &str, wanted: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = wanted.trim_matches('\n').lines().collect();
    let Some((start, likeness)) = closest_lines(&lines, &wanted) else {
        return "Nothing in the file is like it. Read the file again before the next try.".to_owned();
    };
    let found = &lines[start..(start + wanted.len()).min(lines.len())];
    let mut hint = if likeness >= 1.0 && found.len() == wanted.len() {
        format!("Lines {} differ from it only in white space:", line_range(start, found.len()))
    } else {
        format!("The closest text is at lines {}:", line_range(start, found.len()))
    };
    for (number, line) in found.iter().enumerate().take(MAX_SHOWN_LINES) {
        let line: String = line.chars().take(MAX_COMPARED_CHARS).collect();
        let _ = write!(hint, "\n{:>6}| {line}", start + number + 1);
    }
    if found.len() > MAX_SHOWN_LINES {
        let _ = write!(hint, "\n       [{} more lines]", found.len() - MAX_SHOWN_LINES);
    }
    hint.push_str("\nUse exactly what the file has, or read it again before the next try.");
    hint
}

fn line_range(start: usize, count: usize) -> String {
    format!("{}-{}", start + 1, start + count.max(1))
}

/// Returns the index of the most similar lines, and their similarity.
///
/// Lines that are equal except for indentation are searched for in the whole text first, because that is cheap.
fn closest_lines(lines: &[&str], wanted: &[&str]) -> Option<(usize, f64)> {
    let sample: Vec<(usize, &str)> = wanted
        .iter()
        .enumerate()
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty())
        .take(MAX_SAMPLE_LINES)
        .collect();
    if sample.is_empty() {
        return None;
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let equal = |a: &str, b: &str| if a == b { 1.0 } else { 0.0 };
    let few = &sample[..sample.len().min(4)];
    best_match(&lines, &sample, lines.len(), equal)
        .or_else(|| best_match(&lines, few, MAX_LINE_COMPARISONS / few.len(), similarity))
}

fn best_match(
    lines: &[&str],
    sample: &[(usize, &str)],
    places: usize,
    compare: fn(&str, &str) -> f64,
) -> Option<(usize, f64)> {
    let score = |start: usize| -> f64 {
        let alike =
            |(number, line): &(usize, &str)| lines.get(start + number).map_or(0.0, |other| compare(line, other));
        sample.iter().map(alike).sum::<f64>() / sample.len() as f64
    };
    (0..lines.len().min(places))
        .map(|start| (start, score(start)))
        // `max_by` returns the last of equal elements, and the first is wanted.
        .rev()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, likeness)| *likeness >= MIN_SHOWN_SIMILARITY)
}

fn similarity(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let cut =
        |text: &str| text.chars().filter(|char| !char.is_whitespace()).take(MAX_COMPARED_CHARS).collect::<String>();
    let (a, b) = (cut(a), cut(b));
    if a.is_empty() || b.is_empty() { 0.0 } else { strsim::sorensen_dice(&a, &b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE_TEXT: &str = "fn main() {\n    let total = add(1, 2);\n    println!(\"{total}\");\n}\n";

    #[test]
    fn a_difference_in_white_space_only_is_named() {
        let hint = hint(SAMPLE_TEXT, "let total = add(1, 2);\n  println!(\"{total}\");");
        assert!(hint.starts_with("Lines 2-3 differ from it only in white space:\n     2|     let total"), "{hint}");
    }

    #[test]
    fn the_closest_lines_are_shown_with_numbers() {
        let hint = hint(SAMPLE_TEXT, "    let total = add(1, 3);");
        assert!(hint.starts_with("The closest text is at lines 2-2:\n     2|     let total = add(1, 2);"), "{hint}");
    }

    #[test]
    fn text_without_similar_lines_gets_a_plain_hint() {
        for wanted in ["qqqqqqqqqqqq", "\n\n", ""] {
            assert!(hint(SAMPLE_TEXT, wanted).starts_with("Nothing in the file"), "{wanted:?}");
        }
        assert!(hint("", "abc").starts_with("Nothing in the file"));
    }

    #[test]
    fn similarity_comparisons_are_limited() {
        let far = MAX_LINE_COMPARISONS + 1;
        let text = "some line of text that is not it\n".repeat(far) + "another thing altogetherr\n";
        assert!(hint(&text, "another thing altogether").starts_with("Nothing in the file is like it"));
        // Equal lines are found wherever they are.
        let text = text + "another thing altogether\n";
        assert!(hint(&text, "  another thing altogether").starts_with(&format!("Lines {}", line_range(far + 1, 1))));
    }
}
