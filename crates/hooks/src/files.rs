//! Which files a command runs: the one answer for trust, for watching, for protection and for "could it run at all?".
//!
//! The command is walked through as a shell would run it, with directory and variables, and without running anything
//! (`walk.rs`). Whoever asks for it gets what the scripts run in turn as well (`follow.rs`). What cannot be told is said.

mod code;
mod follow;
mod found;
mod names;
mod node;
mod programs;
mod python;
mod runners;
mod walk;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use follow::Follower;
pub(crate) use walk::{What, walk};

use crate::hook::{Action, CommandAction, WorkerAction};

/// Where a command would run, and with which variables.
#[derive(Clone, Copy)]
pub struct Whereabouts<'a> {
    /// Its directory.
    pub cwd: &'a Path,
    /// Its environment, the hook's own variables included.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// The files that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFiles {
    /// Each once, in the order in which they are met; they need not be there.
    pub files: Vec<NamedFile>,
    /// Files that stand around those and may be loaded by them, such as modules beside a script; shared by many hooks.
    pub around: Vec<Arc<Around>>,
    /// Whether every file that it runs is among them.
    pub certain: bool,
}

/// Files that may be loaded because they stand where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// The directory.
    pub directory: PathBuf,
    /// Which of its files count.
    pub kind: AroundKind,
    /// The files in it, however deep.
    pub files: Vec<PathBuf>,
}

/// Which files of a directory count, also those that are not there yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AroundKind {
    /// The modules in it, and the packages by their beginnings: any may take the place of one that is asked for.
    Modules,
    /// A package of modules, however deep.
    Package,
    /// Files with this ending, however deep.
    Kin(String),
    /// Everything, however deep.
    All,
}

impl Around {
    /// The directories in which a new file would count: this one, and those that its files are in.
    pub fn directories(&self) -> Vec<&Path> {
        let mut all = vec![self.directory.as_path()];
        if self.kind != AroundKind::Modules {
            all.extend(self.files.iter().filter_map(|file| file.parent()));
        }
        all.sort();
        all.dedup();
        all
    }
}

/// A file that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What the command does with it.
    pub how: Naming,
}

/// What a command does with a file that it names, the weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// It runs it.
    Runs,
    /// Its shell reads it.
    Sources,
    /// It is among its arguments, or it is read from.
    Mentions,
    /// A package's manifest, of which only what says how to run it counts.
    Configures,
}

impl CommandFiles {
    /// All paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let around = self.around.iter().flat_map(|around| &around.files);
        self.files.iter().map(|file| &file.path).chain(around).map(PathBuf::as_path)
    }
}

impl CommandAction {
    /// The files that the command itself names.
    pub fn files(&self, place: &Whereabouts<'_>) -> CommandFiles {
        walk(self, place, None).found()
    }

    /// The files that the command runs, and that those run in turn.
    pub(crate) fn followed(&self, place: &Whereabouts<'_>, follower: &Follower<'_>) -> CommandFiles {
        walk(self, place, Some(follower)).found()
    }
}

/// What a hook's action is made of, for those who ask whether it is still what the user trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fingerprinted<'a> {
    /// What is declared leads to files; the rest is [`declaration`](crate::Hook::fingerprint_fields).
    Declared {
        /// Variables of its own.
        env: &'a [(String, String)],
        /// The files that it runs, and that those run.
        files: CommandFiles,
    },
    /// A part of the embedding program, and as trusted as that.
    InCode,
}

impl Action {
    /// What the action is made of. Every kind of action must say: there is no other way past the review of hooks.
    pub fn fingerprinted(&self, place: &Whereabouts<'_>, follower: &Follower<'_>) -> Fingerprinted<'_> {
        match self {
            Action::Command(command) | Action::Worker(WorkerAction { command, .. }) => {
                Fingerprinted::Declared { env: &command.env, files: command.followed(place, follower) }
            }
            // All of it is declared.
            Action::Http(_) | Action::Rule(_) => {
                Fingerprinted::Declared { env: &[], files: CommandFiles { certain: true, ..CommandFiles::default() } }
            }
            Action::Function(_) => Fingerprinted::InCode,
        }
    }
}
