//! A host's call → the same call in our words, as one view or several; and a change of a view back into the host's words.
//!
//! Claude Code's words are the middle: the engine knows how they map to ours (`dialect::tools`), and THE table here says how
//! other agents' tools and arguments are spelt in them. Names and spellings only; nothing is judged here.

use hookwright_hooks::dialect::tools::{self as claude, Call};
use hookwright_hooks::patch::{self, FileChange};
use serde_json::{Map, Value};

use crate::dialect::{Back, Standing};
use crate::host::Host;

/// A tool of Claude Code's, what other agents call it, and how they spell its arguments.
struct Row {
    claude: &'static str,
    native: &'static [&'static str],
    /// Claude's key, and the others' for it.
    keys: &'static [(&'static str, &'static [&'static str])],
}

const PATH: &[&str] =
    &["path", "filePath", "absolute_path", "AbsolutePath", "TargetFile", "target_file", "target_path"];
const FOLDER: &[&str] = &[
    "directory",
    "dir_path",
    "directory_path",
    "folder",
    "SearchPath",
    "SearchDirectory",
    "DirectoryPath",
    "target_directory",
];

const ROWS: &[Row] = &[
    Row {
        claude: "Bash",
        native: &[
            "Shell",
            "Execute",
            "bash",
            "shell",
            "powershell",
            "run_shell_command",
            "run_command",
            "run_terminal_command",
            "run_terminal_cmd",
            "monitor",
            "exec_command",
            "local_shell",
        ],
        keys: &[
            ("command", &["CommandLine", "cmd"]),
            ("description", &["summary"]),
            ("run_in_background", &["is_background", "fireAndForget"]),
            ("dir_path", &["cwd", "Cwd", "workdir", "working_directory", "workingDirectory", "directory"]),
        ],
    },
    Row {
        claude: "Write",
        native: &["Create", "create", "write", "write_file", "write_to_file"],
        keys: &[("file_path", PATH), ("content", &["file_text", "contents", "CodeContent"])],
    },
    Row {
        claude: "Edit",
        native: &["edit", "replace", "search_replace", "replace_file_content", "str_replace", "StrReplace"],
        keys: &[
            ("file_path", PATH),
            ("old_string", &["old_str", "oldString", "TargetContent"]),
            ("new_string", &["new_str", "newString", "ReplacementContent"]),
            ("replace_all", &["replaceAll", "change_all", "AllowMultiple", "allow_multiple"]),
        ],
    },
    Row {
        claude: "MultiEdit",
        native: &["multi_replace_file_content", "multi_edit", "multiedit"],
        keys: &[("file_path", PATH), ("edits", &["changes", "ReplacementChunks"])],
    },
    Row {
        claude: "Read",
        native: &["view", "read", "read_file", "view_file", "view_image"],
        keys: &[("file_path", PATH)],
    },
    Row {
        claude: "Grep",
        native: &["grep", "rg", "grep_search", "search_file_content"],
        keys: &[
            ("pattern", &["Query", "query"]),
            ("path", FOLDER),
            ("glob", &["glob_pattern", "include", "include_pattern"]),
        ],
    },
    Row {
        claude: "Glob",
        native: &["glob", "find_by_name"],
        keys: &[("pattern", &["Pattern", "glob_pattern"]), ("path", FOLDER)],
    },
    Row { claude: "LS", native: &["list_directory", "list_dir", "list", "ls"], keys: &[("path", FOLDER)] },
    Row {
        claude: "WebFetch",
        native: &["FetchUrl", "web_fetch", "webfetch", "fetch", "read_url_content"],
        keys: &[("url", &["Url"])],
    },
    Row {
        claude: "WebSearch",
        native: &["web_search", "websearch", "search_web", "google_web_search"],
        keys: &[("query", &["Query"])],
    },
    Row { claude: "TodoWrite", native: &["todo_write", "todowrite", "update_todo", "write_todos"], keys: &[] },
    Row {
        claude: "Agent",
        native: &["Task", "task", "agent", "spawn_agent", "spawn_subagent", "Subagent"],
        keys: &[("prompt", &["message", "task"]), ("subagent_type", &["agent_type", "agentType"])],
    },
    Row { claude: "Skill", native: &["skill"], keys: &[("skill", &["name"])] },
];

/// Tools that change and read nothing that a guard would have to see, beyond those that the engine knows of Claude Code.
const HARMLESS: &[&str] = &[
    "ask_user",
    "ask_user_question",
    "AskUser",
    "enter_plan_mode",
    "exit_plan_mode",
    "ExitSpecMode",
    "get_command_or_subagent_output",
    "kill_command_or_subagent",
    "list_agents",
    "list_bash",
    "notify_user",
    "question",
    "read_bash",
    "report_intent",
    "request_user_input",
    "scheduler_delete",
    "scheduler_list",
    "search_tool",
    "stop_bash",
    "task_complete",
    "todoread",
    "update_plan",
    "wait",
];

/// Tools whose argument is a patch over any number of files.
const PATCHES: &[&str] = &["apply_patch", "ApplyPatch", "patch"];
const PATCH_TEXT: &[&str] = &["command", "input", "patch", "patchText", "patch_text"];

/// A host's call in our words.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    /// What is known of the tool.
    pub standing: Standing,
    /// The views, never none.
    pub views: Vec<(Call, Back)>,
}

/// A host's call in our words.
pub fn views(host: Host, name: &str, input: &Map<String, Value>) -> Views {
    if host == Host::GeminiCli {
        return own_words(name, input);
    }
    if PATCHES.contains(&name) {
        return patch_views(name, input);
    }
    let Some(call) = in_claudes_words(name, input) else { return other_tool(name, input) };
    let translated = claude::from_claude(&call);
    let mut views: Vec<(Call, Back)> =
        translated.views.into_iter().enumerate().map(|(at, view)| (view, Back::View(at))).collect();
    let mut standing = Standing::Known;
    if call.tool == "Bash" {
        let command = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
        match patches_within(command) {
            Ok(changes) => views.extend(changes.into_iter().flat_map(of_change)),
            // What it does to files can't be told.
            Err(_) => standing = Standing::Unknown,
        }
    }
    Views { standing, views }
}

/// The host's arguments, whole, after a view of its call was changed.
///
/// # Errors
/// If the host has no words for it; why.
pub fn put_back(
    host: Host,
    name: &str,
    input: &Map<String, Value>,
    back: Back,
    changed: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let at = match back {
        Back::View(at) => at,
        Back::Impossible(why) => return Err(why.to_owned()),
    };
    if host == Host::GeminiCli {
        return Ok(changed.clone());
    }
    let Some(call) = in_claudes_words(name, input) else { return Ok(changed.clone()) };
    let whole = claude::put_back_to_claude(&call, at, changed).map_err(|error| error.to_string())?;
    let row = row_of(name);
    let key_of = |key: String| match row.and_then(|row| spelt_as(row, &key, input)) {
        Some(native) => native,
        None => key,
    };
    Ok(whole.into_iter().map(|(key, value)| (key_of(key), value)).collect())
}

/// How the host spelt a key of Claude's in these arguments.
fn spelt_as(row: &Row, key: &str, input: &Map<String, Value>) -> Option<String> {
    let (_, others) = row.keys.iter().find(|(claude, _)| *claude == key)?;
    if input.contains_key(key) {
        return None;
    }
    others.iter().find(|other| input.contains_key(**other)).map(|other| (*other).to_owned())
}

fn row_of(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.claude == name || row.native.contains(&name))
}

/// The call as Claude Code would make it; nothing if it has no such tool.
fn in_claudes_words(name: &str, input: &Map<String, Value>) -> Option<Call> {
    let Some(row) = row_of(name) else {
        let known = matches!(claude::standing(name), claude::Standing::Counterpart(_));
        return known.then(|| Call::new(name, input.clone()));
    };
    let mut spelt = Map::new();
    for (key, value) in input {
        let claude = row.keys.iter().find(|(_, others)| others.contains(&key.as_str())).map(|(claude, _)| *claude);
        // A key in both spellings: the tool may heed either, so both are shown.
        let key = claude.filter(|claude| !input.contains_key(*claude)).unwrap_or(key);
        let value = if key == "edits" { edits(value) } else { value.clone() };
        spelt.insert(key.to_owned(), value);
    }
    Some(Call::new(row.claude, spelt))
}

/// The parts of a list of edits, spelt as Claude Code does.
fn edits(list: &Value) -> Value {
    let Some(edit) = ROWS.iter().find(|row| row.claude == "Edit") else { return list.clone() };
    let spelt = |part: &Map<String, Value>| -> Map<String, Value> {
        let key_of = |key: &String| {
            let claude = edit.keys.iter().find(|(_, others)| others.contains(&key.as_str()));
            claude.map_or_else(|| key.clone(), |(claude, _)| (*claude).to_owned())
        };
        part.iter().map(|(key, value)| (key_of(key), value.clone())).collect()
    };
    match list {
        Value::Array(parts) => {
            parts.iter().map(|part| part.as_object().map_or_else(|| part.clone(), |part| spelt(part).into())).collect()
        }
        other => other.clone(),
    }
}

/// A call that already is in our words.
fn own_words(name: &str, input: &Map<String, Value>) -> Views {
    let name = hookwright_hooks::canonical_tool_name(name);
    let known = hookwright_hooks::is_possible_tool(name);
    let standing = if known { Standing::Known } else { Standing::Unknown };
    Views { standing, views: vec![(Call::new(name, input.clone()), Back::View(0))] }
}

/// A tool without a counterpart keeps its name and its arguments.
fn other_tool(name: &str, input: &Map<String, Value>) -> Views {
    let (standing, name) = match claude::standing(name) {
        claude::Standing::Mcp => (Standing::Known, name.to_owned()),
        claude::Standing::Harmless => (Standing::Harmless, name.to_owned()),
        _ if HARMLESS.contains(&name) => (Standing::Harmless, name.to_owned()),
        _ => mcp_tool(name).unwrap_or_else(|| (Standing::Unknown, name.to_owned())),
    };
    Views { standing, views: vec![(Call::new(name, input.clone()), Back::View(0))] }
}

/// Tools of MCP servers in other agents' spellings: `server/tool`, `server__tool`, and `MCP:tool`, which does not say whose
/// it is.
fn mcp_tool(name: &str) -> Option<(Standing, String)> {
    if name.starts_with("MCP:") {
        return Some((Standing::SomeServers, name.to_owned()));
    }
    let (server, tool) = name.trim_start_matches('@').split_once('/').or_else(|| name.split_once("__"))?;
    let is_word =
        |text: &str| !text.is_empty() && text.chars().all(|char| char.is_alphanumeric() || "-_.".contains(char));
    (is_word(server) && is_word(tool)).then(|| (Standing::Known, format!("mcp__{server}__{tool}")))
}

const ONE_OF_MANY: Back = Back::Impossible("a patch can't be rewritten file by file");

fn patch_views(name: &str, input: &Map<String, Value>) -> Views {
    let text = PATCH_TEXT.iter().find_map(|key| input.get(*key).and_then(Value::as_str));
    match text.map(patch::read) {
        Some(Ok(changes)) => {
            Views { standing: Standing::Known, views: changes.into_iter().flat_map(of_change).collect() }
        }
        // A patch that nobody can read: whoever guards files would be blind to it.
        _ => Views { standing: Standing::Unknown, views: vec![(Call::new(name, input.clone()), ONE_OF_MANY)] },
    }
}

/// What a patch does to one file, as calls of ours. A file that is removed, or moved away, is emptied.
fn of_change(change: FileChange) -> Vec<(Call, Back)> {
    let write =
        |path: &str, content: String| call("write_file", &[("file_path", path.to_owned()), ("content", content)]);
    let replace = |path: &str, before: String, after: String| {
        call("replace", &[("file_path", path.to_owned()), ("old_string", before), ("new_string", after)])
    };
    match change {
        FileChange::Add { path, content } => vec![write(&path, content)],
        FileChange::Delete { path } => vec![replace(&path, String::new(), String::new())],
        FileChange::Update { path, moved_to, hunks } => {
            let mut views: Vec<_> = hunks.iter().map(|hunk| replace(&path, hunk.before(), hunk.after())).collect();
            if let Some(to) = moved_to {
                if views.is_empty() {
                    views.push(replace(&path, String::new(), String::new()));
                }
                views.push(write(&to, hunks.iter().map(patch::Hunk::after).collect()));
            }
            views
        }
    }
}

fn call(tool: &str, input: &[(&str, String)]) -> (Call, Back) {
    let input = input.iter().map(|(key, value)| ((*key).to_owned(), Value::String(value.clone()))).collect();
    (Call::new(tool, input), ONE_OF_MANY)
}

/// The patches that a command hands to `apply_patch`.
fn patches_within(command: &str) -> Result<Vec<FileChange>, patch::PatchError> {
    const BEGIN: &str = "*** Begin Patch";
    const END: &str = "*** End Patch";
    let mut changes = Vec::new();
    if !command.contains("apply_patch") && !command.contains("applypatch") {
        return Ok(changes);
    }
    let mut rest = command;
    while let Some(start) = rest.find(BEGIN) {
        let tail = &rest[start..];
        let length = tail.find(END).map_or(tail.len(), |end| end + END.len());
        changes.extend(patch::read(&tail[..length])?);
        rest = &tail[length..];
    }
    Ok(changes)
}

#[cfg(test)]
mod tests;
