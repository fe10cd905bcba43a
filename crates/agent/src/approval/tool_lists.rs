//! What the lists of the settings say on a call: what `tools.exclude` and `tools.core` take away, and what `tools.allowed` lets
//! run unasked. A no is read widely, a yes only where it can mean nothing else.

use hookwright_hooks::shell::{Fit, Naming, Parts, parts};
use hookwright_hooks::tools_named;
use hookwright_tools::canonical_name;
use serde_json::{Map, Value};

use super::{ApprovalDecision, ApprovalSubject, Permission, denial_message};

/// What settings take away from shell commands: `tools.exclude` and `tools.core`.
#[derive(Clone, Debug, Default)]
pub struct ToolLimits {
    /// `run_shell_command(rm)`: no command of these.
    pub exclude: Vec<String>,
    /// `run_shell_command(git)`: only commands of these, if there are any.
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
            return Some(denied_by_list("tools.exclude", format!("tools.exclude takes `{prefix}` away")));
        }
        if core.is_some_and(|core| !prefixes_cover_all(&parts, &core)) {
            let message = "tools.core names the commands that may run, and this is not one of them".to_owned();
            return Some(denied_by_list("tools.core", message));
        }
        let unsure = !excluded.is_empty()
            && (!parts.is_clear() || excluded.iter().any(|prefix| fits(prefix).contains(&Fit::Maybe)));
        unsure
            .then(|| ApprovalDecision::from_rule_or_list(Permission::Ask, "tools.exclude, which may mean this command"))
    }

    /// Whoever takes a server's tools away wants nothing of it: what it holds is not read either.
    fn evaluate_resource_read(&self, call: &ApprovalSubject<'_>) -> Option<ApprovalDecision> {
        let of = call.reads_from.as_deref()?;
        let mcp = call.mcp_name()?;
        let is_taken = self.exclude.iter().any(|entry| mcp.may_match(entry.trim()));
        is_taken.then(|| denied_by_list("tools.exclude", format!("tools.exclude takes the MCP server `{of}` away")))
    }
}

fn denied_by_list(list: &str, message: String) -> ApprovalDecision {
    ApprovalDecision::from_rule_or_list(Permission::Denied(denial_message(Some(&message))), list)
}

/// Whether each part begins with one of the prefixes, and nothing else runs.
fn prefixes_cover_all(parts: &Parts, prefixes: &[&str]) -> bool {
    let covered = |part: &_| prefixes.iter().any(|prefix| starts_with_prefix(part, prefix));
    parts.certain && !parts.commands.is_empty() && parts.commands.iter().all(covered)
}

fn starts_with_prefix(part: &hookwright_hooks::shell::Part, prefix: &str) -> bool {
    part.begins_with(prefix, Naming::Exact) == Fit::Yes
}

/// What an entry says of what it names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryEffect {
    Allow,
    Deny,
}

/// Whether a word is a tool's name, an older one or another agent's.
fn is_name_of_tool(word: &str, tool: &str) -> bool {
    canonical_name(word) == tool || tools_named(word).any(|meant| meant == tool)
}

/// Whether a list's entry means all calls of the tool.
fn covers_whole_tool(entry: &str, tool: &str) -> bool {
    match entry.split_once('(') {
        Some((name, rest)) => {
            is_name_of_tool(name.trim(), tool) && matches!(rest.trim_end_matches(')').trim(), "" | "*" | ":*")
        }
        None => entry.trim() == "*" || is_name_of_tool(entry.trim(), tool),
    }
}

/// The prefix of `run_shell_command(prefix)`, or of `Bash(prefix:*)` as others write it. Without its `:*` that is one command
/// alone, of which a list here knows nothing: it takes away what begins so, and allows nothing.
fn entry_command_prefix<'e>(entry: &'e str, tool: &str, word: EntryEffect) -> Option<&'e str> {
    let (name, rest) = entry.split_once('(')?;
    let (name, inner) = (name.trim(), rest.trim_end_matches(')').trim());
    let prefix = inner.strip_suffix(":*").map(str::trim_end);
    let is_clear = word == EntryEffect::Deny || canonical_name(name) == tool || prefix.is_some();
    let prefix = prefix.unwrap_or(inner);
    (is_clear && is_name_of_tool(name, tool) && !matches!(prefix, "" | "*")).then_some(prefix)
}

/// `name`, or `run_shell_command(prefix)` for one command and nothing chained to it; of a server's tools also `mcp_server_tool`
/// and, for all of them, `mcp__server__*`. `others` are the names of other servers.
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

/// Whether a command is the prefix and more words, and nothing else.
pub(crate) fn prefix_allows(prefix: &str, command: &str) -> bool {
    let parts = parts(command);
    // An expansion may come to anything, an option included; what only looks like a chain is asked about as well.
    let plain = !command.trim().contains(CHAINING_CHARS);
    plain && parts.commands.len() == 1 && prefixes_cover_all(&parts, &[prefix])
}

pub(crate) fn shell_command_arg<'a>(tool: &str, args: &'a Map<String, Value>) -> Option<&'a str> {
    (tool == "run_shell_command").then(|| args.get("command").and_then(Value::as_str)).flatten()
}

const CHAINING_CHARS: [char; 9] = ['|', '&', ';', '<', '>', '`', '\n', '\r', '$'];
