//! Checks whether a command hook could run: whether its program and its script exist, are executable and have an
//! interpreter.
//!
//! The checks read files and run nothing. Where they cannot tell, they report no problem.

use std::ffi::OsStr;
use std::path::PathBuf;

use hookwright_analysis::disk::RealDisk;
pub(crate) use hookwright_analysis::loaded_files::ProgramSearchPath;
use hookwright_analysis::loaded_files::{self, StartError};

use crate::files::Whereabouts;
use crate::hook::CommandAction;

/// Why a command could not start, in a shell's terms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadinessError {
    /// The program is not on the search path.
    #[error("{0}: command not found")]
    NotFound(String),
    /// The file does not exist.
    #[error("{0}: no such file")]
    NoSuchFile(String),
    /// The node package does not exist.
    #[error("{path}: no such file")]
    NoPackage {
        /// The path at which it is looked up.
        path: String,
        /// The package as written in the settings.
        package: String,
    },
    /// The file is a directory.
    #[error("{0}: is a directory")]
    IsDirectory(String),
    /// The working directory does not exist.
    #[error("the working directory {0} does not exist")]
    NoWorkingDirectory(String),
    /// A worker failed too often and is not started again.
    #[error("{0}")]
    WorkerGivenUp(String),
    /// A header of an HTTP hook cannot be built.
    #[error("{0}")]
    HeaderUnavailable(String),
    /// The program was built without HTTP hooks.
    #[error("this program is built without HTTP hooks")]
    HttpNotBuilt,
    /// The hook's own process can't be confined as its declaration says.
    #[error("{0}")]
    NotConfinable(String),
    /// The file is not executable.
    #[error("{0}: not executable")]
    NotExecutable(String),
    /// The first line of the script names a program that does not exist.
    #[error("{script}: its interpreter {interpreter} is not installed")]
    NoInterpreter {
        /// The path of the script.
        script: String,
        /// The interpreter that its first line names.
        interpreter: String,
    },
}

impl ReadinessError {
    /// The exit code that a shell reports for the problem.
    pub fn exit_code(&self) -> i32 {
        match self {
            ReadinessError::NotFound(_)
            | ReadinessError::NoSuchFile(_)
            | ReadinessError::NoPackage { .. }
            | ReadinessError::NoInterpreter { .. } => 127,
            ReadinessError::IsDirectory(_)
            | ReadinessError::NotExecutable(_)
            | ReadinessError::NoWorkingDirectory(_)
            | ReadinessError::HeaderUnavailable(_)
            | ReadinessError::HttpNotBuilt
            | ReadinessError::NotConfinable(_)
            | ReadinessError::WorkerGivenUp(_) => 126,
        }
    }

    /// What the user can do about the problem.
    pub fn hint(&self) -> String {
        match self {
            ReadinessError::NotFound(name) => format!("install `{name}`, or give its full path in the hook's command"),
            ReadinessError::NoSuchFile(path) => format!("create {path}, or correct the path in the hook's command"),
            ReadinessError::NoPackage { path, package } if package.starts_with(['.', '/']) => {
                format!("create {path}, or correct `package`")
            }
            ReadinessError::NoPackage { path, package } => {
                format!("`npm install {package}` so that it is {path}, or correct `package`")
            }
            ReadinessError::IsDirectory(path) => format!("name a file inside {path}"),
            ReadinessError::NoWorkingDirectory(path) => {
                format!("restore {path}, or start again in a directory that exists")
            }
            ReadinessError::WorkerGivenUp(_) => {
                "repair its program; `hookwright hooks doctor` tries it with a sample".to_owned()
            }
            ReadinessError::HeaderUnavailable(_) => "set the variable where the agent is started".to_owned(),
            ReadinessError::NotConfinable(_) => {
                "change the hook's `confine`; `hookwright doctor` says whether this machine can confine".to_owned()
            }
            ReadinessError::HttpNotBuilt => "use a program that is built with the feature `http`".to_owned(),
            ReadinessError::NotExecutable(path) => format!("run: chmod +x '{}'", path.replace('\'', r"'\''")),
            ReadinessError::NoInterpreter { interpreter, script } => {
                format!("install {interpreter}, or change the first line of {script}")
            }
        }
    }
}

impl From<StartError> for ReadinessError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotFound(name) => ReadinessError::NotFound(name),
            StartError::NoSuchFile(path) => ReadinessError::NoSuchFile(path),
            StartError::IsDirectory(path) => ReadinessError::IsDirectory(path),
            StartError::NotExecutable(path) => ReadinessError::NotExecutable(path),
            StartError::NoInterpreter { script, interpreter } => ReadinessError::NoInterpreter { script, interpreter },
        }
    }
}

/// Finds a program in the way a shell does.
pub(crate) fn find_program(name: &OsStr, places: &ProgramSearchPath<'_>) -> Result<PathBuf, ReadinessError> {
    Ok(loaded_files::find_program(&RealDisk, name, places)?)
}

/// Checks a hook's command: the first of its programs that has an effect, and the script that it runs.
pub(crate) fn check_command(command: &CommandAction, place: &Whereabouts<'_>) -> Result<(), ReadinessError> {
    Ok(loaded_files::check_start(command.invocation.shell_text(), place)?)
}
