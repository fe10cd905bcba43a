//! A host's call → the same call in our words, as one view or several; and a change of a view back into the host's words.
//!
//! Claude Code's words are the middle: the engine knows how they map to ours (`dialect::tools`), and `vocabulary.rs` how each
//! agent's tools and arguments are spelt in them. What could be read in two ways is said to be unknown; nothing is judged here.

use hookwright_hooks::dialect::tools::{self as claude, Call};
use hookwright_hooks::patch::{self, FileChange};
use serde_json::{Map, Value};

use crate::dialect::{Back, Standing};
use crate::host::Host;
use crate::payload::kind_of;
use crate::vocabulary::{self, Key, Meaning, ToolRow};

/// A host's call in our words.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    /// What is known of the tool.
    pub standing: Standing,
    /// Why a known tool's call is not understood, if it is not.
    pub doubt: Option<String>,
    /// The views, never none.
    pub views: Vec<(Call, Back)>,
}

/// A host's call in our words.
pub fn views(host: Host, name: &str, input: &Map<String, Value>) -> Views {
    let as_it_is = |name: &str| (Call::new(name, input.clone()), Back::View(0));
    let Some(row) = vocabulary::row(host, name) else {
        return match vocabulary::mcp_tool(host, name) {
            Some((name, says_whose)) => {
                let standing = if says_whose { Standing::Known } else { Standing::SomeServers };
                Views { standing, doubt: None, views: vec![as_it_is(&name)] }
            }
            None => Views { standing: Standing::Unknown, doubt: None, views: vec![as_it_is(name)] },
        };
    };
    if row.meaning == Meaning::Harmless {
        return Views { standing: Standing::Harmless, doubt: None, views: vec![as_it_is(name)] };
    }
    let Respelt { calls, mut doubt } = respell(host, row, input);
    let mut views: Vec<(Call, Back)> = match row.meaning {
        Meaning::Patch => {
            let text = calls.first().and_then(|arguments| arguments.get("patch")).and_then(Value::as_str);
            match text.map(patch::read) {
                Some(Ok(changes)) => changes.into_iter().flat_map(of_change).collect(),
                _ => {
                    doubt.get_or_insert_with(|| "its patch can't be read".to_owned());
                    vec![(Call::new(name, input.clone()), ONE_OF_MANY)]
                }
            }
        }
        Meaning::Harmless => vec![as_it_is(name)],
        Meaning::Ours(ours) => calls.into_iter().map(|input| (Call::new(ours, input), Back::View(0))).collect(),
        Meaning::Claude(claude) => {
            let is_one = calls.len() == 1;
            let back = |at| if is_one { Back::View(at) } else { ONE_OF_LIST };
            let translated = calls.into_iter().map(|input| claude::from_claude(&Call::new(claude, input)));
            translated.flat_map(|one| one.views.into_iter().enumerate().map(|(at, view)| (view, back(at)))).collect()
        }
    };
    if row.meaning == Meaning::Claude("Bash") {
        let command = views.first().and_then(|(call, _)| call.input.get("command")?.as_str()).unwrap_or_default();
        match patches_within(command) {
            Ok(changes) => views.extend(changes.into_iter().flat_map(of_change)),
            // What it does to files can't be told.
            Err(error) => {
                doubt.get_or_insert_with(|| format!("the patch in its command can't be read: {error}"));
            }
        }
    }
    let standing = if doubt.is_some() { Standing::UnknownArguments } else { Standing::Known };
    Views { standing, doubt, views }
}

/// Whether current versions of an agent do not have that tool any more.
pub fn is_retired(host: Host, name: &str) -> bool {
    vocabulary::row(host, name).is_some_and(|row| row.retired)
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
    let Some(row) = vocabulary::row(host, name) else { return Ok(changed.clone()) };
    let whole = match (row.meaning, respell(host, row, input).calls.as_slice()) {
        (Meaning::Claude(claude), [arguments]) => {
            let call = Call::new(claude, arguments.clone());
            claude::put_back_to_claude(&call, at, changed).map_err(|error| error.to_string())?
        }
        (Meaning::Ours(_) | Meaning::Harmless, _) => changed.clone(),
        (Meaning::Claude(_), _) | (Meaning::Patch, _) => return Err("it is one of several parts of a call".to_owned()),
    };
    Ok(in_native_words(row, "", whole, |key| input.contains_key(key)))
}

/// Arguments with the host's own keys.
pub(crate) fn in_native_words(
    row: &ToolRow,
    inside: &'static str,
    arguments: Map<String, Value>,
    is_there: impl Fn(&str) -> bool + Copy,
) -> Map<String, Value> {
    let native = |(key, value): (String, Value)| {
        let value = match value {
            Value::Array(parts) if inside.is_empty() && key == EDITS => {
                let part = |part| match part {
                    Value::Object(part) => in_native_words(row, EDITS, part, is_there).into(),
                    other => other,
                };
                parts.into_iter().map(part).collect()
            }
            value => value,
        };
        (row.spelling(inside, &key, is_there).map_or(key, str::to_owned), value)
    };
    arguments.into_iter().map(native).collect()
}

/// The list of edits, whose elements have arguments of their own.
const EDITS: &str = "edits";
/// Arguments that are no text.
const NO_TEXTS: [&str; 10] =
    [EDITS, "todos", "ignore", "replace_all", "run_in_background", "-i", "-A", "-B", "-C", "head_limit"];

/// A call's arguments with the counterpart's keys.
struct Respelt {
    /// One call, or several where an argument is a list of which each element is a call; never none.
    calls: Vec<Map<String, Value>>,
    /// What can't be told for sure.
    doubt: Option<String>,
}

fn respell(host: Host, row: &ToolRow, input: &Map<String, Value>) -> Respelt {
    let mut doubt = None;
    let mut lists: Option<(&'static str, Vec<Value>)> = None;
    let arguments = respell_one(host, row, "", input, &mut doubt, &mut lists);
    let calls = match lists {
        Some((name, values)) => {
            let with = |value: Value| {
                let mut call = arguments.clone();
                call.insert(name.to_owned(), value);
                call
            };
            values.into_iter().map(with).collect()
        }
        None => vec![arguments],
    };
    Respelt { calls, doubt }
}

fn respell_one(
    host: Host,
    row: &ToolRow,
    inside: &'static str,
    input: &Map<String, Value>,
    doubt: &mut Option<String>,
    lists: &mut Option<(&'static str, Vec<Value>)>,
) -> Map<String, Value> {
    let mut doubts = |why: String| {
        doubt.get_or_insert(why);
    };
    let mut respelt = Map::new();
    let mut others = Vec::new();
    let mut edits = None;
    for (key, value) in input {
        let Key::Argument { name, many } = row.key(host, inside, key) else {
            others.push((key, value));
            continue;
        };
        if respelt.contains_key(name) {
            doubts(format!("`{}` is a second spelling of an argument that is there already", shown(key)));
            others.push((key, value));
            continue;
        }
        match value {
            Value::Array(values) if many && !values.is_empty() && values.iter().all(Value::is_string) => {
                *lists = Some((name, values.clone()));
            }
            Value::Array(values) if many && values.is_empty() => continue,
            Value::Array(values) if name == EDITS => edits = Some(values),
            Value::Null => {}
            // A list that is written as a text may be read as one.
            Value::String(text) if many && serde_json::from_str::<Vec<Value>>(text).is_ok() => {
                doubts(format!("`{}` is a list within a text", shown(key)));
            }
            Value::String(_) if name != EDITS => {}
            _ if NO_TEXTS.contains(&name) && name != EDITS => {}
            other => doubts(format!("its argument `{}` is {}", shown(key), kind_of(other))),
        }
        respelt.insert(name.to_owned(), value.clone());
    }
    for (key, value) in others {
        if row.key(host, inside, key) == Key::Unknown && may_be_heeded(value) {
            doubts(format!("its argument `{}` is not known", shown(key)));
        }
        respelt.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(parts) = edits {
        let mut part = |part: &Value| match part {
            Value::Object(part) => Value::Object(respell_one(host, row, EDITS, part, doubt, &mut None)),
            other => {
                doubt.get_or_insert_with(|| format!("one of its `{EDITS}` is {}, not an object", kind_of(other)));
                other.clone()
            }
        };
        let parts: Vec<Value> = parts.iter().map(&mut part).collect();
        respelt.insert(EDITS.to_owned(), parts.into());
    }
    respelt
}

/// A key as it is shown to people: the model may have written anything.
fn shown(key: &str) -> String {
    /// Enough to recognise it by.
    const MAX_SHOWN_CHARS: usize = 40;
    key.chars().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect()
}

/// Whether an argument is known, or can't be heeded as a path or a command.
pub(crate) fn is_understood(host: Host, row: &ToolRow, key: &str, value: &Value) -> bool {
    row.key(host, "", key) != Key::Unknown || !may_be_heeded(value)
}

/// Whether a value could be a path or a command.
fn may_be_heeded(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => values.iter().any(may_be_heeded),
        Value::Object(object) => !object.is_empty(),
    }
}

const ONE_OF_LIST: Back = Back::Impossible("one element of a list of paths can't be rewritten");
const ONE_OF_MANY: Back = Back::Impossible("a patch can't be rewritten file by file");

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
