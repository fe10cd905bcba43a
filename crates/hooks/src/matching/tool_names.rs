//! The names of the built-in tools, with the older and foreign names that matchers, settings and models may use.
//! `dialect/tool_arguments.rs` maps their arguments.

use std::borrow::Cow;

use crate::suggestion::nearest_name;

/// The names of one built-in tool.
struct ToolNames {
    name: &'static str,
    /// Former names; a model may still use them.
    older: &'static [&'static str],
    /// Claude Code's names; the first is the one that hooks in its dialect receive.
    claude: &'static [&'static str],
    /// Other agents' names that cannot be mistaken for part of a name.
    others: &'static [&'static str],
    /// Other agents' names that may also be part of another tool's name.
    ambiguous: &'static [&'static str],
}

type NameList = &'static [&'static str];

const fn tool_names(
    name: &'static str,
    older: NameList,
    claude: NameList,
    others: NameList,
    words: NameList,
) -> ToolNames {
    ToolNames { name, older, claude, others, ambiguous: words }
}

/// The built-in tools. A matcher written for another agent matches the tools that its words stand for there.
const BUILTIN_TOOLS: [ToolNames; 16] = [
    tool_names(
        "read_file",
        &["ReadFileTool", "ReadFile"],
        &["Read", "NotebookRead"],
        &["View"],
        &["read", "view", "view_file", "fs_read", "read_files"],
    ),
    tool_names("read_many_files", &["ReadManyFilesTool", "ReadManyFiles"], &["Read"], &["View"], &["read_files"]),
    tool_names(
        "write_file",
        &["WriteFileTool", "WriteFile"],
        &["Write"],
        &["Create", "apply_patch"],
        &["write", "create", "write_to_file", "fs_write", "editor"],
    ),
    tool_names(
        "replace",
        &["EditTool", "Edit", "SmartEditTool"],
        &["Edit", "MultiEdit", "NotebookEdit"],
        &["apply_patch"],
        &[
            "edit",
            "search_replace",
            "replace_in_file",
            "replace_file_content",
            "multi_replace_file_content",
            "fs_write",
            "editor",
        ],
    ),
    tool_names("list_directory", &["LSTool", "LsTool", "ReadFolder"], &["LS"], &[], &["ls", "list_dir"]),
    tool_names("glob", &["GlobTool", "FindFiles"], &["Glob"], &[], &["find_by_name", "list_files", "tree"]),
    tool_names(
        "search_file_content",
        &["GrepTool", "RipGrepTool", "grep_search", "SearchText"],
        &["Grep"],
        &[],
        &["grep", "rg", "search_files"],
    ),
    tool_names(
        "run_shell_command",
        &["ShellTool", "Shell"],
        &["Bash", "PowerShell", "Monitor"],
        &["Execute"],
        &[
            "bash",
            "shell",
            "powershell",
            "run_command",
            "run_commands",
            "run_terminal_command",
            "execute_bash",
            "execute_command",
            "exec_command",
            "launch-process",
        ],
    ),
    tool_names(
        "web_fetch",
        &["WebFetchTool", "WebFetch"],
        &["WebFetch"],
        &["FetchUrl"],
        &["webfetch", "fetch", "read_url_content"],
    ),
    tool_names(
        "google_web_search",
        &["WebSearchTool", "GoogleSearch"],
        &["WebSearch"],
        &[],
        &["web_search", "websearch", "search_web"],
    ),
    tool_names(
        "write_todos",
        &["WriteTodosTool", "WriteTodos"],
        &["TodoWrite"],
        &[],
        &["todo_write", "todowrite", "todo_list", "todos", "update_todo", "update_plan"],
    ),
    tool_names("save_memory", &["MemoryTool", "SaveMemory"], &[], &[], &[]),
    tool_names(
        "list_mcp_resources",
        &["ListMcpResourcesTool", "ListMcpResources"],
        &["ListMcpResourcesTool"],
        &[],
        &[],
    ),
    tool_names("read_mcp_resource", &["ReadMcpResourceTool", "ReadMcpResource"], &["ReadMcpResourceTool"], &[], &[]),
    tool_names(
        "delegate_to_agent",
        &["DelegateToAgentTool", "SubagentTool", "invoke_agent"],
        &["Agent", "Task"],
        &[],
        &["agent", "task", "spawn_agent"],
    ),
    tool_names("activate_skill", &["ActivateSkillTool"], &["Skill"], &[], &["skill"]),
];

impl ToolNames {
    /// Whether a word is an unambiguous name of the tool.
    fn has_unambiguous_name(&self, word: &str) -> bool {
        self.name == word || [self.older, self.claude, self.others].iter().any(|names| names.contains(&word))
    }
}

/// The canonical names of the built-in tools.
pub fn known_tools() -> impl Iterator<Item = &'static str> {
    BUILTIN_TOOLS.iter().map(|tool| tool.name)
}

/// The canonical name for a built-in tool's former name; any other name is returned unchanged.
pub fn canonical_tool_name(name: &str) -> &str {
    BUILTIN_TOOLS.iter().find(|tool| tool.older.contains(&name)).map_or(name, |tool| tool.name)
}

/// The built-in tools that have this name, a former name or another agent's name, as in a list of the tools of an
/// agent.
pub fn tools_named(word: &str) -> impl Iterator<Item = &'static str> {
    BUILTIN_TOOLS
        .iter()
        .filter(move |tool| tool.has_unambiguous_name(word) || tool.ambiguous.contains(&word))
        .map(|tool| tool.name)
}

/// Whether a name can be a tool's: a built-in tool's, current or former, or a tool's of an MCP server.
pub fn is_possible_tool(name: &str) -> bool {
    BUILTIN_TOOLS.iter().any(|tool| tool.name == name || tool.older.contains(&name)) || name.starts_with("mcp_")
}

/// The built-in tool that a misspelt or foreign name most likely means.
fn suggest_tool(name: &str) -> Option<&'static str> {
    tool_by_claude_name(name).or_else(|| nearest_name(canonical_tool_name(name), known_tools()))
}

/// The suggestion for a name that is not a tool's.
pub fn tool_help(name: &str) -> String {
    match suggest_tool(name) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the built-in tools are {}", known_tools().collect::<Vec<_>>().join(", ")),
    }
}

/// The name of a tool in Claude Code.
pub(crate) fn claude_name(tool: &str) -> Option<&'static str> {
    BUILTIN_TOOLS.iter().find(|known| known.name == tool)?.claude.first().copied()
}

/// The tool for which Claude Code uses this name.
pub fn tool_by_claude_name(name: &str) -> Option<&'static str> {
    BUILTIN_TOOLS.iter().find(|tool| tool.claude.contains(&name)).map(|tool| tool.name)
}

/// The other names by which a matcher may refer to a tool.
pub(crate) fn alternative_names(tool: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let known = BUILTIN_TOOLS.iter().filter(move |known| known.name == tool);
    let others = known.flat_map(|known| [known.older, known.claude, known.others]).flatten();
    others.map(|name| Cow::Borrowed(*name)).chain(mcp_spelling(tool).map(Cow::Owned))
}

/// The names of a tool that count only as whole words: as patterns they would match other tools too.
pub(crate) fn ambiguous_names(tool: &str) -> &'static [&'static str] {
    BUILTIN_TOOLS.iter().find(|known| known.name == tool).map_or(&[], |known| known.ambiguous)
}

/// Whether a word is an agent's name of a tool and may also be part of another name.
pub(crate) fn is_ambiguous_name(word: &str) -> bool {
    BUILTIN_TOOLS.iter().any(|tool| tool.ambiguous.contains(&word))
}

/// Whether a word is the whole name of a tool: a built-in tool's, current, former or another agent's, or an MCP tool's
/// in either spelling.
pub(crate) fn is_tool_name(word: &str) -> bool {
    let parts = |prefix: &str, between: &str| {
        let (server, name) = word.strip_prefix(prefix)?.split_once(between)?;
        Some(!server.starts_with('_') && !server.is_empty() && !name.is_empty())
    };
    BUILTIN_TOOLS.iter().any(|tool| tool.has_unambiguous_name(word))
        || parts("mcp__", "__").or_else(|| parts("mcp_", "_")) == Some(true)
}

/// Names of other agents' tools that are not a mistake next to other names in a matcher.
const FOREIGN_TOOLS: [&str; 11] = [
    "AskUserQuestion",
    "BashOutput",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "NotebookEdit",
    "NotebookRead",
    "SlashCommand",
    "TaskOutput",
    "TodoRead",
    "ToolSearch",
];

/// Whether a word is a tool that only other agents have.
pub(crate) fn is_foreign_tool(word: &str) -> bool {
    FOREIGN_TOOLS.contains(&word)
}

/// The spelling `mcp_server_tool` of `mcp__server__tool`.
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
        let names = BUILTIN_TOOLS.iter().flat_map(|tool| tool.older.iter().chain([&tool.name]));
        names.for_each(|name| assert!(seen.insert(name), "{name}"));
    }

    /// A guard that was written for another agent matches here.
    #[test]
    fn other_agents_names_match_and_are_not_canonical() {
        use crate::matching::Matcher;
        for (matcher, tool) in [
            ("Bash", "run_shell_command"),
            ("Bash|Edit|Write", "run_shell_command"),
            ("Edit|MultiEdit|Write", "write_file"),
            ("^(Bash|replace)$", "run_shell_command"),
            ("apply_patch", "replace"),
            ("LS", "list_directory"),
            ("Read", "read_many_files"),
            ("Create", "write_file"),
            ("bash", "run_shell_command"),
            ("run_command", "run_shell_command"),
            ("edit|create", "replace"),
            ("Bash,Edit", "replace"),
            ("Write | Edit", "write_file"),
            ("view", "read_file"),
        ] {
            let (compiled, _) = Matcher::compile(crate::event::MatcherSubject::ToolName, Some(matcher));
            assert!(compiled.matches(tool), "{matcher} {tool}");
            assert!(!compiled.matches("google_web_search"), "{matcher}");
        }
        assert_eq!(canonical_tool_name("Bash"), "Bash", "a model that calls it calls no tool");
    }

    /// A word that matched as part of names before it was known as another agent's name still does.
    #[test]
    fn ambiguous_names_still_match_as_parts() {
        use crate::matching::Matcher;
        let matches = |matcher: &str, tool: &str| {
            Matcher::compile(crate::event::MatcherSubject::ToolName, Some(matcher)).0.matches(tool)
        };
        assert!(matches("shell", "run_shell_command") && matches("bash", "my_bash"));
        assert!(matches("edit", "mcp__ed__edit_all") && matches("edit", "replace"));
        assert!(!matches("^search_.*", "replace"), "Grok's `search_replace` is no pattern's business");
        assert!(!matches("^read_.*", "web_fetch"));
    }

    #[test]
    fn claude_names_round_trip() {
        for tool in known_tools() {
            let Some(theirs) = claude_name(tool) else { continue };
            let back = tool_by_claude_name(theirs);
            assert!(back == Some(tool) || (tool, back) == ("read_many_files", Some("read_file")), "{tool} {theirs}");
        }
        assert_eq!((tool_by_claude_name("Task"), tool_by_claude_name("bash")), (Some("delegate_to_agent"), None));
    }

    #[test]
    fn mcp_tools_have_two_spellings() {
        let names: Vec<_> = alternative_names("mcp__git__push_all").collect();
        assert_eq!(names, ["mcp_git_push_all"]);
        assert_eq!(alternative_names("mcp__broken").count(), 0);
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
