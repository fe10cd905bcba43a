//! Inserts several names after another one in a list, in the list's style. The text is edited directly, because
//! appending to the tree gets slower with every element.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};

use crate::json::{PARSE_OPTIONS, last_property};

/// Returns the text with these names inserted after `first`, which is the last element of a list at one of these key
/// paths.
pub(super) fn insert_after(text: &str, places: &[[&str; 2]], first: &str, names: &[&String]) -> Option<String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS).ok()?;
    let Some(Node::Object(root)) = &parsed.value else { return None };
    let element = places.iter().find_map(|[section, key]| {
        let list = last_property(last_property(root, section)?.value.as_object()?, key)?.value.as_array()?;
        list.elements.last().filter(|element| element.as_string_lit().is_some_and(|name| name.value == first))
    })?;
    let range = element.range();
    let before = &text[..range.start];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let own_line = line.trim().is_empty() && line.len() < before.len();
    let separator = match own_line {
        true if before.ends_with(&format!("\r\n{line}")) => format!(",\r\n{line}"),
        true => format!(",\n{line}"),
        false => ", ".to_owned(),
    };
    let mut out = String::with_capacity(text.len() + names.len() * 32);
    out.push_str(&text[..range.end]);
    for name in names {
        out.push_str(&separator);
        out.push_str(&serde_json::Value::from(name.as_str()).to_string());
    }
    out.push_str(&text[range.end..]);
    Some(out)
}
