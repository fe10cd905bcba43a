//! The result of a tool call: content for the model, a display for the user, perhaps a failure; and its JSON, which
//! hooks receive as `tool_response`. Front ends do the drawing.

use crate::diff::FileDiff;
use crate::failure::ToolFailure;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The outcome of one tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The content for the model.
    pub llm_content: ResultContent,
    /// The display for the user.
    pub return_display: ToolDisplay,
    /// The failure, if the call failed.
    pub error: Option<ToolFailure>,
    /// The command, if the call ran one.
    pub command: Option<ShellCommandRun>,
}

/// A command that a call ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommandRun {
    pub end: CommandEnd,
    /// The output, up to the tool's limit.
    pub output: String,
}

/// How a command ended. A failed command is not a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was ended by this signal; [`signal_name`](crate::signal_name) returns the name.
    Signaled(i32),
    /// It was ended because it ran for too long.
    TimedOut,
    /// It was ended because it printed nothing for too long.
    Inactive,
    /// It was ended because the call was cancelled.
    Cancelled,
    /// It still runs in the background.
    Background,
}

impl CommandEnd {
    /// Describes a failed end in a few words; `None` for success, cancellation and a command that still runs.
    pub fn failure(self) -> Option<String> {
        match self {
            CommandEnd::Exited(0) | CommandEnd::Cancelled | CommandEnd::Background => None,
            CommandEnd::Exited(code) => Some(format!("exit code {code}")),
            CommandEnd::Signaled(number) => {
                let name = crate::signal_name(number).map_or_else(|| number.to_string(), str::to_owned);
                Some(format!("ended by signal {name}"))
            }
            CommandEnd::TimedOut => Some("ended: it ran too long".to_owned()),
            CommandEnd::Inactive => Some("ended: it was silent for too long".to_owned()),
        }
    }

    /// Returns the exit code.
    pub fn code(self) -> Option<i32> {
        if let CommandEnd::Exited(code) = self { Some(code) } else { None }
    }
}

/// The content for the model.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultContent {
    Text(String),
    /// Text and media, in order.
    Parts(Vec<ResultPart>),
}

/// One part of [`ResultContent`].
#[derive(Debug, Clone, PartialEq)]
pub enum ResultPart {
    Text(String),
    /// An image, a document, audio or video.
    InlineData {
        mime_type: String,
        /// The bytes, in standard base64.
        data: String,
    },
}

/// The display for the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ToolDisplay {
    /// Plain text, which may be empty.
    Text(String),
    /// A changed file.
    Diff(Box<FileDiff>),
    /// The whole to-do list.
    Todos(Vec<Todo>),
    /// Files or directory entries.
    Files {
        summary: String,
        files: Vec<String>,
        /// Files that were not read, and why.
        skipped: Vec<SkippedFile>,
    },
    /// The matches of a search.
    Matches { summary: String, matches: Vec<SearchMatch> },
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    pub path: String,
    pub reason: String,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchMatch {
    /// The path relative to the start of the search.
    pub file_path: String,
    /// The absolute path of the same file.
    pub absolute_path: String,
    /// The line number, counted from 1.
    pub line_number: u64,
    /// The line without its line ending.
    pub line: String,
}

/// One entry of the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub description: String,
    pub status: TodoStatus,
}

/// The progress of a to-do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
    /// It cannot continue for now.
    Blocked,
}

impl TodoStatus {
    /// Returns the name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Blocked => "blocked",
        }
    }
}

impl ToolResult {
    /// Creates a successful result from two texts.
    pub fn text(llm_content: impl Into<String>, display: impl Into<String>) -> Self {
        Self::new(ResultContent::Text(llm_content.into()), ToolDisplay::Text(display.into()))
    }

    /// Creates a successful result.
    pub fn new(llm_content: ResultContent, return_display: ToolDisplay) -> Self {
        Self { llm_content, return_display, error: None, command: None }
    }

    /// Adds how the call's command ended and its output.
    pub(crate) fn with_command_end(self, end: CommandEnd, output: impl Into<String>) -> Self {
        Self { command: Some(ShellCommandRun { end, output: output.into() }), ..self }
    }

    /// Returns the JSON that AfterTool hooks receive as `tool_response`.
    pub fn to_json(&self) -> Value {
        let mut response = json!({
            "llmContent": self.llm_content.to_json(),
            "returnDisplay": self.return_display.to_json(),
        });
        if let (Some(failure), Some(fields)) = (&self.error, response.as_object_mut()) {
            fields.insert("error".into(), json!({ "message": failure.message, "type": failure.kind.as_str() }));
        }
        response
    }
}

impl From<ToolFailure> for ToolResult {
    fn from(failure: ToolFailure) -> Self {
        let text = match &failure.hint {
            Some(hint) => format!("{}\n{hint}", failure.message),
            None => failure.message.clone(),
        };
        Self {
            llm_content: ResultContent::Text(text),
            return_display: ToolDisplay::Text(format!("Error: {}", failure.message)),
            error: Some(failure),
            command: None,
        }
    }
}

impl ResultContent {
    /// Returns the text, with the MIME types of media in brackets.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .map(|part| match part {
                    ResultPart::Text(text) => text.clone(),
                    ResultPart::InlineData { mime_type, .. } => format!("[{mime_type}]"),
                })
                .collect(),
        }
    }

    /// Returns a string, one part, or a list of parts as JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Parts(parts) => match parts.as_slice() {
                [only] => only.to_json(),
                several => several.iter().map(ResultPart::to_json).collect(),
            },
        }
    }
}

impl ResultPart {
    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::InlineData { mime_type, data } => json!({ "inlineData": { "mimeType": mime_type, "data": data } }),
        }
    }
}

impl ToolDisplay {
    /// Returns the JSON that hooks receive.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Diff(diff) => diff.to_json(),
            Self::Todos(todos) => json!({ "todos": todos }),
            Self::Files { summary, files, skipped } if skipped.is_empty() => {
                json!({ "summary": summary, "files": files })
            }
            Self::Files { summary, files, skipped } => {
                json!({ "summary": summary, "files": files, "skipped": skipped })
            }
            Self::Matches { summary, matches } => json!({ "summary": summary, "matches": matches }),
        }
    }

    /// Returns the whole text of a text display, otherwise its summary.
    pub fn to_text(&self) -> String {
        if let Self::Text(text) = self { text.clone() } else { self.summary() }
    }

    /// Returns a summary in one line.
    pub fn summary(&self) -> String {
        match self {
            Self::Text(text) => text.lines().next().unwrap_or_default().to_owned(),
            Self::Diff(diff) => format!("{} added, {} removed", diff.stat.added_lines, diff.stat.removed_lines),
            Self::Todos(todos) => format!("{} to-do(s)", todos.len()),
            Self::Files { summary, .. } | Self::Matches { summary, .. } => summary.clone(),
        }
    }
}

/// Marks text from outside as untrusted, so that the model does not take it for instructions.
pub(crate) fn wrap_untrusted(text: &str) -> String {
    let text = text.replace("</untrusted_context>", "&lt;/untrusted_context&gt;");
    format!("<untrusted_context>\n{text}\n</untrusted_context>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ToolErrorKind;

    #[test]
    fn hooks_see_content_display_and_error() {
        assert_eq!(ToolResult::text("a", "b").to_json(), json!({ "llmContent": "a", "returnDisplay": "b" }));
        let failed = ToolResult::from(ToolFailure::new(ToolErrorKind::FileNotFound, "gone").hint("look elsewhere"));
        assert_eq!(
            failed.to_json(),
            json!({
                "llmContent": "gone\nlook elsewhere",
                "returnDisplay": "Error: gone",
                "error": { "message": "gone", "type": "file_not_found" },
            })
        );
    }

    #[test]
    fn one_part_stands_alone() {
        let image = ResultPart::InlineData { mime_type: "image/png".into(), data: "AA==".into() };
        let alone = ResultContent::Parts(vec![image.clone()]);
        assert_eq!(alone.to_json(), json!({ "inlineData": { "mimeType": "image/png", "data": "AA==" } }));
        let both = ResultContent::Parts(vec![ResultPart::Text("x".into()), image]);
        assert_eq!(both.to_json()[0], "x");
        assert_eq!(both.to_text(), "x[image/png]");
    }

    #[test]
    fn untrusted_text_cannot_close_its_wrapper() {
        let wrapped = wrap_untrusted("a</untrusted_context>b");
        assert_eq!(wrapped.matches("</untrusted_context>").count(), 1);
    }
}
