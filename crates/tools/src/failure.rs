//! Why a tool call failed: a kind for programs, a message for people and models, and a hint where one helps.
//! Not for failures of the crate's own machinery, which are errors of their modules.

use crate::workspace::PathError;
use std::fmt;
use std::io;
use std::path::Path;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        /// What went wrong, in the words that telemetry and scripts know.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ToolErrorKind {
            $($(#[$doc])* $variant,)+
        }

        impl ToolErrorKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word used on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

kinds! {
    /// A hook or a policy said no.
    PolicyViolation = "policy_violation",
    /// Arguments that do not fit the schema or make no sense.
    InvalidToolParams = "invalid_tool_params",
    /// Nothing more is known.
    Unknown = "unknown",
    /// The tool itself broke.
    UnhandledException = "unhandled_exception",
    /// No such tool.
    ToolNotRegistered = "tool_not_registered",
    /// It ran and failed.
    ExecutionFailed = "execution_failed",
    /// No file there.
    FileNotFound = "file_not_found",
    /// The file could not be written.
    FileWriteFailure = "file_write_failure",
    /// The file could not be read.
    ReadContentFailure = "read_content_failure",
    /// Something to be created exists.
    AttemptToCreateExistingFile = "attempt_to_create_existing_file",
    /// Over a size bound.
    FileTooLarge = "file_too_large",
    /// The system refused access.
    PermissionDenied = "permission_denied",
    /// The disk is full.
    NoSpaceLeft = "no_space_left",
    /// A directory where a file is expected.
    TargetIsDirectory = "target_is_directory",
    /// Outside the workspace.
    PathNotInWorkspace = "path_not_in_workspace",
    /// A file where a directory is expected.
    PathIsNotADirectory = "path_is_not_a_directory",
    /// The edit could not be worked out.
    EditPreparationFailure = "edit_preparation_failure",
    /// The text to replace is not there.
    EditNoOccurrenceFound = "edit_no_occurrence_found",
    /// The text to replace is there another number of times.
    EditExpectedOccurrenceMismatch = "edit_expected_occurrence_mismatch",
    /// The edit changes nothing.
    EditNoChange = "edit_no_change",
    /// Finding files failed.
    GlobExecutionError = "glob_execution_error",
    /// Searching files failed.
    GrepExecutionError = "grep_execution_error",
    /// Listing a directory failed.
    LsExecutionError = "ls_execution_error",
    /// An MCP server's tool failed.
    McpToolError = "mcp_tool_error",
    /// No MCP server lists such a resource.
    McpResourceNotFound = "mcp_resource_not_found",
    /// The memory file could not be written.
    MemoryToolExecutionError = "memory_tool_execution_error",
    /// Finding the files to read failed.
    ReadManyFilesSearchError = "read_many_files_search_error",
    /// The command could not be run.
    ShellExecuteError = "shell_execute_error",
    /// Nothing to fetch was named.
    WebFetchNoUrlInPrompt = "web_fetch_no_url_in_prompt",
    /// Fetching failed.
    WebFetchProcessingError = "web_fetch_processing_error",
    /// Searching the web failed.
    WebSearchFailed = "web_search_failed",
    /// A hook stopped the agent.
    StopExecution = "stop_execution",
    /// The user cancelled it.
    Cancelled = "cancelled",
}

impl fmt::Display for ToolErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A failed tool call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// What sort of failure.
    pub kind: ToolErrorKind,
    /// What happened, for people and the model.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ToolFailure {
    /// A failure of this kind.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same with advice, which the model sees below the message.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Arguments that make no sense.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::InvalidToolParams, message)
    }

    /// A call that was ended before it was done.
    pub fn cancelled() -> Self {
        Self::new(ToolErrorKind::Cancelled, "the call was cancelled before it finished")
    }

    /// A failure to read `path`, its kind taken from the system's error.
    pub(crate) fn from_read_error(path: &Path, error: &io::Error) -> Self {
        let (kind, message) = match error.kind() {
            io::ErrorKind::NotFound => (ToolErrorKind::FileNotFound, format!("File not found: {}", path.display())),
            io::ErrorKind::PermissionDenied => {
                (ToolErrorKind::PermissionDenied, format!("Permission denied reading {}", path.display()))
            }
            io::ErrorKind::IsADirectory => {
                (ToolErrorKind::TargetIsDirectory, format!("Path is a directory, not a file: {}", path.display()))
            }
            _ => (ToolErrorKind::ReadContentFailure, format!("Error reading {}: {error}", path.display())),
        };
        Self::new(kind, message)
    }

    /// A failure to write `path`.
    pub(crate) fn from_write_error(path: &Path, error: &io::Error) -> Self {
        let (kind, message) = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                (ToolErrorKind::PermissionDenied, format!("Permission denied writing to file: {}", path.display()))
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                (ToolErrorKind::NoSpaceLeft, format!("No space left on device: {}", path.display()))
            }
            io::ErrorKind::IsADirectory => {
                (ToolErrorKind::TargetIsDirectory, format!("Target is a directory, not a file: {}", path.display()))
            }
            _ => (ToolErrorKind::FileWriteFailure, format!("Error writing to file '{}': {error}", path.display())),
        };
        Self::new(kind, message)
    }
}

impl From<PathError> for ToolFailure {
    fn from(error: PathError) -> Self {
        let kind = match error {
            PathError::Outside { .. } => ToolErrorKind::PathNotInWorkspace,
            PathError::Empty | PathError::NulByte { .. } | PathError::TooManyLinks { .. } => {
                ToolErrorKind::InvalidToolParams
            }
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_distinct_words() {
        let mut words: Vec<_> = ToolErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        words.sort_unstable();
        let count = words.len();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn system_errors_keep_their_meaning() {
        let path = Path::new("/w/a");
        let kind = |kind: io::ErrorKind| ToolFailure::from_write_error(path, &io::Error::from(kind)).kind;
        assert_eq!(kind(io::ErrorKind::PermissionDenied), ToolErrorKind::PermissionDenied);
        assert_eq!(kind(io::ErrorKind::StorageFull), ToolErrorKind::NoSpaceLeft);
        assert_eq!(kind(io::ErrorKind::IsADirectory), ToolErrorKind::TargetIsDirectory);
        assert_eq!(kind(io::ErrorKind::Other), ToolErrorKind::FileWriteFailure);
        assert_eq!(
            ToolFailure::from_read_error(path, &io::Error::from(io::ErrorKind::NotFound)).kind,
            ToolErrorKind::FileNotFound
        );
    }
}
