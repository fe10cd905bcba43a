//! The head of a Markdown file: fields in YAML between two lines of `---`, each with its place, and the body below.
//!
//! YAML is strict and people are not, so a field that is no YAML is taken as the text it is, and that is said. What the
//! fields mean is their readers' work.

mod yaml;

use std::ops::Range;

use hookwright_hooks::{Diagnostic, Severity, SourceText};
use serde_json::Value;

/// A head is a few fields; a larger one is a mistake or an attack.
const MAX_FRONT_MATTER_BYTES: usize = 64 << 10;

/// A file's head and body.
#[derive(Debug)]
pub struct FrontMatter<'t> {
    /// The fields, in their order; of two with one name only the last is here.
    pub fields: Vec<FrontMatterField>,
    /// What follows the head.
    pub body: &'t str,
}

/// A field with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatterField {
    /// Its name.
    pub key: String,
    /// Where the name stands, in bytes of the file.
    pub key_range: Range<usize>,
    /// Its value.
    pub value: YamlNode,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// The value.
    pub kind: YamlNodeKind,
    /// Where it stands, in bytes of the file.
    pub range: Range<usize>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlNodeKind {
    /// Text without quotes, which may stand for a number, a truth or nothing.
    Plain(String),
    /// Text in quotes or in a block.
    Text(String),
    /// A list.
    List(Vec<YamlNode>),
    /// Fields.
    Map(Vec<FrontMatterField>),
}

impl FrontMatter<'_> {
    /// The field of this name.
    pub fn get(&self, key: &str) -> Option<&FrontMatterField> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl YamlNode {
    /// The text as it is written, whatever it may stand for; nothing for nothing, lists and fields.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            YamlNodeKind::Plain(text) if is_null_text(text) => None,
            YamlNodeKind::Plain(text) | YamlNodeKind::Text(text) => Some(text),
            YamlNodeKind::List(_) | YamlNodeKind::Map(_) => None,
        }
    }

    /// Whether there is no value.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, YamlNodeKind::Plain(text) if is_null_text(text))
    }

    /// The value as JSON; of two fields with one name the last counts.
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

    /// What kind of value it is, for messages.
    pub fn describe(&self) -> &'static str {
        match self.to_json() {
            Value::Null => "nothing",
            Value::Bool(_) => "a truth value",
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

/// What text without quotes stands for, by YAML's core schema.
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

/// Reads a file's head. What is wrong with it is told; without any there is nothing.
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

/// Where the head stands between its lines of `---`, and where the body starts.
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
    /// The head as a whole if it is YAML, else field by field.
    fn read_fields(&mut self, head: Range<usize>) -> Option<Vec<FrontMatterField>> {
        match yaml::parse(self.text, head.clone()) {
            Ok(YamlNode { kind: YamlNodeKind::Map(fields), .. }) => Some(fields),
            Ok(node) if node.is_null() => Some(Vec::new()),
            Err(wrong) if self.lines(&head).all(|(_, line)| split_field_line(line).is_none()) => {
                self.report(Severity::Error, &wrong.range, format!("the front matter is no YAML: {}", wrong.message));
                None
            }
            Err(_) => Some(self.read_fields_separately(head)),
            Ok(other) => {
                let message = format!("the front matter should be fields, not {}", other.describe());
                let wrong = self.source.diagnose(Severity::Error, other.range.start, other.range.end, message);
                self.diagnostics.push(wrong.expected("expected lines such as `name: …`"));
                None
            }
        }
    }

    /// Each field by itself, so that one that is no YAML spoils no other; it is taken as the text it is.
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
            Ok(node) => yaml::YamlError { range: node.range, message: "not one field".to_owned() },
            Err(wrong) => wrong,
        };
        let written = &self.text[range.clone()];
        let (key, _) = split_field_line(written)?;
        let message = format!("`{key}` is no valid YAML ({}), so it is taken as it stands", wrong.message);
        let wrong = self.source.diagnose(Severity::Warning, wrong.range.start, wrong.range.end, message);
        self.diagnostics.push(wrong.help("put the value in quotes"));
        let key_range = range.start..range.start + key.len();
        let value = &self.text[key_range.end + 1..range.end];
        let start = key_range.end + 1 + value.len() - value.trim_start().len();
        let kind = YamlNodeKind::Text(unfold(value));
        let value = YamlNode { kind, range: start..start + value.trim().len() };
        Some(FrontMatterField { key: key.to_owned(), key_range, value })
    }

    /// Of two fields with one name the last counts, as in settings, and that is said.
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

/// The name and the rest of a line that starts a field of the head.
fn split_field_line(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let starts = !key.is_empty() && key.chars().all(is_name) && rest.starts_with(char::is_whitespace);
    starts.then_some((key, rest))
}

/// Lines as one, without the mark of a block and without quotes around it all.
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
