//! THE table of the built-in tools' names, with the older and other names that matchers, settings and models may still
//! use. Not the tools themselves.

use std::borrow::Cow;

use crate::near::nearest;

/// One built-in tool's names.
struct Names {
    name: &'static str,
    /// What it was called; a model may still call it so.
    older: &'static [&'static str],
    /// What Claude Code calls it; the first is the name that hooks in its dialect are told.
    claude: &'static [&'static str],
    /// What other agents call it, in words that are surely names.
    others: &'static [&'static str],
    /// What other agents call it, in words that may also be a part of some tool's name.
    words: &'static [&'static str],
}

type List = &'static [&'static str];

const fn names(name: &'static str, older: List, claude: List, others: List, words: List) -> Names {
    Names { name, older, claude, others, words }
}

/// A matcher that was written for another agent means the tools that its words stand for there.
const TOOLS: [Names; 16] = [
    names(
        "read_file",
        &["ReadFileTool", "ReadFile"],
        &["Read", "NotebookRead"],
        &["View"],
        &["read", "view", "view_file", "fs_read", "read_files"],
    ),
    names("read_many_files", &["ReadManyFilesTool", "ReadManyFiles"], &["Read"], &["View"], &["read_files"]),
    names(
        "write_file",
        &["WriteFileTool", "WriteFile"],
        &["Write"],
        &["Create", "apply_patch"],
        &["write", "create", "write_to_file", "fs_write", "editor"],
    ),
    names(
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
    names("list_directory", &["LSTool", "LsTool", "ReadFolder"], &["LS"], &[], &["ls", "list_dir"]),
    names("glob", &["GlobTool", "FindFiles"], &["Glob"], &[], &["find_by_name", "list_files", "tree"]),
    names(
        "search_file_content",
        &["GrepTool", "RipGrepTool", "grep_search", "SearchText"],
        &["Grep"],
        &[],
        &["grep", "rg", "search_files"],
    ),
    names(
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
    names(
        "web_fetch",
        &["WebFetchTool", "WebFetch"],
        &["WebFetch"],
        &["FetchUrl"],
        &["webfetch", "fetch", "read_url_content"],
    ),
    names(
        "google_web_search",
        &["WebSearchTool", "GoogleSearch"],
        &["WebSearch"],
        &[],
        &["web_search", "websearch", "search_web"],
    ),
    names(
        "write_todos",
        &["WriteTodosTool", "WriteTodos"],
        &["TodoWrite"],
        &[],
        &["todo_write", "todowrite", "todo_list", "todos", "update_todo", "update_plan"],
    ),
    names("save_memory", &["MemoryTool", "SaveMemory"], &[], &[], &[]),
    names("list_mcp_resources", &["ListMcpResourcesTool", "ListMcpResources"], &["ListMcpResourcesTool"], &[], &[]),
    names("read_mcp_resource", &["ReadMcpResourceTool", "ReadMcpResource"], &["ReadMcpResourceTool"], &[], &[]),
    names(
        "delegate_to_agent",
        &["DelegateToAgentTool", "SubagentTool", "invoke_agent"],
        &["Agent", "Task"],
        &[],
        &["agent", "task", "spawn_agent"],
    ),
    names("activate_skill", &["ActivateSkillTool"], &["Skill"], &[], &["skill"]),
];

impl Names {
    /// Whether a word is one of its names, and surely nothing else.
    fn surely(&self, word: &str) -> bool {
        self.name == word || [self.older, self.claude, self.others].iter().any(|names| names.contains(&word))
    }
}

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
    TOOLS.iter().filter(move |tool| tool.surely(word) || tool.words.contains(&word)).map(|tool| tool.name)
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

/// What Claude Code calls a tool.
pub(crate) fn claude_name(tool: &str) -> Option<&'static str> {
    TOOLS.iter().find(|known| known.name == tool)?.claude.first().copied()
}

/// The tool that Claude Code means by a name.
pub fn claude_tool(name: &str) -> Option<&'static str> {
    TOOLS.iter().find(|tool| tool.claude.contains(&name)).map(|tool| tool.name)
}

/// The other names under which a matcher may know this tool.
pub(crate) fn other_names(tool: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let known = TOOLS.iter().filter(move |known| known.name == tool);
    let others = known.flat_map(|known| [known.older, known.claude, known.others]).flatten();
    others.map(|name| Cow::Borrowed(*name)).chain(mcp_spelling(tool).map(Cow::Owned))
}

/// The names of a tool that only count where they stand as whole words: as patterns they would mean others' tools too.
pub(crate) fn names_as_words(tool: &str) -> &'static [&'static str] {
    TOOLS.iter().find(|known| known.name == tool).map_or(&[], |known| known.words)
}

/// Whether a word is some agent's name of a tool, and may be a part of another's.
pub(crate) fn is_name_and_part(word: &str) -> bool {
    TOOLS.iter().any(|tool| tool.words.contains(&word))
}

/// Whether a word is the whole name of a tool: a built-in one's, old, new or another agent's, or an MCP tool's in either
/// spelling.
pub(crate) fn is_tool_name(word: &str) -> bool {
    let parts = |prefix: &str, between: &str| {
        let (server, name) = word.strip_prefix(prefix)?.split_once(between)?;
        Some(!server.starts_with('_') && !server.is_empty() && !name.is_empty())
    };
    TOOLS.iter().any(|tool| tool.surely(word)) || parts("mcp__", "__").or_else(|| parts("mcp_", "_")) == Some(true)
}

/// Tools that other agents have and for which there is nothing here: beside others in a list they are no mistake.
const ELSEWHERE: [&str; 11] = [
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
    ELSEWHERE.contains(&word)
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
            ("Read", "read_many_files"),
            ("Create", "write_file"),
            ("bash", "run_shell_command"),
            ("run_command", "run_shell_command"),
            ("edit|create", "replace"),
            ("Bash,Edit", "replace"),
            ("Write | Edit", "write_file"),
            ("view", "read_file"),
        ] {
            let (compiled, _) = Matcher::compile(crate::event::Subject::ToolName, Some(matcher));
            assert!(compiled.matches(tool), "{matcher} {tool}");
            assert!(!compiled.matches("google_web_search"), "{matcher}");
        }
        assert_eq!(canonical_tool_name("Bash"), "Bash", "a model that calls it calls no tool");
    }

    /// What was a part of names before it was known as another agent's name still is.
    #[test]
    fn words_that_are_names_elsewhere_are_still_parts_here() {
        use crate::matcher::Matcher;
        let matches = |matcher: &str, tool: &str| {
            Matcher::compile(crate::event::Subject::ToolName, Some(matcher)).0.matches(tool)
        };
        assert!(matches("shell", "run_shell_command") && matches("bash", "my_bash"));
        assert!(matches("edit", "mcp__ed__edit_all") && matches("edit", "replace"));
        assert!(!matches("^search_.*", "replace"), "Grok's `search_replace` is no pattern's business");
        assert!(!matches("^read_.*", "web_fetch"));
    }

    #[test]
    fn claudes_names_lead_there_and_back() {
        for tool in known_tools() {
            let Some(theirs) = claude_name(tool) else { continue };
            let back = claude_tool(theirs);
            assert!(back == Some(tool) || (tool, back) == ("read_many_files", Some("read_file")), "{tool} {theirs}");
        }
        assert_eq!((claude_tool("Task"), claude_tool("bash")), (Some("delegate_to_agent"), None));
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
