//! Translates tool calls between the Gemini dialect and Claude Code's: the arguments of a call in either direction, and
//! a change of the translated call back again.
//!
//! `tool_names.rs` has the names of the tools. A tool or argument without a counterpart keeps its name and is reported
//! as a [`TranslationLoss`].

mod shapes;

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use crate::matching::tool_names::{claude_name, mcp_spelling, tool_by_claude_name};

/// A tool call in either dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct DialectCall {
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the call.
    pub input: Map<String, Value>,
}

impl DialectCall {
    /// A call of a tool with these arguments.
    pub fn new(tool: impl Into<String>, input: Map<String, Value>) -> Self {
        DialectCall { tool: tool.into(), input }
    }
}

/// A call translated to the other dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaudeTranslation {
    /// One call, or several that together are the call: a deny of one is a deny of the call. Never empty.
    pub views: Vec<DialectCall>,
    /// The working directory of a command, where only the arguments of the call give it: Claude Code has no such
    /// argument.
    pub cwd: Option<PathBuf>,
    /// The parts of the call that are not translated exactly.
    pub losses: Vec<TranslationLoss>,
}

/// A part of a call that has no exact counterpart in the other dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TranslationLoss {
    /// A tool without a counterpart, which keeps its name and arguments.
    Tool(String),
    /// An argument without a counterpart, which keeps its name and value.
    Argument(String),
    /// An argument whose counterpart has a similar but not the same meaning.
    Approximate {
        /// The name of the argument in the original call.
        argument: String,
        /// The difference in meaning.
        how: &'static str,
    },
    /// One call that was split into this many calls.
    Split(usize),
}

impl std::fmt::Display for TranslationLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TranslationLoss::Tool(name) => write!(f, "tool `{name}` has no counterpart and keeps its name"),
            TranslationLoss::Argument(name) => write!(f, "`{name}` has no counterpart and keeps its name"),
            TranslationLoss::Approximate { argument, how } => write!(f, "`{argument}` is not the same: {how}"),
            TranslationLoss::Split(count) => write!(f, "one call becomes {count} calls"),
        }
    }
}

/// Why a change of a translated call cannot be applied to the original call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntranslatableChange {
    /// The call was split, and the change affects more than one of its parts.
    #[error("it changes one part of a call that can only be changed as a whole")]
    PartOfSplitCall,
    /// The change removes an argument that has no default value.
    #[error("it removes `{0}`, which can't be removed")]
    RemovedArgument(String),
    /// The changed call has no equivalent in the original dialect.
    #[error("its new value for `{0}` has no counterpart")]
    NoCounterpart(String),
}

/// The names of an argument in both dialects, and the kind of its value.
struct ArgumentMapping {
    gemini_name: &'static str,
    claude_name: &'static str,
    kind: ArgumentKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    /// The value is the same in both dialects.
    Same,
    /// A flag that is false where it is missing.
    Flag,
    /// A flag with the opposite meaning; both are false where they are missing.
    InvertedFlag,
    /// A path, which Claude Code always writes as an absolute path.
    Path,
    /// Text for people, which may be left out without effect.
    Comment,
}

const fn same_argument(name: &'static str) -> ArgumentMapping {
    ArgumentMapping { gemini_name: name, claude_name: name, kind: ArgumentKind::Same }
}

const fn renamed_argument(ours: &'static str, theirs: &'static str, kind: ArgumentKind) -> ArgumentMapping {
    ArgumentMapping { gemini_name: ours, claude_name: theirs, kind }
}

/// How the arguments of a tool are translated beyond their names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentShape {
    Plain,
    /// Lines counted from 1: first and last line, or first line and number of lines.
    LineRange,
    /// Several edits of one file.
    Edits,
    /// A cell of a notebook, which is written as a whole.
    NotebookCell,
    /// The output mode of a search.
    Search,
    /// The directory in which a command runs.
    Directory,
    /// URLs within a text.
    Urls,
    /// List items with other keys.
    Todos,
}

struct ToolMapping {
    claude_tool: &'static str,
    arguments: &'static [ArgumentMapping],
    shape: ArgumentShape,
}

const fn tool_mapping(
    theirs: &'static str,
    shape: ArgumentShape,
    arguments: &'static [ArgumentMapping],
) -> ToolMapping {
    ToolMapping { claude_tool: theirs, arguments, shape }
}

const SHELL_ARGUMENTS: &[ArgumentMapping] = &[
    same_argument("command"),
    renamed_argument("description", "description", ArgumentKind::Comment),
    renamed_argument("is_background", "run_in_background", ArgumentKind::Flag),
];
const EDIT_ARGUMENTS: &[ArgumentMapping] = &[
    renamed_argument("file_path", "file_path", ArgumentKind::Path),
    same_argument("old_string"),
    same_argument("new_string"),
    renamed_argument("allow_multiple", "replace_all", ArgumentKind::Flag),
];
const AGENT_ARGUMENTS: &[ArgumentMapping] = &[
    renamed_argument("agent_name", "subagent_type", ArgumentKind::Same),
    renamed_argument("objective", "prompt", ArgumentKind::Same),
];
const READ_ARGUMENTS: &[ArgumentMapping] = &[renamed_argument("file_path", "file_path", ArgumentKind::Path)];

/// The tools of Claude Code that have a counterpart, which `tool_names.rs` gives.
const TOOL_MAPPINGS: [ToolMapping; 20] = [
    tool_mapping("Bash", ArgumentShape::Directory, SHELL_ARGUMENTS),
    tool_mapping("PowerShell", ArgumentShape::Directory, SHELL_ARGUMENTS),
    tool_mapping("Monitor", ArgumentShape::Directory, SHELL_ARGUMENTS),
    tool_mapping("Read", ArgumentShape::LineRange, READ_ARGUMENTS),
    tool_mapping(
        "NotebookRead",
        ArgumentShape::Plain,
        &[renamed_argument("file_path", "notebook_path", ArgumentKind::Path)],
    ),
    tool_mapping(
        "Write",
        ArgumentShape::Plain,
        &[renamed_argument("file_path", "file_path", ArgumentKind::Path), same_argument("content")],
    ),
    tool_mapping("Edit", ArgumentShape::Plain, EDIT_ARGUMENTS),
    tool_mapping("MultiEdit", ArgumentShape::Edits, EDIT_ARGUMENTS),
    tool_mapping(
        "NotebookEdit",
        ArgumentShape::NotebookCell,
        &[
            renamed_argument("file_path", "notebook_path", ArgumentKind::Path),
            renamed_argument("new_string", "new_source", ArgumentKind::Same),
        ],
    ),
    tool_mapping(
        "LS",
        ArgumentShape::Plain,
        &[renamed_argument("dir_path", "path", ArgumentKind::Path), same_argument("ignore")],
    ),
    tool_mapping(
        "Glob",
        ArgumentShape::Plain,
        &[same_argument("pattern"), renamed_argument("dir_path", "path", ArgumentKind::Path)],
    ),
    tool_mapping(
        "Grep",
        ArgumentShape::Search,
        &[
            same_argument("pattern"),
            renamed_argument("dir_path", "path", ArgumentKind::Path),
            renamed_argument("include_pattern", "glob", ArgumentKind::Same),
            renamed_argument("case_sensitive", "-i", ArgumentKind::InvertedFlag),
            renamed_argument("after", "-A", ArgumentKind::Same),
            renamed_argument("before", "-B", ArgumentKind::Same),
            renamed_argument("context", "-C", ArgumentKind::Same),
            renamed_argument("total_max_matches", "head_limit", ArgumentKind::Same),
        ],
    ),
    tool_mapping("WebFetch", ArgumentShape::Urls, &[same_argument("url"), same_argument("prompt")]),
    tool_mapping("WebSearch", ArgumentShape::Plain, &[same_argument("query")]),
    tool_mapping("TodoWrite", ArgumentShape::Todos, &[same_argument("todos")]),
    tool_mapping("Agent", ArgumentShape::Plain, AGENT_ARGUMENTS),
    tool_mapping("Task", ArgumentShape::Plain, AGENT_ARGUMENTS),
    tool_mapping("Skill", ArgumentShape::Plain, &[renamed_argument("name", "skill", ArgumentKind::Same)]),
    tool_mapping(
        "ListMcpResourcesTool",
        ArgumentShape::Plain,
        &[renamed_argument("serverName", "server", ArgumentKind::Same)],
    ),
    tool_mapping("ReadMcpResourceTool", ArgumentShape::Plain, &[same_argument("uri")]),
];

fn mapping_for(theirs: &str) -> Option<&'static ToolMapping> {
    TOOL_MAPPINGS.iter().find(|row| row.claude_tool == theirs)
}

/// Translates a call to Claude Code's dialect. Relative paths are resolved against `cwd`.
pub fn to_claude(call: &DialectCall, cwd: &Path) -> ClaudeTranslation {
    let Some(row) = claude_name(&call.tool).and_then(mapping_for) else { return untranslated(call) };
    if call.tool == "read_many_files" {
        return shapes::read_many_to_claude(&call.input, cwd);
    }
    let mut losses = Vec::new();
    let mut input = Map::new();
    for (key, value) in &call.input {
        match row.arguments.iter().find(|argument| argument.gemini_name == key) {
            Some(argument) => {
                input.insert(argument.claude_name.to_owned(), value_to_claude(argument.kind, value, cwd));
            }
            None => {
                input.insert(key.clone(), value.clone());
            }
        }
    }
    let own_directory = shapes::to_claude(row, &mut input, cwd, &mut losses);
    losses.extend(unknown_arguments(&input, row, |argument| argument.claude_name));
    let views = match row.shape {
        ArgumentShape::Urls => shapes::split_by_url(row.claude_tool, input),
        _ => vec![DialectCall::new(row.claude_tool, input)],
    };
    if views.len() > 1 {
        losses.push(TranslationLoss::Split(views.len()));
    }
    ClaudeTranslation { views, cwd: own_directory, losses }
}

/// Translates a call from Claude Code's dialect to one or several calls.
pub fn from_claude(call: &DialectCall) -> ClaudeTranslation {
    let (Some(ours), Some(row)) = (tool_by_claude_name(&call.tool), mapping_for(&call.tool)) else {
        return untranslated(call);
    };
    let mut losses = Vec::new();
    let mut views: Vec<Map<String, Value>> =
        shapes::split_edits(row, &call.input).iter().map(|part| rename_to_gemini(row, part)).collect();
    views.iter_mut().for_each(|input| shapes::to_gemini(row, input, &mut losses));
    losses
        .extend(views.iter().take(1).flat_map(|input| unknown_arguments(input, row, |argument| argument.gemini_name)));
    if views.len() > 1 {
        losses.push(TranslationLoss::Split(views.len()));
    }
    losses.dedup();
    ClaudeTranslation {
        views: views.into_iter().map(|input| DialectCall::new(ours, input)).collect(),
        cwd: None,
        losses,
    }
}

/// Translates a change of a translated call back: the changes to `original` that give the arguments `changed` for one
/// view of `to_claude(original)`.
///
/// `changed` has all arguments of the view; the result is applied over the arguments of `original`.
///
/// # Errors
/// If the change has no equivalent in the Gemini dialect.
pub fn changes_from_claude(
    original: &DialectCall,
    cwd: &Path,
    view: usize,
    changed: &Map<String, Value>,
) -> Result<Map<String, Value>, UntranslatableChange> {
    let shown = to_claude(original, cwd);
    if shown.views.get(view).is_some_and(|shown| shown.input == *changed) {
        return Ok(Map::new());
    }
    let [shown] = shown.views.as_slice() else { return Err(UntranslatableChange::PartOfSplitCall) };
    let Some(row) = mapping_for(&shown.tool) else { return untranslated_changes(&original.input, changed) };
    let whole = with_absolute_paths(row, changed, cwd);
    let before = arguments_to_gemini(row, &shown.input);
    let after = arguments_to_gemini(row, &whole);
    let mut changes = changed_arguments(&before, &after);
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        match row.arguments.iter().find(|argument| argument.gemini_name == key).map(|argument| argument.kind) {
            Some(ArgumentKind::Comment) => {}
            // An argument without a counterpart was passed along for information only.
            None => {}
            Some(ArgumentKind::Flag) => drop(changes.insert(key.clone(), Value::Bool(false))),
            Some(_) => return Err(UntranslatableChange::RemovedArgument(key.clone())),
        }
    }
    let mut result = original.input.clone();
    result.extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
    let again = to_claude(&DialectCall::new(original.tool.clone(), result), cwd);
    let [again] = again.views.as_slice() else { return Err(UntranslatableChange::PartOfSplitCall) };
    let told = arguments_to_gemini(row, &again.input);
    match after.iter().find(|(key, value)| told.get(*key) != Some(value)) {
        Some((key, _)) => Err(UntranslatableChange::NoCounterpart(key.clone())),
        None => Ok(changes),
    }
}

/// Translates a change of one view of `from_claude(original)` back: all arguments of the changed call, as
/// `updatedInput` requires.
///
/// # Errors
/// If the change has no equivalent in Claude Code's dialect.
pub fn changes_to_claude(
    original: &DialectCall,
    view: usize,
    changed: &Map<String, Value>,
) -> Result<Map<String, Value>, UntranslatableChange> {
    let shown = from_claude(original);
    let Some(before) = shown.views.get(view).map(|shown| &shown.input) else {
        return Err(UntranslatableChange::PartOfSplitCall);
    };
    let Some(row) = mapping_for(&original.tool) else { return Ok(changed.clone()) };
    let mut part = shapes::split_edits(row, &original.input).into_iter().nth(view).unwrap_or_default();
    for (key, value) in changed_arguments(before, changed) {
        let (theirs, value) = shapes::argument_to_claude(row, &key, &value, changed)?;
        part.insert(theirs, value);
    }
    if let Some(gone) = before.keys().find(|key| !changed.contains_key(*key)) {
        return Err(UntranslatableChange::RemovedArgument(gone.clone()));
    }
    let whole = shapes::join_edits(row, &original.input, view, part)?;
    let again = from_claude(&DialectCall::new(original.tool.clone(), whole.clone()));
    match again.views.get(view) {
        Some(again) if again.input == *changed => Ok(whole),
        other => {
            let told = other.map(|call| &call.input);
            let key = changed.iter().find(|(key, value)| told.and_then(|told| told.get(*key)) != Some(value));
            Err(UntranslatableChange::NoCounterpart(key.map_or_else(String::new, |(key, _)| key.clone())))
        }
    }
}

fn untranslated(call: &DialectCall) -> ClaudeTranslation {
    let is_mcp = mcp_spelling(&call.tool).is_some();
    let losses = if is_mcp { Vec::new() } else { vec![TranslationLoss::Tool(call.tool.clone())] };
    ClaudeTranslation { views: vec![call.clone()], cwd: None, losses }
}

/// The changed arguments of a tool without a counterpart, provided that none was removed.
fn untranslated_changes(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Result<Map<String, Value>, UntranslatableChange> {
    match before.keys().find(|key| !after.contains_key(*key)) {
        Some(gone) => Err(UntranslatableChange::RemovedArgument(gone.clone())),
        None => Ok(changed_arguments(before, after)),
    }
}

fn changed_arguments(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    changed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Translates the arguments of one view to the Gemini dialect.
fn arguments_to_gemini(row: &ToolMapping, theirs: &Map<String, Value>) -> Map<String, Value> {
    let mut input = rename_to_gemini(row, theirs);
    shapes::to_gemini(row, &mut input, &mut Vec::new());
    input
}

fn rename_to_gemini(row: &ToolMapping, theirs: &Map<String, Value>) -> Map<String, Value> {
    let renamed =
        theirs.iter().map(|(key, value)| match row.arguments.iter().find(|argument| argument.claude_name == key) {
            Some(argument) => (argument.gemini_name.to_owned(), value_to_gemini(argument.kind, value)),
            None => (key.clone(), value.clone()),
        });
    renamed.collect()
}

fn value_to_claude(kind: ArgumentKind, value: &Value, cwd: &Path) -> Value {
    match (kind, value) {
        (ArgumentKind::Path, Value::String(path)) => Value::String(absolute_path(path, cwd)),
        (ArgumentKind::InvertedFlag, Value::Bool(flag)) => Value::Bool(!flag),
        _ => value.clone(),
    }
}

fn value_to_gemini(kind: ArgumentKind, value: &Value) -> Value {
    match (kind, value) {
        (ArgumentKind::InvertedFlag, Value::Bool(flag)) => Value::Bool(!flag),
        _ => value.clone(),
    }
}

fn with_absolute_paths(row: &ToolMapping, theirs: &Map<String, Value>, cwd: &Path) -> Map<String, Value> {
    let is_path = |key: &str| row.arguments.iter().any(|one| one.claude_name == key && one.kind == ArgumentKind::Path);
    let whole = theirs.iter().map(|(key, value)| match value {
        Value::String(path) if is_path(key) => (key.clone(), Value::String(absolute_path(path, cwd))),
        value => (key.clone(), value.clone()),
    });
    whole.collect()
}

/// The absolute path without `.` and `..`: guards compare its prefix and its components.
fn absolute_path(path: &str, cwd: &Path) -> String {
    let joined = cwd.join(path);
    let mut whole = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    whole.to_string_lossy().into_owned()
}

/// The arguments that the mapping does not contain.
fn unknown_arguments(
    input: &Map<String, Value>,
    row: &ToolMapping,
    name: impl Fn(&ArgumentMapping) -> &'static str,
) -> Vec<TranslationLoss> {
    let known =
        |key: &str| row.arguments.iter().any(|argument| name(argument) == key) || shapes::is_shape_key(row, key);
    input.keys().filter(|key| !known(key)).map(|key| TranslationLoss::Argument(key.clone())).collect()
}

#[cfg(test)]
mod tests;
