//! THE table of built-in tools: names, older names, kinds. What each one does is in its own file.

use crate::tool::ToolKind;

/// One built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinInfo {
    /// The canonical name: what the model calls and hooks are told.
    pub name: &'static str,
    /// The name on cards and prompts.
    pub display_name: &'static str,
    /// What it does to the world.
    pub kind: ToolKind,
    /// Older and other names that mean it too.
    pub aliases: &'static [&'static str],
}

macro_rules! builtins {
    ($($constant:ident = $name:literal, $display:literal, $kind:ident, [$($alias:literal),*];)+) => {
        $(pub(crate) const $constant: BuiltinInfo = BuiltinInfo {
            name: $name,
            display_name: $display,
            kind: ToolKind::$kind,
            aliases: &[$($alias),*],
        };)+

        /// Every built-in tool, in the order the model is told of them.
        pub const BUILTINS: &[BuiltinInfo] = &[$($constant),+];
    };
}

builtins! {
    LIST_DIRECTORY = "list_directory", "ReadFolder", Read, ["LSTool", "LsTool"];
    READ_FILE = "read_file", "ReadFile", Read, ["ReadFileTool"];
    SEARCH_FILE_CONTENT = "search_file_content", "SearchText", Search, ["grep_search", "GrepTool", "RipGrepTool"];
    GLOB = "glob", "FindFiles", Search, ["GlobTool"];
    REPLACE = "replace", "Edit", Edit, ["EditTool", "SmartEditTool"];
    WRITE_FILE = "write_file", "WriteFile", Edit, ["WriteFileTool"];
    WEB_FETCH = "web_fetch", "WebFetch", Fetch, ["WebFetchTool"];
    READ_MANY_FILES = "read_many_files", "ReadManyFiles", Read, ["ReadManyFilesTool"];
    RUN_SHELL_COMMAND = "run_shell_command", "Shell", Execute, ["ShellTool"];
    SAVE_MEMORY = "save_memory", "SaveMemory", Other, ["MemoryTool"];
    GOOGLE_WEB_SEARCH = "google_web_search", "GoogleSearch", Search, ["WebSearchTool"];
    WRITE_TODOS = "write_todos", "WriteTodos", Think, ["WriteTodosTool"];
}

/// The canonical name for `name`: itself, unless it is another name of a built-in tool.
pub fn canonical_name(name: &str) -> &str {
    BUILTINS
        .iter()
        .find(|tool| tool.display_name == name || tool.aliases.contains(&name))
        .map_or(name, |tool| tool.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_names_lead_to_canonical_ones() {
        assert_eq!(canonical_name("grep_search"), "search_file_content");
        assert_eq!(canonical_name("EditTool"), "replace");
        assert_eq!(canonical_name("Shell"), "run_shell_command");
        assert_eq!(canonical_name("read_file"), "read_file");
        assert_eq!(canonical_name("mcp__a__b"), "mcp__a__b");
    }

    #[test]
    fn no_name_means_two_tools() {
        let mut names: Vec<&str> = BUILTINS
            .iter()
            .flat_map(|tool| [tool.name, tool.display_name].into_iter().chain(tool.aliases.iter().copied()))
            .collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
