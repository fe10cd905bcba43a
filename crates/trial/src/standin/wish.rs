//! What the stand-in wants done, put into a call of whichever tool the agent offers for it: its name, its arguments' names,
//! and something for every other argument that it demands.

use serde_json::{Map, Value, json};

/// One thing that the model would like to have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A command run in a shell.
    Shell(String),
    /// A new file.
    Write {
        /// Where.
        path: String,
        /// What is in it.
        content: String,
    },
    /// A text in a file replaced by another.
    Edit {
        /// Which file.
        path: String,
        /// What is there.
        old: String,
        /// What should be.
        new: String,
    },
    /// A file read.
    Read {
        /// Which.
        path: String,
    },
}

/// A tool that the agent offers.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) name: String,
    /// Its arguments' schema; a tool that takes plain text has none.
    pub(super) parameters: Option<Value>,
}

/// What the stand-in answers.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Say(String),
    Call { name: String, input: Input },
}

/// What a tool is called with.
#[derive(Debug, PartialEq)]
pub(super) enum Input {
    Arguments(Value),
    Text(String),
}

/// Names of tools for the shell, the likeliest first.
const SHELLS: [&str; 10] = [
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
const WRITERS: [&str; 6] = ["Write", "write_file", "create", "Create", "write", "apply_patch"];
const EDITORS: [&str; 6] = ["Edit", "edit", "replace", "search_replace", "str_replace_editor", "apply_patch"];
const READERS: [&str; 5] = ["Read", "read_file", "view", "read", "read_many_files"];

const COMMANDS: [&str; 2] = ["command", "cmd"];
const PATHS: [&str; 5] = ["file_path", "path", "filePath", "absolute_path", "target_file"];
const CONTENTS: [&str; 3] = ["content", "file_text", "text"];
const OLD: [&str; 3] = ["old_string", "old_str", "oldString"];
const NEW: [&str; 3] = ["new_string", "new_str", "newString"];

impl Wish {
    /// A call for it, if any tool on offer can do it.
    pub(super) fn as_call(&self, offers: &[Offer]) -> Option<Reply> {
        let offer = |names: &[&str]| names.iter().find_map(|name| offers.iter().find(|offer| offer.name == *name));
        let (tool, filled): (_, Vec<(&[&str], &str)>) = match self {
            Wish::Shell(command) => (offer(&SHELLS), vec![(&COMMANDS, command)]),
            Wish::Write { path, content } => (offer(&WRITERS), vec![(&PATHS, path), (&CONTENTS, content)]),
            Wish::Edit { path, old, new } => (offer(&EDITORS), vec![(&PATHS, path), (&OLD, old), (&NEW, new)]),
            Wish::Read { path } => (offer(&READERS), vec![(&PATHS, path)]),
        };
        let Some(tool) = tool else { return self.as_patch_in_a_shell(offers) };
        let input = match (&tool.parameters, self.as_patch()) {
            (None, Some(patch)) => Input::Text(patch),
            (Some(schema), Some(patch)) if tool.name == "apply_patch" => {
                Input::Arguments(arguments(schema, &[(&["input", "patch"], &patch)]))
            }
            (Some(schema), _) => Input::Arguments(arguments(schema, &filled)),
            (None, None) => return None,
        };
        Some(Reply::Call { name: tool.name.clone(), input })
    }

    /// The change as a patch.
    fn as_patch(&self) -> Option<String> {
        let body = match self {
            Wish::Write { path, content } => format!("*** Add File: {path}\n{}", prefixed(content, '+')),
            Wish::Edit { path, old, new } => {
                format!("*** Update File: {path}\n@@\n{}{}", prefixed(old, '-'), prefixed(new, '+'))
            }
            Wish::Shell(_) | Wish::Read { .. } => return None,
        };
        Some(format!("*** Begin Patch\n{body}*** End Patch\n"))
    }

    /// Agents without a tool for files take patches, or read, through their shell.
    fn as_patch_in_a_shell(&self, offers: &[Offer]) -> Option<Reply> {
        let command = match self {
            Wish::Read { path } => format!("cat '{path}'"),
            _ => format!("apply_patch <<'EOF'\n{}EOF", self.as_patch()?),
        };
        Wish::Shell(command).as_call(offers)
    }
}

fn prefixed(text: &str, sign: char) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}

/// Arguments by a schema: what is wanted under the names that it has, and something for all else that it demands.
fn arguments(schema: &Value, wanted: &[(&[&str], &str)]) -> Value {
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
            arguments.insert(name.to_owned(), anything(&schema["properties"][name]));
        }
    }
    Value::Object(arguments)
}

/// Something that a schema lets pass.
fn anything(schema: &Value) -> Value {
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
