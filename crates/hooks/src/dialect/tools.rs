//! THE table of tools' arguments, ours ↔ Claude Code's: a call in one vocabulary → the same call in the other, and a change
//! of that back again. Names are `tool_names.rs`. What has no counterpart keeps its name and is said in a [`Loss`].

mod shapes;

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use crate::tool_names::{claude_name, claude_tool, mcp_spelling};

/// A call of a tool, in either vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub input: Map<String, Value>,
}

impl Call {
    /// A call.
    pub fn new(tool: impl Into<String>, input: Map<String, Value>) -> Self {
        Call { tool: tool.into(), input }
    }
}

/// A call in the other vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// One call, or several that together are it: a no to one of them is a no to it. Never empty.
    pub views: Vec<Call>,
    /// Where a command runs, if only its own arguments said so: in the other vocabulary the working directory does.
    pub cwd: Option<PathBuf>,
    /// What is not exact.
    pub losses: Vec<Loss>,
}

/// Something about a call that the other vocabulary has no exact word for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The tool, which keeps its name and its arguments.
    Tool(String),
    /// An argument, which keeps its name and value.
    Argument(String),
    /// An argument whose meaning there is only near.
    Near {
        /// Its name here.
        argument: String,
        /// How it differs.
        how: &'static str,
    },
    /// One call that stands as several.
    Several(usize),
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Loss::Tool(name) => write!(f, "tool `{name}` has no counterpart and keeps its name"),
            Loss::Argument(name) => write!(f, "`{name}` has no counterpart and keeps its name"),
            Loss::Near { argument, how } => write!(f, "`{argument}` is not the same: {how}"),
            Loss::Several(count) => write!(f, "one call stands as {count}"),
        }
    }
}

/// Why a change of a translated call can't be made to the call itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPutBack {
    /// The view is one of several, and what it changes is not its own.
    #[error("it changes one of several parts of a call, which can't be changed apart")]
    OneOfSeveral,
    /// An argument was taken away that has no value to fall back to.
    #[error("it takes away `{0}`, which can't be taken away")]
    TakenAway(String),
    /// Translated once more, the changed call says something else.
    #[error("what it makes of `{0}` has no counterpart")]
    Inexact(String),
}

/// An argument's names, and what it holds.
struct Argument {
    ours: &'static str,
    theirs: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The same in both.
    Same,
    /// A flag that is off where it is missing.
    Flag,
    /// The opposite flag; both are off where they are missing.
    Opposite,
    /// A path, which Claude Code always writes whole.
    Path,
    /// Words for people: whoever leaves them out changes nothing.
    Remark,
}

const fn same(name: &'static str) -> Argument {
    Argument { ours: name, theirs: name, kind: Kind::Same }
}

const fn called(ours: &'static str, theirs: &'static str, kind: Kind) -> Argument {
    Argument { ours, theirs, kind }
}

/// What a tool's arguments need beyond other names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    /// Lines counted from one, as first and last or as first and how many.
    Window,
    /// Several edits of one file.
    Edits,
    /// A cell of a notebook, which is written whole.
    Cell,
    /// How much a search shows.
    Search,
    /// A directory of its own.
    Directory,
    /// Addresses within a text.
    Addresses,
    /// Items with other keys.
    Todos,
}

struct Row {
    theirs: &'static str,
    arguments: &'static [Argument],
    shape: Shape,
}

const fn row(theirs: &'static str, shape: Shape, arguments: &'static [Argument]) -> Row {
    Row { theirs, arguments, shape }
}

const SHELL: &[Argument] = &[
    same("command"),
    called("description", "description", Kind::Remark),
    called("is_background", "run_in_background", Kind::Flag),
];
const EDIT: &[Argument] = &[
    called("file_path", "file_path", Kind::Path),
    same("old_string"),
    same("new_string"),
    called("allow_multiple", "replace_all", Kind::Flag),
];
const AGENT: &[Argument] =
    &[called("agent_name", "subagent_type", Kind::Same), called("objective", "prompt", Kind::Same)];
const READ: &[Argument] = &[called("file_path", "file_path", Kind::Path)];

/// Claude Code's tools that have a counterpart. Which one that is, the table of names says.
const ROWS: [Row; 20] = [
    row("Bash", Shape::Directory, SHELL),
    row("PowerShell", Shape::Directory, SHELL),
    row("Monitor", Shape::Directory, SHELL),
    row("Read", Shape::Window, READ),
    row("NotebookRead", Shape::Plain, &[called("file_path", "notebook_path", Kind::Path)]),
    row("Write", Shape::Plain, &[called("file_path", "file_path", Kind::Path), same("content")]),
    row("Edit", Shape::Plain, EDIT),
    row("MultiEdit", Shape::Edits, EDIT),
    row(
        "NotebookEdit",
        Shape::Cell,
        &[called("file_path", "notebook_path", Kind::Path), called("new_string", "new_source", Kind::Same)],
    ),
    row("LS", Shape::Plain, &[called("dir_path", "path", Kind::Path), same("ignore")]),
    row("Glob", Shape::Plain, &[same("pattern"), called("dir_path", "path", Kind::Path)]),
    row(
        "Grep",
        Shape::Search,
        &[
            same("pattern"),
            called("dir_path", "path", Kind::Path),
            called("include_pattern", "glob", Kind::Same),
            called("case_sensitive", "-i", Kind::Opposite),
            called("after", "-A", Kind::Same),
            called("before", "-B", Kind::Same),
            called("context", "-C", Kind::Same),
            called("total_max_matches", "head_limit", Kind::Same),
        ],
    ),
    row("WebFetch", Shape::Addresses, &[same("url"), same("prompt")]),
    row("WebSearch", Shape::Plain, &[same("query")]),
    row("TodoWrite", Shape::Todos, &[same("todos")]),
    row("Agent", Shape::Plain, AGENT),
    row("Task", Shape::Plain, AGENT),
    row("Skill", Shape::Plain, &[called("name", "skill", Kind::Same)]),
    row("ListMcpResourcesTool", Shape::Plain, &[called("serverName", "server", Kind::Same)]),
    row("ReadMcpResourceTool", Shape::Plain, &[same("uri")]),
];

fn row_of(theirs: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.theirs == theirs)
}

/// A call of ours, as Claude Code would make it. Relative paths are those of `cwd`.
pub fn to_claude(call: &Call, cwd: &Path) -> Translation {
    let Some(row) = claude_name(&call.tool).and_then(row_of) else { return untranslated(call) };
    if call.tool == "read_many_files" {
        return shapes::many_reads(&call.input, cwd);
    }
    let mut losses = Vec::new();
    let mut input = Map::new();
    for (key, value) in &call.input {
        match row.arguments.iter().find(|argument| argument.ours == key) {
            Some(argument) => {
                input.insert(argument.theirs.to_owned(), value_to_claude(argument.kind, value, cwd));
            }
            None => {
                input.insert(key.clone(), value.clone());
            }
        }
    }
    let own_directory = shapes::to_claude(row, &mut input, cwd, &mut losses);
    losses.extend(unknown(&input, row, |argument| argument.theirs));
    let views = match row.shape {
        Shape::Addresses => shapes::addresses(row.theirs, input),
        _ => vec![Call::new(row.theirs, input)],
    };
    if views.len() > 1 {
        losses.push(Loss::Several(views.len()));
    }
    Translation { views, cwd: own_directory, losses }
}

/// A call of Claude Code's, as one or several of ours.
pub fn from_claude(call: &Call) -> Translation {
    let (Some(ours), Some(row)) = (claude_tool(&call.tool), row_of(&call.tool)) else { return untranslated(call) };
    let mut losses = Vec::new();
    let mut views: Vec<Map<String, Value>> =
        shapes::parts(row, &call.input).iter().map(|part| renamed_to_ours(row, part)).collect();
    views.iter_mut().for_each(|input| shapes::to_ours(row, input, &mut losses));
    losses.extend(views.iter().take(1).flat_map(|input| unknown(input, row, |argument| argument.ours)));
    if views.len() > 1 {
        losses.push(Loss::Several(views.len()));
    }
    losses.dedup();
    Translation { views: views.into_iter().map(|input| Call::new(ours, input)).collect(), cwd: None, losses }
}

/// The changes to a call of ours that a hook wants which was shown `to_claude(original)` and gave back other arguments,
/// all of them, for one of its views. Laid over the call's arguments they have that effect.
///
/// # Errors
/// If that can't be said in our vocabulary.
pub fn put_back(
    original: &Call,
    cwd: &Path,
    view: usize,
    changed: &Map<String, Value>,
) -> Result<Map<String, Value>, NotPutBack> {
    let shown = to_claude(original, cwd);
    if shown.views.get(view).is_some_and(|shown| shown.input == *changed) {
        return Ok(Map::new());
    }
    let [shown] = shown.views.as_slice() else { return Err(NotPutBack::OneOfSeveral) };
    let Some(row) = row_of(&shown.tool) else { return laid_over(&original.input, changed) };
    let whole = with_whole_paths(row, changed, cwd);
    let before = in_our_words(row, &shown.input);
    let after = in_our_words(row, &whole);
    let mut changes = changes(&before, &after);
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        match row.arguments.iter().find(|argument| argument.ours == key).map(|argument| argument.kind) {
            Some(Kind::Remark) => {}
            // What Claude Code has no word for was only shown along.
            None => {}
            Some(Kind::Flag) => drop(changes.insert(key.clone(), Value::Bool(false))),
            Some(_) => return Err(NotPutBack::TakenAway(key.clone())),
        }
    }
    let mut result = original.input.clone();
    result.extend(changes.iter().map(|(key, value)| (key.clone(), value.clone())));
    let again = to_claude(&Call::new(original.tool.clone(), result), cwd);
    let [again] = again.views.as_slice() else { return Err(NotPutBack::OneOfSeveral) };
    let told = in_our_words(row, &again.input);
    match after.iter().find(|(key, value)| told.get(*key) != Some(value)) {
        Some((key, _)) => Err(NotPutBack::Inexact(key.clone())),
        None => Ok(changes),
    }
}

/// The arguments of a call of Claude Code's after one of the views that `from_claude(original)` gave was changed: all of
/// them, as `updatedInput` wants it.
///
/// # Errors
/// If that can't be said in Claude Code's vocabulary.
pub fn put_back_to_claude(
    original: &Call,
    view: usize,
    changed: &Map<String, Value>,
) -> Result<Map<String, Value>, NotPutBack> {
    let shown = from_claude(original);
    let Some(before) = shown.views.get(view).map(|shown| &shown.input) else { return Err(NotPutBack::OneOfSeveral) };
    let Some(row) = row_of(&original.tool) else { return Ok(changed.clone()) };
    let mut part = shapes::parts(row, &original.input).into_iter().nth(view).unwrap_or_default();
    for (key, value) in changes(before, changed) {
        let (theirs, value) = shapes::argument_to_claude(row, &key, &value, changed)?;
        part.insert(theirs, value);
    }
    if let Some(gone) = before.keys().find(|key| !changed.contains_key(*key)) {
        return Err(NotPutBack::TakenAway(gone.clone()));
    }
    let whole = shapes::joined(row, &original.input, view, part)?;
    let again = from_claude(&Call::new(original.tool.clone(), whole.clone()));
    match again.views.get(view) {
        Some(again) if again.input == *changed => Ok(whole),
        other => {
            let told = other.map(|call| &call.input);
            let key = changed.iter().find(|(key, value)| told.and_then(|told| told.get(*key)) != Some(value));
            Err(NotPutBack::Inexact(key.map_or_else(String::new, |(key, _)| key.clone())))
        }
    }
}

fn untranslated(call: &Call) -> Translation {
    let is_mcp = mcp_spelling(&call.tool).is_some();
    let losses = if is_mcp { Vec::new() } else { vec![Loss::Tool(call.tool.clone())] };
    Translation { views: vec![call.clone()], cwd: None, losses }
}

/// For a tool that keeps its arguments: what is different, if nothing was taken away.
fn laid_over(before: &Map<String, Value>, after: &Map<String, Value>) -> Result<Map<String, Value>, NotPutBack> {
    match before.keys().find(|key| !after.contains_key(*key)) {
        Some(gone) => Err(NotPutBack::TakenAway(gone.clone())),
        None => Ok(changes(before, after)),
    }
}

fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    changed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// One view in our words, as the view shows it.
fn in_our_words(row: &Row, theirs: &Map<String, Value>) -> Map<String, Value> {
    let mut input = renamed_to_ours(row, theirs);
    shapes::to_ours(row, &mut input, &mut Vec::new());
    input
}

fn renamed_to_ours(row: &Row, theirs: &Map<String, Value>) -> Map<String, Value> {
    let renamed =
        theirs.iter().map(|(key, value)| match row.arguments.iter().find(|argument| argument.theirs == key) {
            Some(argument) => (argument.ours.to_owned(), value_to_ours(argument.kind, value)),
            None => (key.clone(), value.clone()),
        });
    renamed.collect()
}

fn value_to_claude(kind: Kind, value: &Value, cwd: &Path) -> Value {
    match (kind, value) {
        (Kind::Path, Value::String(path)) => Value::String(whole_path(path, cwd)),
        (Kind::Opposite, Value::Bool(flag)) => Value::Bool(!flag),
        _ => value.clone(),
    }
}

fn value_to_ours(kind: Kind, value: &Value) -> Value {
    match (kind, value) {
        (Kind::Opposite, Value::Bool(flag)) => Value::Bool(!flag),
        _ => value.clone(),
    }
}

fn with_whole_paths(row: &Row, theirs: &Map<String, Value>, cwd: &Path) -> Map<String, Value> {
    let is_path = |key: &str| row.arguments.iter().any(|one| one.theirs == key && one.kind == Kind::Path);
    let whole = theirs.iter().map(|(key, value)| match value {
        Value::String(path) if is_path(key) => (key.clone(), Value::String(whole_path(path, cwd))),
        value => (key.clone(), value.clone()),
    });
    whole.collect()
}

/// A path from the root, without `.` and `..`: a guard compares its beginning and its parts.
fn whole_path(path: &str, cwd: &Path) -> String {
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

/// The arguments that no row knows.
fn unknown(input: &Map<String, Value>, row: &Row, name: impl Fn(&Argument) -> &'static str) -> Vec<Loss> {
    let known = |key: &str| row.arguments.iter().any(|argument| name(argument) == key) || shapes::knows(row, key);
    input.keys().filter(|key| !known(key)).map(|key| Loss::Argument(key.clone())).collect()
}

#[cfg(test)]
mod tests;
