//! Whether a command hook could really run: is its program there, is its script there, executable, with an interpreter?
//!
//! Looks at files and never runs anything. What it cannot know, it does not claim.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::files::{self, What, Whereabouts};
use crate::hook::CommandAction;

/// Why a command could not start, as a shell would have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// No such program on the search path.
    #[error("{0}: command not found")]
    NotFound(String),
    /// No such file.
    #[error("{0}: no such file")]
    Missing(String),
    /// No such package for node.
    #[error("{path}: no such file")]
    NoPackage {
        /// Where it is looked for.
        path: String,
        /// What it is called in the settings.
        package: String,
    },
    /// The file is a directory.
    #[error("{0}: is a directory")]
    Directory(String),
    /// The working directory is gone.
    #[error("the working directory {0} does not exist")]
    NoDirectory(String),
    /// A worker that failed too often.
    #[error("{0}")]
    GivenUp(String),
    /// A service can't be sent what it is to be sent.
    #[error("{0}")]
    NoHeader(String),
    /// This program can't ask services.
    #[error("this program is built without HTTP hooks")]
    NoHttp,
    /// The file may not be executed.
    #[error("{0}: not executable")]
    NotExecutable(String),
    /// The script's first line names a program that is not there.
    #[error("{script}: its interpreter {interpreter} is not installed")]
    NoInterpreter {
        /// The script.
        script: String,
        /// What its first line names.
        interpreter: String,
    },
}

impl NotReady {
    /// The exit code that a shell reports for it.
    pub fn exit_code(&self) -> i32 {
        match self {
            NotReady::NotFound(_)
            | NotReady::Missing(_)
            | NotReady::NoPackage { .. }
            | NotReady::NoInterpreter { .. } => 127,
            NotReady::Directory(_)
            | NotReady::NotExecutable(_)
            | NotReady::NoDirectory(_)
            | NotReady::NoHeader(_)
            | NotReady::NoHttp
            | NotReady::GivenUp(_) => 126,
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            NotReady::NotFound(name) => format!("install `{name}`, or give its full path in the hook's command"),
            NotReady::Missing(path) => format!("create {path}, or correct the path in the hook's command"),
            NotReady::NoPackage { path, package } if package.starts_with(['.', '/']) => {
                format!("create {path}, or correct `package`")
            }
            NotReady::NoPackage { path, package } => {
                format!("`npm install {package}` so that it is {path}, or correct `package`")
            }
            NotReady::Directory(path) => format!("name a file inside {path}"),
            NotReady::NoDirectory(path) => format!("put {path} back, or start again in a directory that is there"),
            NotReady::GivenUp(_) => "mend what it runs; `hookwright hooks doctor` asks it about a sample".to_owned(),
            NotReady::NoHeader(_) => "set the variable where the agent is started".to_owned(),
            NotReady::NoHttp => "use a program that is built with the feature `http`".to_owned(),
            NotReady::NotExecutable(path) => format!("run: chmod +x '{}'", path.replace('\'', r"'\''")),
            NotReady::NoInterpreter { interpreter, script } => {
                format!("install {interpreter}, or change the first line of {script}")
            }
        }
    }
}

/// Where programs are looked for.
pub(crate) struct Places<'a> {
    pub(crate) path: &'a OsStr,
    pub(crate) cwd: &'a Path,
}

/// Finds a program the way a shell does.
pub(crate) fn find_program(name: &OsStr, places: &Places<'_>) -> Result<PathBuf, NotReady> {
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
            Err(NotReady::NotExecutable(path)) => found_but_unfit = Some(NotReady::NotExecutable(path)),
            Err(_) => {}
        }
    }
    Err(found_but_unfit.unwrap_or(NotReady::NotFound(shown)))
}

fn check_executable(path: &Path, shown: &str) -> Result<(), NotReady> {
    let metadata = path.metadata().map_err(|_| NotReady::Missing(shown.to_owned()))?;
    if metadata.is_dir() {
        return Err(NotReady::Directory(shown.to_owned()));
    }
    if executable(path) { Ok(()) } else { Err(NotReady::NotExecutable(shown.to_owned())) }
}

#[cfg(unix)]
fn executable(path: &Path) -> bool {
    // Root may "access" anything that has one execute bit, which is also what the kernel asks for.
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn executable(_: &Path) -> bool {
    true
}

/// Checks a hook's command: the first of its programs that really does something, with the script it runs.
///
/// A program that runs only under a condition counts if nothing else is there to run: `[ -x x.sh ] && ./x.sh` without
/// that file does nothing at all.
pub(crate) fn check(command: &CommandAction, place: &Whereabouts<'_>) -> Result<(), NotReady> {
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

/// A script's first line must name a program that exists.
pub(crate) fn check_script(program: &Path, shown: &OsStr, places: &Places<'_>) -> Result<(), NotReady> {
    let Some(line) = shebang(program) else { return Ok(()) };
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next() else { return Ok(()) };
    let missing = |name: &str| NotReady::NoInterpreter {
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

fn shebang(path: &Path) -> Option<String> {
    // Opening a FIFO would wait for a writer.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut start = [0; 256];
    let length = File::open(path).ok()?.read(&mut start).ok()?;
    let line = start[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    // A carriage return is part of the name as far as the kernel is concerned, and the commonest reason for failure.
    Some(String::from_utf8_lossy(line).into_owned())
}
