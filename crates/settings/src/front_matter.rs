//! The head of a Markdown file: fields in YAML between two lines of `---`, each with its place, and the body below.
//!
//! YAML is strict and people are not, so a field that is no YAML is taken as the text it is, and that is said. What the
//! fields mean is their readers' work.

mod yaml;

use std::ops::Range;

use hookwright_hooks::{Diagnostic, Severity, SourceText};
use serde_json::Value;

/// A head is a few fields; a larger one is a mistake or an attack.
const LARGEST_HEAD: usize = 64 << 10;

/// A file's head and body.
#[derive(Debug)]
pub struct FrontMatter<'t> {
    /// The fields, in their order; of two with one name only the last is here.
    pub fields: Vec<Field>,
    /// What follows the head.
    pub body: &'t str,
}

/// A field with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub key: String,
    /// Where the name stands, in bytes of the file.
    pub key_range: Range<usize>,
    /// Its value.
    pub value: Node,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub kind: Kind,
    /// Where it stands, in bytes of the file.
    pub range: Range<usize>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Text without quotes, which may stand for a number, a truth or nothing.
    Plain(String),
    /// Text in quotes or in a block.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Fields.
    Map(Vec<Field>),
}

impl FrontMatter<'_> {
    /// The field of this name.
    pub fn get(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Node {
    /// The text as it is written, whatever it may stand for; nothing for nothing, lists and fields.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(text) if is_nothing(text) => None,
            Kind::Plain(text) | Kind::Text(text) => Some(text),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Whether there is no value.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Plain(text) if is_nothing(text))
    }

    /// The value as JSON; of two fields with one name the last counts.
    pub fn json(&self) -> Value {
        match &self.kind {
            Kind::Text(text) => Value::from(text.as_str()),
            Kind::Plain(text) => plain_json(text),
            Kind::List(nodes) => nodes.iter().map(Node::json).collect(),
            Kind::Map(fields) => fields.iter().map(|field| (field.key.clone(), field.value.json())).collect(),
        }
    }

    /// What kind of value it is, for messages.
    pub fn describe(&self) -> &'static str {
        match self.json() {
            Value::Null => "nothing",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "fields",
        }
    }
}

fn is_nothing(plain: &str) -> bool {
    matches!(plain, "" | "~" | "null" | "Null" | "NULL")
}

/// What text without quotes stands for, by YAML's core schema.
fn plain_json(text: &str) -> Value {
    match text {
        text if is_nothing(text) => Value::Null,
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
pub fn read<'t>(text: &'t str, source: &SourceText<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<FrontMatter<'t>> {
    let fence = match Fence::find(text) {
        Ok(fence) => fence,
        Err((at, message)) => {
            let wrong = source.diagnose(Severity::Error, at, at, message);
            diagnostics.push(wrong.help("start the file with a line `---`, the fields, and another line `---`"));
            return None;
        }
    };
    let mut reader = Reader { text, source, diagnostics };
    let fields = reader.fields(fence.head.clone())?;
    Some(FrontMatter { fields: reader.without_doubles(fields), body: &text[fence.body..] })
}

/// Where the head stands between its lines of `---`, and where the body starts.
struct Fence {
    head: Range<usize>,
    body: usize,
}

impl Fence {
    fn find(text: &str) -> Result<Fence, (usize, String)> {
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
        if end - head > LARGEST_HEAD {
            let size = end - head;
            return Err((start, format!("the front matter is too large: {size} bytes, where {LARGEST_HEAD} are read")));
        }
        Ok(Fence { head: head..end, body: end + fence.len() })
    }
}

struct Reader<'a> {
    text: &'a str,
    source: &'a SourceText<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    /// The head as a whole if it is YAML, else field by field.
    fn fields(&mut self, head: Range<usize>) -> Option<Vec<Field>> {
        match yaml::parse(self.text, head.clone()) {
            Ok(Node { kind: Kind::Map(fields), .. }) => Some(fields),
            Ok(node) if node.is_nothing() => Some(Vec::new()),
            Err(wrong) if self.lines(&head).all(|(_, line)| top_level(line).is_none()) => {
                self.say(Severity::Error, &wrong.range, format!("the front matter is no YAML: {}", wrong.message));
                None
            }
            Err(_) => Some(self.one_by_one(head)),
            Ok(other) => {
                let message = format!("the front matter should be fields, not {}", other.describe());
                let wrong = self.source.diagnose(Severity::Error, other.range.start, other.range.end, message);
                self.diagnostics.push(wrong.expected("expected lines such as `name: …`"));
                None
            }
        }
    }

    /// Each field by itself, so that one that is no YAML spoils no other; it is taken as the text it is.
    fn one_by_one(&mut self, head: Range<usize>) -> Vec<Field> {
        let starts: Vec<usize> =
            self.lines(&head).filter(|(_, line)| top_level(line).is_some()).map(|(at, _)| at).collect();
        let ends = starts.iter().skip(1).copied().chain([head.end]);
        let ranges: Vec<_> = starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
        ranges.into_iter().filter_map(|range| self.alone(range)).collect()
    }

    fn alone(&mut self, range: Range<usize>) -> Option<Field> {
        let wrong = match yaml::parse(self.text, range.clone()) {
            Ok(Node { kind: Kind::Map(mut fields), .. }) if fields.len() == 1 => return fields.pop(),
            Ok(node) => yaml::Wrong { range: node.range, message: "not one field".to_owned() },
            Err(wrong) => wrong,
        };
        let written = &self.text[range.clone()];
        let (key, _) = top_level(written)?;
        let message = format!("`{key}` is no valid YAML ({}), so it is taken as it stands", wrong.message);
        let wrong = self.source.diagnose(Severity::Warning, wrong.range.start, wrong.range.end, message);
        self.diagnostics.push(wrong.help("put the value in quotes"));
        let key_range = range.start..range.start + key.len();
        let value = &self.text[key_range.end + 1..range.end];
        let start = key_range.end + 1 + value.len() - value.trim_start().len();
        let kind = Kind::Text(unfolded(value));
        let value = Node { kind, range: start..start + value.trim().len() };
        Some(Field { key: key.to_owned(), key_range, value })
    }

    /// Of two fields with one name the last counts, as in settings, and that is said.
    fn without_doubles(&mut self, fields: Vec<Field>) -> Vec<Field> {
        let mut kept: Vec<Field> = Vec::new();
        for field in fields {
            if let Some(earlier) = kept.iter().position(|known| known.key == field.key) {
                let message = format!("`{}` is here twice; the last one counts", field.key);
                self.say(Severity::Warning, &field.key_range, message);
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

    fn say(&mut self, severity: Severity, range: &Range<usize>, message: String) {
        self.diagnostics.push(self.source.diagnose(severity, range.start, range.end, message));
    }
}

/// The name and the rest of a line that starts a field of the head.
fn top_level(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let starts = !key.is_empty() && key.chars().all(is_name) && rest.starts_with(char::is_whitespace);
    starts.then_some((key, rest))
}

/// Lines as one, without the mark of a block and without quotes around it all.
fn unfolded(value: &str) -> String {
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
