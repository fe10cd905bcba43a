//! Where a program is, and whether it could start: it exists, is executable, and its first line names an interpreter that
//! exists.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The search path for programs if the environment has none.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why a program could not start, in a shell's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The program is not on the search path.
    NotFound(String),
    /// The file does not exist.
    NoSuchFile(String),
    /// The file is a directory.
    IsDirectory(String),
    /// The file is not executable.
    NotExecutable(String),
    /// The first line of the script names a program that does not exist.
    NoInterpreter { script: String, interpreter: String },
}

/// Where programs are searched for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSearchPath<'a> {
    pub path: &'a OsStr,
    pub cwd: &'a Path,
}

/// Finds a program in the way a shell does.
pub fn find_program(name: &OsStr, places: &ProgramSearchPath<'_>) -> Result<PathBuf, StartError> {
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
            Err(StartError::NotExecutable(path)) => found_but_unfit = Some(StartError::NotExecutable(path)),
            Err(_) => {}
        }
    }
    Err(found_but_unfit.unwrap_or(StartError::NotFound(shown)))
}

fn check_executable(path: &Path, shown: &str) -> Result<(), StartError> {
    let metadata = path.metadata().map_err(|_| StartError::NoSuchFile(shown.to_owned()))?;
    if metadata.is_dir() {
        return Err(StartError::IsDirectory(shown.to_owned()));
    }
    if is_executable(path) { Ok(()) } else { Err(StartError::NotExecutable(shown.to_owned())) }
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

/// Checks that the first line of a script names a program that exists.
pub(super) fn check_script(program: &Path, shown: &OsStr, places: &ProgramSearchPath<'_>) -> Result<(), StartError> {
    let Some(line) = read_shebang(program) else { return Ok(()) };
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next() else { return Ok(()) };
    let missing = |name: &str| StartError::NoInterpreter {
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
