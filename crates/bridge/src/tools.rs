//! Translates a host's tool call to Hookwright's tools, as one view or several, and writes changed arguments back under
//! the host's keys.
//!
//! Claude Code's tools are the intermediate form: the engine maps them to its own (`dialect::tools`), and
//! `vocabulary.rs` maps each agent's tools and arguments to them. A call that could be read in two ways is marked
//! unknown; this module makes no decision about it.

use hookwright_hooks::dialect::tool_arguments::{self as claude, DialectCall};
use hookwright_hooks::patch::{self, FileChange};
use serde_json::{Map, Value};

use crate::dialect::{ArgumentWriteBack, ToolRecognition};
use crate::host::Host;
use crate::payload::json_type_name;
use crate::vocabulary::{self, ArgumentKey, ToolMeaning, ToolRow};

/// The translation of a host's call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTranslation {
    /// How far the tool is recognised.
    pub recognition: ToolRecognition,
    /// Why the call of a known tool is not understood, if it is not.
    pub uncertainty: Option<String>,
    /// The calls of Hookwright's tools, at least one.
    pub views: Vec<(DialectCall, ArgumentWriteBack)>,
}

/// Translates a host's call to Hookwright's tools.
pub fn translate_call(host: Host, name: &str, input: &Map<String, Value>) -> CallTranslation {
    let as_it_is = |name: &str| (DialectCall::new(name, input.clone()), ArgumentWriteBack::View(0));
    let Some(row) = vocabulary::tool_row(host, name) else {
        return match vocabulary::mcp_tool_name(host, name) {
            Some((name, says_whose)) => {
                let recognition = if says_whose { ToolRecognition::Known } else { ToolRecognition::UnknownServer };
                CallTranslation { recognition, uncertainty: None, views: vec![as_it_is(&name)] }
            }
            None => CallTranslation {
                recognition: ToolRecognition::Unknown,
                uncertainty: None,
                views: vec![as_it_is(name)],
            },
        };
    };
    if row.meaning == ToolMeaning::Harmless {
        return CallTranslation {
            recognition: ToolRecognition::Harmless,
            uncertainty: None,
            views: vec![as_it_is(name)],
        };
    }
    let RenamedArguments { calls, mut uncertainty } = rename_arguments(host, row, input);
    let mut views: Vec<(DialectCall, ArgumentWriteBack)> = match row.meaning {
        ToolMeaning::Patch => {
            let text = calls.first().and_then(|arguments| arguments.get("patch")).and_then(Value::as_str);
            match text.map(patch::parse) {
                Some(Ok(changes)) => changes.into_iter().flat_map(calls_for_change).collect(),
                _ => {
                    uncertainty.get_or_insert_with(|| "its patch can't be read".to_owned());
                    vec![(DialectCall::new(name, input.clone()), PATCH_NOT_WRITABLE)]
                }
            }
        }
        ToolMeaning::Harmless => vec![as_it_is(name)],
        ToolMeaning::Engine(ours) => {
            calls.into_iter().map(|input| (DialectCall::new(ours, input), ArgumentWriteBack::View(0))).collect()
        }
        ToolMeaning::Claude("Edit") if calls.iter().any(|arguments| arguments.contains_key("diff")) => {
            match file_diff::parse_arguments(&calls) {
                Ok(change) => calls_for_change(change),
                Err(why) => {
                    uncertainty.get_or_insert_with(|| format!("its diff can't be read: {why}"));
                    vec![(DialectCall::new(name, input.clone()), PATCH_NOT_WRITABLE)]
                }
            }
        }
        ToolMeaning::Claude(claude) => {
            let is_one = calls.len() == 1;
            let back = |at| if is_one { ArgumentWriteBack::View(at) } else { LIST_ELEMENT_NOT_WRITABLE };
            let translated = calls.into_iter().map(|input| claude::from_claude(&DialectCall::new(claude, input)));
            translated.flat_map(|one| one.views.into_iter().enumerate().map(|(at, view)| (view, back(at)))).collect()
        }
    };
    if row.meaning == ToolMeaning::Claude("Bash") {
        let command = views.first().and_then(|(call, _)| call.input.get("command")?.as_str()).unwrap_or_default();
        match embedded_patches(command) {
            Ok(changes) => views.extend(changes.into_iter().flat_map(calls_for_change)),
            // The files that the command changes are not known.
            Err(error) => {
                uncertainty.get_or_insert_with(|| format!("the patch in its command can't be read: {error}"));
            }
        }
    }
    let recognition = if uncertainty.is_some() { ToolRecognition::UnknownArguments } else { ToolRecognition::Known };
    CallTranslation { recognition, uncertainty, views }
}

/// Returns whether current versions of an agent no longer have that tool.
pub fn is_retired(host: Host, name: &str) -> bool {
    vocabulary::tool_row(host, name).is_some_and(|row| row.retired)
}

/// Returns the host's complete arguments after a view of its call was changed.
///
/// # Errors
/// If the host's arguments can't express the change; the text says why.
pub fn write_back_arguments(
    host: Host,
    name: &str,
    input: &Map<String, Value>,
    back: ArgumentWriteBack,
    changed: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let at = match back {
        ArgumentWriteBack::View(at) => at,
        ArgumentWriteBack::Impossible(why) => return Err(why.to_owned()),
    };
    let Some(row) = vocabulary::tool_row(host, name) else { return Ok(changed.clone()) };
    let whole = match (row.meaning, rename_arguments(host, row, input).calls.as_slice()) {
        (ToolMeaning::Claude(claude), [arguments]) => {
            let call = DialectCall::new(claude, arguments.clone());
            claude::changes_to_claude(&call, at, changed).map_err(|error| error.to_string())?
        }
        (ToolMeaning::Engine(_) | ToolMeaning::Harmless, _) => changed.clone(),
        (ToolMeaning::Claude(_), _) | (ToolMeaning::Patch, _) => {
            return Err("it is only one part of a call".to_owned());
        }
    };
    Ok(to_native_arguments(row, "", whole, |key| input.contains_key(key)))
}

/// Renames arguments to the host's keys.
pub(crate) fn to_native_arguments(
    row: &ToolRow,
    inside: &'static str,
    arguments: Map<String, Value>,
    is_there: impl Fn(&str) -> bool + Copy,
) -> Map<String, Value> {
    let native = |(key, value): (String, Value)| {
        let value = match value {
            Value::Array(parts) if inside.is_empty() && key == EDITS_KEY => {
                let part = |part| match part {
                    Value::Object(part) => to_native_arguments(row, EDITS_KEY, part, is_there).into(),
                    other => other,
                };
                parts.into_iter().map(part).collect()
            }
            value => value,
        };
        (row.native_key(inside, &key, is_there).map_or(key, str::to_owned), value)
    };
    arguments.into_iter().map(native).collect()
}

/// The argument that holds a list of edits, whose elements have arguments too.
const EDITS_KEY: &str = "edits";
/// Arguments whose values need not be strings.
const NON_TEXT_ARGUMENTS: [&str; 10] =
    [EDITS_KEY, "todos", "ignore", "replace_all", "run_in_background", "-i", "-A", "-B", "-C", "head_limit"];

/// A call's arguments under Claude Code's or the engine's keys.
struct RenamedArguments {
    /// One call, or several where an argument is a list with one call per element; never empty.
    calls: Vec<Map<String, Value>>,
    /// Why the arguments are not understood, if they are not.
    uncertainty: Option<String>,
}

fn rename_arguments(host: Host, row: &ToolRow, input: &Map<String, Value>) -> RenamedArguments {
    let mut uncertainty = None;
    let mut lists: Option<(&'static str, Vec<Value>)> = None;
    let arguments = rename_keys(host, row, "", input, &mut uncertainty, &mut lists);
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
    RenamedArguments { calls, uncertainty }
}

fn rename_keys(
    host: Host,
    row: &ToolRow,
    inside: &'static str,
    input: &Map<String, Value>,
    uncertainty: &mut Option<String>,
    lists: &mut Option<(&'static str, Vec<Value>)>,
) -> Map<String, Value> {
    let mut mark_uncertain = |why: String| {
        uncertainty.get_or_insert(why);
    };
    let mut respelt = Map::new();
    let mut others = Vec::new();
    let mut edits = None;
    for (key, value) in input {
        let ArgumentKey::Argument { name, many } = row.classify_key(host, inside, key) else {
            others.push((key, value));
            continue;
        };
        if respelt.contains_key(name) {
            mark_uncertain(format!("`{}` is a second spelling of an argument that is already given", display_key(key)));
            others.push((key, value));
            continue;
        }
        match value {
            Value::Array(values) if many && !values.is_empty() && values.iter().all(Value::is_string) => {
                *lists = Some((name, values.clone()));
            }
            Value::Array(values) if many && values.is_empty() => continue,
            Value::Array(values) if name == EDITS_KEY => edits = Some(values),
            Value::Null => {}
            // The host may parse such a string as a list.
            Value::String(text) if many && serde_json::from_str::<Vec<Value>>(text).is_ok() => {
                mark_uncertain(format!("`{}` is a list inside a string", display_key(key)));
            }
            Value::String(_) if name != EDITS_KEY => {}
            _ if NON_TEXT_ARGUMENTS.contains(&name) && name != EDITS_KEY => {}
            other => mark_uncertain(format!("its argument `{}` is {}", display_key(key), json_type_name(other))),
        }
        respelt.insert(name.to_owned(), value.clone());
    }
    for (key, value) in others {
        if row.classify_key(host, inside, key) == ArgumentKey::Unknown && can_carry_path_or_command(value) {
            mark_uncertain(format!("its argument `{}` is not known", display_key(key)));
        }
        respelt.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(parts) = edits {
        let mut part = |part: &Value| match part {
            Value::Object(part) => Value::Object(rename_keys(host, row, EDITS_KEY, part, uncertainty, &mut None)),
            other => {
                uncertainty.get_or_insert_with(|| {
                    format!("one of its `{EDITS_KEY}` is {}, not an object", json_type_name(other))
                });
                other.clone()
            }
        };
        let parts: Vec<Value> = parts.iter().map(&mut part).collect();
        respelt.insert(EDITS_KEY.to_owned(), parts.into());
    }
    respelt
}

/// Escapes and shortens a key for display, because the model may have written anything.
fn display_key(key: &str) -> String {
    /// Keeps enough of a key to recognise it.
    const MAX_SHOWN_CHARS: usize = 40;
    key.chars().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect()
}

/// Returns whether an argument is known, or can hold neither a path nor a command.
pub(crate) fn is_understood(host: Host, row: &ToolRow, key: &str, value: &Value) -> bool {
    row.classify_key(host, "", key) != ArgumentKey::Unknown || !can_carry_path_or_command(value)
}

/// Returns whether a value could be a path or a command.
fn can_carry_path_or_command(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => values.iter().any(can_carry_path_or_command),
        Value::Object(object) => !object.is_empty(),
    }
}

const LIST_ELEMENT_NOT_WRITABLE: ArgumentWriteBack =
    ArgumentWriteBack::Impossible("one element of a list of paths can't be rewritten");
const PATCH_NOT_WRITABLE: ArgumentWriteBack = ArgumentWriteBack::Impossible("a patch can't be rewritten file by file");

/// Returns the calls that a patch makes to one file. The replacement of nothing by nothing stands for a
/// file that is removed or moved away.
fn calls_for_change(change: FileChange) -> Vec<(DialectCall, ArgumentWriteBack)> {
    let write =
        |path: &str, content: String| patch_call("write_file", &[("file_path", path.to_owned()), ("content", content)]);
    let replace = |path: &str, before: String, after: String| {
        patch_call("replace", &[("file_path", path.to_owned()), ("old_string", before), ("new_string", after)])
    };
    match change {
        FileChange::Add { path, content } => vec![write(&path, content)],
        FileChange::Delete { path } => vec![replace(&path, String::new(), String::new())],
        FileChange::Update { path, moved_to, hunks } => {
            let mut views: Vec<_> = hunks.iter().map(|hunk| replace(&path, hunk.old_text(), hunk.new_text())).collect();
            if let Some(to) = moved_to {
                views.push(replace(&path, String::new(), String::new()));
                views.push(write(&to, hunks.iter().map(patch::Hunk::new_text).collect()));
            }
            views
        }
    }
}

fn patch_call(tool: &str, input: &[(&str, String)]) -> (DialectCall, ArgumentWriteBack) {
    let input = input.iter().map(|(key, value)| ((*key).to_owned(), Value::String(value.clone()))).collect();
    (DialectCall::new(tool, input), PATCH_NOT_WRITABLE)
}

/// Returns the patches that a shell command passes to `apply_patch`.
fn embedded_patches(command: &str) -> Result<Vec<FileChange>, patch::PatchError> {
    const PATCH_BEGIN: &str = "*** Begin Patch";
    const PATCH_END: &str = "*** End Patch";
    let mut changes = Vec::new();
    if !command.contains("apply_patch") && !command.contains("applypatch") {
        return Ok(changes);
    }
    let mut rest = command;
    while let Some(start) = rest.find(PATCH_BEGIN) {
        let tail = &rest[start..];
        let length = tail.find(PATCH_END).map_or(tail.len(), |end| end + PATCH_END.len());
        changes.extend(patch::parse(&tail[..length])?);
        rest = &tail[length..];
    }
    Ok(changes)
}

mod file_diff;
#[cfg(test)]
mod tests;
