//! One child process with its pipes and its process group, behind one name on every system.
//!
//! Knows nothing of hooks: it starts a program, feeds it, keeps a bounded part of what it prints, and ends it whole.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{Groups, Process};
#[cfg(windows)]
pub(crate) use windows::{Groups, Process};

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What to start.
pub(crate) struct Program<'a> {
    pub(crate) path: &'a Path,
    /// What the program sees as its own name.
    pub(crate) name: &'a OsStr,
    pub(crate) args: &'a [OsString],
    pub(crate) cwd: &'a Path,
    /// The whole environment.
    pub(crate) env: &'a mut dyn Iterator<Item = (&'a OsStr, &'a OsStr)>,
}

/// What came of waiting for a process.
pub(crate) enum Waited {
    /// It exited by itself or by a signal.
    Exited(std::process::ExitStatus),
    /// Waiting itself failed; the process is gone as far as anybody can tell.
    Lost(std::io::Error),
}
