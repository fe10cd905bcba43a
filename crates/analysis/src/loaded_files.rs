//! The files that a command loads: the one answer for trust, for watching, for protection and for "could it run at all?".
//!
//! An observer of the interpreter ([`walk`]) goes through the command with its directory and variables. Given a
//! [`Follower`], it goes into the scripts that the command runs as well. What cannot be told is said.

mod file_names;
mod findings;
mod follower;
mod node;
mod program_search;
mod program_start;
mod python;
mod script_sources;
mod task_runners;
mod walk;
mod wrappers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use follower::Follower;
pub use program_search::{DEFAULT_PATH, ProgramSearchPath, StartError, find_program};
pub use walk::SHELL_WORDS;

use walk::{Walk, What};

use crate::interpreter::VariableLookup;

/// A word after expansion; nothing where it is only known when it runs.
type Field = Option<String>;

/// Where a command would run, and with which variables.
#[derive(Clone, Copy)]
pub struct Whereabouts<'a> {
    /// Its directory.
    pub cwd: &'a Path,
    /// Its environment, the variables set for the command included.
    pub variable: VariableLookup<'a>,
}

/// The files that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFiles {
    /// Each once, in the order in which they are met; they need not be there.
    pub files: Vec<NamedFile>,
    /// Files that stand around those and may be loaded by them, such as modules beside a script; shared by many commands.
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

/// The files that a shell command itself names.
pub fn named_files(text: &str, place: &Whereabouts<'_>) -> CommandFiles {
    Walk::of_command(text, &[], place, None).into_files()
}

/// The files that a shell command runs, and that those run in turn. `own_variables` are those that are set for this
/// command alone.
pub fn followed_files<'a>(
    text: &str,
    own_variables: &[(String, String)],
    place: &Whereabouts<'a>,
    follower: &'a Follower<'a>,
) -> CommandFiles {
    Walk::of_command(text, own_variables, place, Some(follower)).into_files()
}

/// Checks whether a shell command could start: the first of its programs that has an effect, and the script that it runs.
///
/// A missing program that runs only under a condition is reported if nothing else runs: without the file, `[ -x x.sh ]
/// && ./x.sh` does nothing at all. Where the check cannot tell, it reports no problem.
pub fn check_start(text: &str, place: &Whereabouts<'_>) -> Result<(), StartError> {
    let walk = Walk::of_command(text, &[], place, None);
    let mut blamed = None;
    for unit in walk.steps.chunk_by(|one, other| one.unit == other.unit) {
        let mut does_something = false;
        for step in unit {
            match &step.what {
                What::Runs(Err(reason)) | What::Carries(Err(reason)) if step.always => return Err(reason.clone()),
                What::Runs(Err(reason)) | What::Carries(Err(reason)) => {
                    blamed.get_or_insert_with(|| reason.clone());
                }
                What::Carries(Ok(())) => {}
                What::Nothing => does_something |= blamed.is_none(),
                What::Runs(Ok(())) | What::Acts | What::Unsure => does_something = true,
            }
        }
        if does_something {
            return Ok(());
        }
    }
    blamed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;
