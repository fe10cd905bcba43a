//! The state of a path: a file with its content's digest and mode, a symbolic link, or nothing.
//!
//! It only reads; a link at the path itself is not followed.

use std::path::Path;

use hookwright_disk::{ReadError, SymlinkPolicy};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The size above which files are not kept.
pub(super) const MAX_FILE_BYTES: u64 = 8 << 20;

/// The state of a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PathState {
    /// There is nothing at the path.
    Missing {
        /// The number of parent folders that are missing too.
        #[serde(default)]
        parents: u32,
    },
    /// There is a file at the path.
    File {
        /// The SHA-256 digest of the content.
        sha256: String,
        /// The size of the file in bytes.
        size: u64,
        /// The permission bits of the file.
        mode: u32,
    },
    /// There is a symbolic link at the path.
    Link {
        /// The target of the link.
        to: String,
    },
    /// The path holds something that is not kept.
    Unkept {
        /// The reason why it is not kept.
        why: String,
    },
}

/// Compares what a restore would bring back: the number of missing parent folders and the size do not count.
impl PartialEq for PathState {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (PathState::Missing { .. }, PathState::Missing { .. }) => true,
            (PathState::File { sha256, mode, .. }, PathState::File { sha256: other, mode: others, .. }) => {
                sha256 == other && mode == others
            }
            (PathState::Link { to }, PathState::Link { to: other }) => to == other,
            (PathState::Unkept { why }, PathState::Unkept { why: other }) => why == other,
            _ => false,
        }
    }
}

impl PathState {
    /// Returns whether the state can be restored.
    pub fn is_kept(&self) -> bool {
        !matches!(self, PathState::Unkept { .. })
    }

    fn unkept(why: impl Into<String>) -> Self {
        PathState::Unkept { why: why.into() }
    }
}

/// Returns the state of a path, with the content if it is a file.
pub(super) fn read_state_and_content(path: &Path) -> (PathState, Option<Vec<u8>>) {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if is_not_found(&error) => {
            return (PathState::Missing { parents: missing_parent_count(path) }, None);
        }
        Err(error) => return (PathState::unkept(error.to_string()), None),
    };
    if found.is_symlink() {
        return match std::fs::read_link(path).map(|to| to.into_os_string().into_string()) {
            Ok(Ok(to)) => (PathState::Link { to }, None),
            Ok(Err(_)) => (PathState::unkept("a link whose target is no text"), None),
            Err(error) => (PathState::unkept(error.to_string()), None),
        };
    }
    match hookwright_disk::read(path, MAX_FILE_BYTES, SymlinkPolicy::Refuse) {
        Ok(bytes) => {
            let state =
                PathState::File { sha256: content_digest(&bytes), size: bytes.len() as u64, mode: mode_of(&found) };
            (state, Some(bytes))
        }
        Err(ReadError::TooLarge(size)) => (PathState::unkept(format!("too large ({})", format_megabytes(size))), None),
        Err(ReadError::Link) => (PathState::unkept("a link leads elsewhere on the way to it"), None),
        Err(ReadError::Directory) => (PathState::unkept("a folder"), None),
        Err(error) => (PathState::unkept(error.to_string()), None),
    }
}

/// Returns the state of a path.
pub(super) fn read_state(path: &Path) -> PathState {
    read_state_and_content(path).0
}

fn is_not_found(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn missing_parent_count(path: &Path) -> u32 {
    let missing = path.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err());
    u32::try_from(missing.count()).unwrap_or(u32::MAX)
}

/// Returns the digest under which a content is stored.
pub(super) fn content_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
pub(super) fn mode_of(found: &std::fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o777
}

#[cfg(not(unix))]
pub(super) fn mode_of(found: &std::fs::Metadata) -> u32 {
    if found.permissions().readonly() { 0o444 } else { 0o644 }
}

pub(super) fn format_megabytes(size: u64) -> String {
    format!("{:.1} MB", size as f64 / 1e6)
}
