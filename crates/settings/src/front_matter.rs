//! Parses the front matter of a Markdown file: YAML fields between two `---` lines, each with its position, and the
//! body below.
//!
//! People often write invalid YAML, so an invalid field is taken as plain text, with a warning. Its callers interpret
//! the fields.

mod yaml;

use std::ops::Range;

use hookwright_hooks::{Diagnostic, Severity, SourceText};
use serde_json::Value;

/// Largest front matter that is parsed.
const MAX_FRONT_MATTER_BYTES: usize = 64 << 10;

/// The fields and the body of a Markdown file.
#[derive(Debug)]
pub struct FrontMatter<'t> {
    /// The fields in order; of two with one name only the last.
    pub fields: Vec<FrontMatterField>,
    /// The text after the front matter.
    pub body: &'t str,
}

/// A field of the front matter.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatterField {
    pub key: String,
    /// Byte range of the name in the file.
    pub key_range: Range<usize>,
    pub value: YamlNode,
}

/// A YAML value with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    pub kind: YamlNodeKind,
    /// Byte range in the file.
    pub range: Range<usize>,
}

/// The types of YAML values.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlNodeKind {
    /// An unquoted scalar: text, a number, a boolean or null.
    Plain(String),
    /// A quoted or block scalar.
    Text(String),
    /// A sequence of values.
    List(Vec<YamlNode>),
    /// A mapping with its fields.
    Map(Vec<FrontMatterField>),
}

impl FrontMatter<'_> {
    /// Returns the field of this name.
    pub fn get(&self, key: &str) -> Option<&FrontMatterField> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl YamlNode {
    /// Returns a scalar's text as written; `None` for null, lists and maps.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            YamlNodeKind::Plain(text) if is_null_text(text) => None,
            YamlNodeKind::Plain(text) | YamlNodeKind::Text(text) => Some(text),
            YamlNodeKind::List(_) | YamlNodeKind::Map(_) => None,
        }
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, YamlNodeKind::Plain(text) if is_null_text(text))
    }

    /// Converts the value to JSON; of two fields with one name the last wins.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            YamlNodeKind::Text(text) => Value::from(text.as_str()),
            YamlNodeKind::Plain(text) => plain_json(text),
            YamlNodeKind::List(nodes) => nodes.iter().map(YamlNode::to_json).collect(),
            YamlNodeKind::Map(fields) => {
                fields.iter().map(|field| (field.key.clone(), field.value.to_json())).collect()
            }
        }
    }

    /// Names the type of the value, for messages.
    pub fn describe(&self) -> &'static str {
        match self.to_json() {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "fields",
        }
    }
}

fn is_null_text(plain: &str) -> bool {
    matches!(plain, "" | "~" | "null" | "Null" | "NULL")
}

/// Converts an unquoted scalar to JSON by YAML's core schema.
fn plain_json(text: &str) -> Value {
    match text {
        text if is_null_text(text) => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => {
            let digits = text.strip_prefix('+').unwrap_or(text);
            let is_number =
                digits.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit() || first == '.');
            let whole = || digits.parse::<i64>().ok().map(Value::from);
            let real = || digits.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number);
            is_number.then(|| whole().or_else(real)).flatten().unwrap_or_else(|| Value::from(text))
        }
    }
}

/// Parses the front matter of a file and reports its problems; `None` if there is none that can be used.
pub fn parse_front_matter<'t>(
    text: &'t str,
    source: &SourceText<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FrontMatter<'t>> {
    let fence = match FrontMatterFence::find(text) {
        Ok(fence) => fence,
        Err((at, message)) => {
            let wrong = source.diagnose(Severity::Error, at, at, message);
            diagnostics.push(wrong.help("start the file with a line `---`, the fields, and another line `---`"));
            return None;
        }
    };
    let mut reader = FrontMatterReader { text, source, diagnostics };
    let fields = reader.read_fields(fence.head.clone())?;
    Some(FrontMatter { fields: reader.without_duplicates(fields), body: &text[fence.body..] })
}

/// Byte range of the front matter between the `---` lines, and start of the body.
struct FrontMatterFence {
    head: Range<usize>,
    body: usize,
}

impl FrontMatterFence {
    fn find(text: &str) -> Result<FrontMatterFence, (usize, String)> {
        let start = text.len() - text.trim_start_matches('\u{feff}').len();
        let mut lines = text[start..].split_inclusive('\n').scan(start, |at, line| {
            let from = *at;
            *at += line.len();
            Some((from, line))
        });
        let is_fence = |line: &str| line.trim_end() == "---";
        let head = match lines.next() {
            Some((at, line)) if is_fence(line) => at + line.len(),
            _ => return Err((start, "this file has no front matter".to_owned())),
        };
        let Some((end, fence)) = lines.find(|(_, line)| is_fence(line)) else {
            return Err((start, "the front matter has no end".to_owned()));
        };
        if end - head > MAX_FRONT_MATTER_BYTES {
            let size = end - head;
            return Err((
                start,
                format!("the front matter is too large: {size} bytes, where {MAX_FRONT_MATTER_BYTES} are read"),
            ));
        }
        Ok(FrontMatterFence { head: head..end, body: end + fence.len() })
    }
}

struct FrontMatterReader<'a> {
    text: &'a str,
    source: &'a SourceText<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl FrontMatterReader<'_> {
    /// Parses the front matter as a whole if it is valid YAML, else field by field.
    fn read_fields(&mut self, head: Range<usize>) -> Option<Vec<FrontMatterField>> {
        match yaml::parse(self.text, head.clone()) {
            Ok(YamlNode { kind: YamlNodeKind::Map(fields), .. }) => Some(fields),
            Ok(node) if node.is_null() => Some(Vec::new()),
            Err(wrong) if self.lines(&head).all(|(_, line)| split_field_line(line).is_none()) => {
                self.report(
                    Severity::Error,
                    &wrong.range,
                    format!("the front matter is not valid YAML: {}", wrong.message),
                );
                None
            }
            Err(_) => Some(self.read_fields_separately(head)),
            Ok(other) => {
                let message = format!("the front matter should hold fields, not {}", other.describe());
                let wrong = self.source.diagnose(Severity::Error, other.range.start, other.range.end, message);
                self.diagnostics.push(wrong.expected("expected lines such as `name: …`"));
                None
            }
        }
    }

    /// Parses each field by itself, so that an invalid one, which is taken as plain text, does not affect the others.
    fn read_fields_separately(&mut self, head: Range<usize>) -> Vec<FrontMatterField> {
        let starts: Vec<usize> =
            self.lines(&head).filter(|(_, line)| split_field_line(line).is_some()).map(|(at, _)| at).collect();
        let ends = starts.iter().skip(1).copied().chain([head.end]);
        let ranges: Vec<_> = starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
        ranges.into_iter().filter_map(|range| self.read_single_field(range)).collect()
    }

    fn read_single_field(&mut self, range: Range<usize>) -> Option<FrontMatterField> {
        let wrong = match yaml::parse(self.text, range.clone()) {
            Ok(YamlNode { kind: YamlNodeKind::Map(mut fields), .. }) if fields.len() == 1 => return fields.pop(),
            Ok(node) => yaml::YamlError { range: node.range, message: "it is not a single field".to_owned() },
            Err(wrong) => wrong,
        };
        let written = &self.text[range.clone()];
        let (key, _) = split_field_line(written)?;
        let message = format!("`{key}` is not valid YAML ({}), so its text is used as it is", wrong.message);
        let wrong = self.source.diagnose(Severity::Warning, wrong.range.start, wrong.range.end, message);
        self.diagnostics.push(wrong.help("put the value in quotes"));
        let key_range = range.start..range.start + key.len();
        let value = &self.text[key_range.end + 1..range.end];
        let start = key_range.end + 1 + value.len() - value.trim_start().len();
        let kind = YamlNodeKind::Text(unfold(value));
        let value = YamlNode { kind, range: start..start + value.trim().len() };
        Some(FrontMatterField { key: key.to_owned(), key_range, value })
    }

    /// Drops all but the last of the fields with one name, with a warning.
    fn without_duplicates(&mut self, fields: Vec<FrontMatterField>) -> Vec<FrontMatterField> {
        let mut kept: Vec<FrontMatterField> = Vec::new();
        for field in fields {
            if let Some(earlier) = kept.iter().position(|known| known.key == field.key) {
                let message = format!("`{}` is here twice; the last one counts", field.key);
                self.report(Severity::Warning, &field.key_range, message);
                kept.remove(earlier);
            }
            kept.push(field);
        }
        kept
    }

    fn lines(&self, range: &Range<usize>) -> impl Iterator<Item = (usize, &str)> {
        self.text[range.clone()].split_inclusive('\n').scan(range.start, |at, line| {
            let from = *at;
            *at += line.len();
            Some((from, line))
        })
    }

    fn report(&mut self, severity: Severity, range: &Range<usize>, message: String) {
        self.diagnostics.push(self.source.diagnose(severity, range.start, range.end, message));
    }
}

/// Splits a line that starts a field into the name and the rest.
fn split_field_line(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let starts = !key.is_empty() && key.chars().all(is_name) && rest.starts_with(char::is_whitespace);
    starts.then_some((key, rest))
}

/// Joins lines into one, without a block indicator and surrounding quotes.
fn unfold(value: &str) -> String {
    let value = value.trim();
    let value = value.strip_prefix(['|', '>']).map_or(value, |rest| {
        rest.strip_prefix(['-', '+']).unwrap_or(rest).strip_prefix(['\r', '\n']).unwrap_or(value)
    });
    let lines: Vec<&str> = value.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines.join(" ");
    let unquoted = ['"', '\''].iter().find_map(|quote| joined.strip_prefix(*quote)?.strip_suffix(*quote));
    unquoted.map_or_else(|| joined.clone(), str::to_owned)
}

#[cfg(test)]
mod tests;
