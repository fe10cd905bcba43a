//! Commented JSON: the syntax that is accepted in settings files, and the diagnostics of files that cannot be parsed.
//!
//! The module is public for crates that read other sections of the same files. `config.rs` interprets the values.

use std::path::Path;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::diagnostic::{Diagnostic, Severity, SourceText};

/// Comments and trailing commas are accepted; other extensions of JSON would be read differently by other programs.
pub const PARSE_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The maximum number of values in a file. A file with 40,000 hooks has nearly as many.
const MAX_VALUES: usize = 300_000;
/// The maximum number of values outside of `hooks`, which every layer copies, and in `when` conditions, which are
/// compiled as patterns.
const MAX_OTHER_VALUES: usize = 50_000;

/// A settings file that is parsed once for all its readers.
pub struct Document<'t> {
    /// The text of the file, for locations.
    pub source: SourceText<'t>,
    /// The top-level object; `None` for an empty file, or the reason why the file is not read.
    pub root: Result<Option<Object<'t>>, Box<Diagnostic>>,
}

impl<'t> Document<'t> {
    /// Parses the text of a file, without its byte order mark.
    pub fn parse(file: &'t Path, text: &'t str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let source = SourceText::new(file, text);
        let root = match parse(text, &source) {
            Ok(Some(Value::Object(root))) => Ok(Some(root)),
            // An empty file is an empty configuration.
            Ok(None) => Ok(None),
            Ok(Some(other)) => {
                let range = other.range();
                let wrong = source.diagnose(Severity::Error, range.start, range.end, "settings are not a JSON object");
                Err(Box::new(wrong.expected("expected an object: `{ … }`")))
            }
            Err(diagnostic) => Err(diagnostic),
        };
        Document { source, root }
    }
}

/// Parses a text without a byte order mark; `None` for an empty text.
///
/// # Errors
/// If the text is not valid JSON or has too many values, with the location and the reason.
pub fn parse<'t>(text: &'t str, source: &SourceText<'_>) -> Result<Option<Value<'t>>, Box<Diagnostic>> {
    let count = estimate_values(text);
    if count > MAX_VALUES {
        return Err(size_diagnostic(source, format!("more than {MAX_VALUES} values")));
    }
    let value = match parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS) {
        Ok(result) => result.value,
        Err(error) => return Err(Box::new(syntax_diagnostic(source, &error))),
    };
    if count > MAX_OTHER_VALUES
        && let Some(what) = value.as_ref().and_then(excess_values)
    {
        return Err(size_diagnostic(source, what));
    }
    Ok(value)
}

/// The diagnostic of a file that is not read because it is too large.
fn size_diagnostic(source: &SourceText<'_>, what: String) -> Box<Diagnostic> {
    let wrong = source.diagnose(Severity::Error, 0, 1, format!("this file has {what}; it is not read"));
    Box::new(wrong.help("nothing in this file counts until it is shorter"))
}

/// Describes the values of which a file has too many, outside of `hooks` or in `when` conditions, if it does.
fn excess_values(root: &Value<'_>) -> Option<String> {
    let hooks = root.as_object().and_then(|root| last_property(root, "hooks")).map(|hooks| &hooks.value);
    let events = hooks.and_then(Value::as_object).into_iter().flat_map(|events| &events.properties);
    let definitions = events.flat_map(|event| array_elements(&event.value)).filter_map(Value::as_object);
    let hook_lists = definitions.filter_map(|definition| last_property(definition, "hooks"));
    let conditions = hook_lists.flat_map(|hooks| array_elements(&hooks.value)).filter_map(Value::as_object);
    let conditions: usize =
        conditions.filter_map(|hook| last_property(hook, "when")).map(|when| count_values(&when.value)).sum();
    let others = count_values(root) - hooks.map_or(0, count_values) + conditions;
    (others > MAX_OTHER_VALUES).then(|| format!("more than {MAX_OTHER_VALUES} values outside of `hooks` and in `when`"))
}

fn array_elements<'v, 't>(value: &'v Value<'t>) -> &'v [Value<'t>] {
    value.as_array().map_or(&[], |array| &array.elements)
}

/// The number of values in a value, itself included. The parser limits the depth of nesting.
fn count_values(value: &Value<'_>) -> usize {
    1 + match value {
        Value::Array(array) => array.elements.iter().map(count_values).sum(),
        Value::Object(object) => object.properties.iter().map(|property| count_values(&property.value)).sum(),
        _ => 0,
    }
}

/// An upper bound of the number of values in a text, counted without parsing; strings and comments are skipped.
fn estimate_values(text: &str) -> usize {
    let mut count = 1;
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => while bytes.next().is_some_and(|byte| byte != b'"' && (byte != b'\\' || bytes.next().is_some())) {},
            b'/' if bytes.next_if_eq(&b'/').is_some() => while bytes.next().is_some_and(|byte| byte != b'\n') {},
            b'/' if bytes.next_if_eq(&b'*').is_some() => {
                while bytes.next().is_some_and(|byte| byte != b'*' || bytes.peek() != Some(&b'/')) {}
            }
            b',' | b'[' | b'{' => count += 1,
            _ => {}
        }
    }
    count
}

/// The diagnostic of a file that is not valid JSON.
pub fn syntax_diagnostic(source: &SourceText<'_>, error: &ParseError) -> Diagnostic {
    let range = error.range();
    let text = format!("this file is not valid JSON: {}", lowercase_first(&error.kind().to_string()));
    source
        .diagnose(Severity::Error, range.start, range.end, text)
        .help("nothing in this file counts until it parses; comments and trailing commas are fine")
}

pub(crate) fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// The property of that name; the last one, if there are several.
pub fn last_property<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o ObjectProp<'t>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}

/// The type of a value with its article, for messages.
pub fn value_kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Settings with this many BeforeTool definitions, each written from its number.
    fn settings_with_definitions(count: usize, item: impl Fn(usize) -> String) -> String {
        let mut items = String::new();
        for at in 0..count {
            _ = write!(items, "{}{}", if at == 0 { "" } else { "," }, item(at));
        }
        format!(r#"{{"hooks":{{"BeforeTool":[{items}]}}}}"#)
    }

    fn definition_with_hook(at: usize) -> String {
        format!(
            r#"{{"matcher":"mcp__s__t{at}","hooks":[{{"type":"command","name":"h{at}","command":"./guard {at}"}}]}}"#
        )
    }

    fn parse_error(text: &str) -> String {
        let document = Document::parse(Path::new("settings.json"), text);
        document.root.err().map(|diagnostic| diagnostic.message).unwrap_or_default()
    }

    #[test]
    fn ten_thousand_hooks_are_parsed() {
        let text = settings_with_definitions(10_000, definition_with_hook);
        let declared = crate::parse_layer(&crate::Layer::new(crate::Source::User, Path::new("settings.json"), &text));
        assert_eq!((declared.hooks.len(), declared.diagnostics.len()), (10_000, 0));
    }

    #[test]
    fn diagnostics_beyond_the_maximum_are_only_counted() {
        let text = settings_with_definitions(20_000, |_| "0".to_owned());
        let declared = crate::parse_layer(&crate::Layer::new(crate::Source::User, Path::new("settings.json"), &text));
        assert!(declared.diagnostics.len() < 3_000, "{}", declared.diagnostics.len());
        assert!(declared.diagnostics.iter().any(|one| one.message.contains("18000 more problems")));
    }

    #[test]
    fn oversized_files_are_refused_with_a_message() {
        let many = |count: usize, item: &str| [item].repeat(count).join(",");
        for (text, words) in [
            (settings_with_definitions(60_000, definition_with_hook), "more than 300000 values"),
            (format!("[{}]", many(1 << 20, "0")), "more than 300000 values"),
            ("[".repeat(16 << 20), "more than 300000 values"),
            (format!(r#"{{"other":[{}]}}"#, many(60_000, "0")), "more than 50000 values outside of `hooks`"),
            (format!(r#"{{"hooks":[{0}],"hooks":{{}}}}"#, many(60_000, "0")), "outside of `hooks`"),
            (format!("[{}]", many(60_000, "0")), "outside of `hooks`"),
            (
                settings_with_definitions(100, |_| {
                    format!(r#"{{"hooks":[{{"when":{{"writes":[{}]}}}}]}}"#, many(900, r#""a*""#))
                }),
                "and in `when`",
            ),
        ] {
            assert!(parse_error(&text).contains(words), "no `{words}`: {}", parse_error(&text));
        }
    }
}
