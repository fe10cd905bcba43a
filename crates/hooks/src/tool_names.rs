//! THE table of the built-in tools' names, with the older and other names that matchers, settings and models may still
//! use. Not the tools themselves.

use std::borrow::Cow;

use crate::declare::{claude_tool, nearest};

/// One built-in tool's names.
struct Names {
    name: &'static str,
    /// What it was called; a model may still call it so.
    older: &'static [&'static str],
    /// What other agents call it; a matcher that was written for one of them means this tool.
    foreign: &'static [&'static str],
}

const fn names(name: &'static str, older: &'static [&'static str], foreign: &'static [&'static str]) -> Names {
    Names { name, older, foreign }
}

const TOOLS: [Names; 16] = [
    names("read_file", &["ReadFileTool", "ReadFile"], &["Read", "View"]),
    names("read_many_files", &["ReadManyFilesTool", "ReadManyFiles"], &[]),
    names("write_file", &["WriteFileTool", "WriteFile"], &["Write", "apply_patch"]),
    names("replace", &["EditTool", "Edit", "SmartEditTool"], &["MultiEdit", "apply_patch"]),
    names("list_directory", &["LSTool", "LsTool", "ReadFolder"], &["LS"]),
    names("glob", &["GlobTool", "FindFiles"], &["Glob"]),
    names("search_file_content", &["GrepTool", "RipGrepTool", "grep_search", "SearchText"], &["Grep"]),
    names("run_shell_command", &["ShellTool", "Shell"], &["Bash", "Execute"]),
    names("web_fetch", &["WebFetchTool", "WebFetch"], &[]),
    names("google_web_search", &["WebSearchTool", "GoogleSearch"], &["WebSearch"]),
    names("write_todos", &["WriteTodosTool", "WriteTodos"], &["TodoWrite"]),
    names("save_memory", &["MemoryTool", "SaveMemory"], &[]),
    names("list_mcp_resources", &["ListMcpResourcesTool", "ListMcpResources"], &[]),
    names("read_mcp_resource", &["ReadMcpResourceTool", "ReadMcpResource"], &[]),
    names("delegate_to_agent", &["DelegateToAgentTool", "SubagentTool", "invoke_agent"], &["Task", "Agent"]),
    names("activate_skill", &["ActivateSkillTool"], &["Skill"]),
];

/// The canonical names of the built-in tools.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name)
}

/// The canonical name for a built-in tool's older name; any other name stays as it is.
pub fn canonical_tool_name(name: &str) -> &str {
    TOOLS.iter().find(|tool| tool.older.contains(&name)).map_or(name, |tool| tool.name)
}

/// The built-in tools that a word means as their name, an older one or another agent's, as in a list of what an agent may use.
pub fn tools_meant(word: &str) -> impl Iterator<Item = &'static str> {
    let is_named = move |tool: &&Names| tool.name == word || tool.older.contains(&word) || tool.foreign.contains(&word);
    TOOLS.iter().filter(is_named).map(|tool| tool.name)
}

/// Whether this can be a tool's name at all: a built-in one's, old or new, or that of a tool which an MCP server may have.
pub fn is_possible_tool(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name || tool.older.contains(&name)) || name.starts_with("mcp_")
}

/// The built-in tool that a name most likely means.
fn suggest_tool(name: &str) -> Option<&'static str> {
    claude_tool(name).or_else(|| nearest(canonical_tool_name(name), known_tools()))
}

/// What to do about a name that is no tool's.
pub fn tool_help(name: &str) -> String {
    match suggest_tool(name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the built-in tools are {}", known_tools().collect::<Vec<_>>().join(", ")),
    }
}

/// The other names under which a matcher may know this tool.
pub(crate) fn other_names(tool: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let known = TOOLS.iter().filter(move |known| known.name == tool);
    let others = known.flat_map(|known| known.older.iter().chain(known.foreign));
    others.map(|name| Cow::Borrowed(*name)).chain(mcp_spelling(tool).map(Cow::Owned))
}

/// Whether a word is the whole name of a tool: a built-in one's, old, new or another agent's, or an MCP tool's in either
/// spelling.
pub(crate) fn is_tool_name(word: &str) -> bool {
    let parts = |prefix: &str, between: &str| {
        let (server, name) = word.strip_prefix(prefix)?.split_once(between)?;
        Some(!server.starts_with('_') && !server.is_empty() && !name.is_empty())
    };
    TOOLS.iter().any(|tool| tool.name == word || tool.older.contains(&word) || tool.foreign.contains(&word))
        || parts("mcp__", "__").or_else(|| parts("mcp_", "_")) == Some(true)
}

/// `mcp__server__tool` is also known as `mcp_server_tool`.
pub(crate) fn mcp_spelling(tool: &str) -> Option<String> {
    let (server, name) = tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(format!("mcp_{server}_{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_names_lead_to_the_canonical_one() {
        assert_eq!(canonical_tool_name("EditTool"), "replace");
        assert_eq!(canonical_tool_name("SmartEditTool"), "replace");
        assert_eq!(canonical_tool_name("grep_search"), "search_file_content");
        assert_eq!(canonical_tool_name("my_tool"), "my_tool");
    }

    #[test]
    fn no_name_means_two_tools() {
        let mut seen = std::collections::HashSet::new();
        let names = TOOLS.iter().flat_map(|tool| tool.older.iter().chain([&tool.name]));
        names.for_each(|name| assert!(seen.insert(name), "{name}"));
    }

    /// A guard that was written for another agent is awake here.
    #[test]
    fn other_agents_names_match_and_are_nobodys_name() {
        use crate::matcher::Matcher;
        for (matcher, tool) in [
            ("Bash", "run_shell_command"),
            ("Bash|Edit|Write", "run_shell_command"),
            ("Edit|MultiEdit|Write", "write_file"),
            ("^(Bash|replace)$", "run_shell_command"),
            ("apply_patch", "replace"),
            ("LS", "list_directory"),
        ] {
            let (compiled, _) = Matcher::compile(crate::event::Subject::ToolName, Some(matcher));
            assert!(compiled.matches(tool), "{matcher} {tool}");
            assert!(!compiled.matches("google_web_search"), "{matcher}");
        }
        assert_eq!(canonical_tool_name("Bash"), "Bash", "a model that calls it calls no tool");
    }

    #[test]
    fn mcp_tools_have_two_spellings() {
        let names: Vec<_> = other_names("mcp__git__push_all").collect();
        assert_eq!(names, ["mcp_git_push_all"]);
        assert_eq!(other_names("mcp__broken").count(), 0);
    }

    #[test]
    fn whole_names_are_told_from_parts() {
        for name in ["glob", "EditTool", "grep_search", "Bash", "mcp__git__push", "mcp_git_push"] {
            assert!(is_tool_name(name), "{name}");
        }
        for part in ["shell", "mcp", "mcp_", "mcp__", "mcp_git", "mcp__git", "mcp__git__", "mcp_git_", "my_tool"] {
            assert!(!is_tool_name(part), "{part}");
        }
    }
}
