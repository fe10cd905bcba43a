//! Evaluates the tool lists of settings and flags: `tools.exclude` and `tools.core` deny calls,
//! `tools.allowed` lets them run without approval.
//!
//! A denying entry is read broadly, an allowing one only where it is unambiguous.

use hookwright_analysis::command_parts::{Fit, Naming, Parts, parts};
use hookwright_hooks::tools_named;
use hookwright_tools::canonical_name;
use serde_json::{Map, Value};

use super::{ApprovalDecision, ApprovalSubject, Permission, denial_message};

/// The limits of shell commands from `tools.exclude` and `tools.core`.
#[derive(Clone, Debug, Default)]
pub struct ToolLimits {
    /// The entries such as `run_shell_command(rm)` whose commands are denied.
    pub exclude: Vec<String>,
    /// The entries such as `run_shell_command(git)` whose commands alone may run, if any are given.
    pub core: Option<Vec<String>>,
}

impl ToolLimits {
    pub(super) fn evaluate(&self, call: &ApprovalSubject<'_>) -> Option<ApprovalDecision> {
        let ApprovalSubject { tool, args, .. } = *call;
        if let Some(refused) = self.evaluate_resource_read(call) {
            return Some(refused);
        }
        let command = shell_command_arg(tool, args)?;
        let excluded: Vec<&str> =
            self.exclude.iter().filter_map(|entry| entry_command_prefix(entry, tool, EntryEffect::Deny)).collect();
        let core = self.core.as_ref().filter(|core| !core.iter().any(|entry| covers_whole_tool(entry, tool)));
        let core: Option<Vec<&str>> = core.map(|core| {
            core.iter().filter_map(|entry| entry_command_prefix(entry, tool, EntryEffect::Allow)).collect()
        });
        if excluded.is_empty() && core.is_none() {
            return None;
        }
        let parts = parts(command);
        let fits = |prefix: &str| {
            parts.commands.iter().map(|part| part.begins_with(prefix, Naming::AnyDirectory)).collect::<Vec<_>>()
        };
        if let Some(prefix) = excluded.iter().find(|prefix| fits(prefix).contains(&Fit::Yes)) {
            return Some(denied_by_list("tools.exclude", format!("tools.exclude excludes `{prefix}`")));
        }
        if core.is_some_and(|core| !prefixes_cover_all(&parts, &core)) {
            let message = "tools.core lists the commands that may run, and this is not one of them".to_owned();
            return Some(denied_by_list("tools.core", message));
        }
        let unsure = !excluded.is_empty()
            && (!parts.is_clear() || excluded.iter().any(|prefix| fits(prefix).contains(&Fit::Maybe)));
        unsure
            .then(|| ApprovalDecision::from_rule_or_list(Permission::Ask, "tools.exclude, which may mean this command"))
    }

    /// Denies reading a resource from an MCP server whose tools are excluded.
    fn evaluate_resource_read(&self, call: &ApprovalSubject<'_>) -> Option<ApprovalDecision> {
        let of = call.reads_from.as_deref()?;
        let mcp = call.mcp_name()?;
        let is_taken = self.exclude.iter().any(|entry| mcp.may_match(entry.trim()));
        is_taken.then(|| denied_by_list("tools.exclude", format!("tools.exclude excludes the MCP server `{of}`")))
    }
}

fn denied_by_list(list: &str, message: String) -> ApprovalDecision {
    ApprovalDecision::from_rule_or_list(Permission::Denied(denial_message(Some(&message))), list)
}

/// Returns whether every command begins with one of the prefixes, and the parse is certain.
fn prefixes_cover_all(parts: &Parts, prefixes: &[&str]) -> bool {
    let covered = |part: &_| prefixes.iter().any(|prefix| starts_with_prefix(part, prefix));
    parts.certain && !parts.commands.is_empty() && parts.commands.iter().all(covered)
}

fn starts_with_prefix(part: &hookwright_analysis::command_parts::Part, prefix: &str) -> bool {
    part.begins_with(prefix, Naming::Exact) == Fit::Yes
}

/// The effect of a list entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryEffect {
    Allow,
    Deny,
}

/// Returns whether a word names the tool: by its name, an older name, or another agent's name for it.
fn is_name_of_tool(word: &str, tool: &str) -> bool {
    canonical_name(word) == tool || tools_named(word).any(|meant| meant == tool)
}

/// Returns whether a list entry covers all calls of the tool.
fn covers_whole_tool(entry: &str, tool: &str) -> bool {
    match entry.split_once('(') {
        Some((name, rest)) => {
            is_name_of_tool(name.trim(), tool) && matches!(rest.trim_end_matches(')').trim(), "" | "*" | ":*")
        }
        None => entry.trim() == "*" || is_name_of_tool(entry.trim(), tool),
    }
}

/// Returns the prefix of `run_shell_command(prefix)`, or of `Bash(prefix:*)` in other agents' syntax.
///
/// `Bash(prefix)` without `:*` names a single command, which these lists cannot express: it
/// denies what begins so, and allows nothing.
fn entry_command_prefix<'e>(entry: &'e str, tool: &str, word: EntryEffect) -> Option<&'e str> {
    let (name, rest) = entry.split_once('(')?;
    let (name, inner) = (name.trim(), rest.trim_end_matches(')').trim());
    let prefix = inner.strip_suffix(":*").map(str::trim_end);
    let is_clear = word == EntryEffect::Deny || canonical_name(name) == tool || prefix.is_some();
    let prefix = prefix.unwrap_or(inner);
    (is_clear && is_name_of_tool(name, tool) && !matches!(prefix, "" | "*")).then_some(prefix)
}

/// Returns whether an entry of `tools.allowed` covers a call.
///
/// An entry is a tool's name, `run_shell_command(prefix)` for one unchained command, or `mcp_server_tool` and
/// `mcp__server__*` for the tools of an MCP server. `others` are the names of other servers.
pub(super) fn entry_allows_call(entry: &str, call: &ApprovalSubject<'_>, others: &[String]) -> bool {
    let ApprovalSubject { tool, args, .. } = *call;
    if call.mcp_name().is_some_and(|mcp| mcp.certainly_matches(entry.trim(), others)) {
        return true;
    }
    let Some(prefix) = entry_command_prefix(entry, tool, EntryEffect::Allow) else {
        return entry.trim() != "*" && covers_whole_tool(entry, tool);
    };
    shell_command_arg(tool, args).is_some_and(|command| prefix_allows(prefix, command))
}

/// Returns whether a command is the prefix and further words, and nothing else.
pub(crate) fn prefix_allows(prefix: &str, command: &str) -> bool {
    let parts = parts(command);
    // An expansion may yield anything, an option included; text that only looks like a chain needs approval as well.
    let plain = !command.trim().contains(CHAINING_CHARS);
    plain && parts.commands.len() == 1 && prefixes_cover_all(&parts, &[prefix])
}

pub(crate) fn shell_command_arg<'a>(tool: &str, args: &'a Map<String, Value>) -> Option<&'a str> {
    (tool == "run_shell_command").then(|| args.get("command").and_then(Value::as_str)).flatten()
}

const CHAINING_CHARS: [char; 9] = ['|', '&', ';', '<', '>', '`', '\n', '\r', '$'];
