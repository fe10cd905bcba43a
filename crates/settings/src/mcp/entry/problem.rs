//! Something that is wrong with an entry, and where: told with its place in the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::Value;

use super::read_entry;
use crate::json::{last_property, to_value, value_kind};

/// Something that is wrong with an entry.
pub(crate) struct EntryProblem {
    /// The way to it inside of the entry; the entry itself if empty.
    pub(super) path: Vec<String>,
    /// Whether the field's name is meant rather than its value.
    pub(super) on_name: bool,
    pub(crate) severity: Severity,
    pub(crate) text: String,
    pub(crate) expected: Option<String>,
    pub(crate) help: Option<String>,
    /// Whether the entry does not count for it.
    pub(crate) is_fatal: bool,
}

impl EntryProblem {
    fn new(at: &[&str], severity: Severity, text: String) -> Self {
        let at = at.iter().map(|step| (*step).to_owned()).collect();
        EntryProblem { path: at, on_name: false, severity, text, expected: None, help: None, is_fatal: false }
    }

    pub(super) fn error(at: &[&str], text: String) -> Self {
        EntryProblem { is_fatal: true, ..EntryProblem::new(at, Severity::Error, text) }
    }

    pub(super) fn warning(at: &[&str], text: String) -> Self {
        EntryProblem::new(at, Severity::Warning, text)
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        EntryProblem { help: Some(help.into()), ..self }
    }

    pub(super) fn expected(self, expected: impl Into<String>) -> Self {
        EntryProblem { expected: Some(expected.into()), ..self }
    }
}

/// What is wrong with the entries of a file, each with its place. The values are the nodes', with variables filled in.
pub(crate) fn diagnose_entries(
    node: &Node<'_>,
    values: &Value,
    origin: &Source,
    source: &SourceText<'_>,
) -> Vec<Diagnostic> {
    let object = match node {
        Node::Object(object) => object,
        Node::NullKeyword(_) => return Vec::new(),
        other => return vec![not_an_object(other, source)],
    };
    let counts: HashMap<&str, usize> =
        object.properties.iter().map(|one| (one.name.as_str(), one.range.start)).collect();
    let mut found = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        if counts.get(name) != Some(&property.range.start) {
            let range = property.name.range();
            let text = format!("`{name}` stands twice in mcpServers; only the last one counts");
            found.push(source.diagnose(Severity::Error, range.start, range.end, text).help("merge the two"));
            continue;
        }
        let mut problems = Vec::new();
        read_entry(name, values.get(name).unwrap_or(&Value::Null), origin, Path::new(""), &mut problems);
        for problem in problems {
            let range = if problem.path.is_empty() && problem.on_name {
                property.name.range()
            } else {
                problem_range(&property.value, &problem)
            };
            let fate = if problem.is_fatal { "; the server is left out" } else { "" };
            let text = format!("MCP server `{}`: {}{fate}", name.escape_debug(), problem.text);
            let mut wrong = source.diagnose(problem.severity, range.start, range.end, text);
            (wrong.expected, wrong.help) = (problem.expected, problem.help);
            found.push(wrong);
        }
    }
    found
}

/// The list that some write, with what they mean.
fn not_an_object(node: &Node<'_>, source: &SourceText<'_>) -> Diagnostic {
    let range = node.range();
    let text = format!("`mcpServers` should be an object, not {}; it is ignored", value_kind(node));
    let wrong = source.diagnose(Severity::Error, range.start, range.end, text);
    let wrong = wrong.expected("expected servers by name: { \"NAME\": { \"command\": … } }");
    let Node::Array(list) = node else { return wrong };
    let named: Vec<String> =
        list.elements.iter().filter_map(Node::as_object).filter_map(suggested_entry).take(3).collect();
    if named.is_empty() {
        return wrong;
    }
    let more = if list.elements.len() > named.len() { ", …" } else { "" };
    wrong.help(format!("write \"mcpServers\": {{ {}{more} }}", named.join(", ")))
}

/// An element of such a list as it should stand; the values of variables and headers need not be repeated.
fn suggested_entry(entry: &Object<'_>) -> Option<String> {
    let name = last_property(entry, "name")?.value.as_string_lit()?;
    let fields = entry.properties.iter().filter(|one| one.name.as_str() != "name").map(|one| {
        let value = match &one.value {
            Node::Object(_) => "{ … }".to_owned(),
            other => to_value(other, &|text| Cow::Borrowed(text)).to_string(),
        };
        format!("{}: {value}", Value::from(one.name.as_str()))
    });
    Some(format!("{}: {{ {} }}", Value::from(name.value.as_ref()), fields.collect::<Vec<_>>().join(", ")))
}

/// Where a problem is.
fn problem_range(entry: &Node<'_>, problem: &EntryProblem) -> Range {
    let mut node = entry;
    for (depth, step) in problem.path.iter().enumerate() {
        let next = match node {
            Node::Object(object) => {
                last_property(object, step).map(|property| (&property.value, property.name.range()))
            }
            Node::Array(array) => {
                step.parse::<usize>().ok().and_then(|at| array.elements.get(at)).map(|one| (one, one.range()))
            }
            _ => None,
        };
        let Some((value, name)) = next else { break };
        if problem.on_name && depth + 1 == problem.path.len() {
            return name;
        }
        node = value;
    }
    node.range()
}
