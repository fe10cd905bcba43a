//! The files that hooks load, for those who ask whether a hook is still what the user trusted.

pub use hookwright_analysis::loaded_files::{
    Around, AroundKind, CommandFiles, Follower, NamedFile, Naming, Whereabouts,
};
use hookwright_analysis::loaded_files::{followed_files, named_files};

use crate::hook::{Action, CommandAction, WorkerAction};

impl CommandAction {
    /// The files that the command itself names.
    pub fn files(&self, place: &Whereabouts<'_>) -> CommandFiles {
        named_files(self.invocation.shell_text(), place)
    }

    /// The files that the command runs, and that those run in turn.
    pub(crate) fn followed<'a>(&self, place: &Whereabouts<'a>, follower: &'a Follower<'a>) -> CommandFiles {
        followed_files(self.invocation.shell_text(), &self.env, place, follower)
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

#[cfg(test)]
mod tests;
