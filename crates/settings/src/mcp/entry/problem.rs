//! Problems of an entry, and their diagnostics with positions in the file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::Value;

use super::read_entry;
use crate::json::{last_property, to_value, value_kind};

/// A problem of an entry.
pub(crate) struct EntryProblem {
    /// Keys from the entry to the wrong value; empty for the entry itself.
    pub(super) path: Vec<String>,
    /// Whether the field's name is wrong, and not its value.
    pub(super) on_name: bool,
    pub(crate) severity: Severity,
    pub(crate) text: String,
    pub(crate) expected: Option<String>,
    pub(crate) help: Option<String>,
    /// Whether the entry can't be used because of it.
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

/// Returns diagnostics for the entries of a file, each with its position. `values` are the nodes' values with
/// variables filled in.
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
            let text = format!("`{name}` appears twice in mcpServers; only the last one counts");
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

/// Returns the diagnostic for `mcpServers` that is no object; for a list it shows the object to write.
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

/// Formats an element of such a list as it should be written, without the values of variables and headers.
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

/// Returns the position of a problem.
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
