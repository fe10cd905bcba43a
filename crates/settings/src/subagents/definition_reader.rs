//! Parses one definition file into an agent, field by field, so that a bad field does not affect the others. Problems
//! are reported with positions. An agent is left out if it has no front matter, no valid name or no description, or if
//! it is remote.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText, tool_help};

use serde_json::{Map, Value};

use super::agent_servers::to_settings_entry;
use super::tool_list::{ToolEntryProblem, parse_patterns};
use super::{DEFAULT_AGENT_TIMEOUT, DEFAULT_MAX_TURNS, SubAgentDefinition, ToolList};
use crate::front_matter::{self, FrontMatter, FrontMatterField, YamlNode, YamlNodeKind};
use crate::mcp;

/// Limits for names and descriptions.
const MAX_AGENT_NAME_BYTES: usize = 64;
const MAX_AGENT_DESCRIPTION_BYTES: usize = 4096;
/// Longest timeout of an agent: one day.
const MAX_TIMEOUT_MINUTES: u64 = 24 * 60;
pub(super) const TEMPERATURE_RANGE: RangeInclusive<f64> = 0.0..=2.0;

/// Known fields, under all their names.
const KNOWN_FIELDS: &[&str] = &[
    "kind",
    "name",
    "description",
    "display_name",
    "tools",
    "disallowedTools",
    "disallowed_tools",
    "model",
    "temperature",
    "max_turns",
    "maxTurns",
    "timeout_mins",
    "mcp_servers",
    "mcpServers",
    // Colour of the agent in another program's user interface.
    "color",
];

/// Parses a definition; `None` if it is not usable.
pub(super) fn parse_definition(
    source: &Source,
    path: &Path,
    text: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<SubAgentDefinition> {
    let place = SourceText::new(path, text);
    let front = front_matter::parse_front_matter(text, &place, diagnostics)?;
    DefinitionReader { source_text: place, front, diagnostics }.read_definition(source, path)
}

/// Returns a duration of so many minutes, at most `MAX_TIMEOUT_MINUTES`.
pub(super) fn clamped_minutes(count: u64) -> Duration {
    Duration::from_secs(count.min(MAX_TIMEOUT_MINUTES) * 60)
}

/// Returns the model that a definition names; `None` for the session's model.
pub(super) fn model_override(name: &str) -> Option<String> {
    Some(name.trim()).filter(|name| !matches!(*name, "" | "inherit")).map(str::to_owned)
}

/// Result for an agent whose list of forbidden tools cannot be read.
const NO_TOOLS_MESSAGE: &str = "the agent has no tools";

struct DefinitionReader<'a> {
    source_text: SourceText<'a>,
    front: FrontMatter<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl DefinitionReader<'_> {
    fn read_definition(mut self, source: &Source, path: &Path) -> Option<SubAgentDefinition> {
        self.report_unknown_fields();
        let named_servers = self.servers(source);
        if !self.is_local() {
            return None;
        }
        // Both are read, so that the problems of both are reported.
        let (name, description) = (self.name(), self.description());
        let (name, description) = (name?, description?);
        let prompt = self.front.body.trim().to_owned();
        if prompt.is_empty() {
            let text = "this agent has no prompt: nothing follows its front matter".to_owned();
            self.diagnostics.push(Diagnostic::about_file(Severity::Warning, path, text));
        }
        Some(SubAgentDefinition {
            display_name: self.text("display_name"),
            tools: self.tools(),
            model: self.model(),
            temperature: self.temperature(),
            max_turns: self
                .count(&["max_turns", "maxTurns"])
                .map_or(DEFAULT_MAX_TURNS, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            timeout: self.count(&["timeout_mins"]).map_or(DEFAULT_AGENT_TIMEOUT, clamped_minutes),
            named_servers,
            servers: Vec::new(),
            name,
            description,
            prompt,
            enabled: true,
            source: source.clone(),
            path: path.to_owned(),
        })
    }

    fn field(&self, names: &[&str]) -> Option<FrontMatterField> {
        let field = names.iter().find_map(|name| self.front.get(name))?;
        (!field.value.is_null()).then(|| field.clone())
    }

    fn report(&mut self, severity: Severity, node: &YamlNode, text: String) -> &mut Diagnostic {
        self.diagnostics.push(self.source_text.diagnose(severity, node.range.start, node.range.end, text));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Reports a field of the wrong type, which counts as missing.
    fn report_wrong_type(&mut self, field: &FrontMatterField, expected: &str, instead: &str) {
        let found = match &field.value.kind {
            YamlNodeKind::Plain(text) if text.len() < 40 => text.clone(),
            _ => field.value.describe().to_owned(),
        };
        let text = format!("`{}` should be {expected}, not {found}; {instead}", field.key);
        self.report(Severity::Error, &field.value, text).expected = Some(format!("expected {expected}"));
    }

    /// Reports unknown fields: each one that is close to a known field by itself, all others, which may belong to
    /// other programs, in one diagnostic.
    fn report_unknown_fields(&mut self) {
        let unknown: Vec<FrontMatterField> =
            self.front.fields.iter().filter(|field| !KNOWN_FIELDS.contains(&field.key.as_str())).cloned().collect();
        let near = |field: &FrontMatterField| {
            KNOWN_FIELDS.iter().find(|known| strsim::damerau_levenshtein(known, &field.key) <= 2)
        };
        for field in &unknown {
            let Some(near) = near(field) else { continue };
            let text = format!("`{}` is not a known field; it is ignored", field.key);
            let wrong = self.source_text.diagnose(Severity::Warning, field.key_range.start, field.key_range.end, text);
            self.diagnostics.push(wrong.help(format!("did you mean `{near}`?")));
        }
        let others: Vec<&FrontMatterField> = unknown.iter().filter(|field| near(field).is_none()).collect();
        let names: Vec<String> = others.iter().map(|field| format!("`{}`", field.key)).collect();
        let text = match (names.as_slice(), others.first()) {
            ([one], _) => format!("{one} is not a known field; it is ignored"),
            ([rest @ .., last], Some(_)) => {
                format!("{} and {last} are not known fields; they are ignored", rest.join(", "))
            }
            _ => return,
        };
        let range = others[0].key_range.clone();
        self.diagnostics.push(self.source_text.diagnose(Severity::Warning, range.start, range.end, text));
    }

    /// Whether the agent runs locally. An unknown kind counts as local; only remote agents are not supported.
    fn is_local(&mut self) -> bool {
        let Some(field) = self.field(&["kind"]) else { return true };
        let text = match field.value.text().map(str::to_lowercase).as_deref() {
            Some("local") => return true,
            Some("remote" | "a2a") => {
                let text = "this agent is left out: remote agents are not supported".to_owned();
                self.report(Severity::Warning, &field.value, text);
                return false;
            }
            Some(word) => format!("`{word}` is not a known kind of agent; it counts as `local`"),
            None => format!("`kind` should be `local`, not {}; it counts as that", field.value.describe()),
        };
        self.report(Severity::Warning, &field.value, text).help = Some("write `kind: local`, or nothing".to_owned());
        true
    }

    fn name(&mut self) -> Option<String> {
        let field = self.required("name")?;
        let name = field.value.text().unwrap_or_default();
        let slug = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "-_".contains(char);
        if !name.is_empty() && name.len() <= MAX_AGENT_NAME_BYTES && name.chars().all(slug) {
            return Some(name.to_owned());
        }
        let expected = format!("at most {MAX_AGENT_NAME_BYTES} lowercase letters, digits, `-` and `_`");
        self.report_wrong_type(&field, &expected, "the agent is left out");
        None
    }

    fn description(&mut self) -> Option<String> {
        let field = self.required("description")?;
        match field.value.text().map(str::trim) {
            Some(text) if !text.is_empty() && text.len() <= MAX_AGENT_DESCRIPTION_BYTES => Some(text.to_owned()),
            _ => {
                let expected = format!("text of at most {MAX_AGENT_DESCRIPTION_BYTES} bytes");
                self.report_wrong_type(&field, &expected, "the agent is left out");
                None
            }
        }
    }

    fn required(&mut self, name: &str) -> Option<FrontMatterField> {
        let found = self.field(&[name]);
        if found.is_none() {
            let text = format!("this agent is left out: it has no `{name}`");
            let wrong = self.source_text.diagnose(Severity::Error, 0, 0, text);
            self.diagnostics.push(wrong.help(format!("add a line `{name}: …` to its front matter")));
        }
        found
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let field = self.field(&[name])?;
        if field.value.text().is_none() {
            self.report_wrong_type(&field, "text", "it is ignored");
        }
        field.value.text().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn model(&mut self) -> Option<String> {
        let name = self.text("model")?;
        if !matches!(name.as_str(), "sonnet" | "opus" | "haiku") {
            return model_override(&name);
        }
        if let Some(field) = self.field(&["model"]) {
            let text = format!("`{name}` is another program's name for a model; the session's model is used");
            self.report(Severity::Warning, &field.value, text);
        }
        None
    }

    fn temperature(&mut self) -> Option<f64> {
        let field = self.field(&["temperature"])?;
        let temperature = field.value.to_json().as_f64().filter(|temperature| TEMPERATURE_RANGE.contains(temperature));
        if temperature.is_none() {
            self.report_wrong_type(&field, "a number from 0 to 2", "it is ignored");
        }
        temperature
    }

    fn count(&mut self, names: &[&str]) -> Option<u64> {
        let field = self.field(names)?;
        let count = field.value.to_json().as_u64().filter(|count| *count > 0);
        if count.is_none() {
            self.report_wrong_type(&field, "a whole number above 0", "the default is used");
        }
        count
    }

    /// Reads the tools. A list that can't be read gives no tools, because its author wanted fewer than all.
    fn tools(&mut self) -> ToolList {
        let mut list = match self.field(&["tools"]) {
            None => ToolList::default(),
            Some(field) => {
                let (names, _) = self.tool_names(&field, "it counts as an empty list", "it is ignored");
                names.iter().for_each(|(name, node)| self.report_unusable_tool(name, node));
                ToolList::from_names(names.iter().map(|(name, _)| name.as_str()))
            }
        };
        for key in ["disallowedTools", "disallowed_tools"] {
            let Some(field) = self.field(&[key]) else { continue };
            let (names, whole) = self.tool_names(&field, NO_TOOLS_MESSAGE, NO_TOOLS_MESSAGE);
            names.iter().for_each(|(name, node)| self.report_ineffective_denial(name, node));
            list = list.without(names.iter().map(|(name, _)| name.as_str()));
            if !whole {
                list = list.intersected_with(ToolList::from_names(std::iter::empty()));
            }
        }
        list
    }

    /// Warns about a forbidden tool that does not exist.
    fn report_ineffective_denial(&mut self, name: &str, node: &YamlNode) {
        let whole = name.split('(').next().unwrap_or(name).trim();
        if let Err(ToolEntryProblem::Unknown) = parse_patterns(whole) {
            let text = format!("`{name}` is not a known tool, so it excludes nothing");
            self.report(Severity::Warning, node, text).help = Some(tool_help(whole));
        }
    }

    /// Reads a list of names, or one line separated by commas, and whether all of it could be read. `no_list` and
    /// `no_entry` are the consequences to report.
    fn tool_names(
        &mut self,
        field: &FrontMatterField,
        no_list: &str,
        no_entry: &str,
    ) -> (Vec<(String, YamlNode)>, bool) {
        let entries = match &field.value.kind {
            YamlNodeKind::Plain(text) | YamlNodeKind::Text(text) => {
                return (split_names(text).map(|name| (name.to_owned(), field.value.clone())).collect(), true);
            }
            YamlNodeKind::List(entries) => entries.clone(),
            YamlNodeKind::Map(_) => {
                self.report_wrong_type(field, "a list of tools", no_list);
                return (Vec::new(), false);
            }
        };
        let (mut names, mut whole) = (Vec::new(), true);
        for entry in entries {
            match entry.text() {
                Some(name) => names.push((name.trim().to_owned(), entry)),
                None => {
                    whole = false;
                    let text = format!("a tool's name should be text, not {}; {no_entry}", entry.describe());
                    self.report(Severity::Error, &entry, text);
                }
            }
        }
        (names, whole)
    }

    fn report_unusable_tool(&mut self, name: &str, node: &YamlNode) {
        let (text, help) = match parse_patterns(name) {
            Ok(_) => return,
            Err(ToolEntryProblem::Unknown) => (format!("`{name}` is not a known tool; it is ignored"), tool_help(name)),
            Err(ToolEntryProblem::Restricted) => (
                format!(
                    "`{name}` allows a part of a tool, but an agent's list allows only whole tools; it is left out"
                ),
                "name the whole tool, and write a policy for what it may do".to_owned(),
            ),
        };
        self.report(Severity::Warning, node, text).help = Some(help);
    }

    /// Reads the servers that only this agent has; problems are reported at their entries.
    fn servers(&mut self, source: &Source) -> Map<String, Value> {
        let Some(field) = self.field(&["mcp_servers", "mcpServers"]) else { return Map::new() };
        let YamlNodeKind::Map(entries) = &field.value.kind else {
            self.report_wrong_type(&field, "servers by their names", "it is ignored");
            return Map::new();
        };
        let mut servers = Map::new();
        for entry in entries {
            let named = to_settings_entry(entry.value.to_json());
            for problem in mcp::entry_problems(&entry.key, &named, source) {
                let fate = if problem.is_fatal { "; the server is left out" } else { "" };
                let text = format!("MCP server `{}`: {}{fate}", entry.key.escape_debug(), problem.text);
                let said = self.report(problem.severity, &entry.value, text);
                (said.expected, said.help) = (problem.expected, problem.help);
            }
            servers.insert(entry.key.clone(), named);
        }
        servers
    }
}

/// Splits names at commas outside of brackets.
fn split_names(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let parts = text.split(move |char: char| {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth <= 0 && char == ','
    });
    parts.map(str::trim).filter(|name| !name.is_empty())
}
