//! Whether a tool call may run: the approval mode, the lists of tools that may run unasked, and policy files.
//!
//! Decides only; asking the user is `call.rs`, and hooks have had their say before this.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError, RwLock};

use hookwright_hooks::shell::sole_program;
use hookwright_settings::ApprovalMode;
use hookwright_tools::{ToolKind, canonical_name};
use serde_json::{Map, Value};

use crate::policy::{Policy, PolicyDecision};

/// What is to happen with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// It runs.
    Granted,
    /// The user is asked.
    Ask,
    /// It does not run; why.
    Refused(String),
}

/// The session's rules on what runs unasked.
#[derive(Debug)]
pub struct Approvals {
    mode: RwLock<ApprovalMode>,
    /// The modes that the user can step through.
    modes: Vec<ApprovalMode>,
    /// `--allowed-tools` and `tools.allowed`.
    allowed: RwLock<Vec<String>>,
    policy: Policy,
    /// What the user allowed for the session.
    granted: Mutex<HashSet<String>>,
}

impl Approvals {
    /// Rules for a session.
    pub fn new(mode: ApprovalMode, allowed: Vec<String>, policy: Policy) -> Self {
        Approvals {
            mode: RwLock::new(mode),
            modes: ApprovalMode::ALL.to_vec(),
            allowed: RwLock::new(allowed),
            policy,
            granted: Mutex::default(),
        }
    }

    /// The same rules, in which only these modes can be stepped through.
    #[must_use]
    pub fn with_modes(self, modes: Vec<ApprovalMode>) -> Self {
        Approvals { modes, ..self }
    }

    /// The modes that the user can step through.
    pub fn modes(&self) -> &[ApprovalMode] {
        &self.modes
    }

    /// The approval mode now.
    pub fn mode(&self) -> ApprovalMode {
        *self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another approval mode, from the next call on.
    pub fn set_mode(&self, mode: ApprovalMode) {
        *self.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Other tools that run unasked, from the next call on.
    pub fn set_allowed(&self, allowed: Vec<String>) {
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// Lets calls like this one run unasked from now on.
    pub(crate) fn grant(&self, tool: &str, args: &Map<String, Value>) {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).insert(grant_key(tool, args));
    }

    /// The rules' word on a call.
    pub(crate) fn decide(&self, tool: &str, kind: ToolKind, args: &Map<String, Value>) -> Permission {
        match self.policy.decide(tool, args) {
            Some(PolicyDecision::Allow) => return Permission::Granted,
            Some(PolicyDecision::Deny(message)) => {
                return Permission::Refused(message.unwrap_or_else(|| format!("a policy denies {tool}")));
            }
            Some(PolicyDecision::AskUser) => return Permission::Ask,
            None => {}
        }
        let mode = self.mode();
        if kind.is_harmless() {
            return Permission::Granted;
        }
        match mode {
            ApprovalMode::Yolo => return Permission::Granted,
            ApprovalMode::Plan => {
                return Permission::Refused(format!("{tool} changes things, and plan mode only looks"));
            }
            ApprovalMode::AutoEdit if kind == ToolKind::Edit => return Permission::Granted,
            ApprovalMode::AutoEdit | ApprovalMode::Default => {}
        }
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner).contains(&grant_key(tool, args));
        let allowed = self.allowed.read().unwrap_or_else(PoisonError::into_inner);
        let listed = allowed.iter().any(|entry| allows(entry, tool, args));
        if granted || listed { Permission::Granted } else { Permission::Ask }
    }
}

/// What the user's "for this session" covers: the tool, and for shell commands only the same program.
fn grant_key(tool: &str, args: &Map<String, Value>) -> String {
    match command_of(tool, args) {
        Some(command) => format!("{tool} {}", sole_program(command).as_deref().unwrap_or(command)),
        None => tool.to_owned(),
    }
}

/// `name`, or `run_shell_command(prefix)`.
fn allows(entry: &str, tool: &str, args: &Map<String, Value>) -> bool {
    let (name, prefix) = match entry.split_once('(') {
        Some((name, rest)) => (name, Some(rest.trim_end_matches(')').trim())),
        None => (entry, None),
    };
    if canonical_name(name.trim()) != tool {
        return false;
    }
    match prefix {
        None | Some("") => true,
        Some(prefix) => command_of(tool, args).is_some_and(|command| starts_with_command(command, prefix)),
    }
}

pub(crate) fn command_of<'a>(tool: &str, args: &'a Map<String, Value>) -> Option<&'a str> {
    (tool == "run_shell_command").then(|| args.get("command").and_then(Value::as_str)).flatten()
}

/// Whether a command is the prefix and more words. A command that chains, pipes or substitutes is not: what follows the
/// prefix could be anything.
pub(crate) fn starts_with_command(command: &str, prefix: &str) -> bool {
    let command = command.trim();
    let rest = match command.strip_prefix(prefix) {
        Some(rest) => rest,
        None => return false,
    };
    (rest.is_empty() || rest.starts_with(char::is_whitespace)) && !command.contains(CHAINING)
}

const CHAINING: [char; 9] = ['|', '&', ';', '<', '>', '`', '\n', '\r', '$'];

#[cfg(test)]
mod tests {
    use super::*;

    fn args(command: &str) -> Map<String, Value> {
        Map::from_iter([("command".to_owned(), Value::String(command.to_owned()))])
    }

    fn approvals(mode: ApprovalMode, allowed: &[&str]) -> Approvals {
        Approvals::new(mode, allowed.iter().map(|name| (*name).to_owned()).collect(), Policy::default())
    }

    #[test]
    fn modes_differ_in_what_they_let_pass() {
        let decide = |mode, tool: &str, kind| approvals(mode, &[]).decide(tool, kind, &Map::new());
        assert_eq!(decide(ApprovalMode::Default, "read_file", ToolKind::Read), Permission::Granted);
        assert_eq!(decide(ApprovalMode::Default, "replace", ToolKind::Edit), Permission::Ask);
        assert_eq!(decide(ApprovalMode::AutoEdit, "replace", ToolKind::Edit), Permission::Granted);
        assert_eq!(decide(ApprovalMode::AutoEdit, "run_shell_command", ToolKind::Execute), Permission::Ask);
        assert_eq!(decide(ApprovalMode::Yolo, "run_shell_command", ToolKind::Execute), Permission::Granted);
        assert!(matches!(decide(ApprovalMode::Plan, "replace", ToolKind::Edit), Permission::Refused(_)));
    }

    #[test]
    fn a_prefix_allows_the_command_and_nothing_chained_to_it() {
        let rules = approvals(ApprovalMode::Default, &["run_shell_command(git status)", "ShellTool(ls)"]);
        let decide = |command: &str| rules.decide("run_shell_command", ToolKind::Execute, &args(command));
        assert_eq!(decide("git status -s"), Permission::Granted);
        assert_eq!(decide("ls"), Permission::Granted);
        for command in ["git statusx", "git status; rm -rf x", "git status && x", "ls $(x)", "git push"] {
            assert_eq!(decide(command), Permission::Ask, "{command}");
        }
    }

    #[test]
    fn a_grant_covers_the_same_program_only() {
        let rules = approvals(ApprovalMode::Default, &[]);
        rules.grant("run_shell_command", &args("cargo test"));
        let decide = |command: &str| rules.decide("run_shell_command", ToolKind::Execute, &args(command));
        assert_eq!(decide("cargo build"), Permission::Granted);
        assert_eq!(decide("cargo build; rm x"), Permission::Ask);
        assert_eq!(decide("rm x"), Permission::Ask);
        // What runs other programs is granted as a whole or not at all.
        rules.grant("run_shell_command", &args("env A=1 make"));
        assert_eq!(decide("env A=1 make"), Permission::Granted);
        assert_eq!(decide("env rm x"), Permission::Ask);
    }
}
