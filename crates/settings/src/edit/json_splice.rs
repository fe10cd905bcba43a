//! Inserts items into a JSON text so that removing them again restores every byte. It edits other programs' settings,
//! in which an uninstall must leave nothing of ours.
//!
//! Every edit is a cut or a patch of the text; the rest is never rewritten. Positions are paths of indexes, so that a
//! duplicate name has two positions.

use std::ops::Range;
use std::path::Path;

use hookwright_hooks::{Diagnostic, Severity, SourceText};
use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::Value;

use super::EditError;
use crate::json::{PARSE_OPTIONS, parse_object, to_value};

/// Contents of a JSON text, with duplicate names.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTree {
    /// An object with its properties in order.
    Object(Vec<(String, JsonTree)>),
    /// A list with its elements.
    List(Vec<JsonTree>),
    /// Any other value.
    Scalar(Value),
}

impl JsonTree {
    fn from_node(node: &Node<'_>) -> JsonTree {
        match node {
            Node::Object(object) => {
                let items = object.properties.iter();
                JsonTree::Object(
                    items.map(|one| (one.name.as_str().to_owned(), JsonTree::from_node(&one.value))).collect(),
                )
            }
            Node::Array(array) => JsonTree::List(array.elements.iter().map(JsonTree::from_node).collect()),
            node => JsonTree::Scalar(to_value(node, &|text| text.into())),
        }
    }

    /// Converts to a JSON value; the last of two properties with one name wins.
    pub fn to_value(&self) -> Value {
        match self {
            JsonTree::Object(items) => {
                Value::Object(items.iter().map(|(name, value)| (name.clone(), value.to_value())).collect())
            }
            JsonTree::List(items) => Value::Array(items.iter().map(JsonTree::to_value).collect()),
            JsonTree::Scalar(value) => value.clone(),
        }
    }

    /// Returns an object's property by name, with its index; the last of two.
    pub fn get(&self, name: &str) -> Option<(usize, &JsonTree)> {
        let items = self.items().iter().enumerate().rev();
        items.into_iter().find(|(_, (known, _))| known == name).map(|(at, (_, value))| (at, value))
    }

    /// Returns the properties of an object; empty for any other value.
    pub fn items(&self) -> &[(String, JsonTree)] {
        match self {
            JsonTree::Object(items) => items,
            _ => &[],
        }
    }

    /// Returns the elements of a list; empty for any other value.
    pub fn elements(&self) -> &[JsonTree] {
        match self {
            JsonTree::List(items) => items,
            _ => &[],
        }
    }
}

/// Parses a text that holds an object. The text must not start with a byte order mark.
///
/// # Errors
/// If the text does not parse or holds no object.
pub fn parse_tree(file: &Path, text: &str) -> Result<JsonTree, EditError> {
    match parse_object(text, &SourceText::new(file, text)).map_err(EditError::Broken)? {
        Some(object) => Ok(JsonTree::from_node(&Node::Object(object))),
        None => Err(refusal(file, "this file does not hold a JSON object", "expected an object: `{ … }`")),
    }
}

/// Returns the error for a file that is not edited.
pub fn refusal(file: &Path, what: impl Into<String>, help: impl Into<String>) -> EditError {
    EditError::Broken(Box::new(Diagnostic::about_file(Severity::Error, file, what.into()).help(help.into())))
}

/// Appends a value to the list or object at a position; a value in an object has a name. Returns `None` if neither is
/// there.
pub fn append(text: &str, at: &[usize], name: Option<&str>, value: &Value) -> Option<String> {
    let inside = JsonContainer::find(text, at)?;
    let style = JsonStyle::detect(text);
    let named = |value: String| match name {
        Some(name) => format!("{}: {value}", Value::from(name)),
        None => value,
    };
    let own_line = style.indent_at(text, inside.open);
    let Some(last) = inside.items.last() else {
        let gap = ItemGap::scan(text, inside.open + 1, inside.close);
        // Inserted right before the closing bracket: by that `cut` recognises that the brackets were there before.
        if !gap.comments {
            return Some(apply_patches(text, &[(inside.close..inside.close, named(style.render(value, own_line)))]));
        }
        let indent = format!("{own_line}{}", style.indent_unit);
        let item = format!("{}{indent}{}", style.newline, named(style.render(value, &indent)));
        return Some(apply_patches(text, &[(gap.end..gap.end, item)]));
    };
    let gap = ItemGap::scan(text, last.end, inside.close);
    let item = if text[inside.open..inside.close].contains('\n') {
        let first = &inside.items[0];
        let indent = match starts_line(text, first.start) {
            true => style.indent_at(text, first.start).to_owned(),
            false => format!("{own_line}{}", style.indent_unit),
        };
        format!("{}{indent}{}", style.newline, named(style.render(value, &indent)))
    } else {
        format!(" {}", named(render_inline(value)))
    };
    Some(match gap.comma {
        Some(_) => apply_patches(text, &[(gap.end..gap.end, item + ",")]),
        None => apply_patches(text, &[(last.end..last.end, ",".to_owned()), (gap.end..gap.end, item)]),
    })
}

/// Replaces the value at a position.
pub fn replace(text: &str, at: &[usize], value: &Value) -> Option<String> {
    let range = with_node(text, at, |node| node.range())?;
    let style = JsonStyle::detect(text);
    let old = &text[range.start..range.end];
    let indent = style.indent_at(text, range.start);
    let new = if old.contains('\n') { style.render(value, indent) } else { render_inline(value) };
    Some(apply_patches(text, &[(range.start..range.end, new)]))
}

/// Removes the item at a position and the brackets that were inserted to hold it. Returns `""` if they were the whole
/// text.
pub fn cut(text: &str, at: &[usize]) -> Option<String> {
    let (index, above) = at.split_last()?;
    let inside = JsonContainer::find(text, above)?;
    let item = inside.items.get(*index)?.clone();
    let before = match index.checked_sub(1) {
        Some(previous) => ItemGap::scan(text, inside.items[previous].end, item.start),
        None => ItemGap::scan(text, inside.open + 1, item.start),
    };
    let next = inside.items.get(index + 1).map_or(inside.close, |next| next.start);
    let after = ItemGap::scan(text, item.end, next);
    if inside.items.len() == 1 && !before.comments && !after.comments && after.comma.is_none() {
        if item.end == inside.close {
            return Some(apply_patches(text, &[(item, String::new())]));
        }
        // Brackets that were inserted, on lines of their own.
        return match above {
            [] if text[..inside.open].trim().is_empty() && text[inside.close + 1..].trim().is_empty() => {
                Some(String::new())
            }
            [] => Some(apply_patches(text, &[(inside.open + 1..inside.close, String::new())])),
            above => cut(text, above),
        };
    }
    let end = after.comma.map_or(item.end, |comma| comma + 1);
    let mut cuts = Vec::new();
    // A comma that only separated this item from the previous one is removed with it.
    if let Some(comma) = before.comma.filter(|_| after.comma.is_none()) {
        cuts.push((comma..comma + 1, String::new()));
    }
    let start = match before.line_comment && !text[end..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
        true => item.start,
        false => before.end,
    };
    // If a comment stands between the comma and the item, both are cut separately.
    let start = cuts.last().map_or(start, |(comma, _)| start.max(comma.end));
    cuts.push((start..end, String::new()));
    Some(apply_patches(text, &cuts))
}

/// Renders a new document.
pub fn render_document(value: &Value) -> String {
    JsonStyle { newline: "\n", indent_unit: "  ".to_owned() }.render(value, "") + "\n"
}

/// Returns the text with the patches applied; they are in order and do not overlap.
fn apply_patches(text: &str, patches: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len() + patches.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in patches {
        out.push_str(&text[at..range.start]);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn with_node<T>(text: &str, at: &[usize], take: impl FnOnce(&Node<'_>) -> T) -> Option<T> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS).ok()?;
    let mut node = parsed.value.as_ref()?;
    for index in at {
        node = match node {
            Node::Object(object) => &object.properties.get(*index)?.value,
            Node::Array(array) => array.elements.get(*index)?,
            _ => return None,
        };
    }
    Some(take(node))
}

/// Offsets of an object or a list: its brackets and its items.
struct JsonContainer {
    open: usize,
    close: usize,
    items: Vec<Range<usize>>,
}

impl JsonContainer {
    fn find(text: &str, at: &[usize]) -> Option<JsonContainer> {
        let ranges = |ranges: Vec<jsonc_parser::common::Range>| {
            ranges.into_iter().map(|range| range.start..range.end).collect::<Vec<_>>()
        };
        let (range, items) = with_node(text, at, |node| match node {
            Node::Object(object) => Some((object.range, ranges(object.properties.iter().map(Ranged::range).collect()))),
            Node::Array(array) => Some((array.range, ranges(array.elements.iter().map(Ranged::range).collect()))),
            _ => None,
        })??;
        Some(JsonContainer { open: range.start, close: range.end - 1, items })
    }
}

/// The space between two items, or an item and a bracket: whitespace, comments, a comma.
struct ItemGap {
    /// End of the last part that is no whitespace; the start if there is none.
    end: usize,
    comma: Option<usize>,
    comments: bool,
    /// Whether the last part that is no whitespace is a line comment.
    line_comment: bool,
}

impl ItemGap {
    fn scan(text: &str, from: usize, to: usize) -> ItemGap {
        let mut gap = ItemGap { end: from, comma: None, comments: false, line_comment: false };
        let mut at = from;
        while let Some(rest) = text.get(at..to).filter(|rest| !rest.is_empty()) {
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else if rest.starts_with(',') {
                gap.comma = Some(at);
                1
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            };
            gap.comments |= rest.starts_with('/');
            gap.line_comment = rest.starts_with("//");
            at += length;
            // The `\r` of a line end is not part of the comment.
            gap.end = if gap.line_comment { from + text[from..at].trim_end_matches('\r').len() } else { at };
        }
        gap
    }
}

fn starts_line(text: &str, at: usize) -> bool {
    text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
}

/// Line ends and indentation of a text.
struct JsonStyle {
    newline: &'static str,
    indent_unit: String,
}

impl JsonStyle {
    fn detect(text: &str) -> JsonStyle {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = JsonContainer::find(text, &[]).and_then(|root| root.items.first().map(|first| first.start));
        let mut style = JsonStyle { newline, indent_unit: "  ".to_owned() };
        if let Some(first) = first.filter(|first| starts_line(text, *first)) {
            let indent = style.indent_at(text, first);
            if !indent.is_empty() {
                style.indent_unit = indent.to_owned();
            }
        }
        style
    }

    /// Returns the indentation of the line at an offset.
    fn indent_at<'t>(&self, text: &'t str, at: usize) -> &'t str {
        let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Renders a value over several lines; the first line has no indentation.
    fn render(&self, value: &Value, indent: &str) -> String {
        let deeper = format!("{indent}{}", self.indent_unit);
        let lines = |open: char, items: Vec<String>, close: char| {
            let separator = format!(",{}{deeper}", self.newline);
            format!("{open}{0}{deeper}{1}{0}{indent}{close}", self.newline, items.join(&separator))
        };
        match value {
            Value::Object(map) if !map.is_empty() => {
                let items = map
                    .iter()
                    .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), self.render(value, &deeper)));
                lines('{', items.collect(), '}')
            }
            Value::Array(list) if !list.is_empty() => {
                lines('[', list.iter().map(|value| self.render(value, &deeper)).collect(), ']')
            }
            plain => plain.to_string(),
        }
    }
}

/// Renders a value on one line with spaces inside of its brackets, by which `cut` recognises them as inserted.
fn render_inline(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let items =
                map.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), render_inline(value)));
            format!("{{ {} }}", items.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) if !list.is_empty() => {
            format!("[ {} ]", list.iter().map(render_inline).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests;
