//! What the lists of the settings say on a call: what `tools.exclude` and `tools.core` take away, and what `tools.allowed` lets
//! run unasked. A no is read widely, a yes only where it can mean nothing else.

use hookwright_hooks::shell::{Fit, Naming, Parts, parts};
use hookwright_hooks::tools_meant;
use hookwright_tools::canonical_name;
use serde_json::{Map, Value};

use super::{Judged, Judgement, Permission, denied};

/// What settings take away from shell commands: `tools.exclude` and `tools.core`.
#[derive(Clone, Debug, Default)]
pub struct ToolLimits {
    /// `run_shell_command(rm)`: no command of these.
    pub exclude: Vec<String>,
    /// `run_shell_command(git)`: only commands of these, if there are any.
    pub core: Option<Vec<String>>,
}

impl ToolLimits {
    pub(super) fn judge(&self, call: &Judged<'_>) -> Option<Judgement> {
        let Judged { tool, args, .. } = *call;
        if let Some(refused) = self.judge_resource(call) {
            return Some(refused);
        }
        let command = command_of(tool, args)?;
        let excluded: Vec<&str> = self.exclude.iter().filter_map(|entry| prefix_of(entry, tool, Word::No)).collect();
        let core = self.core.as_ref().filter(|core| !core.iter().any(|entry| names_all(entry, tool)));
        let core: Option<Vec<&str>> =
            core.map(|core| core.iter().filter_map(|entry| prefix_of(entry, tool, Word::Yes)).collect());
        if excluded.is_empty() && core.is_none() {
            return None;
        }
        let parts = parts(command);
        let fits = |prefix: &str| {
            parts.commands.iter().map(|part| part.begins_with(prefix, Naming::AnyDirectory)).collect::<Vec<_>>()
        };
        if let Some(prefix) = excluded.iter().find(|prefix| fits(prefix).contains(&Fit::Yes)) {
            return Some(refused("tools.exclude", format!("tools.exclude takes `{prefix}` away")));
        }
        if core.is_some_and(|core| !covers(&parts, &core)) {
            let message = "tools.core names the commands that may run, and this is not one of them".to_owned();
            return Some(refused("tools.core", message));
        }
        let unsure = !excluded.is_empty()
            && (!parts.is_clear() || excluded.iter().any(|prefix| fits(prefix).contains(&Fit::Maybe)));
        unsure.then(|| Judgement::ruled(Permission::Ask, "tools.exclude, which may mean this command"))
    }

    /// Whoever takes a server's tools away wants nothing of it: what it holds is not read either.
    fn judge_resource(&self, call: &Judged<'_>) -> Option<Judgement> {
        let of = call.reads_from.as_deref()?;
        let mcp = call.mcp()?;
        let is_taken = self.exclude.iter().any(|entry| mcp.may_be(entry.trim()));
        is_taken.then(|| refused("tools.exclude", format!("tools.exclude takes the MCP server `{of}` away")))
    }
}

fn refused(list: &str, message: String) -> Judgement {
    Judgement::ruled(Permission::Denied(denied(Some(&message))), list)
}

/// Whether each part begins with one of the prefixes, and nothing else runs.
fn covers(parts: &Parts, prefixes: &[&str]) -> bool {
    let covered = |part: &_| prefixes.iter().any(|prefix| begins(part, prefix));
    parts.certain && !parts.commands.is_empty() && parts.commands.iter().all(covered)
}

fn begins(part: &hookwright_hooks::shell::Part, prefix: &str) -> bool {
    part.begins_with(prefix, Naming::Exact) == Fit::Yes
}

/// What an entry says of what it names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    No,
}

/// Whether a word is a tool's name, an older one or another agent's.
fn is_named(word: &str, tool: &str) -> bool {
    canonical_name(word) == tool || tools_meant(word).any(|meant| meant == tool)
}

/// Whether a list's entry means all calls of the tool.
fn names_all(entry: &str, tool: &str) -> bool {
    match entry.split_once('(') {
        Some((name, rest)) => {
            is_named(name.trim(), tool) && matches!(rest.trim_end_matches(')').trim(), "" | "*" | ":*")
        }
        None => entry.trim() == "*" || is_named(entry.trim(), tool),
    }
}

/// The prefix of `run_shell_command(prefix)`, or of `Bash(prefix:*)` as others write it. Without its `:*` that is one command
/// alone, of which a list here knows nothing: it takes away what begins so, and allows nothing.
fn prefix_of<'e>(entry: &'e str, tool: &str, word: Word) -> Option<&'e str> {
    let (name, rest) = entry.split_once('(')?;
    let (name, inner) = (name.trim(), rest.trim_end_matches(')').trim());
    let prefix = inner.strip_suffix(":*").map(str::trim_end);
    let is_clear = word == Word::No || canonical_name(name) == tool || prefix.is_some();
    let prefix = prefix.unwrap_or(inner);
    (is_clear && is_named(name, tool) && !matches!(prefix, "" | "*")).then_some(prefix)
}

/// `name`, or `run_shell_command(prefix)` for one command and nothing chained to it; of a server's tools also `mcp_server_tool`
/// and, for all of them, `mcp__server__*`. `others` are the names of other servers.
pub(super) fn allows(entry: &str, call: &Judged<'_>, others: &[String]) -> bool {
    let Judged { tool, args, .. } = *call;
    if call.mcp().is_some_and(|mcp| mcp.is_surely(entry.trim(), others)) {
        return true;
    }
    let Some(prefix) = prefix_of(entry, tool, Word::Yes) else {
        return entry.trim() != "*" && names_all(entry, tool);
    };
    command_of(tool, args).is_some_and(|command| prefix_allows(prefix, command))
}

/// Whether a command is the prefix and more words, and nothing else.
pub(crate) fn prefix_allows(prefix: &str, command: &str) -> bool {
    let parts = parts(command);
    // An expansion may come to anything, an option included; what only looks like a chain is asked about as well.
    let plain = !command.trim().contains(CHAINING);
    plain && parts.commands.len() == 1 && covers(&parts, &[prefix])
}

pub(crate) fn command_of<'a>(tool: &str, args: &'a Map<String, Value>) -> Option<&'a str> {
    (tool == "run_shell_command").then(|| args.get("command").and_then(Value::as_str)).flatten()
}

const CHAINING: [char; 9] = ['|', '&', ';', '<', '>', '`', '\n', '\r', '$'];
