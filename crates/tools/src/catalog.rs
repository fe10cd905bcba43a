//! The table of built-in tools: names and kinds. Their aliases are in the engine's table, because matchers use them
//! too.

use crate::failure::ToolFailure;
use crate::tool::ToolKind;
use serde_json::{Map, Value};

/// One built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinInfo {
    /// The canonical name, which the model calls and hooks receive.
    pub name: &'static str,
    /// The name that the user sees.
    pub display_name: &'static str,
    /// The kind of effect.
    pub kind: ToolKind,
}

macro_rules! builtins {
    ($($constant:ident = $name:literal, $display:literal, $kind:ident;)+) => {
        $(pub(crate) const $constant: BuiltinInfo = BuiltinInfo {
            name: $name,
            display_name: $display,
            kind: ToolKind::$kind,
        };)+

        /// Every built-in tool, in the order in which they are declared to the model.
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

/// Former names of arguments that models still use: tool, old name, new name.
///
/// Arguments are renamed before the call, so that hooks and rules find them under the declared name.
const LEGACY_ARGUMENT_NAMES: &[(&str, &str, &str)] = &[
    ("run_shell_command", "directory", "dir_path"),
    ("glob", "path", "dir_path"),
    ("list_directory", "path", "dir_path"),
    ("search_file_content", "path", "dir_path"),
    ("search_file_content", "include", "include_pattern"),
    ("delegate_to_agent", "subagent_type", "agent_name"),
    ("delegate_to_agent", "prompt", "objective"),
];

/// Renames arguments to the names that the tool declares.
///
/// # Errors
/// If an argument is given under both names with different values.
pub fn canonical_arguments(tool: &str, args: &mut Map<String, Value>) -> Result<(), ToolFailure> {
    for (_, then, now) in LEGACY_ARGUMENT_NAMES.iter().filter(|(name, _, _)| *name == tool) {
        let Some(value) = args.shift_remove(*then) else { continue };
        if args.get(*now).is_some_and(|known| *known != value) {
            return Err(ToolFailure::invalid_params(format!(
                "params/{then} is another name of params/{now}; give one of them"
            )));
        }
        args.insert((*now).to_owned(), value);
    }
    Ok(())
}

/// Returns the canonical name of a tool; a name that is no alias of a built-in tool is returned unchanged.
pub use hookwright_hooks::canonical_tool_name as canonical_name;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn legacy_arguments_are_renamed() {
        let renamed = |tool: &str, args: Value| {
            let Value::Object(mut args) = args else { panic!("an object") };
            canonical_arguments(tool, &mut args).map(|()| Value::Object(args)).map_err(|failure| failure.message)
        };
        let shell = "run_shell_command";
        assert_eq!(
            renamed(shell, json!({"command": "ls", "directory": "d"})),
            Ok(json!({"command": "ls", "dir_path": "d"}))
        );
        assert_eq!(renamed(shell, json!({"directory": "d", "dir_path": "d"})), Ok(json!({"dir_path": "d"})));
        assert!(
            renamed(shell, json!({"directory": "a", "dir_path": "b"})).is_err(),
            "a hook would judge the wrong one"
        );
        assert_eq!(renamed("write_file", json!({"path": "d"})), Ok(json!({"path": "d"})));
        let mut tools = crate::ToolSet::builtin(crate::WebSearchSupport::Unavailable);
        let agent = crate::DelegateAgent { name: "scout".to_owned(), description: String::new() };
        tools.register(crate::DelegateToAgent::for_agents(vec![agent]).unwrap()).unwrap();
        for (tool, then, now) in LEGACY_ARGUMENT_NAMES {
            let declared = tools.get(tool).unwrap().declaration().parameters["properties"].clone();
            assert!(declared.get(now).is_some() && declared.get(then).is_none(), "{tool} {then}");
        }
    }

    #[test]
    fn aliases_map_to_canonical_names() {
        assert_eq!(canonical_name("grep_search"), "search_file_content");
        assert_eq!(canonical_name("SmartEditTool"), "replace");
        assert_eq!(canonical_name("mcp__a__b"), "mcp__a__b");
        for tool in BUILTINS {
            assert_eq!(canonical_name(tool.name), tool.name);
            assert_eq!(canonical_name(tool.display_name), tool.name, "{}", tool.display_name);
        }
    }
}
