//! The items of an earlier conversation, taken from its messages: prompts, answers, and tool calls with their arguments
//! and results.
//!
//! Contains no drawing code.

use std::sync::Arc;

use hookwright_model::{Content, FunctionCall, FunctionResponse, Part, PartKind, Role};
use serde_json::{Map, Value};

use super::humanize::format_image_size;

/// An item of an earlier conversation.
pub(crate) enum ResumedItem {
    /// A text of the user's.
    User(String),
    /// A text of the model's.
    Model(String),
    Call(ResumedCall),
}

/// A call with its result.
pub(crate) struct ResumedCall {
    pub(crate) name: String,
    pub(crate) args: Map<String, Value>,
    /// The output or the error, or none if the messages do not contain it.
    pub(crate) result: Option<Result<String, String>>,
}

/// Returns the items of messages in their order; a call stands where its result arrived.
pub(crate) fn items_of(messages: &[Arc<Content>]) -> Vec<ResumedItem> {
    let mut past = Vec::new();
    let mut open: Vec<&FunctionCall> = Vec::new();
    for content in messages {
        let text: String = content.parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n");
        for response in content.parts.iter().filter_map(|part| part.as_function_response()) {
            let is_its = |call: &&FunctionCall| match (&call.id, &response.id) {
                (Some(id), Some(of)) => id == of,
                _ => call.name == response.name,
            };
            let call = open.iter().position(is_its).map(|at| open.remove(at));
            let args = call.map(|call| call.args.clone()).unwrap_or_default();
            past.push(ResumedItem::Call(ResumedCall {
                name: response.name.clone(),
                args,
                result: Some(result_text(response)),
            }));
        }
        match content.role {
            _ if text.trim().is_empty() => {}
            Role::User => past.push(ResumedItem::User(text)),
            Role::Model => past.push(ResumedItem::Model(text)),
        }
        open.extend(content.parts.iter().filter_map(|part| part.as_function_call()));
    }
    let unanswered =
        |call: &FunctionCall| ResumedCall { name: call.name.clone(), args: call.args.clone(), result: None };
    past.extend(open.into_iter().map(unanswered).map(ResumedItem::Call));
    past
}

/// Returns the text of one part of a message.
fn part_text(part: &Part) -> Option<String> {
    match &part.kind {
        PartKind::InlineData(blob) if blob.mime_type.starts_with("image/") => {
            Some(format!("[image, {}]", format_image_size(blob.data.len() as u64 / 4 * 3)))
        }
        _ => part.as_text().map(str::to_owned),
    }
}

/// Returns a result as it was shown to the user, without the text around it that is meant for the model.
fn result_text(response: &FunctionResponse) -> Result<String, String> {
    let text = |key: &str| {
        response.response.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    if let Some(error) = text("error") {
        return Err(error);
    }
    let output = text("output").unwrap_or_default();
    let inner =
        output.strip_prefix("<untrusted_context>\n").and_then(|text| text.strip_suffix("\n</untrusted_context>"));
    let output = inner.unwrap_or(&output);
    Ok(command_output(output).unwrap_or(output).to_owned())
}

/// Returns a command's output, taken from the result that the model gets.
fn command_output(text: &str) -> Option<&str> {
    if !text.starts_with("Command: ") && !text.starts_with("Output: ") {
        return None;
    }
    let (_, rest) = text.split_once("Output: ")?;
    let ends = ["\nError: ", "\nExit Code: ", "\nSignal: ", "\nBackground PIDs: ", "\nProcess Group PGID: "];
    let end = ends.iter().filter_map(|end| rest.rfind(end)).min().unwrap_or(rest.len());
    Some(&rest[..end])
}
