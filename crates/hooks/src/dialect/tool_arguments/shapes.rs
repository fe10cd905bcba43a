//! Translates arguments beyond their names: ranges of lines, lists of edits, URLs within a text.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{
    ArgumentKind, ArgumentShape, ClaudeTranslation, DialectCall, ToolMapping, TranslationLoss, UntranslatableChange,
    absolute_path,
};

type ArgumentMap = Map<String, Value>;

/// Whether a shape adds or removes this key, in either dialect.
pub(super) fn is_shape_key(row: &ToolMapping, key: &str) -> bool {
    match row.shape {
        ArgumentShape::LineRange => ["start_line", "end_line", "offset", "limit"].contains(&key),
        ArgumentShape::Search => ["names_only", "output_mode"].contains(&key),
        ArgumentShape::NotebookCell => key == "old_string",
        ArgumentShape::Plain
        | ArgumentShape::Edits
        | ArgumentShape::Directory
        | ArgumentShape::Urls
        | ArgumentShape::Todos => false,
    }
}

/// Completes the renamed arguments of a call for Claude Code, and returns the directory in which a command runs.
pub(super) fn to_claude(
    row: &ToolMapping,
    input: &mut ArgumentMap,
    cwd: &Path,
    losses: &mut Vec<TranslationLoss>,
) -> Option<PathBuf> {
    match row.shape {
        ArgumentShape::LineRange => line_range_to_claude(input),
        ArgumentShape::Search => {
            let names_only = input.shift_remove("names_only") == Some(Value::Bool(true));
            let mode = if names_only { "files_with_matches" } else { "content" };
            input.insert("output_mode".to_owned(), mode.into());
            // Unlike Claude Code's, this search ignores case by default.
            input.entry("-i").or_insert(Value::Bool(true));
        }
        ArgumentShape::Directory => {
            let directory = input.shift_remove("dir_path")?;
            match directory.as_str() {
                Some(directory) => return Some(PathBuf::from(absolute_path(directory, cwd))),
                None => drop(input.insert("dir_path".to_owned(), directory)),
            }
        }
        ArgumentShape::Todos => for_each_todo(input, |todo| {
            let words = todo.shift_remove("description").unwrap_or_default();
            todo.insert("content".to_owned(), words.clone());
            todo.insert("activeForm".to_owned(), words);
        }),
        ArgumentShape::Plain | ArgumentShape::Edits | ArgumentShape::NotebookCell | ArgumentShape::Urls => {
            if input.get("expected_replacements").and_then(Value::as_u64).is_some_and(|count| count > 1) {
                input.shift_remove("expected_replacements");
                input.insert("replace_all".to_owned(), Value::Bool(true));
                let how = "all occurrences, however many there are";
                losses.push(TranslationLoss::Approximate { argument: "expected_replacements".to_owned(), how });
            }
        }
    }
    None
}

/// Completes the renamed arguments of a call from Claude Code.
pub(super) fn to_gemini(row: &ToolMapping, input: &mut ArgumentMap, losses: &mut Vec<TranslationLoss>) {
    match row.shape {
        ArgumentShape::LineRange => line_range_to_gemini(input),
        ArgumentShape::Search => {
            let mode = input.shift_remove("output_mode");
            let names_only = match mode.as_ref().and_then(Value::as_str) {
                None | Some("files_with_matches") => true,
                Some("content") => false,
                Some(_) => {
                    losses.push(TranslationLoss::Approximate {
                        argument: "output_mode".to_owned(),
                        how: "the number of matches is not reported",
                    });
                    true
                }
            };
            input.insert("names_only".to_owned(), Value::Bool(names_only));
            input.entry("case_sensitive").or_insert(Value::Bool(true));
        }
        ArgumentShape::NotebookCell => {
            input.entry("old_string").or_insert_with(|| String::new().into());
            losses.push(TranslationLoss::Approximate {
                argument: "new_source".to_owned(),
                how: "it is a cell's text, not the file's",
            });
        }
        ArgumentShape::Todos => for_each_todo(input, |todo| {
            todo.shift_remove("activeForm");
            if let Some(words) = todo.shift_remove("content") {
                todo.insert("description".to_owned(), words);
            }
        }),
        ArgumentShape::Plain | ArgumentShape::Edits | ArgumentShape::Directory | ArgumentShape::Urls => {}
    }
}

fn line_range_to_claude(input: &mut ArgumentMap) {
    let number = |input: &mut ArgumentMap, key: &str| {
        input.get(key).and_then(Value::as_u64).inspect(|_| drop(input.shift_remove(key)))
    };
    let (first, last) = (number(input, "start_line"), number(input, "end_line"));
    if first.is_none() && last.is_none() {
        // The older `offset` counts from 0.
        if let Some(skipped) = number(input, "offset") {
            input.insert("offset".to_owned(), json!(skipped.saturating_add(1)));
        }
        return;
    }
    ["offset", "limit"].iter().for_each(|key| drop(input.shift_remove(*key)));
    let start = first.unwrap_or(1);
    input.insert("offset".to_owned(), json!(start));
    if let Some(last) = last {
        input.insert("limit".to_owned(), json!(last.saturating_sub(start).saturating_add(1)));
    }
}

fn line_range_to_gemini(input: &mut ArgumentMap) {
    let (first, count) = (input.get("offset").and_then(Value::as_u64), input.get("limit").and_then(Value::as_u64));
    if first.is_none() && count.is_none() {
        return;
    }
    ["offset", "limit"].iter().for_each(|key| drop(input.shift_remove(*key)));
    let start = first.unwrap_or(1).max(1);
    input.insert("start_line".to_owned(), json!(start));
    if let Some(count) = count {
        input.insert("end_line".to_owned(), json!(start.saturating_add(count.max(1)) - 1));
    }
}

fn for_each_todo(input: &mut ArgumentMap, mut change: impl FnMut(&mut ArgumentMap)) {
    let Some(Value::Array(todos)) = input.get_mut("todos") else { return };
    todos.iter_mut().filter_map(Value::as_object_mut).for_each(&mut change);
}

/// Translates a read of several files by pattern: one read per pattern, since a guard examines one path.
pub(super) fn read_many_to_claude(input: &ArgumentMap, cwd: &Path) -> ClaudeTranslation {
    let patterns = input.get("include").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut views: Vec<DialectCall> = patterns
        .map(|pattern| {
            let mut view: ArgumentMap =
                [("file_path".to_owned(), absolute_path(pattern, cwd).into())].into_iter().collect();
            view.extend(
                input.iter().filter(|(key, _)| *key != "include").map(|(key, value)| (key.clone(), value.clone())),
            );
            DialectCall::new("Read", view)
        })
        .collect();
    if views.is_empty() {
        views.push(DialectCall::new("Read", input.clone()));
    }
    let how = "each is a pattern of many paths";
    let losses =
        vec![TranslationLoss::Approximate { argument: "include".to_owned(), how }, TranslationLoss::Split(views.len())];
    ClaudeTranslation { views, cwd: None, losses }
}

/// Splits a fetch into one call for each URL in its arguments.
pub(super) fn split_by_url(tool: &str, input: ArgumentMap) -> Vec<DialectCall> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    for word in text("url")
        .split_whitespace()
        .chain(text("prompt").split(|char: char| char.is_whitespace() || "\"'<>`".contains(char)))
    {
        let Some(start) = word.find("http://").or_else(|| word.find("https://")) else { continue };
        let address = word[start..].trim_end_matches(['.', ',', ';', ')', ']', '!']);
        if !found.iter().any(|known| known == address) {
            found.push(address.to_owned());
        }
    }
    if found.is_empty() || (found.len() == 1 && text("url").trim() == found[0]) {
        return vec![DialectCall::new(tool, input)];
    }
    let view = |address: String| {
        let mut view = input.clone();
        view.insert("url".to_owned(), address.into());
        DialectCall::new(tool, view)
    };
    found.into_iter().map(view).collect()
}

/// Splits a call of Claude Code into the parts that are one call each.
pub(super) fn split_edits(row: &ToolMapping, input: &ArgumentMap) -> Vec<ArgumentMap> {
    let edits = input
        .get("edits")
        .and_then(Value::as_array)
        .filter(|edits| row.shape == ArgumentShape::Edits && !edits.is_empty());
    let Some(edits) = edits else { return vec![input.clone()] };
    let common: ArgumentMap =
        input.iter().filter(|(key, _)| *key != "edits").map(|(key, value)| (key.clone(), value.clone())).collect();
    let part = |edit: &Value| {
        let mut part = common.clone();
        match edit {
            Value::Object(edit) => part.extend(edit.iter().map(|(key, value)| (key.clone(), value.clone()))),
            other => drop(part.insert("edits".to_owned(), other.clone())),
        }
        part
    };
    edits.iter().map(part).collect()
}

/// A call of Claude Code with one of its parts changed.
pub(super) fn join_edits(
    row: &ToolMapping,
    original: &ArgumentMap,
    view: usize,
    part: ArgumentMap,
) -> Result<ArgumentMap, UntranslatableChange> {
    let edits = original.get("edits").and_then(Value::as_array).filter(|_| row.shape == ArgumentShape::Edits);
    let Some(edits) = edits else { return Ok(part) };
    let common = |key: &str| key != "edits" && original.contains_key(key);
    // An argument that all parts share cannot be changed for one of them.
    if part.iter().any(|(key, value)| common(key) && original.get(key) != Some(value)) {
        return Err(UntranslatableChange::PartOfSplitCall);
    }
    let mut edits = edits.clone();
    let own: ArgumentMap = part.into_iter().filter(|(key, _)| !common(key)).collect();
    match edits.get_mut(view) {
        Some(edit) => *edit = Value::Object(own),
        None => return Err(UntranslatableChange::PartOfSplitCall),
    }
    let mut whole = original.clone();
    whole.insert("edits".to_owned(), Value::Array(edits));
    Ok(whole)
}

/// Translates one changed argument to Claude Code's dialect.
pub(super) fn argument_to_claude(
    row: &ToolMapping,
    key: &str,
    value: &Value,
    all: &ArgumentMap,
) -> Result<(String, Value), UntranslatableChange> {
    let number = |key: &str| all.get(key).and_then(Value::as_u64);
    let theirs = match (row.shape, key) {
        (ArgumentShape::LineRange, "start_line") => ("offset".to_owned(), value.clone()),
        (ArgumentShape::LineRange, "end_line") => {
            let last = value.as_u64().ok_or_else(|| UntranslatableChange::NoCounterpart(key.to_owned()))?;
            let count = last.saturating_sub(number("start_line").unwrap_or(1)).saturating_add(1);
            ("limit".to_owned(), json!(count))
        }
        (ArgumentShape::Search, "names_only") => {
            let mode = if *value == Value::Bool(true) { "files_with_matches" } else { "content" };
            ("output_mode".to_owned(), mode.into())
        }
        (ArgumentShape::NotebookCell, "old_string") => return Err(UntranslatableChange::NoCounterpart(key.to_owned())),
        (ArgumentShape::Todos, "todos") => {
            let mut one: ArgumentMap = [("todos".to_owned(), value.clone())].into_iter().collect();
            to_claude(row, &mut one, Path::new("/"), &mut Vec::new());
            ("todos".to_owned(), one.shift_remove("todos").unwrap_or_default())
        }
        _ => match row.arguments.iter().find(|argument| argument.gemini_name == key) {
            Some(argument) if argument.kind == ArgumentKind::InvertedFlag => (
                argument.claude_name.to_owned(),
                value.as_bool().map_or_else(|| value.clone(), |flag| Value::Bool(!flag)),
            ),
            Some(argument) => (argument.claude_name.to_owned(), value.clone()),
            None => (key.to_owned(), value.clone()),
        },
    };
    Ok(theirs)
}
