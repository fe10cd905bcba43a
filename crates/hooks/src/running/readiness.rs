//! Checks whether a command hook could run: whether its program and its script exist, are executable and have an
//! interpreter.
//!
//! The checks read files and run nothing. Where they cannot tell, they report no problem.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::files::{self, What, Whereabouts};
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
            ReadinessError::HttpNotBuilt => "use a program that is built with the feature `http`".to_owned(),
            ReadinessError::NotExecutable(path) => format!("run: chmod +x '{}'", path.replace('\'', r"'\''")),
            ReadinessError::NoInterpreter { interpreter, script } => {
                format!("install {interpreter}, or change the first line of {script}")
            }
        }
    }
}

/// Where programs are searched for.
pub(crate) struct ProgramSearchPath<'a> {
    pub(crate) path: &'a OsStr,
    pub(crate) cwd: &'a Path,
}

/// Finds a program in the way a shell does.
pub(crate) fn find_program(name: &OsStr, places: &ProgramSearchPath<'_>) -> Result<PathBuf, ReadinessError> {
    let shown = name.to_string_lossy().into_owned();
    if name.as_encoded_bytes().contains(&b'/') {
        let path = places.cwd.join(name);
        return check_executable(&path, &shown).map(|()| path);
    }
    let mut found_but_unfit = None;
    for directory in std::env::split_paths(places.path) {
        let path = places.cwd.join(directory).join(name);
        match check_executable(&path, &path.to_string_lossy()) {
            Ok(()) => return Ok(path),
            Err(ReadinessError::NotExecutable(path)) => found_but_unfit = Some(ReadinessError::NotExecutable(path)),
            Err(_) => {}
        }
    }
    Err(found_but_unfit.unwrap_or(ReadinessError::NotFound(shown)))
}

fn check_executable(path: &Path, shown: &str) -> Result<(), ReadinessError> {
    let metadata = path.metadata().map_err(|_| ReadinessError::NoSuchFile(shown.to_owned()))?;
    if metadata.is_dir() {
        return Err(ReadinessError::IsDirectory(shown.to_owned()));
    }
    if is_executable(path) { Ok(()) } else { Err(ReadinessError::NotExecutable(shown.to_owned())) }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    // For root, `access` succeeds if any execute bit is set, which is also what the kernel requires.
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

/// Checks a hook's command: the first of its programs that has an effect, and the script that it runs.
///
/// A missing program that runs only under a condition is reported if nothing else runs: without the file, `[ -x x.sh ]
/// && ./x.sh` does nothing at all.
pub(crate) fn check_command(command: &CommandAction, place: &Whereabouts<'_>) -> Result<(), ReadinessError> {
    let walk = files::walk(command, place, None);
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

/// Checks that the first line of a script names a program that exists.
pub(crate) fn check_script(
    program: &Path,
    shown: &OsStr,
    places: &ProgramSearchPath<'_>,
) -> Result<(), ReadinessError> {
    let Some(line) = read_shebang(program) else { return Ok(()) };
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next() else { return Ok(()) };
    let missing = |name: &str| ReadinessError::NoInterpreter {
        script: shown.to_string_lossy().into_owned(),
        interpreter: name.to_owned(),
    };
    if !places.cwd.join(interpreter).is_file() {
        return Err(missing(interpreter));
    }
    if Path::new(interpreter).file_name() == Some(OsStr::new("env"))
        && let Some(name) = words.find(|word| !word.starts_with('-') && !word.contains('='))
        && find_program(OsStr::new(name), places).is_err()
    {
        return Err(missing(name));
    }
    Ok(())
}

fn read_shebang(path: &Path) -> Option<String> {
    // Opening a FIFO would wait for a writer.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut start = [0; 256];
    let length = File::open(path).ok()?.read(&mut start).ok()?;
    let line = start[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    // To the kernel a carriage return is part of the name, which is a frequent cause of failure.
    Some(String::from_utf8_lossy(line).into_owned())
}
