//! Commented JSON as this program reads it: one set of liberties, one way to say what is wrong with a file.
//!
//! Public for those who read other parts of the same files; what the values mean is `declare.rs`.

use std::path::Path;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::diagnostic::{Diagnostic, Severity, SourceText};

/// Comments and trailing commas are welcome; other liberties would be read differently by other programs.
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

/// The most values that a file may hold: thousands of hooks, and no wait.
const MOST_VALUES: usize = 50_000;

/// A settings file, parsed once for everybody who looks into it.
pub struct Document<'t> {
    /// Its text, for places.
    pub source: SourceText<'t>,
    /// What it holds: nothing if it is empty, and why it does not count if it is wrong.
    pub root: Result<Option<Object<'t>>, Box<Diagnostic>>,
}

impl<'t> Document<'t> {
    /// Parses a file's text; a byte order mark is no part of it.
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

/// Parses a text without a byte order mark; nothing for an empty one.
///
/// # Errors
/// If it is not JSON, with where and why.
pub fn parse<'t>(text: &'t str, source: &SourceText<'_>) -> Result<Option<Value<'t>>, Box<Diagnostic>> {
    if values_in(text) > MOST_VALUES {
        let text = format!("this file holds more than {MOST_VALUES} values, which are not read");
        let wrong = source.diagnose(Severity::Error, 0, 1, text);
        return Err(Box::new(wrong.help("nothing in this file counts until it is shorter")));
    }
    match parse_to_ast(text, &CollectOptions::default(), &PARSE_OPTIONS) {
        Ok(result) => Ok(result.value),
        Err(error) => Err(Box::new(broken(source, &error))),
    }
}

/// No fewer values than a text holds, counted without reading it: what stands in strings and comments is none.
fn values_in(text: &str) -> usize {
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

/// What a file that is not JSON deserves to be told.
pub fn broken(source: &SourceText<'_>, error: &ParseError) -> Diagnostic {
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

/// The property that counts: of several with one name, the last.
pub fn last<'o, 't>(object: &'o Object<'t>, name: &str) -> Option<&'o ObjectProp<'t>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}

/// What a value is, in words.
pub fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    }
}
