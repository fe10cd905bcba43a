//! Removes names from lists by cutting the text, so that the comments beside them stay.

use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::ast::{Array, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};

use crate::json::{PARSE_OPTIONS, last_property};

/// Returns the text without these names in the lists at these key paths, or `None` if the lists hold none of them.
pub(super) fn remove_from_lists(text: &str, places: &[[&str; 2]], names: &[String]) -> Option<String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS).ok()?;
    let Some(Node::Object(root)) = &parsed.value else { return None };
    let mut cuts = Vec::new();
    for [section, key] in places {
        let list = last_property(root, section)
            .and_then(|section| section.value.as_object())
            .and_then(|section| last_property(section, key));
        if let Some(Node::Array(list)) = list.map(|list| &list.value) {
            cuts.extend(list_cuts(text, list, names));
        }
    }
    if cuts.is_empty() {
        return None;
    }
    cuts.sort_by_key(|cut| cut.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for cut in cuts {
        out.push_str(text.get(at..cut.start.max(at))?);
        at = cut.end.max(at);
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Returns the ranges to cut from one list: the elements, their commas, and lines that would be left empty.
fn list_cuts(text: &str, list: &Array<'_>, names: &[String]) -> Vec<Range<usize>> {
    let gone: HashSet<&str> = names.iter().map(String::as_str).collect();
    let goes = |node: &Node<'_>| node.as_string_lit().is_some_and(|name| gone.contains(name.value.as_ref()));
    let mut cuts = Vec::new();
    let mut last_kept: Option<usize> = None;
    for (index, element) in list.elements.iter().enumerate() {
        let range = element.range();
        if !goes(element) {
            last_kept = Some(index);
            continue;
        }
        match comma_after(text, range.end) {
            Some(comma) => cuts.extend(element_cuts(text, range.start..range.end, Some(comma))),
            None => cuts.extend(element_cuts(text, range.start..range.end, None)),
        }
    }
    // The last remaining element must not keep a comma that separated it from a removed one.
    let ends_with_comma = list.elements.last().is_some_and(|element| comma_after(text, element.range().end).is_some());
    if let Some(kept) = last_kept.filter(|kept| *kept + 1 < list.elements.len() && !ends_with_comma)
        && let Some(comma) = comma_after(text, list.elements[kept].range().end)
    {
        cuts.push(comma..comma + 1);
    }
    cuts
}

/// Returns the cuts for one element, with the whitespace beside it, and with its line if nothing else is on it.
fn element_cuts(text: &str, element: Range<usize>, comma: Option<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_space = |at: usize| bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    // A comment between element and comma stays, so both are cut separately.
    let end = match comma {
        Some(comma) if text[element.end..comma].trim().is_empty() => comma + 1,
        _ => element.end,
    };
    let mut cut = element.start..end;
    while is_space(cut.end) {
        cut.end += 1;
    }
    let mut line_start = cut.start;
    while line_start > 0 && is_space(line_start - 1) {
        line_start -= 1;
    }
    let starts_line = line_start > 0 && bytes[line_start - 1] == b'\n';
    let line_end = cut.end + usize::from(bytes.get(cut.end) == Some(&b'\r'));
    if bytes.get(line_end) == Some(&b'\n') {
        if starts_line {
            cut = line_start..line_end + 1;
        } else {
            cut.start = line_start;
        }
    } else if bytes.get(cut.end) == Some(&b']') {
        // In `"a", "b" ]` the space before the bracket is kept.
        cut.end = if is_space(cut.end.wrapping_sub(1)) && cut.end > end { end } else { cut.end };
        if line_start > 0 && bytes[line_start - 1] == b',' {
            cut.start = line_start;
        }
    }
    let mut cuts = vec![cut];
    if let Some(comma) = comma.filter(|comma| *comma >= end) {
        cuts.push(comma..comma + 1);
    }
    cuts
}

/// Finds the comma after an element, past whitespace and comments.
fn comma_after(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text.get(at..)?;
        let skipped = rest.len() - rest.trim_start().len();
        let rest = &rest[skipped..];
        at += skipped;
        if rest.starts_with("//") {
            at += rest.find('\n')?;
        } else if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
        } else {
            return rest.starts_with(',').then_some(at);
        }
    }
}
