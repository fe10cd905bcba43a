//! A policy rule, and whether it matches a call or a part of a command.
//! `rule_verdict.rs` chooses the rule that decides.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_analysis::command_parts::{Fit, Naming, Part};
use hookwright_hooks::{BoundedRegex, FileLocation, McpToolName, RegexMatch, matches_wildcard};
use hookwright_settings::ApprovalMode;
use hookwright_tools::{DELEGATE_TO_AGENT, canonical_name};
use serde_json::{Map, Value};

use super::rule_verdict::{PolicyCall, RuleTarget};
use crate::approval::shell_command_arg;
use crate::services::Interaction;

/// The origin of a rule; a later tier outranks an earlier one, whatever their priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyTier {
    /// Rules that the user stored in an approval dialog: weaker than all written rules.
    Remembered,
    /// Rules of an active extension of the user.
    Extension,
    /// Rules of the trusted project, which can only deny or ask.
    Project,
    /// Rules of the user, and of files that the command line names.
    User,
    /// Rules of the administrator.
    Admin,
}

impl PolicyTier {
    /// Returns the name of the tier.
    pub fn as_str(self) -> &'static str {
        match self {
            PolicyTier::Remembered => "remembered",
            PolicyTier::Extension => "extension",
            PolicyTier::Project => "project",
            PolicyTier::User => "user",
            PolicyTier::Admin => "admin",
        }
    }
}

/// The decision of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleDecision {
    /// The call runs without approval.
    Allow,
    /// The user is asked.
    AskUser,
    /// The call is denied.
    Deny,
}

impl RuleDecision {
    /// Returns the decision as it is written in a policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleDecision::Allow => "allow",
            RuleDecision::AskUser => "ask_user",
            RuleDecision::Deny => "deny",
        }
    }
}

/// A `[[rule]]` of a policy file.
#[derive(Clone, Debug)]
pub struct PolicyRule {
    /// The tool names, with `*` as wildcard; an empty list matches any tool.
    pub tools: Vec<String>,
    /// The MCP server whose tools the rule matches.
    pub server: Option<String>,
    /// The command prefixes, of which any may match.
    pub prefixes: Vec<String>,
    /// The exact command line that the rule matches.
    pub exact: Option<String>,
    /// The decision of the rule.
    pub decision: RuleDecision,
    /// The message of a denial.
    pub message: Option<String>,
    /// The origin of the rule.
    pub tier: PolicyTier,
    /// The priority within the tier, from 0 to 999.
    pub priority: u16,
    /// The location of the rule in its file.
    pub location: FileLocation,
    pub(super) args_pattern: Option<Arc<BoundedRegex>>,
    pub(super) command_pattern: Option<Arc<BoundedRegex>>,
    pub(super) modes: Vec<ApprovalMode>,
    pub(super) interactive: Option<bool>,
    pub(super) allows_redirection: bool,
    /// The sub-agent whose calls the rule matches.
    pub agent: Option<String>,
    /// The name of the rule.
    pub name: Option<String>,
    /// The project that the rule applies to.
    pub project: Option<PathBuf>,
    /// The folder whose files the rule matches edits of.
    pub folder: Option<PathBuf>,
    /// Whether the rule requires something that no call here has.
    pub(super) never_matches: bool,
}

impl PolicyRule {
    /// Returns whether the rule matches only some commands or arguments of its tools.
    fn is_conditional(&self) -> bool {
        !self.prefixes.is_empty()
            || self.exact.is_some()
            || self.command_pattern.is_some()
            || self.args_pattern.is_some()
    }

    pub(super) fn match_call(&self, call: &PolicyCall<'_>, view: RuleTarget<'_>, interaction: Interaction) -> Fit {
        let about = !self.never_matches
            && (self.modes.is_empty() || self.modes.contains(&call.mode))
            && self.interactive.is_none_or(|wanted| wanted == (interaction == Interaction::Interactive))
            && self.agent.as_deref().is_none_or(|name| call.agent == Some(name))
            && (self.applies_to_call(call) || self.names_delegated_agent(call));
        if !about || self.project.as_deref().is_some_and(|project| call.project != Some(project)) {
            return Fit::No;
        }
        if self.exact.as_deref().is_some_and(|exact| shell_command_arg(call.tool, call.args) != Some(exact)) {
            return Fit::No;
        }
        if let Some(folder) = &self.folder {
            return fit_both(self.match_folder(folder, call), self.match_target(call, view));
        }
        self.match_target(call, view)
    }

    /// Returns whether the call edits a file in the folder. An unknown file is no match for a rule that
    /// allows, and an uncertain one for others.
    fn match_folder(&self, folder: &Path, call: &PolicyCall<'_>) -> Fit {
        match call.file {
            _ if !matches!(call.tool, "write_file" | "replace") => Fit::No,
            Some(file) if file.starts_with(folder) && file != folder => Fit::Yes,
            Some(_) => Fit::No,
            None if self.decision == RuleDecision::Allow => Fit::No,
            None => Fit::Maybe,
        }
    }

    fn match_target(&self, call: &PolicyCall<'_>, view: RuleTarget<'_>) -> Fit {
        match view {
            RuleTarget::Call if !self.prefixes.is_empty() || self.command_pattern.is_some() => Fit::No,
            RuleTarget::Call => self.match_args(call.args, None),
            RuleTarget::UnknownCommand if self.is_conditional() => Fit::Maybe,
            RuleTarget::UnknownCommand => Fit::Yes,
            RuleTarget::CommandPart(part) => self.match_part(call.args, part),
            // A prefix of the whole line is a prefix of its first part, which is checked separately.
            RuleTarget::CommandLine(_) if !self.prefixes.is_empty() || self.decision == RuleDecision::Allow => Fit::No,
            RuleTarget::CommandLine(_) if self.command_pattern.is_none() && self.args_pattern.is_none() => Fit::No,
            RuleTarget::CommandLine(text) => fit_both(self.match_command(text), self.match_args(call.args, None)),
        }
    }

    /// Returns whether the rule names the agent that the call delegates to, as if it were a tool.
    fn names_delegated_agent(&self, call: &PolicyCall<'_>) -> bool {
        let agent = || call.args.get("agent_name")?.as_str();
        call.tool == DELEGATE_TO_AGENT && agent().is_some_and(|agent| self.tools.iter().any(|name| name == agent))
    }

    fn applies_to_call(&self, call: &PolicyCall<'_>) -> bool {
        let tool = call.tool;
        let allows = self.decision == RuleDecision::Allow;
        if let Some(server) = &self.server {
            let Some(mcp) = call.mcp_name else { return false };
            let is_of = if allows {
                mcp.certainly_matches_server(server, call.other_servers)
            } else {
                mcp.may_match_server(server)
            };
            let named = |name: &String| {
                mcp.matches_tool(name)
                    || matches_wildcard(tool, name)
                    || self.matches_mcp_name(name, mcp, call.other_servers)
            };
            return is_of && (self.tools.is_empty() || self.tools.iter().any(named));
        }
        let about_commands = !self.prefixes.is_empty() || self.exact.is_some() || self.command_pattern.is_some();
        let shell_only = self.tools.is_empty() && about_commands;
        if shell_only {
            return tool == "run_shell_command";
        }
        // A rule that allows `mcp_a_*` does not cover server `a_b`, although the names of its tools begin so.
        let is_plain = |name: &str| !(allows && call.mcp_name.is_some() && name.starts_with("mcp_"));
        let named = |name: &String| {
            (is_plain(name) && matches_wildcard(tool, name))
                || canonical_name(name) == tool
                || call.mcp_name.is_some_and(|mcp| self.matches_mcp_name(name, mcp, call.other_servers))
        };
        self.tools.is_empty() || self.tools.iter().any(named)
    }

    /// Returns whether a name means this MCP tool: for a rule that allows in its only reading, for others in any.
    fn matches_mcp_name(&self, name: &str, mcp: McpToolName<'_>, others: &[String]) -> bool {
        if self.decision == RuleDecision::Allow { mcp.certainly_matches(name, others) } else { mcp.may_match(name) }
    }

    fn match_part(&self, args: &Map<String, Value>, part: &Part) -> Fit {
        // A program of the same name in another directory is not allowed by a rule. To deny, the name is enough.
        let naming = if self.decision == RuleDecision::Allow { Naming::Exact } else { Naming::AnyDirectory };
        let prefix = match self.prefixes.as_slice() {
            [] => Fit::Yes,
            prefixes => prefixes.iter().map(|prefix| part.begins_with(prefix, naming)).fold(Fit::No, fit_either),
        };
        fit_both(prefix, fit_both(self.match_command(&part.text), self.match_args(args, Some(&part.text))))
    }

    fn match_command(&self, text: &str) -> Fit {
        self.command_pattern.as_ref().map_or(Fit::Yes, |pattern| self.search_pattern(pattern, text, |start| start == 0))
    }

    /// Matches the pattern against the arguments as JSON, with a part in place of the whole command.
    fn match_args(&self, args: &Map<String, Value>, command: Option<&str>) -> Fit {
        let Some(pattern) = &self.args_pattern else { return Fit::Yes };
        let mut args = args.clone();
        if let Some(command) = command {
            args.insert("command".to_owned(), command.into());
        }
        self.search_pattern(pattern, &stable_json(&Value::Object(args)), |_| true)
    }

    /// Searches a pattern. If the search exceeds its budget, a rule that allows does not match, and others do.
    fn search_pattern(&self, pattern: &BoundedRegex, text: &str, counts: impl Fn(usize) -> bool) -> Fit {
        match pattern.find(text) {
            RegexMatch::At(start) if counts(start) => Fit::Yes,
            RegexMatch::OverBudget if self.decision != RuleDecision::Allow => Fit::Yes,
            RegexMatch::At(_) | RegexMatch::NotFound | RegexMatch::OverBudget => Fit::No,
        }
    }
}

fn fit_both(one: Fit, other: Fit) -> Fit {
    match (one, other) {
        (Fit::No, _) | (_, Fit::No) => Fit::No,
        (Fit::Yes, Fit::Yes) => Fit::Yes,
        _ => Fit::Maybe,
    }
}

fn fit_either(one: Fit, other: Fit) -> Fit {
    match (one, other) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::No, Fit::No) => Fit::No,
        _ => Fit::Maybe,
    }
}

/// Returns compact JSON with sorted keys, so that patterns can rely on its form.
fn stable_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entry =
                |(key, value): (&String, &Value)| format!("{}:{}", Value::from(key.as_str()), stable_json(value));
            format!("{{{}}}", entries.into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(stable_json).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}
