//! Where a program is, and whether it could start: it exists, is executable, and its first line names an interpreter that
//! exists.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, FileKind};

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
pub fn find_program(disk: &dyn Disk, name: &OsStr, places: &ProgramSearchPath<'_>) -> Result<PathBuf, StartError> {
    let shown = name.to_string_lossy().into_owned();
    if name.as_encoded_bytes().contains(&b'/') {
        let path = places.cwd.join(name);
        return check_executable(disk, &path, &shown).map(|()| path);
    }
    let mut found_but_unfit = None;
    for directory in std::env::split_paths(places.path) {
        let path = places.cwd.join(directory).join(name);
        match check_executable(disk, &path, &path.to_string_lossy()) {
            Ok(()) => return Ok(path),
            Err(StartError::NotExecutable(path)) => found_but_unfit = Some(StartError::NotExecutable(path)),
            Err(_) => {}
        }
    }
    Err(found_but_unfit.unwrap_or(StartError::NotFound(shown)))
}

fn check_executable(disk: &dyn Disk, path: &Path, shown: &str) -> Result<(), StartError> {
    match disk.target_kind(path) {
        None => Err(StartError::NoSuchFile(shown.to_owned())),
        Some(FileKind::Directory) => Err(StartError::IsDirectory(shown.to_owned())),
        Some(_) if disk.is_executable(path) => Ok(()),
        Some(_) => Err(StartError::NotExecutable(shown.to_owned())),
    }
}

/// Checks that the first line of a script names a program that exists.
pub(super) fn check_script(
    disk: &dyn Disk,
    program: &Path,
    shown: &OsStr,
    places: &ProgramSearchPath<'_>,
) -> Result<(), StartError> {
    let Some(line) = read_shebang(disk, program) else { return Ok(()) };
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next() else { return Ok(()) };
    let missing = |name: &str| StartError::NoInterpreter {
        script: shown.to_string_lossy().into_owned(),
        interpreter: name.to_owned(),
    };
    if !disk.is_file(&places.cwd.join(interpreter)) {
        return Err(missing(interpreter));
    }
    if Path::new(interpreter).file_name() == Some(OsStr::new("env"))
        && let Some(name) = words.find(|word| !word.starts_with('-') && !word.contains('='))
        && find_program(disk, OsStr::new(name), places).is_err()
    {
        return Err(missing(name));
    }
    Ok(())
}

fn read_shebang(disk: &dyn Disk, path: &Path) -> Option<String> {
    let start = disk.head(path, 256)?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    // To the kernel a carriage return is part of the name, which is a frequent cause of failure.
    Some(String::from_utf8_lossy(line).into_owned())
}
