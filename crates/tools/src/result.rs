//! What a tool call gives back: content for the model, something to show, perhaps a failure; and the JSON of all
//! three that hooks see as `tool_response`. Not how any screen draws it.

use crate::diff::FileDiff;
use crate::failure::ToolFailure;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The outcome of one tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// What the model reads.
    pub llm_content: ResultContent,
    /// What the user sees.
    pub return_display: ToolDisplay,
    /// Set if the call failed.
    pub error: Option<ToolFailure>,
    /// Set if the call ran a command: how that went.
    pub command: Option<ShellCommandRun>,
}

/// A command that a call ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommandRun {
    /// How it ended.
    pub end: CommandEnd,
    /// What it printed, kept to the tool's bound.
    pub output: String,
}

/// How a command ended. A call whose command failed has not failed itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal; [`signal_name`](crate::signal_name) names it.
    Signaled(i32),
    /// It ran for too long and was ended.
    TimedOut,
    /// It was silent for too long and was ended.
    Inactive,
    /// The call was cancelled, and it was ended.
    Cancelled,
    /// It has not: it runs on in the background.
    Background,
}

impl CommandEnd {
    /// In a few words, why this is no good end; none for one that is, for one that was wanted, and for none yet.
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

    /// The code that it exited with.
    pub fn code(self) -> Option<i32> {
        if let CommandEnd::Exited(code) = self { Some(code) } else { None }
    }
}

/// What the model reads of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultContent {
    /// Just text.
    Text(String),
    /// Text and media, in order.
    Parts(Vec<ResultPart>),
}

/// One piece of [`ResultContent`].
#[derive(Debug, Clone, PartialEq)]
pub enum ResultPart {
    /// Text.
    Text(String),
    /// An image, a document, a recording.
    InlineData {
        /// The MIME type.
        mime_type: String,
        /// The bytes, in standard base64.
        data: String,
    },
}

/// What to show the user.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolDisplay {
    /// Plain text; may be empty.
    Text(String),
    /// A changed file.
    Diff(Box<FileDiff>),
    /// The whole to-do list.
    Todos(Vec<Todo>),
    /// Files or directory entries, with a line that sums them up.
    Files {
        /// The line.
        summary: String,
        /// The names.
        files: Vec<String>,
        /// What was left out, and why.
        skipped: Vec<SkippedFile>,
    },
    /// Search hits, with a line that sums them up.
    Matches {
        /// The line.
        summary: String,
        /// The hits.
        matches: Vec<SearchMatch>,
    },
}

/// A file that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// Which.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchMatch {
    /// Relative to where the search started.
    pub file_path: String,
    /// The same file, absolute.
    pub absolute_path: String,
    /// Counted from 1.
    pub line_number: u64,
    /// The line, without its end.
    pub line: String,
}

/// One entry of the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub description: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a to-do is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// No longer wanted.
    Cancelled,
    /// Cannot go on for now.
    Blocked,
}

impl TodoStatus {
    /// The word used on the wire.
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
    /// A success that says the one to the model and shows the other.
    pub fn text(llm_content: impl Into<String>, display: impl Into<String>) -> Self {
        Self::new(ResultContent::Text(llm_content.into()), ToolDisplay::Text(display.into()))
    }

    /// A success.
    pub fn new(llm_content: ResultContent, return_display: ToolDisplay) -> Self {
        Self { llm_content, return_display, error: None, command: None }
    }

    /// The same, with how the command it ran ended and what that printed.
    pub(crate) fn with_command_end(self, end: CommandEnd, output: impl Into<String>) -> Self {
        Self { command: Some(ShellCommandRun { end, output: output.into() }), ..self }
    }

    /// The JSON that AfterTool hooks get as `tool_response`.
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
        let told = match &failure.hint {
            Some(hint) => format!("{}\n{hint}", failure.message),
            None => failure.message.clone(),
        };
        Self {
            llm_content: ResultContent::Text(told),
            return_display: ToolDisplay::Text(format!("Error: {}", failure.message)),
            error: Some(failure),
            command: None,
        }
    }
}

impl ResultContent {
    /// The text of it; media are named in brackets.
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

    /// A string, one part, or a list of parts.
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
    /// The JSON that hooks see.
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

    /// All that there is to show as text; one line for what is no text.
    pub fn to_text(&self) -> String {
        if let Self::Text(text) = self { text.clone() } else { self.summary() }
    }

    /// One line for a card.
    pub fn summary(&self) -> String {
        match self {
            Self::Text(text) => text.lines().next().unwrap_or_default().to_owned(),
            Self::Diff(diff) => format!("{} added, {} removed", diff.stat.added_lines, diff.stat.removed_lines),
            Self::Todos(todos) => format!("{} to-do(s)", todos.len()),
            Self::Files { summary, .. } | Self::Matches { summary, .. } => summary.clone(),
        }
    }
}

/// Marks text that came from outside, so that the model does not take it for instructions.
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
