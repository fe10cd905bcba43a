//! Parses JSON with comments as the hook engine does, and converts it to plain values with variables filled in.

use std::borrow::Cow;
use std::path::Path;

use hookwright_hooks::jsonc;
use hookwright_hooks::{Diagnostic, Severity, SourceText};
use jsonc_parser::ast::{Object, Value as Node};
use serde_json::{Map, Number, Value};

pub(crate) use hookwright_hooks::jsonc::{PARSE_OPTIONS, last_property, syntax_diagnostic, value_kind};

use crate::process_env::ProcessEnv;

/// Parses the object in a file; `None` for an empty file. A leading byte order mark must already be removed.
pub(crate) fn parse_object<'t>(text: &'t str, source: &SourceText<'_>) -> Result<Option<Object<'t>>, Box<Diagnostic>> {
    match jsonc::parse(text, source)? {
        Some(Node::Object(object)) => Ok(Some(object)),
        None => Ok(None),
        Some(other) => {
            let range = jsonc_parser::common::Ranged::range(&other);
            let wrong =
                source.diagnose(Severity::Error, range.start, range.end, "this file does not hold a JSON object");
            Err(Box::new(wrong.expected("expected an object: `{ … }`")))
        }
    }
}

/// Parses a whole file as a plain map, for formats whose problems need no exact position.
pub(crate) fn parse_map(file: &Path, text: &str) -> Result<Map<String, Value>, Box<Diagnostic>> {
    let text = text.trim_start_matches('\u{feff}');
    let object = parse_object(text, &SourceText::new(file, text))?;
    Ok(object.map(|object| object_to_map(&object, &|text| Cow::Borrowed(text))).unwrap_or_default())
}

/// Converts a node to a plain value, with every string passed through `fill`.
pub(crate) fn to_value(node: &Node<'_>, fill: &dyn for<'s> Fn(&'s str) -> Cow<'s, str>) -> Value {
    match node {
        Node::StringLit(text) => Value::String(fill(&text.value).into_owned()),
        Node::NumberLit(number) => number_to_value(number.value),
        Node::BooleanLit(boolean) => Value::Bool(boolean.value),
        Node::Object(object) => Value::Object(object_to_map(object, fill)),
        Node::Array(array) => Value::Array(array.elements.iter().map(|element| to_value(element, fill)).collect()),
        Node::NullKeyword(_) => Value::Null,
    }
}

fn object_to_map(object: &Object<'_>, fill: &dyn for<'s> Fn(&'s str) -> Cow<'s, str>) -> Map<String, Value> {
    // The last of two properties with one name wins.
    object
        .properties
        .iter()
        .map(|property| (property.name.as_str().to_owned(), to_value(&property.value, fill)))
        .collect()
}

fn number_to_value(text: &str) -> Value {
    serde_json::from_str::<Number>(text).map_or(Value::Null, Value::Number)
}

/// Fills in `$NAME`, `${NAME}` and `${NAME:-default}`; a variable that is not set stays as written.
pub(crate) fn fill_variables<'s>(text: &'s str, world: &ProcessEnv) -> Cow<'s, str> {
    if !text.contains('$') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (length, value) = parse_reference(rest)
            .map_or((1, None), |reference| (reference.length, world.var(reference.name).or(reference.default)));
        out.push_str(value.unwrap_or(&rest[..length]));
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the names of variables that are still in a text after filling, because they are not set.
pub(crate) fn unfilled_names(text: &str) -> Vec<&str> {
    let starts = text.match_indices('$').map(|(at, _)| &text[at..]);
    starts
        .filter_map(parse_reference)
        .filter(|reference| reference.default.is_none())
        .map(|reference| reference.name)
        .collect()
}

struct VariableReference<'s> {
    length: usize,
    name: &'s str,
    default: Option<&'s str>,
}

/// Parses the variable reference at the start of a text.
fn parse_reference(text: &str) -> Option<VariableReference<'_>> {
    let after = text.strip_prefix('$')?;
    if let Some(braced) = after.strip_prefix('{') {
        let inside = &braced[..braced.find('}')?];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        return (!name.is_empty()).then_some(VariableReference { length: inside.len() + 3, name, default });
    }
    let end = after.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(after.len());
    (end > 0).then(|| VariableReference { length: end + 1, name: &after[..end], default: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_as_gemini_cli_does() {
        let world = ProcessEnv::new(vec![("A".into(), "1".into()), ("E".into(), "".into())], "/".into());
        let cases = [
            ("plain", "plain"),
            ("$A", "1"),
            ("x${A}y", "x1y"),
            ("$AB", "$AB"),
            ("${NO}", "${NO}"),
            ("${NO:-other}", "other"),
            ("${A:-other}", "1"),
            ("$E|", "|"),
            ("100$", "100$"),
            ("$$A", "$1"),
            ("${", "${"),
            ("${}", "${}"),
            ("ü$A", "ü1"),
        ];
        for (text, filled) in cases {
            assert_eq!(fill_variables(text, &world), filled, "{text}");
        }
    }

    #[test]
    fn plain_values_keep_large_numbers_and_the_last_of_two() {
        let map =
            parse_map(Path::new("f"), "\u{feff}{ \"a\": 1, /* c */ \"a\": 18446744073709551615, \"b\": [1.5,], }")
                .unwrap();
        assert_eq!(map["a"], serde_json::json!(u64::MAX));
        assert_eq!(map["b"], serde_json::json!([1.5]));
    }
}
