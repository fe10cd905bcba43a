//! Whether a command hook could really run: is its program there, is its script there, executable, with an interpreter?
//!
//! Looks at files and never runs anything. What it cannot know, it does not claim.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::registry::CommandAction;
use crate::run::words::{Invocation, SHELL_WORDS};

/// Why a command could not start, as a shell would have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// No such program on the search path.
    #[error("{0}: command not found")]
    NotFound(String),
    /// No such file.
    #[error("{0}: no such file")]
    Missing(String),
    /// The file is a directory.
    #[error("{0}: is a directory")]
    Directory(String),
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
            NotReady::NotFound(_) | NotReady::Missing(_) | NotReady::NoInterpreter { .. } => 127,
            NotReady::Directory(_) | NotReady::NotExecutable(_) => 126,
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            NotReady::NotFound(name) => format!("install `{name}`, or give its full path in the hook's command"),
            NotReady::Missing(path) => format!("create {path}, or correct the path in the hook's command"),
            NotReady::Directory(path) => format!("name a file inside {path}"),
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

/// Checks a hook's command: its program, and the script it runs.
pub(crate) fn check(
    command: &CommandAction,
    places: &Places<'_>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), NotReady> {
    let words: Vec<OsString> = match &command.invocation {
        Invocation::Direct { words, .. } => words.iter().map(|word| word.resolve(&variable)).collect(),
        Invocation::Shell(text) => first_words(text, &variable),
    };
    let Some(first) = words.first() else { return Ok(()) };
    let program = find_program(first, places)?;
    check_script(&program, first, places)?;
    if is_interpreter(&program)
        && let Some(script) = words[1..].iter().find(|word| !word.as_encoded_bytes().starts_with(b"-"))
        && words[1..].iter().take_while(|word| *word != script).all(|option| !takes_code(option))
        && looks_like_a_path(script)
    {
        let path = places.cwd.join(script);
        let shown = script.to_string_lossy().into_owned();
        match path.metadata() {
            Err(_) => return Err(NotReady::Missing(shown)),
            Ok(metadata) if metadata.is_dir() && is_shell(&program) => return Err(NotReady::Directory(shown)),
            Ok(_) => {}
        }
    }
    Ok(())
}

/// The words of a shell command's first simple command, as far as they are plain; empty where that cannot be known.
fn first_words(text: &str, variable: &impl Fn(&str) -> Option<OsString>) -> Vec<OsString> {
    let mut simple = text.trim_start();
    // Leading assignments belong to the command's environment.
    while let Some((word, rest)) = simple.split_once(char::is_whitespace) {
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        if !assigns || word.contains(['"', '\'', '`', '$', '\\']) {
            break;
        }
        simple = rest.trim_start();
    }
    let end = simple.find(['|', '&', ';', '<', '>', '\n', '(', ')', '`', '#']).unwrap_or(simple.len());
    let first = simple.split_whitespace().next().unwrap_or_default();
    // `a 2>file`: the digit belongs to the redirection.
    let simple = simple[..end].trim_end_matches(|char: char| char.is_ascii_digit());
    if SHELL_WORDS.contains(&first) {
        return Vec::new();
    }
    match Invocation::analyse(simple, &[]) {
        Invocation::Direct { words, .. } => words.iter().map(|word| word.resolve(variable)).collect(),
        Invocation::Shell(_) => Vec::new(),
    }
}

/// A script's first line must name a program that exists.
fn check_script(program: &Path, shown: &OsStr, places: &Places<'_>) -> Result<(), NotReady> {
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

fn program_name(program: &Path) -> &str {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.')
}

fn is_shell(program: &Path) -> bool {
    matches!(program_name(program), "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish")
}

fn is_interpreter(program: &Path) -> bool {
    is_shell(program)
        || matches!(program_name(program), "python" | "node" | "ruby" | "perl" | "php" | "lua" | "Rscript")
}

/// Options after which the next word is code or a module, not a script.
fn takes_code(option: &OsStr) -> bool {
    let option = option.to_string_lossy();
    matches!(&*option, "-m" | "-e" | "--eval" | "-p" | "--print" | "-r" | "-c")
        || (option.starts_with('-') && !option.starts_with("--") && option.ends_with('c'))
}

fn looks_like_a_path(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    text.contains('/') || Path::new(&*text).extension().is_some()
}
