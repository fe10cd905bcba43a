//! The errors of transcripts, with advice on what to do about them.

use std::io;
use std::path::PathBuf;

/// An error when a transcript is created, opened, read, written or deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// A file with that name already exists.
    #[error("there is already a transcript {}", path.display())]
    Exists {
        /// The path of the transcript.
        path: PathBuf,
    },
    /// The file cannot be created.
    #[error("cannot create the transcript {}: {cause}", path.display())]
    Create {
        /// The path of the transcript.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be opened or read.
    #[error("cannot read the transcript {}: {cause}", path.display())]
    Open {
        /// The path of the transcript or of its directory.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        cause: io::Error,
    },
    /// The file is not a transcript.
    #[error("{} is not a transcript of hookwright", path.display())]
    NotATranscript {
        /// The path of the file.
        path: PathBuf,
    },
    /// Another process is writing the file.
    #[error("the session in {} is still running elsewhere", path.display())]
    InUse {
        /// The path of the transcript.
        path: PathBuf,
    },
    /// A line cannot be appended.
    #[error("cannot write to the transcript {}: {cause}", path.display())]
    Append {
        /// The path of the transcript.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be deleted.
    #[error("cannot delete the transcript {}: {cause}", path.display())]
    Delete {
        /// The path of the transcript.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        cause: io::Error,
    },
}

impl TranscriptError {
    /// Returns the advice to the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Exists { .. } => "choose another session id",
            Self::Create { .. } | Self::Append { .. } => "check the disk's space and the directory's permissions",
            Self::Open { .. } | Self::Delete { .. } => "check that it exists and that you may read and write it",
            Self::NotATranscript { .. } => "--list-sessions shows the sessions that can be resumed",
            Self::InUse { .. } => "end it first, or start a new session",
        }
    }
}
