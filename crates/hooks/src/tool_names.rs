//! THE table of the built-in tools' names, with the older and other names that matchers, settings and models may still
//! use. Not the tools themselves.

use std::borrow::Cow;

use crate::declare::{claude_tool, nearest};

/// Canonical name, then every older name that a matcher may spell.
const TOOLS: [(&str, &[&str]); 14] = [
    ("read_file", &["ReadFileTool", "ReadFile"]),
    ("read_many_files", &["ReadManyFilesTool", "ReadManyFiles"]),
    ("write_file", &["WriteFileTool", "WriteFile"]),
    ("replace", &["EditTool", "Edit", "SmartEditTool"]),
    ("list_directory", &["LSTool", "LsTool", "ReadFolder"]),
    ("glob", &["GlobTool", "FindFiles"]),
    ("search_file_content", &["GrepTool", "RipGrepTool", "grep_search", "SearchText"]),
    ("run_shell_command", &["ShellTool", "Shell"]),
    ("web_fetch", &["WebFetchTool", "WebFetch"]),
    ("google_web_search", &["WebSearchTool", "GoogleSearch"]),
    ("write_todos", &["WriteTodosTool", "WriteTodos"]),
    ("save_memory", &["MemoryTool", "SaveMemory"]),
    ("delegate_to_agent", &["DelegateToAgentTool", "SubagentTool"]),
    ("activate_skill", &["ActivateSkillTool"]),
];

/// The canonical names of the built-in tools.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

/// The canonical name for a built-in tool's older name; any other name stays as it is.
pub fn canonical_tool_name(name: &str) -> &str {
    TOOLS.iter().find(|(_, older)| older.contains(&name)).map_or(name, |(canonical, _)| canonical)
}

/// Whether this can be a tool's name at all: a built-in one's, old or new, or that of a tool which an MCP server may have.
pub fn is_possible_tool(name: &str) -> bool {
    is_tool_name(name) || name.starts_with("mcp_")
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
    let older = TOOLS.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, older)| older);
    older.iter().map(|name| Cow::Borrowed(*name)).chain(mcp_spelling(tool).map(Cow::Owned))
}

/// Whether a word is the whole name of a tool: a built-in one's, old or new, or an MCP tool's in either spelling.
pub(crate) fn is_tool_name(word: &str) -> bool {
    let parts = |prefix: &str, between: &str| {
        let (server, name) = word.strip_prefix(prefix)?.split_once(between)?;
        Some(!server.starts_with('_') && !server.is_empty() && !name.is_empty())
    };
    TOOLS.iter().any(|(name, older)| *name == word || older.contains(&word))
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
        let names = TOOLS.iter().flat_map(|(name, older)| older.iter().chain([name]));
        names.for_each(|name| assert!(seen.insert(name), "{name}"));
    }

    #[test]
    fn mcp_tools_have_two_spellings() {
        let names: Vec<_> = other_names("mcp__git__push_all").collect();
        assert_eq!(names, ["mcp_git_push_all"]);
        assert_eq!(other_names("mcp__broken").count(), 0);
    }

    #[test]
    fn whole_names_are_told_from_parts() {
        for name in ["glob", "EditTool", "grep_search", "mcp__git__push", "mcp_git_push"] {
            assert!(is_tool_name(name), "{name}");
        }
        for part in
            ["shell", "Bash", "mcp", "mcp_", "mcp__", "mcp_git", "mcp__git", "mcp__git__", "mcp_git_", "my_tool"]
        {
            assert!(!is_tool_name(part), "{part}");
        }
    }
}
