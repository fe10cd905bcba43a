//! The actions of the mock model, translated into calls of the tools that the agent offers: the tool's name, the names
//! of its arguments, and a placeholder for every other required argument.

use serde_json::{Map, Value, json};

/// An action that the mock model calls for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedAction {
    /// Runs a command in a shell.
    Shell(String),
    /// Creates a file.
    Write {
        /// The path of the file.
        path: String,
        /// The content of the file.
        content: String,
    },
    /// Replaces a text in a file.
    Edit {
        /// The path of the file.
        path: String,
        /// The text that is there.
        old: String,
        /// The text that replaces it.
        new: String,
    },
    /// Reads a file.
    Read {
        /// The path of the file.
        path: String,
    },
    /// Deletes a file.
    Delete {
        /// The path of the file.
        path: String,
    },
}

/// A tool that the agent offers.
#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    /// The schema of its arguments; a tool that takes plain text has none.
    pub(super) parameters: Option<Value>,
}

/// The reply of the mock model.
#[derive(Debug, PartialEq)]
pub(super) enum MockReply {
    Text(String),
    ToolCall { name: String, input: MockCallInput },
}

/// The input of a tool call.
#[derive(Debug, PartialEq)]
pub(super) enum MockCallInput {
    Arguments(Value),
    Text(String),
}

/// The names of shell tools, the likeliest first.
const SHELL_TOOLS: [&str; 10] = [
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "run_shell_command",
    "Execute",
    "local_shell",
    "Shell",
    "run_terminal_command",
];
const WRITE_TOOLS: [&str; 6] = ["Write", "write_file", "create", "Create", "write", "apply_patch"];
const EDIT_TOOLS: [&str; 6] = ["Edit", "edit", "replace", "search_replace", "str_replace_editor", "apply_patch"];
const READ_TOOLS: [&str; 5] = ["Read", "read_file", "view", "read", "read_many_files"];

const COMMAND_ARGUMENTS: [&str; 2] = ["command", "cmd"];
const PATH_ARGUMENTS: [&str; 5] = ["file_path", "path", "filePath", "absolute_path", "target_file"];
const CONTENT_ARGUMENTS: [&str; 3] = ["content", "file_text", "text"];
const OLD_TEXT_ARGUMENTS: [&str; 3] = ["old_string", "old_str", "oldString"];
const NEW_TEXT_ARGUMENTS: [&str; 3] = ["new_string", "new_str", "newString"];

impl ScriptedAction {
    /// Returns the action with another directory in its paths and commands.
    pub(crate) fn with_paths_replaced(&self, from: &str, to: &str) -> ScriptedAction {
        let replace = |text: &String| text.replace(from, to);
        match self {
            ScriptedAction::Shell(command) => ScriptedAction::Shell(replace(command)),
            ScriptedAction::Write { path, content } => {
                ScriptedAction::Write { path: replace(path), content: content.clone() }
            }
            ScriptedAction::Edit { path, old, new } => {
                ScriptedAction::Edit { path: replace(path), old: old.clone(), new: new.clone() }
            }
            ScriptedAction::Read { path } => ScriptedAction::Read { path: replace(path) },
            ScriptedAction::Delete { path } => ScriptedAction::Delete { path: replace(path) },
        }
    }

    /// Returns a call for this action, if an offered tool can do it.
    pub(super) fn as_call(&self, offers: &[OfferedTool]) -> Option<MockReply> {
        let offer = |names: &[&str]| names.iter().find_map(|name| offers.iter().find(|offer| offer.name == *name));
        let (tool, filled): (_, Vec<(&[&str], &str)>) = match self {
            ScriptedAction::Shell(command) => (offer(&SHELL_TOOLS), vec![(&COMMAND_ARGUMENTS, command)]),
            ScriptedAction::Write { path, content } => {
                (offer(&WRITE_TOOLS), vec![(&PATH_ARGUMENTS, path), (&CONTENT_ARGUMENTS, content)])
            }
            ScriptedAction::Edit { path, old, new } => (
                offer(&EDIT_TOOLS),
                vec![(&PATH_ARGUMENTS, path), (&OLD_TEXT_ARGUMENTS, old), (&NEW_TEXT_ARGUMENTS, new)],
            ),
            ScriptedAction::Read { path } => (offer(&READ_TOOLS), vec![(&PATH_ARGUMENTS, path)]),
            ScriptedAction::Delete { .. } => (offer(&["apply_patch"]), Vec::new()),
        };
        let Some(tool) = tool else { return self.as_shell_call(offers) };
        let input = match (&tool.parameters, self.as_patch()) {
            (None, Some(patch)) => MockCallInput::Text(patch),
            (Some(schema), Some(patch)) if tool.name == "apply_patch" => {
                MockCallInput::Arguments(build_arguments(schema, &[(&["input", "patch"], &patch)]))
            }
            (Some(schema), _) => MockCallInput::Arguments(build_arguments(schema, &filled)),
            (None, None) => return None,
        };
        Some(MockReply::ToolCall { name: tool.name.clone(), input })
    }

    /// Returns the change as a patch.
    fn as_patch(&self) -> Option<String> {
        let body = match self {
            ScriptedAction::Write { path, content } => format!("*** Add File: {path}\n{}", prefix_lines(content, '+')),
            ScriptedAction::Edit { path, old, new } => {
                format!("*** Update File: {path}\n@@\n{}{}", prefix_lines(old, '-'), prefix_lines(new, '+'))
            }
            ScriptedAction::Delete { path } => format!("*** Delete File: {path}\n"),
            ScriptedAction::Shell(_) | ScriptedAction::Read { .. } => return None,
        };
        Some(format!("*** Begin Patch\n{body}*** End Patch\n"))
    }

    /// Returns a shell call for agents without a tool for files: they apply patches, read and delete through their shell.
    fn as_shell_call(&self, offers: &[OfferedTool]) -> Option<MockReply> {
        let command = match self {
            ScriptedAction::Read { path } => format!("cat '{path}'"),
            ScriptedAction::Delete { path } => format!("rm -f '{path}'"),
            _ => format!("apply_patch <<'EOF'\n{}EOF", self.as_patch()?),
        };
        ScriptedAction::Shell(command).as_call(offers)
    }
}

fn prefix_lines(text: &str, sign: char) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}

/// Builds arguments by a schema: the given values under the names that it has, and placeholders for the other required
/// ones.
fn build_arguments(schema: &Value, wanted: &[(&[&str], &str)]) -> Value {
    let mut arguments = Map::new();
    let properties = schema["properties"].as_object();
    for (names, value) in wanted {
        let known = |name: &&&str| properties.is_none_or(|properties| properties.contains_key(**name));
        let name = names.iter().find(known).unwrap_or(&names[0]);
        let list = schema["properties"][*name]["type"].as_str() == Some("array");
        let value = if list { json!(["sh", "-c", value]) } else { json!(value) };
        arguments.insert((*name).to_string(), value);
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            arguments.insert(name.to_owned(), placeholder_value(&schema["properties"][name]));
        }
    }
    Value::Object(arguments)
}

/// Returns a value that the schema accepts.
fn placeholder_value(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"].as_str().map(str::to_ascii_lowercase);
    match kind.as_deref() {
        Some("boolean") => json!(false),
        Some("number" | "integer") => json!(60),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("a trial"),
    }
}
