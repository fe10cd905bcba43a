//! Rules that the user stores permanently: which ones an approval request offers, how
//! they are stored, and how they are removed.
//!
//! The rules have the lowest tier, apply in their project only, and have a file of their own. Only rules that would let
//! the call in question run are offered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use hookwright_analysis::command_parts::parts;
use hookwright_settings::edit::{EditError, rewrite_private};
use hookwright_tools::ToolKind;

use super::policy_file::parse_policy;
use super::rule::{PolicyRule, PolicyTier};
use crate::approval::{ApprovalSubject, session_grant_scope, shell_command_arg};
use crate::skills::ACTIVATE_SKILL;

/// The first line of the file.
const FILE_HEADER: &str =
    "# What you have allowed for good, project by project. /permissions lists it and takes it back.\n";
/// The maximum number of command prefixes in one offer.
const MAX_OFFERED_PREFIXES: usize = 5;

/// The file of the remembered rules, and the project that they apply to.
#[derive(Clone, Debug)]
pub(crate) struct RememberedRules {
    pub(crate) project: PathBuf,
    pub(crate) file: PathBuf,
    /// The version of the file when this session last wrote it.
    last_written: Arc<Mutex<Option<FileVersion>>>,
}

/// The modification time and size of a file.
type FileVersion = (SystemTime, u64);

/// A rule that the user may store.
#[derive(Clone, Debug)]
pub(crate) struct RuleOffer {
    /// The description of what the rule allows.
    pub(crate) description: String,
    toml_text: String,
    pub(crate) rules: Vec<PolicyRule>,
}

impl RememberedRules {
    pub(crate) fn new(project: PathBuf, file: PathBuf) -> Self {
        RememberedRules { project, file, last_written: Arc::default() }
    }

    /// Returns whether a path is the file or its folder, and this session was the last to write the file.
    pub(crate) fn is_unchanged_by_others(&self, path: &Path) -> bool {
        let is_it = path == self.file || Some(path) == self.file.parent();
        let left = *self.last_written.lock().unwrap_or_else(PoisonError::into_inner);
        is_it && left.is_some() && left == self.file_version()
    }

    fn file_version(&self) -> Option<FileVersion> {
        let found = self.file.metadata().ok()?;
        Some((found.modified().ok()?, found.len()))
    }

    /// Rewrites the file.
    fn rewrite_file(&self, change: impl FnOnce(&str) -> Result<String, EditError>) -> Result<bool, EditError> {
        let done = rewrite_private(&self.file, change)?;
        *self.last_written.lock().unwrap_or_else(PoisonError::into_inner) = self.file_version();
        Ok(done)
    }

    /// Returns the rules that may cover a call, from the narrowest to the widest; the caller checks whether they do.
    pub(crate) fn offers_for(&self, call: &ApprovalSubject<'_>, file: Option<&Path>) -> Vec<RuleOffer> {
        // A project path that is not Unicode cannot be named in a rule.
        if self.project.to_str().is_none() {
            return Vec::new();
        }
        if let Some(command) = shell_command_arg(call.tool, call.args) {
            return self.command_offers(call.tool, command);
        }
        if let Some(server) = call.server {
            let fields = [("mcpName", toml_string(&server.server)), ("toolName", toml_string(&server.tool))];
            let words = format!("{} of MCP server {}", server.tool, server.server);
            return self.build_offer(words, &fields).into_iter().collect();
        }
        match call.kind {
            ToolKind::Edit => self.edit_offers(call.tool, file),
            _ if call.tool == ACTIVATE_SKILL => Vec::new(),
            _ => self
                .build_offer(format!("{}, whatever it is given", call.tool), &[("toolName", toml_string(call.tool))])
                .into_iter()
                .collect(),
        }
    }

    fn command_offers(&self, tool: &str, command: &str) -> Vec<RuleOffer> {
        let found = parts(command);
        let mut prefixes: Vec<String> = Vec::new();
        for part in &found.commands {
            match session_grant_scope(&part.text) {
                Some(prefix) if prefixes.contains(&prefix) => {}
                Some(prefix) => prefixes.push(prefix),
                None => {
                    prefixes.clear();
                    break;
                }
            }
        }
        let tool = ("toolName", toml_string(tool));
        let offer = match prefixes.as_slice() {
            [] if !found.commands.is_empty() => {
                let fields = [tool, ("exactCommand", toml_string(command)), ("allowRedirection", "true".to_owned())];
                self.build_offer(format!("exactly `{command}`"), &fields)
            }
            [] => None,
            several if several.len() > MAX_OFFERED_PREFIXES => None,
            several => {
                let list = several.iter().map(|prefix| toml_string(prefix)).collect::<Vec<_>>().join(", ");
                let words = several.iter().map(|prefix| format!("`{prefix}`")).collect::<Vec<_>>().join(", ");
                self.build_offer(
                    format!("commands that begin with {words}"),
                    &[tool, ("commandPrefix", format!("[{list}]"))],
                )
            }
        };
        offer.into_iter().collect()
    }

    /// Returns offers for edits: in the file's folder, and in the whole project.
    fn edit_offers(&self, tool: &str, file: Option<&Path>) -> Vec<RuleOffer> {
        let Some(file) = file.filter(|file| file.starts_with(&self.project)) else { return Vec::new() };
        let tools = if matches!(tool, "write_file" | "replace") {
            "[\"write_file\", \"replace\"]".to_owned()
        } else {
            return Vec::new();
        };
        let folder = file.parent().filter(|folder| *folder != self.project && folder.starts_with(&self.project));
        let relative = |folder: &Path| {
            folder.strip_prefix(&self.project).map(|rest| rest.display().to_string()).unwrap_or_default()
        };
        let narrow = folder.and_then(|folder| {
            let fields = [("toolName", tools.clone()), ("folder", toml_string(folder.to_str()?))];
            self.build_offer(format!("edits in {}/", relative(folder)), &fields)
        });
        let whole = self.project.to_str().and_then(|project| {
            self.build_offer(
                "edits in this project".to_owned(),
                &[("toolName", tools.clone()), ("folder", toml_string(project))],
            )
        });
        [narrow, whole].into_iter().flatten().collect()
    }

    /// Builds a rule in the form of the file, if it parses.
    fn build_offer(&self, words: String, fields: &[(&str, String)]) -> Option<RuleOffer> {
        let fields: String = fields.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        let project = toml_string(self.project.to_str()?);
        // Plan mode never allows changes, and yolo mode needs no approval.
        let text = format!(
            "\n[[rule]]\nname = {}\nproject = {project}\n{fields}modes = [\"default\", \"autoEdit\"]\ndecision = \"allow\"\n",
            toml_string(&words)
        );
        let found = parse_policy(&self.file, &text, PolicyTier::Remembered);
        let is_whole = !found.is_broken() && found.rules.len() == 1;
        is_whole.then_some(RuleOffer { description: words, toml_text: text, rules: found.rules })
    }

    /// Appends a rule to the file. A broken file is left alone.
    pub(crate) fn append_offer(&self, offer: &RuleOffer) -> Result<bool, EditError> {
        self.rewrite_file(|old| {
            parse_valid_rules(&self.file, old)?;
            if old.contains(&offer.toml_text) {
                return Ok(old.to_owned());
            }
            let head = if old.is_empty() { FILE_HEADER } else { "" };
            let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
            Ok(format!("{head}{old}{gap}{}", offer.toml_text))
        })
    }

    /// Returns the stored rules, in the order of the file.
    pub(crate) fn rules(&self) -> Result<Vec<PolicyRule>, EditError> {
        let text = hookwright_disk::read_text(&self.file, 1 << 20).unwrap_or_default();
        parse_valid_rules(&self.file, &text)
    }

    /// Removes the rule at an index, or all rules.
    pub(crate) fn remove_rules(&self, which: Option<usize>) -> Result<bool, EditError> {
        self.rewrite_file(|old| {
            let rules = parse_valid_rules(&self.file, old)?;
            let Some(at) = which else { return Ok(String::new()) };
            let begins = |rule: &PolicyRule| rule.location.line.saturating_sub(1);
            let Some(first) = rules.get(at).map(begins) else { return Ok(old.to_owned()) };
            let end = rules.get(at + 1).map_or(usize::MAX, begins);
            let kept = old.split_inclusive('\n').enumerate().filter(|(line, _)| *line < first || *line >= end);
            let new: String = kept.map(|(_, line)| line).collect();
            // Rules that the user wrote may have another layout; then nothing is removed.
            match parse_valid_rules(&self.file, &new) {
                Ok(left) if left.len() + 1 == rules.len() => Ok(new),
                _ => Err(EditError::Value("this rule, which is not written as this program does it".to_owned())),
            }
        })
    }
}

/// Parses the rules of a text; an error if any diagnostic is one.
fn parse_valid_rules(file: &Path, text: &str) -> Result<Vec<PolicyRule>, EditError> {
    let mut found = parse_policy(file, text, PolicyTier::Remembered);
    let wrong = found.diagnostics.iter().position(|one| one.severity == hookwright_hooks::Severity::Error);
    match wrong {
        Some(at) => Err(EditError::Broken(Box::new(found.diagnostics.swap_remove(at)))),
        None => Ok(found.rules),
    }
}

/// Returns a text as a TOML string.
fn toml_string(text: &str) -> String {
    // JSON's string syntax is valid TOML but for one character.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    fn remembered_rules(folder: &Path) -> RememberedRules {
        RememberedRules::new(PathBuf::from("/p \"quoted\" \u{7f}\\x"), folder.join("remembered.toml"))
    }

    fn command_rule_offers(memory: &RememberedRules, command: &str) -> Vec<RuleOffer> {
        let args: Map<String, serde_json::Value> = json!({ "command": command }).as_object().unwrap().clone();
        memory.offers_for(&ApprovalSubject::new("run_shell_command", ToolKind::Execute, &args), None)
    }

    #[test]
    fn offered_rule_round_trips_and_allows_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let memory = remembered_rules(folder.path());
        for command in [
            "touch \"a]]\n[[rule]]\ndecision = 'allow'\n\"",
            "touch '\u{7f}\u{1b}[31m\"\\'",
            "touch a.*",
            "touch (.|$)",
            "git log\"\"",
        ] {
            for offer in command_rule_offers(&memory, command) {
                assert_eq!(offer.rules.len(), 1, "{command}");
                let rule = &offer.rules[0];
                assert_eq!(rule.project.as_deref(), Some(memory.project.as_path()));
                assert!(rule.exact.is_some() || !rule.prefixes.is_empty(), "{command}: never the whole tool");
            }
        }
        assert!(command_rule_offers(&memory, "").iter().all(|offer| offer.rules[0].exact.is_some()));
    }

    #[test]
    fn rules_are_added_and_removed_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let memory = remembered_rules(folder.path());
        for command in ["git log -1", "git status", "git log -2", "ls"] {
            memory.append_offer(&command_rule_offers(&memory, command)[0]).unwrap();
        }
        let names = || memory.rules().unwrap().iter().map(|rule| rule.prefixes.join(" ")).collect::<Vec<_>>();
        assert_eq!(names(), ["git log", "git status", "ls"], "the same is written once");
        memory.remove_rules(Some(1)).unwrap();
        assert_eq!(names(), ["git log", "ls"]);
        memory.remove_rules(Some(7)).unwrap();
        assert_eq!(names().len(), 2);
        let inline =
            "rule = [{ toolName = \"glob\", decision = \"allow\" }, { toolName = \"ls\", decision = \"allow\" }]\n";
        std::fs::write(&memory.file, inline).unwrap();
        assert!(memory.remove_rules(Some(0)).is_err(), "nothing is taken away by mistake");
        assert_eq!(hookwright_testkit::fs::read_to_string(&memory.file).unwrap(), inline);
        memory.remove_rules(None).unwrap();
        assert_eq!(names(), Vec::<String>::new());
        std::fs::write(&memory.file, "[[rule").unwrap();
        assert!(memory.rules().is_err() && memory.append_offer(&command_rule_offers(&memory, "ls")[0]).is_err());
    }
}
