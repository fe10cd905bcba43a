//! Policy files on disk → rules with file, line and column, and everything that is wrong with them. A file with an error
//! gives no rules at all; what follows from that is decided by whoever loads it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{Diagnostic, Search, Severity, SourceText, is_possible_tool, tool_help};
use hookwright_settings::{ApprovalMode, ExtensionOwner, Loaded};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rule::{Decision, Rule, Tier};
use super::{Policy, PolicyError};
use crate::services::Interaction;

/// Larger files are no policies.
const LARGEST: u64 = 1024 * 1024;

const KEYS: [&str; 18] = [
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

/// What a file comes to.
#[derive(Debug, Default)]
pub struct PolicyFiles {
    /// Its rules; none if it is broken.
    pub rules: Vec<Rule>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether it is broken and all of its rules would only have allowed something: without it, everything is stricter.
    dispensable: bool,
}

impl PolicyFiles {
    /// Whether something in it is an error.
    pub fn is_broken(&self) -> bool {
        self.first_error().is_some()
    }

    fn first_error(&self) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

impl Policy {
    pub(crate) fn new(mut rules: Vec<Rule>) -> Policy {
        // Stable: of equals the earlier wins.
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.tier, rule.priority)));
        Policy { rules, ..Policy::default() }
    }
}

/// All rules that count here, and what is to be said about their files. A broken one that nobody named on the command
/// line leaves a policy that asks for everything, unless nobody is there to ask.
///
/// # Errors
/// If a named file is broken, or any without somebody to ask.
pub fn load_policies(
    loaded: &Loaded,
    named: &[PathBuf],
    interaction: Interaction,
) -> Result<(Policy, Vec<Diagnostic>), PolicyError> {
    let mut rules = Vec::new();
    let mut diagnostics = Vec::new();
    for path in named {
        let path = loaded.world.cwd.join(path);
        let files = if path.is_dir() { toml_files(&path) } else { Ok(vec![path]) };
        for file in files.map_err(PolicyError::Named)? {
            let found = read(&file, Tier::User);
            if let Some(problem) = found.first_error() {
                return Err(PolicyError::Named(Box::new(problem.clone())));
            }
            rules.extend(found.rules);
            diagnostics.extend(found.diagnostics);
        }
    }
    let mut broken = false;
    for (tier, directory) in places(loaded) {
        let found = match toml_files(&directory) {
            Ok(files) => files.iter().map(|file| read(file, tier)).collect(),
            Err(problem) => vec![PolicyFiles { diagnostics: vec![*problem], ..PolicyFiles::default() }],
        };
        for found in found {
            if let Some(problem) = found.first_error().filter(|_| !found.dispensable) {
                if interaction == Interaction::Headless {
                    return Err(PolicyError::Broken(Box::new(problem.clone())));
                }
                broken = true;
            }
            rules.extend(found.rules);
            diagnostics.extend(found.diagnostics);
        }
    }
    Ok((Policy { interaction, broken, ..Policy::new(rules) }, diagnostics))
}

/// What to look at to notice that rules have changed: their directories, which say when a file comes or goes, and files.
pub(crate) fn watched(loaded: &Loaded, named: &[PathBuf]) -> Vec<PathBuf> {
    let named = named.iter().map(|path| loaded.world.cwd.join(path));
    let mut paths: Vec<PathBuf> = places(loaded).into_iter().map(|(_, directory)| directory).chain(named).collect();
    let files: Vec<PathBuf> =
        paths.iter().filter(|path| path.is_dir()).flat_map(|path| toml_files(path).unwrap_or_default()).collect();
    paths.extend(files);
    paths
}

/// A file as a user's policy.
pub fn check_policy(file: &Path) -> PolicyFiles {
    read(file, Tier::User)
}

/// The directories that count here.
fn places(loaded: &Loaded) -> Vec<(Tier, PathBuf)> {
    let paths = &loaded.paths;
    let mut places = vec![
        (Tier::Admin, paths.system_policies()),
        (Tier::User, paths.user_policies()),
        (Tier::Remembered, paths.remembered_policies()),
    ];
    let project = paths.project_policies(&loaded.project.root);
    // A session in the home directory: the user's own rules, not a project's.
    if loaded.project.trust.is_trusted() && project != paths.user_policies() {
        places.push((Tier::Project, project));
    }
    let active = loaded.extensions.iter().filter(|extension| extension.active);
    // What comes with the project tightens as the project's own rules do, and loosens nothing.
    places.extend(active.map(|extension| match extension.owner {
        ExtensionOwner::User => (Tier::Extension, extension.policies()),
        ExtensionOwner::Project => (Tier::Project, extension.policies()),
    }));
    places
}

/// The `.toml` files in a directory, by name. That there is no directory is fine; that it can't be read is not.
fn toml_files(directory: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    let problem = |error: std::io::Error| {
        Box::new(Diagnostic::about_file(Severity::Error, directory, format!("can't look for policies here: {error}")))
    };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // Something above it is no directory, as where a home is missing: then it is not there either.
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

pub(super) fn read(file: &Path, tier: Tier) -> PolicyFiles {
    let about = |message: String| PolicyFiles {
        diagnostics: vec![Diagnostic::about_file(Severity::Error, file, message)],
        ..PolicyFiles::default()
    };
    let bytes = match hookwright_disk::read(file, LARGEST, hookwright_disk::Links::Follow) {
        Ok(bytes) => bytes,
        Err(error) => return about(format!("can't read this policy: {error}")),
    };
    match String::from_utf8(bytes) {
        Ok(text) => parse(file, &text, tier),
        Err(_) => about("this policy is not UTF-8".to_owned()),
    }
}

/// The rules in a text; `file` is only what is said of it.
pub(crate) fn parse(file: &Path, text: &str, tier: Tier) -> PolicyFiles {
    let source = SourceText::new(file, text);
    let mut reader = Reader { source: &source, tier, found: PolicyFiles::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.document(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            reader.say(Severity::Error, span, format!("this is no TOML: {}", error.message()));
        }
    }
    let mut found = reader.found;
    if found.is_broken() {
        found.rules.clear();
        found.dispensable = only_allows(text);
    }
    if found.dispensable {
        let text = "its rules only allow, and none of them counts";
        let errors = found.diagnostics.iter_mut().filter(|one| one.severity == Severity::Error && one.help.is_none());
        errors.for_each(|error| error.help = Some(text.to_owned()));
    }
    found
}

/// Whether every rule of a text that does not parse, or has an error, says `allow`, as far as its lines show. In doubt it does
/// not.
fn only_allows(text: &str) -> bool {
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

struct Reader<'a> {
    source: &'a SourceText<'a>,
    tier: Tier,
    found: PolicyFiles,
}

type Value<'t> = Spanned<DeValue<'t>>;

impl Reader<'_> {
    fn say(&mut self, severity: Severity, span: std::ops::Range<usize>, message: impl Into<String>) {
        self.found.diagnostics.push(self.source.diagnose(severity, span.start, span.end, message));
    }

    fn wrong(&mut self, value: &Value<'_>, message: impl Into<String>) {
        self.say(Severity::Error, value.span(), message);
    }

    fn document(&mut self, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("rule", DeValue::Array(rules)) => rules.iter().for_each(|rule| self.rule(rule)),
                ("rule", _) => self.wrong(value, "`rule` is written as tables: [[rule]]"),
                ("safety_checker", _) => {
                    self.say(Severity::Warning, key.span(), "safety checkers are not supported; use a hook");
                }
                (other, _) => {
                    let message = format!("unknown key `{other}`; only [[rule]] counts");
                    self.say(Severity::Warning, key.span(), message);
                }
            }
        }
    }

    fn rule(&mut self, value: &Value<'_>) {
        let Some(table) = value.get_ref().as_table() else {
            return self.wrong(value, "`rule` is written as tables: [[rule]]");
        };
        let mut rule = Rule {
            tools: Vec::new(),
            server: None,
            prefixes: Vec::new(),
            exact: None,
            decision: Decision::Deny,
            message: None,
            tier: self.tier,
            priority: 0,
            place: self.source.place(value.span().start),
            args: None,
            command: None,
            modes: Vec::new(),
            interactive: None,
            allows_redirection: false,
            agent: None,
            name: None,
            project: None,
            folder: None,
            never: false,
        };
        let mut decided = false;
        for (key, value) in table.iter() {
            decided |= key.get_ref() == "decision";
            self.field(&mut rule, key, value);
        }
        let tools = table.iter().find(|(key, _)| key.get_ref() == "toolName").map(|(_, tools)| tools);
        if let Some(tools) = tools.filter(|_| rule.server.is_none()) {
            self.check_tools(tools);
        }
        if !decided {
            self.wrong(value, "this rule has no `decision`: allow, deny or ask_user");
        }
        self.any_command(&mut rule, table);
        if !rule.prefixes.is_empty() && rule.command.is_some() {
            self.wrong(value, "a rule has `commandPrefix` or `commandRegex`, not both");
        }
        if self.tier == Tier::Project && rule.decision == Decision::Allow {
            let message = "a project can only tighten, so this `allow` is ignored";
            return self.say(Severity::Warning, value.span(), message);
        }
        if rule.agent.is_some() && rule.decision == Decision::Allow {
            // Which file defines an agent is up to the project: its own goes before the user's of that name.
            let message = "a rule for a `subagent` can deny or ask; this `allow` is ignored, as any project can have an agent of that name";
            return self.say(Severity::Warning, value.span(), message);
        }
        self.found.rules.push(rule);
    }

    /// Every command begins with nothing. That may forbid all of them; whoever allows all of them names the tool.
    fn any_command(&mut self, rule: &mut Rule, table: &DeTable<'_>) {
        let empty = table.iter().find(|(key, value)| key.get_ref() == "commandPrefix" && is_empty(value));
        let Some((_, value)) = empty else { return };
        if rule.decision == Decision::Allow {
            return self.wrong(value, "an empty prefix would allow every command; name the tool to do that");
        }
        if rule.tools.is_empty() {
            rule.tools = vec!["run_shell_command".to_owned()];
        }
    }

    /// Tools that there are not; a rule about them forbids nothing. An MCP server may have any.
    fn check_tools(&mut self, tools: &Value<'_>) {
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
                format!("no tool is called `{name}`, so this rule applies to an agent of that name, if to any"),
            );
            let problem = self.source.diagnose(Severity::Warning, span.start, span.end, text);
            self.found.diagnostics.push(problem.help(tool_help(name)));
        }
    }

    fn field(&mut self, rule: &mut Rule, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Value<'_>) {
        match key.get_ref().as_ref() {
            "toolName" => rule.tools = self.names(value),
            "commandPrefix" if is_empty(value) => {}
            "commandPrefix" => rule.prefixes = self.names(value),
            "mcpName" => rule.server = self.text(value),
            "denyMessage" | "deny_message" => rule.message = self.text(value),
            "argsPattern" => rule.args = self.regex(value),
            "commandRegex" => rule.command = self.regex(value),
            "interactive" => rule.interactive = self.boolean(value),
            "allowRedirection" => rule.allows_redirection = self.boolean(value).unwrap_or_default(),
            "priority" => rule.priority = self.priority(value),
            "decision" => rule.decision = self.decision(value),
            "modes" => rule.modes = self.modes(value),
            "exactCommand" => rule.exact = self.text(value),
            "project" => rule.project = self.absolute(value),
            "folder" => rule.folder = self.absolute(value),
            "name" => rule.name = value.get_ref().as_str().map(str::to_owned),
            "subagent" => {
                rule.agent = self.text(value);
                rule.never |= rule.agent.is_none();
            }
            "toolAnnotations" => {
                rule.never = true;
                let message = "no call here has what `toolAnnotations` asks for, so this rule never applies".to_owned();
                self.say(Severity::Warning, key.span(), message);
            }
            unknown => {
                let near = KEYS.iter().map(|known| (strsim::damerau_levenshtein(unknown, known), *known)).min();
                let mut problem = self.source.diagnose(
                    Severity::Warning,
                    key.span().start,
                    key.span().end,
                    format!("unknown key `{unknown}`; it is ignored"),
                );
                if let Some((_, known)) = near.filter(|(distance, known)| *distance <= known.len() / 3) {
                    problem = problem.help(format!("did you mean `{known}`?"));
                }
                self.found.diagnostics.push(problem);
            }
        }
    }

    fn text(&mut self, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(value, format!("expected a text, found {}", value.get_ref().type_str()));
        }
        text
    }

    /// A whole path, and nothing that only leads to one.
    fn absolute(&mut self, value: &Value<'_>) -> Option<PathBuf> {
        let path = PathBuf::from(self.text(value)?);
        let is_whole = path.is_absolute() && hookwright_hooks::shell::normalized(&path) == path;
        if !is_whole {
            self.wrong(value, "expected a whole path, from `/` on and without `..`");
        }
        Some(path).filter(|_| is_whole)
    }

    /// One text or several, none of them empty: an empty one would mean everything.
    fn names(&mut self, value: &Value<'_>) -> Vec<String> {
        let one =
            |value: &Value<'_>| value.get_ref().as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let names = match value.get_ref() {
            DeValue::Array(values) if !values.is_empty() => values.iter().map(one).collect::<Option<Vec<_>>>(),
            _ => one(value).map(|name| vec![name]),
        };
        if names.is_none() {
            self.wrong(value, "expected a text or an array of texts, none of them empty");
        }
        names.unwrap_or_default()
    }

    fn regex(&mut self, value: &Value<'_>) -> Option<Arc<Search>> {
        let text = self.text(value)?;
        let pattern = Search::new(&text);
        let pattern =
            pattern.map_err(|error| self.wrong(value, format!("this pattern can't be used: {error}"))).ok()?;
        if pattern.may_take_too_long() {
            let message = "on a long text this pattern takes too long; there a deny or an ask counts as matching, an allow does not";
            self.say(Severity::Warning, value.span(), message);
        }
        Some(Arc::new(pattern))
    }

    fn boolean(&mut self, value: &Value<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong(value, format!("expected true or false, found {}", value.get_ref().type_str()));
        }
        found
    }

    fn priority(&mut self, value: &Value<'_>) -> u16 {
        let number = value.get_ref().as_integer().and_then(|int| u16::from_str_radix(int.as_str(), int.radix()).ok());
        number.filter(|number| *number <= 999).unwrap_or_else(|| {
            self.wrong(value, "a priority is a whole number from 0 to 999");
            0
        })
    }

    fn decision(&mut self, value: &Value<'_>) -> Decision {
        match value.get_ref().as_str() {
            Some("allow") => Decision::Allow,
            Some("ask_user") => Decision::AskUser,
            Some("deny") => Decision::Deny,
            _ => {
                self.wrong(value, "a decision is \"allow\", \"deny\" or \"ask_user\"");
                Decision::Deny
            }
        }
    }

    fn modes(&mut self, value: &Value<'_>) -> Vec<ApprovalMode> {
        let mode = |value: &Value<'_>| {
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
            self.wrong(value, "expected an array of modes: default, autoEdit, plan, yolo");
        }
        modes.unwrap_or_default()
    }
}

fn is_empty(value: &Value<'_>) -> bool {
    value.get_ref().as_str().is_some_and(|text| text.trim().is_empty())
}

#[cfg(test)]
mod tests;
