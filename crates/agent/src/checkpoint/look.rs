//! What stands at a path: a file with its content's hash and mode, a link, nothing. Looks and reads only; links at the path
//! itself are not followed.

use std::path::Path;

use hookwright_disk::{Links, ReadError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Larger files are not kept.
pub(super) const LARGEST: u64 = 8 << 20;

/// What stands at a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// Nothing; so many of the folders above it are missing too.
    Missing {
        /// How many.
        #[serde(default)]
        parents: u32,
    },
    /// A file.
    File {
        /// Its content's hash.
        sha256: String,
        /// Its size.
        size: u64,
        /// Who may read, write and run it.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// What it says.
        to: String,
    },
    /// Something that is not kept.
    Unkept {
        /// Why.
        why: String,
    },
}

/// What matters of it: how many folders are missing does not.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (State::Missing { .. }, State::Missing { .. }) => true,
            (State::File { sha256, mode, .. }, State::File { sha256: other, mode: others, .. }) => {
                sha256 == other && mode == others
            }
            (State::Link { to }, State::Link { to: other }) => to == other,
            (State::Unkept { why }, State::Unkept { why: other }) => why == other,
            _ => false,
        }
    }
}

impl State {
    /// Whether it can be brought back.
    pub fn is_kept(&self) -> bool {
        !matches!(self, State::Unkept { .. })
    }

    fn unkept(why: impl Into<String>) -> Self {
        State::Unkept { why: why.into() }
    }
}

/// What stands at a path, and its content where that is a file.
pub(super) fn look(path: &Path) -> (State, Option<Vec<u8>>) {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if is_absence(&error) => return (State::Missing { parents: missing_parents(path) }, None),
        Err(error) => return (State::unkept(error.to_string()), None),
    };
    if found.is_symlink() {
        return match std::fs::read_link(path).map(|to| to.into_os_string().into_string()) {
            Ok(Ok(to)) => (State::Link { to }, None),
            Ok(Err(_)) => (State::unkept("a link whose target is no text"), None),
            Err(error) => (State::unkept(error.to_string()), None),
        };
    }
    match hookwright_disk::read(path, LARGEST, Links::Refuse) {
        Ok(bytes) => {
            let state = State::File { sha256: hash(&bytes), size: bytes.len() as u64, mode: mode_of(&found) };
            (state, Some(bytes))
        }
        Err(ReadError::TooLarge(size)) => (State::unkept(format!("too large ({})", megabytes(size))), None),
        Err(ReadError::Link) => (State::unkept("a link leads elsewhere on the way to it"), None),
        Err(ReadError::Directory) => (State::unkept("a folder"), None),
        Err(error) => (State::unkept(error.to_string()), None),
    }
}

/// The same without its content.
pub(super) fn state(path: &Path) -> State {
    look(path).0
}

fn is_absence(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn missing_parents(path: &Path) -> u32 {
    let missing = path.ancestors().skip(1).take_while(|folder| folder.symlink_metadata().is_err());
    u32::try_from(missing.count()).unwrap_or(u32::MAX)
}

/// A content's name.
pub(super) fn hash(bytes: &[u8]) -> String {
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

pub(super) fn megabytes(size: u64) -> String {
    format!("{:.1} MB", size as f64 / 1e6)
}
