//! The failure of a tool call: a kind for programs, a message for users and models, and sometimes a hint.
//! Failures of the crate's own machinery are error types of their modules.

use crate::workspace::PathError;
use std::fmt;
use std::io;
use std::path::Path;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        /// The kind of a failure, by the names that telemetry and scripts use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ToolErrorKind {
            $($(#[$doc])* $variant,)+
        }

        impl ToolErrorKind {
            /// Every kind of failure.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name used on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl serde::Serialize for ToolErrorKind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

kinds! {
    /// A hook or a policy denied the call.
    PolicyViolation = "policy_violation",
    /// The arguments violate the schema or are inconsistent.
    InvalidToolParams = "invalid_tool_params",
    /// The cause is not known.
    Unknown = "unknown",
    /// The tool itself failed unexpectedly.
    UnhandledException = "unhandled_exception",
    /// No tool has this name.
    ToolNotRegistered = "tool_not_registered",
    /// The call ran and failed.
    ExecutionFailed = "execution_failed",
    /// The file does not exist.
    FileNotFound = "file_not_found",
    /// The file could not be written.
    FileWriteFailure = "file_write_failure",
    /// The file could not be read.
    ReadContentFailure = "read_content_failure",
    /// The file to be created exists.
    AttemptToCreateExistingFile = "attempt_to_create_existing_file",
    /// The file exceeds a size limit.
    FileTooLarge = "file_too_large",
    /// The operating system denied access.
    PermissionDenied = "permission_denied",
    /// The disk is full.
    NoSpaceLeft = "no_space_left",
    /// The path is a directory, and a file is expected.
    TargetIsDirectory = "target_is_directory",
    /// The path is outside the workspace.
    PathNotInWorkspace = "path_not_in_workspace",
    /// The path is a file, and a directory is expected.
    PathIsNotADirectory = "path_is_not_a_directory",
    /// The edit could not be computed.
    EditPreparationFailure = "edit_preparation_failure",
    /// The text to replace was not found.
    EditNoOccurrenceFound = "edit_no_occurrence_found",
    /// The text to replace occurs another number of times than expected.
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
    /// The arguments name no URL.
    WebFetchNoUrlInPrompt = "web_fetch_no_url_in_prompt",
    /// Fetching a page failed.
    WebFetchProcessingError = "web_fetch_processing_error",
    /// Searching the web failed.
    WebSearchFailed = "web_search_failed",
    /// A hook stopped the agent.
    StopExecution = "stop_execution",
    /// The call was cancelled.
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
    pub kind: ToolErrorKind,
    /// The message for the user and the model.
    pub message: String,
    /// Advice for the model.
    pub hint: Option<String>,
}

impl ToolFailure {
    /// Creates a failure of this kind.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Adds advice, which the model sees below the message.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Creates a failure for invalid arguments.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::InvalidToolParams, message)
    }

    /// Creates the failure of a cancelled call.
    pub fn cancelled() -> Self {
        Self::new(ToolErrorKind::Cancelled, "the call was cancelled before it finished")
    }

    /// Creates a failure to read `path`, with the kind that corresponds to the system's error.
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

    /// Creates a failure to write `path`, with the kind that corresponds to the system's error.
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
