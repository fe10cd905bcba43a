//! What a question about a call says, on the screen and in lines: which call it is, what the model says of it, what hooks
//! changed, and the text in it that people would edit. Draws nothing.

use hookwright_agent::ApprovalRequest;
use hookwright_hooks::strict_json;
use hookwright_tools::{Display, FileDiff};
use serde_json::{Map, Value};

/// The argument of a tool that is the text itself.
const TEXTS: &[(&str, &str)] =
    &[("run_shell_command", "command"), ("write_file", "content"), ("replace", "new_string"), ("save_memory", "fact")];

/// A longer value is shown as a diff.
const SHORT: usize = 200;

/// `, call 1 of 4`, where an answer has several.
pub(crate) fn number(request: &ApprovalRequest) -> String {
    request
        .number
        .filter(|number| number.of > 1)
        .map_or_else(String::new, |number| format!("  call {} of {}", number.at, number.of))
}

/// What the model says of the call.
pub(crate) fn description(request: &ApprovalRequest) -> Option<&str> {
    // What a server calls like this means something else.
    let own = request.server.is_none();
    let said =
        ["description", "instruction"].into_iter().filter(|_| own).find_map(|key| request.args.get(key)?.as_str());
    said.map(str::trim).filter(|said| !said.is_empty())
}

/// The argument that people would edit; none where the arguments are edited as they are.
fn text_key(request: &ApprovalRequest) -> Option<&str> {
    let known = TEXTS.iter().find(|(tool, _)| *tool == request.name).map(|(_, key)| *key);
    let only = || match request.args.len() {
        1 => request.args.keys().next().map(String::as_str),
        _ => None,
    };
    known.or_else(only).filter(|key| request.args.get(*key).is_some_and(Value::is_string))
}

/// What is edited before it runs: the text itself, or all arguments.
pub(crate) fn text_of(request: &ApprovalRequest) -> String {
    let text = text_key(request).and_then(|key| request.args.get(key)?.as_str());
    text.map_or_else(|| format!("{:#}", Value::Object(request.args.clone())), str::to_owned)
}

/// The arguments with another text.
pub(crate) fn with_text(request: &ApprovalRequest, text: &str) -> Result<Map<String, Value>, String> {
    let Some(key) = text_key(request) else {
        return strict_json::object_from_slice(text.as_bytes()).map_err(|why| format!("this is no JSON object: {why}"));
    };
    let mut args = request.args.clone();
    args.insert(key.to_owned(), Value::String(text.to_owned()));
    Ok(args)
}

/// A name for a file with that text in it, by which an editor knows its language.
pub(crate) fn file_name(request: &ApprovalRequest) -> String {
    match (&request.preview, text_key(request)) {
        (Some(Display::Diff(file)), Some(_)) => file.file_name.clone(),
        (_, Some("command")) => "command.sh".to_owned(),
        (_, Some(_)) => "text.md".to_owned(),
        (_, None) => "arguments.json".to_owned(),
    }
}

/// An argument that hooks changed.
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) what: Difference,
}

/// Before and after.
pub(crate) enum Difference {
    Short(String, String),
    Long(Box<FileDiff>),
    /// Hooks want what was there kept from everybody.
    Unsaid,
}

/// What hooks changed.
pub(crate) fn changes(request: &ApprovalRequest) -> Vec<Change> {
    let of = |name: &String| {
        let after = request.args.get(name).map(written).unwrap_or_default();
        let what = match request.before.as_ref().map(|before| before.get(name).map(written)) {
            None => Difference::Unsaid,
            Some(None) if is_short(&after) => Difference::Short("nothing".to_owned(), after),
            Some(Some(before)) if is_short(&before) && is_short(&after) => Difference::Short(before, after),
            Some(before) => Difference::Long(Box::new(FileDiff::between(name, before.unwrap_or_default(), after))),
        };
        Change { name: name.clone(), what }
    };
    request.rewritten.iter().map(of).collect()
}

fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_short(text: &str) -> bool {
    text.len() <= SHORT && !text.contains('\n')
}
