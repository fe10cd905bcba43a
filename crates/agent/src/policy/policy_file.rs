//! Reads policy files into rules with their locations, and diagnostics.
//!
//! A file with an error gives no rules at all; the caller decides what follows from that.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{BoundedRegex, Diagnostic, Severity, SourceText, is_possible_tool, tool_help};
use hookwright_settings::{ApprovalMode, ExtensionOwner, LoadedConfig};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule::{PolicyRule, PolicyTier, RuleDecision};
use super::{Policy, PolicyError};
use crate::services::Interaction;

/// The size above which a policy file is not read.
const MAX_POLICY_FILE_BYTES: u64 = 1024 * 1024;

const RULE_KEYS: [&str; 18] = [
    "toolName",
    "mcpName",
    "argsPattern",
    "commandPrefix",
    "commandRegex",
    "modes",
    "interactive",
    "priority",
    "decision",
    "denyMessage",
    "deny_message",
    "allowRedirection",
    "subagent",
    "toolAnnotations",
    "exactCommand",
    "project",
    "folder",
    "name",
];

/// The result of parsing a policy file.
#[derive(Debug, Default)]
pub struct ParsedPolicy {
    /// The rules of the file; none if it is broken.
    pub rules: Vec<PolicyRule>,
    /// The problems of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the file is broken and all of its rules would only have allowed
    /// something: without it, the policy is stricter.
    only_allows: bool,
}

impl ParsedPolicy {
    /// Returns whether the file has an error.
    pub fn is_broken(&self) -> bool {
        self.first_error().is_some()
    }

    fn first_error(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl Policy {
    pub(crate) fn new(mut rules: Vec<PolicyRule>) -> Policy {
        // The sort is stable: of equal rules the earlier wins.
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.tier, rule.priority)));
        Policy { rules, ..Policy::default() }
    }
}

/// Loads all rules that apply here, and the diagnostics of their files.
///
/// A broken file that the command line does not name leaves a policy that asks for approval of everything, unless the
/// session is headless or the file only had rules that allow.
///
/// # Errors
/// If a file that the command line names is broken, or any other file in a headless session.
pub fn load_policies(
    loaded: &LoadedConfig,
    named: &[PathBuf],
    interaction: Interaction,
) -> Result<(Policy, Vec<Diagnostic>), PolicyError> {
    let mut rules = Vec::new();
    let mut diagnostics = Vec::new();
    for path in named {
        let path = loaded.process_env.cwd.join(path);
        let files = if path.is_dir() { toml_files(&path) } else { Ok(vec![path]) };
        for file in files.map_err(PolicyError::NamedFile)? {
            let found = read_policy_file(&file, PolicyTier::User);
            if let Some(problem) = found.first_error() {
                return Err(PolicyError::NamedFile(Box::new(problem.clone())));
            }
            rules.extend(found.rules);
            diagnostics.extend(found.diagnostics);
        }
    }
    let mut broken = false;
    for (tier, directory) in policy_dirs(loaded) {
        let found = match toml_files(&directory) {
            Ok(files) => files.iter().map(|file| read_policy_file(file, tier)).collect(),
            Err(problem) => vec![ParsedPolicy { diagnostics: vec![*problem], ..ParsedPolicy::default() }],
        };
        for found in found {
            if let Some(problem) = found.first_error().filter(|_| !found.only_allows) {
                if interaction == Interaction::Headless {
                    return Err(PolicyError::ConfiguredFile(Box::new(problem.clone())));
                }
                broken = true;
            }
            rules.extend(found.rules);
            diagnostics.extend(found.diagnostics);
        }
    }
    Ok((Policy { interaction, has_broken_file: broken, ..Policy::new(rules) }, diagnostics))
}

/// Returns the paths to watch for changes of the rules: directories, in which files appear and disappear, and files.
pub(crate) fn watched_policy_paths(loaded: &LoadedConfig, named: &[PathBuf]) -> Vec<PathBuf> {
    let named = named.iter().map(|path| loaded.process_env.cwd.join(path));
    let mut paths: Vec<PathBuf> =
        policy_dirs(loaded).into_iter().map(|(_, directory)| directory).chain(named).collect();
    let files: Vec<PathBuf> =
        paths.iter().filter(|path| path.is_dir()).flat_map(|path| toml_files(path).unwrap_or_default()).collect();
    paths.extend(files);
    paths
}

/// Parses a file as a user's policy.
pub fn check_policy_file(file: &Path) -> ParsedPolicy {
    read_policy_file(file, PolicyTier::User)
}

/// Returns the directories of policies that apply here.
fn policy_dirs(loaded: &LoadedConfig) -> Vec<(PolicyTier, PathBuf)> {
    let paths = &loaded.paths;
    let mut places = vec![
        (PolicyTier::Admin, paths.system_policies()),
        (PolicyTier::User, paths.user_policies()),
        (PolicyTier::Remembered, paths.remembered_policies()),
    ];
    let project = paths.project_policies(&loaded.project.root);
    // In a session in the home directory, these are the user's own rules, not a project's.
    if loaded.project.trust.is_trusted() && project != paths.user_policies() {
        places.push((PolicyTier::Project, project));
    }
    let active = loaded.extensions.iter().filter(|extension| extension.active);
    // An extension of the project can deny or ask like the project's own rules, and allows nothing.
    places.extend(active.map(|extension| match extension.owner {
        ExtensionOwner::User => (PolicyTier::Extension, extension.policies_dir()),
        ExtensionOwner::Project => (PolicyTier::Project, extension.policies_dir()),
    }));
    places
}

/// Returns the `.toml` files in a directory, sorted by name. A missing
/// directory is fine, an unreadable one is an error.
fn toml_files(directory: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    let problem = |error: std::io::Error| {
        Box::new(Diagnostic::about_file(Severity::Error, directory, format!("can't list the policies here: {error}")))
    };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // A parent is not a directory, as for a missing home: then the directory does not exist either.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory && directory.symlink_metadata().is_err() => {
            return Ok(Vec::new());
        }
        other => other.map_err(problem)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(problem)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

pub(super) fn read_policy_file(file: &Path, tier: PolicyTier) -> ParsedPolicy {
    let about = |message: String| ParsedPolicy {
        diagnostics: vec![Diagnostic::about_file(Severity::Error, file, message)],
        ..ParsedPolicy::default()
    };
    let bytes = match hookwright_disk::read(file, MAX_POLICY_FILE_BYTES, hookwright_disk::SymlinkPolicy::Follow) {
        Ok(bytes) => bytes,
        Err(error) => return about(format!("can't read this policy: {error}")),
    };
    match String::from_utf8(bytes) {
        Ok(text) => parse_policy(file, &text, tier),
        Err(_) => about("this policy is not UTF-8".to_owned()),
    }
}

/// Parses the rules in a text; `file` is only used in diagnostics.
pub(crate) fn parse_policy(file: &Path, text: &str, tier: PolicyTier) -> ParsedPolicy {
    let source = SourceText::new(file, text);
    let mut reader = PolicyReader { source: &source, tier, parsed: ParsedPolicy::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.read_document(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            reader.push_diagnostic(Severity::Error, span, format!("this is not valid TOML: {}", error.message()));
        }
    }
    let mut found = reader.parsed;
    if found.is_broken() {
        found.rules.clear();
        found.only_allows = has_only_allow_rules(text);
    }
    if found.only_allows {
        let text = "the file has only allow rules, and none of them is used";
        let errors = found.diagnostics.iter_mut().filter(|one| one.severity == Severity::Error && one.help.is_none());
        errors.for_each(|error| error.help = Some(text.to_owned()));
    }
    found
}

/// Returns whether every rule of a text that is broken says `allow`, as far as its lines show.
///
/// In doubt the result is false.
fn has_only_allow_rules(text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let compact = |line: &str| line.split_whitespace().collect::<String>();
    let rules = lines().filter(|line| compact(line).starts_with("[[rule]]")).count();
    let decisions: Vec<String> = lines().filter(|line| line.contains("decision")).map(compact).collect();
    let is_allow = |line: &String| {
        let rest = line.strip_prefix("decision=\"allow\"").or_else(|| line.strip_prefix("decision='allow'"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    };
    // An escape could spell any key, and other tables could hold anything.
    let is_plain = !text.contains("\\u") && !text.contains("\\U") && !text.contains("\\x");
    let has_other_tables = lines().any(|line| line.starts_with('[') && !compact(line).starts_with("[[rule]]"));
    rules > 0 && rules == decisions.len() && decisions.iter().all(is_allow) && is_plain && !has_other_tables
}

struct PolicyReader<'a> {
    source: &'a SourceText<'a>,
    tier: PolicyTier,
    parsed: ParsedPolicy,
}

type TomlValue<'t> = Spanned<DeValue<'t>>;

impl PolicyReader<'_> {
    fn push_diagnostic(&mut self, severity: Severity, span: std::ops::Range<usize>, message: impl Into<String>) {
        self.parsed.diagnostics.push(self.source.diagnose(severity, span.start, span.end, message));
    }

    fn push_error(&mut self, value: &TomlValue<'_>, message: impl Into<String>) {
        self.push_diagnostic(Severity::Error, value.span(), message);
    }

    fn read_document(&mut self, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("rule", DeValue::Array(rules)) => rules.iter().for_each(|rule| self.read_rule(rule)),
                ("rule", _) => self.push_error(value, "`rule` is written as tables: [[rule]]"),
                ("safety_checker", _) => {
                    self.push_diagnostic(
                        Severity::Warning,
                        key.span(),
                        "safety checkers are not supported; use a hook",
                    );
                }
                (other, _) => {
                    let message = format!("unknown key `{other}`; only [[rule]] counts");
                    self.push_diagnostic(Severity::Warning, key.span(), message);
                }
            }
        }
    }

    fn read_rule(&mut self, value: &TomlValue<'_>) {
        let Some(table) = value.get_ref().as_table() else {
            return self.push_error(value, "`rule` is written as tables: [[rule]]");
        };
        let mut rule = PolicyRule {
            tools: Vec::new(),
            server: None,
            prefixes: Vec::new(),
            exact: None,
            decision: RuleDecision::Deny,
            message: None,
            tier: self.tier,
            priority: 0,
            location: self.source.location(value.span().start),
            args_pattern: None,
            command_pattern: None,
            modes: Vec::new(),
            interactive: None,
            allows_redirection: false,
            agent: None,
            name: None,
            project: None,
            folder: None,
            never_matches: false,
        };
        let mut decided = false;
        for (key, value) in table.iter() {
            decided |= key.get_ref() == "decision";
            self.read_field(&mut rule, key, value);
        }
        let tools = table.iter().find(|(key, _)| key.get_ref() == "toolName").map(|(_, tools)| tools);
        if let Some(tools) = tools.filter(|_| rule.server.is_none()) {
            self.check_tools(tools);
        }
        if !decided {
            self.push_error(value, "this rule has no `decision`: allow, deny or ask_user");
        }
        self.check_empty_prefix(&mut rule, table);
        if !rule.prefixes.is_empty() && rule.command_pattern.is_some() {
            self.push_error(value, "a rule has `commandPrefix` or `commandRegex`, not both");
        }
        if self.tier == PolicyTier::Project && rule.decision == RuleDecision::Allow {
            let message = "a project can only tighten, so this `allow` is ignored";
            return self.push_diagnostic(Severity::Warning, value.span(), message);
        }
        if rule.agent.is_some() && rule.decision == RuleDecision::Allow {
            // A project chooses the file that defines an agent: its own takes
            // precedence over the user's agent of that name.
            let message = "a rule for a `subagent` can deny or ask; this `allow` is ignored, as any project can have an agent of that name";
            return self.push_diagnostic(Severity::Warning, value.span(), message);
        }
        self.parsed.rules.push(rule);
    }

    /// Checks for an empty prefix, which every command begins with.
    ///
    /// It may deny or ask for all commands; a rule that allows all of them must name the tool.
    fn check_empty_prefix(&mut self, rule: &mut PolicyRule, table: &DeTable<'_>) {
        let empty = table.iter().find(|(key, value)| key.get_ref() == "commandPrefix" && is_empty_text(value));
        let Some((_, value)) = empty else { return };
        if rule.decision == RuleDecision::Allow {
            return self.push_error(value, "an empty prefix would allow every command; name the tool to do that");
        }
        if rule.tools.is_empty() {
            rule.tools = vec!["run_shell_command".to_owned()];
        }
    }

    /// Warns about unknown tool names, as a rule about them denies nothing. An MCP server may have any tool.
    fn check_tools(&mut self, tools: &TomlValue<'_>) {
        let names = match tools.get_ref() {
            DeValue::Array(values) => values.iter().collect(),
            _ => vec![tools],
        };
        for (value, name) in names.into_iter().filter_map(|value| Some((value, value.get_ref().as_str()?))) {
            if name.trim().is_empty() || name.contains('*') || is_possible_tool(name) {
                continue;
            }
            let (span, text) = (
                value.span(),
                format!("no tool is called `{name}`, so this rule can apply only to an agent of that name"),
            );
            let problem = self.source.diagnose(Severity::Warning, span.start, span.end, text);
            self.parsed.diagnostics.push(problem.help(tool_help(name)));
        }
    }

    fn read_field(&mut self, rule: &mut PolicyRule, key: &Spanned<std::borrow::Cow<'_, str>>, value: &TomlValue<'_>) {
        match key.get_ref().as_ref() {
            "toolName" => rule.tools = self.read_names(value),
            "commandPrefix" if is_empty_text(value) => {}
            "commandPrefix" => rule.prefixes = self.read_names(value),
            "mcpName" => rule.server = self.read_text(value),
            "denyMessage" | "deny_message" => rule.message = self.read_text(value),
            "argsPattern" => rule.args_pattern = self.read_regex(value),
            "commandRegex" => rule.command_pattern = self.read_regex(value),
            "interactive" => rule.interactive = self.read_bool(value),
            "allowRedirection" => rule.allows_redirection = self.read_bool(value).unwrap_or_default(),
            "priority" => rule.priority = self.read_priority(value),
            "decision" => rule.decision = self.read_decision(value),
            "modes" => rule.modes = self.read_modes(value),
            "exactCommand" => rule.exact = self.read_text(value),
            "project" => rule.project = self.read_absolute_path(value),
            "folder" => rule.folder = self.read_absolute_path(value),
            "name" => rule.name = value.get_ref().as_str().map(str::to_owned),
            "subagent" => {
                rule.agent = self.read_text(value);
                rule.never_matches |= rule.agent.is_none();
            }
            "toolAnnotations" => {
                rule.never_matches = true;
                let message = "no call has the annotations that `toolAnnotations` requires, so this rule never applies"
                    .to_owned();
                self.push_diagnostic(Severity::Warning, key.span(), message);
            }
            unknown => {
                let near = RULE_KEYS.iter().map(|known| (strsim::damerau_levenshtein(unknown, known), *known)).min();
                let mut problem = self.source.diagnose(
                    Severity::Warning,
                    key.span().start,
                    key.span().end,
                    format!("unknown key `{unknown}`; it is ignored"),
                );
                if let Some((_, known)) = near.filter(|(distance, known)| *distance <= known.len() / 3) {
                    problem = problem.help(format!("did you mean `{known}`?"));
                }
                self.parsed.diagnostics.push(problem);
            }
        }
    }

    fn read_text(&mut self, value: &TomlValue<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.push_error(value, format!("expected a text, found {}", value.get_ref().type_str()));
        }
        text
    }

    /// Reads an absolute, normalised path.
    fn read_absolute_path(&mut self, value: &TomlValue<'_>) -> Option<PathBuf> {
        let path = PathBuf::from(self.read_text(value)?);
        let is_whole = path.is_absolute() && hookwright_analysis::paths::normalized(&path) == path;
        if !is_whole {
            self.push_error(value, "expected an absolute path without `..`");
        }
        Some(path).filter(|_| is_whole)
    }

    /// Reads one text or several, none of them empty: an empty one would match everything.
    fn read_names(&mut self, value: &TomlValue<'_>) -> Vec<String> {
        let one =
            |value: &TomlValue<'_>| value.get_ref().as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let names = match value.get_ref() {
            DeValue::Array(values) if !values.is_empty() => values.iter().map(one).collect::<Option<Vec<_>>>(),
            _ => one(value).map(|name| vec![name]),
        };
        if names.is_none() {
            self.push_error(value, "expected a text or an array of texts, none of them empty");
        }
        names.unwrap_or_default()
    }

    fn read_regex(&mut self, value: &TomlValue<'_>) -> Option<Arc<BoundedRegex>> {
        let text = self.read_text(value)?;
        let pattern = BoundedRegex::new(&text);
        let pattern =
            pattern.map_err(|error| self.push_error(value, format!("this pattern can't be used: {error}"))).ok()?;
        if pattern.may_exceed_budget() {
            let message = "on a long text this pattern takes too long; there a deny or an ask counts as matching, an allow does not";
            self.push_diagnostic(Severity::Warning, value.span(), message);
        }
        Some(Arc::new(pattern))
    }

    fn read_bool(&mut self, value: &TomlValue<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.push_error(value, format!("expected true or false, found {}", value.get_ref().type_str()));
        }
        found
    }

    fn read_priority(&mut self, value: &TomlValue<'_>) -> u16 {
        let number = value.get_ref().as_integer().and_then(|int| u16::from_str_radix(int.as_str(), int.radix()).ok());
        number.filter(|number| *number <= 999).unwrap_or_else(|| {
            self.push_error(value, "a priority is a whole number from 0 to 999");
            0
        })
    }

    fn read_decision(&mut self, value: &TomlValue<'_>) -> RuleDecision {
        match value.get_ref().as_str() {
            Some("allow") => RuleDecision::Allow,
            Some("ask_user") => RuleDecision::AskUser,
            Some("deny") => RuleDecision::Deny,
            _ => {
                self.push_error(value, "a decision is \"allow\", \"deny\" or \"ask_user\"");
                RuleDecision::Deny
            }
        }
    }

    fn read_modes(&mut self, value: &TomlValue<'_>) -> Vec<ApprovalMode> {
        let mode = |value: &TomlValue<'_>| {
            Some(match value.get_ref().as_str()? {
                "default" => ApprovalMode::Default,
                "autoEdit" | "auto_edit" => ApprovalMode::AutoEdit,
                "plan" => ApprovalMode::Plan,
                "yolo" => ApprovalMode::Yolo,
                _ => return None,
            })
        };
        let modes = value.get_ref().as_array().and_then(|values| values.iter().map(mode).collect::<Option<Vec<_>>>());
        if modes.is_none() {
            self.push_error(value, "expected an array of modes: default, autoEdit, plan, yolo");
        }
        modes.unwrap_or_default()
    }
}

fn is_empty_text(value: &TomlValue<'_>) -> bool {
    value.get_ref().as_str().is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
mod tests;
