//! What can go wrong with transcripts, and what to do about it.

use std::io;
use std::path::PathBuf;

/// A transcript that cannot be made, opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// There is one by that name.
    #[error("there is already a transcript {}", path.display())]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// It cannot be made.
    #[error("cannot create the transcript {}: {cause}", path.display())]
    Create {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It cannot be opened or read.
    #[error("cannot read the transcript {}: {cause}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is something else.
    #[error("{} is not a transcript of hookwright", path.display())]
    NotATranscript {
        /// Which.
        path: PathBuf,
    },
    /// Another process is writing it.
    #[error("the session in {} is still running elsewhere", path.display())]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// A line cannot be added.
    #[error("cannot write to the transcript {}: {cause}", path.display())]
    Append {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It cannot be removed.
    #[error("cannot delete the transcript {}: {cause}", path.display())]
    Delete {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl TranscriptError {
    /// What to do about it.
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
