//! THE table of built-in tools: names and kinds. Other names for them are in the engine's table, since matchers know
//! them too; what each one does is in its own file.

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
}

macro_rules! builtins {
    ($($constant:ident = $name:literal, $display:literal, $kind:ident;)+) => {
        $(pub(crate) const $constant: BuiltinInfo = BuiltinInfo {
            name: $name,
            display_name: $display,
            kind: ToolKind::$kind,
        };)+

        /// Every built-in tool, in the order the model is told of them.
        pub const BUILTINS: &[BuiltinInfo] = &[$($constant),+];
    };
}

builtins! {
    LIST_DIRECTORY = "list_directory", "ReadFolder", Read;
    READ_FILE = "read_file", "ReadFile", Read;
    SEARCH_FILE_CONTENT = "search_file_content", "SearchText", Search;
    GLOB = "glob", "FindFiles", Search;
    REPLACE = "replace", "Edit", Edit;
    WRITE_FILE = "write_file", "WriteFile", Edit;
    WEB_FETCH = "web_fetch", "WebFetch", Fetch;
    READ_MANY_FILES = "read_many_files", "ReadManyFiles", Read;
    RUN_SHELL_COMMAND = "run_shell_command", "Shell", Execute;
    SAVE_MEMORY = "save_memory", "SaveMemory", Other;
    GOOGLE_WEB_SEARCH = "google_web_search", "GoogleSearch", Search;
    WRITE_TODOS = "write_todos", "WriteTodos", Think;
}

/// The canonical name for `name`: itself, unless it is another name of a built-in tool.
pub use hookwright_hooks::canonical_tool_name as canonical_name;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_lead_to_canonical_ones() {
        assert_eq!(canonical_name("grep_search"), "search_file_content");
        assert_eq!(canonical_name("SmartEditTool"), "replace");
        assert_eq!(canonical_name("mcp__a__b"), "mcp__a__b");
        for tool in BUILTINS {
            assert_eq!(canonical_name(tool.name), tool.name);
            assert_eq!(canonical_name(tool.display_name), tool.name, "{}", tool.display_name);
        }
    }
}
