//! The text of an approval question, for the screen and for plain lines: the call, the model's description of it, the
//! arguments that hooks changed, and the text that the user may edit.
//!
//! Contains no drawing code.

use hookwright_agent::ApprovalRequest;
use hookwright_hooks::strict_json;
use hookwright_tools::{FileDiff, ToolDisplay};
use serde_json::{Map, Value};

use crate::output::escape_invisible;

/// For each tool, the argument that holds the text a user would edit.
const TEXT_ARGUMENTS: &[(&str, &str)] =
    &[("run_shell_command", "command"), ("write_file", "content"), ("replace", "new_string"), ("save_memory", "fact")];

/// The length above which a changed value is shown as a diff.
const MAX_INLINE_VALUE_BYTES: usize = 200;

/// Returns the call's position, such as `  call 1 of 4`, if the model's answer has several calls.
pub(crate) fn call_position(request: &ApprovalRequest) -> String {
    request
        .call_number
        .filter(|number| number.total > 1)
        .map_or_else(String::new, |number| format!("  call {} of {}", number.ordinal, number.total))
}

/// Something that the user should know before the call runs.
pub(crate) struct ApprovalNote {
    pub(crate) heading: String,
    pub(crate) text: String,
    /// Whether it is said by the model, and not by this program or a hook.
    pub(crate) is_by_model: bool,
}

impl std::fmt::Display for ApprovalNote {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}{}", self.heading, self.text)
    }
}

/// Returns the model's description of the call, whether a file is protected, and which hooks ask for a decision.
pub(crate) fn notes(request: &ApprovalRequest) -> Vec<ApprovalNote> {
    let note = |heading: String, text: &str| ApprovalNote { heading, text: escape_invisible(text), is_by_model: false };
    let mut notes = Vec::new();
    notes.extend(
        description(request)
            .map(|text| ApprovalNote { is_by_model: true, ..note("the model says: ".to_owned(), text) }),
    );
    notes.extend(
        request.protected_file.as_ref().map(|path| note(format!("{path} is protected: guards are made of it"), "")),
    );
    notes.extend(request.approval_demand.as_ref().map(|asked| {
        let who = if asked.hooks.is_empty() { "a hook".to_owned() } else { format!("hook {}", asked.hooks.join(", ")) };
        note(format!("{who} wants you to decide: "), &asked.reason)
    }));
    notes
}

/// Returns the model's description of the call.
fn description(request: &ApprovalRequest) -> Option<&str> {
    // An MCP server may give an argument of this name another meaning.
    let own = request.server.is_none();
    let text =
        ["description", "instruction"].into_iter().filter(|_| own).find_map(|key| request.args.get(key)?.as_str());
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// Returns the argument that a user would edit, or none if the arguments are edited as JSON.
fn text_argument(request: &ApprovalRequest) -> Option<&str> {
    let known = TEXT_ARGUMENTS.iter().find(|(tool, _)| *tool == request.name).map(|(_, key)| *key);
    let only = || match request.args.len() {
        1 => request.args.keys().next().map(String::as_str),
        _ => None,
    };
    known.or_else(only).filter(|key| request.args.get(*key).is_some_and(Value::is_string))
}

/// Returns the text to edit before the call runs: the text argument, or all arguments as JSON.
pub(crate) fn editable_text(request: &ApprovalRequest) -> String {
    let text = text_argument(request).and_then(|key| request.args.get(key)?.as_str());
    text.map_or_else(|| format!("{:#}", Value::Object(request.args.clone())), str::to_owned)
}

/// Returns the arguments with the edited text in them.
pub(crate) fn args_with_text(request: &ApprovalRequest, text: &str) -> Result<Map<String, Value>, String> {
    let Some(key) = text_argument(request) else {
        return strict_json::object_from_slice(text.as_bytes())
            .map_err(|why| format!("this is not a JSON object: {why}"));
    };
    let mut args = request.args.clone();
    args.insert(key.to_owned(), Value::String(text.to_owned()));
    Ok(args)
}

/// Returns a name for a file with that text, from which an editor recognises the language.
pub(crate) fn editor_file_name(request: &ApprovalRequest) -> String {
    match (&request.preview, text_argument(request)) {
        (Some(ToolDisplay::Diff(file)), Some(_)) => file.file_name.clone(),
        (_, Some("command")) => "command.sh".to_owned(),
        (_, Some(_)) => "text.md".to_owned(),
        (_, None) => "arguments.json".to_owned(),
    }
}

/// An argument that hooks changed.
pub(crate) struct ArgumentChange {
    pub(crate) name: String,
    pub(crate) difference: ArgumentDifference,
}

impl std::fmt::Display for ArgumentChange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "hooks changed {}", self.name)?;
        match &self.difference {
            ArgumentDifference::Inline(before, after) => write!(out, ": {before} → {after}"),
            ArgumentDifference::Diff(file) => {
                let hunks = file.unified.lines().skip_while(|line| !line.starts_with("@@"));
                write!(out, ":\n{}", hunks.collect::<Vec<_>>().join("\n"))
            }
            ArgumentDifference::Redacted => Ok(()),
        }
    }
}

/// The value of an argument before and after hooks changed it.
pub(crate) enum ArgumentDifference {
    Inline(String, String),
    Diff(Box<FileDiff>),
    /// A hook redacted the original value, so only the change itself is shown.
    Redacted,
}

/// Returns the arguments that hooks changed.
pub(crate) fn argument_changes(request: &ApprovalRequest) -> Vec<ArgumentChange> {
    let of = |name: &String| {
        let after = request.args.get(name).map(value_text).unwrap_or_default();
        let what = match request.original_args.as_ref().map(|before| before.get(name).map(value_text)) {
            None => ArgumentDifference::Redacted,
            Some(None) if fits_inline(&after) => ArgumentDifference::Inline("nothing".to_owned(), after),
            Some(Some(before)) if fits_inline(&before) && fits_inline(&after) => {
                ArgumentDifference::Inline(before, after)
            }
            Some(before) => {
                ArgumentDifference::Diff(Box::new(FileDiff::between(name, before.unwrap_or_default(), after)))
            }
        };
        ArgumentChange { name: name.clone(), difference: what }
    };
    request.rewritten_args.iter().map(of).collect()
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn fits_inline(text: &str) -> bool {
    text.len() <= MAX_INLINE_VALUE_BYTES && !text.contains('\n')
}

/// A choice that the user has in an approval question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalChoice {
    Once,
    Session,
    Server,
    Edit,
    Deny,
    Cancel,
}

impl ApprovalChoice {
    const ALL: [ApprovalChoice; 6] = [
        ApprovalChoice::Once,
        ApprovalChoice::Session,
        ApprovalChoice::Server,
        ApprovalChoice::Edit,
        ApprovalChoice::Deny,
        ApprovalChoice::Cancel,
    ];

    /// Returns the choices for a request, in the order of their numbers.
    ///
    /// What is asked about every time has no choice for the session.
    pub(crate) fn for_request(request: &ApprovalRequest) -> Vec<ApprovalChoice> {
        let offered = |choice: &ApprovalChoice| match choice {
            ApprovalChoice::Session => request.can_last,
            ApprovalChoice::Server => request.can_last && request.server.is_some() && request.approval_demand.is_none(),
            _ => true,
        };
        ApprovalChoice::ALL.into_iter().filter(offered).collect()
    }
}
