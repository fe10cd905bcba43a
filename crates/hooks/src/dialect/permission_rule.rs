//! A hook's `if`: a permission rule of Claude Code, such as `Bash(git *)`. A rule that cannot be evaluated matches.

use std::path::Path;

use serde_json::{Map, Value};

use super::tool_arguments::{DialectCall, to_claude};
use crate::matching::tool_names::tools_named;
use crate::matching::wildcard::{matches_wildcard, path_matches_wildcard};
use hookwright_analysis::command_parts::parts;

/// A permission rule of Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRule {
    text: String,
    tool: String,
    /// The text in the parentheses.
    specifier: Option<String>,
}

impl PermissionRule {
    /// Parses a rule; `None` for text that is not a rule.
    ///
    /// ```
    /// use hookwright_hooks::PermissionRule;
    ///
    /// assert!(PermissionRule::parse("Bash(git *)").is_some());
    /// assert!(PermissionRule::parse("Bash(git *").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<PermissionRule> {
        let trimmed = text.trim();
        let (tool, specifier) = match trimmed.split_once('(') {
            Some((tool, rest)) => (tool.trim_end(), Some(rest.strip_suffix(')')?.trim().to_owned())),
            None => (trimmed, None),
        };
        let plain = |char: char| char.is_ascii_alphanumeric() || "_-*".contains(char);
        let is_rule = !tool.is_empty() && tool.chars().all(plain);
        is_rule.then(|| PermissionRule {
            text: text.to_owned(),
            tool: tool.to_owned(),
            specifier: specifier.filter(|inside| !inside.is_empty() && inside != "*"),
        })
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the rule is about a call, or cannot be evaluated for it.
    pub fn matches(&self, tool: &str, input: &Map<String, Value>, cwd: &Path, project: &Path) -> bool {
        if !self.names_tool(tool) {
            return false;
        }
        let Some(specifier) = &self.specifier else { return true };
        let calls = to_claude(&DialectCall::new(tool, input.clone()), cwd).views;
        let argument = |call: &DialectCall, key: &str| call.input.get(key).and_then(Value::as_str).map(str::to_owned);
        match tool {
            "run_shell_command" => calls
                .iter()
                .any(|call| argument(call, "command").is_none_or(|command| command_matches(specifier, &command))),
            "read_file" | "write_file" | "replace" | "list_directory" => calls.iter().any(|call| {
                let path = argument(call, "file_path").or_else(|| argument(call, "path"));
                path.is_none_or(|path| path_matches(specifier, &path, cwd, project))
            }),
            "web_fetch" => {
                calls.iter().any(|call| argument(call, "url").is_none_or(|url| domain_matches(specifier, &url)))
            }
            // Patterns of several paths, queries and names are not evaluated.
            _ => true,
        }
    }

    /// Whether the rule names a tool. A rule about edits names all tools that write files.
    fn names_tool(&self, tool: &str) -> bool {
        let edits = ["Edit", "Write", "MultiEdit", "NotebookEdit"].contains(&self.tool.as_str());
        self.tool == tool
            || tools_named(&self.tool).any(|meant| meant == tool)
            || (edits && ["write_file", "replace"].contains(&tool))
            || (self.tool.contains('*') && matches_wildcard(tool, &self.tool))
            || (tool.starts_with("mcp__") && tool.starts_with(&format!("{}__", self.tool)))
    }
}

/// The longest command that is parsed; longer commands match every rule.
const MAX_COMMAND_BYTES: usize = 64 << 10;

/// Whether one of the commands in a command line matches a rule, or cannot be determined.
fn command_matches(specifier: &str, command: &str) -> bool {
    // `git:*` is the older form of `git *`.
    let rule = match specifier.strip_suffix(":*") {
        Some(prefix) => format!("{prefix} *"),
        None => specifier.to_owned(),
    };
    let fits = |text: &str| {
        let text = text.trim();
        // `ls *` matches `ls` alone too.
        matches_wildcard(text, &rule) || rule.strip_suffix(" *").is_some_and(|alone| matches_wildcard(text, alone))
    };
    if command.len() > MAX_COMMAND_BYTES || fits(command) {
        return true;
    }
    let parts = parts(command);
    if !parts.is_clear() {
        return true;
    }
    parts.commands.iter().any(|part| {
        let words: Option<Vec<&str>> = part.words.iter().map(|word| word.as_deref()).collect();
        fits(&part.text) || words.is_none_or(|words| fits(&words.join(" ")))
    })
}

/// Whether a path matches a rule: from the root (`//`), the home directory (`~`), the project (`/`), or at any depth.
fn path_matches(specifier: &str, path: &str, cwd: &Path, project: &Path) -> bool {
    if specifier.starts_with('~') || specifier.contains(['{', '[', '!', '\\']) {
        return true;
    }
    let below = |base: &Path| Path::new(path).strip_prefix(base).ok().map(|rest| rest.to_string_lossy().into_owned());
    let pattern = specifier.trim_start_matches("./");
    if let Some(from_root) = pattern.strip_prefix("//") {
        return path_matches_wildcard(&format!("/{from_root}"), path);
    }
    let anchored = pattern.strip_prefix('/');
    let bases = [below(project), below(cwd)];
    let within = bases.iter().flatten().any(|rest| path_matches_wildcard(anchored.unwrap_or(pattern), rest));
    let anywhere = anchored.is_none()
        && (path_matches_wildcard(pattern, path) || path_matches_wildcard(&format!("**/{pattern}"), path));
    within || anywhere || (anchored.is_some() && path_matches_wildcard(pattern, path))
}

/// Whether a URL belongs to a rule's domain; other rules about URLs match everything.
fn domain_matches(specifier: &str, url: &str) -> bool {
    let Some(domain) = specifier.strip_prefix("domain:") else { return true };
    let Some((_, rest)) = url.split_once("://") else { return true };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let domain = domain.trim().to_ascii_lowercase();
    matches_wildcard(&host, &domain) || host.ends_with(&format!(".{domain}"))
}

#[cfg(test)]
mod tests;
