//! Starts commands confined, by a program that understands `run --plan FILE -- COMMAND`: this one.
//!
//! What a command is kept to is stored in a file that is named by its own digest, so that nothing can be put in its place.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use hookwright_disk::{Durability, SymlinkPolicy, write_atomic_private};
use hookwright_hooks::confinement::{ConfinementLauncher, ConfinementProfile, ConfinementRequest};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request counts as enforceable after it was checked.
const CHECK_LIFETIME: Duration = Duration::from_secs(30);
const SUPPORT_FILE: &str = "support.json";
const MAX_SUPPORT_FILE_BYTES: u64 = 64 << 10;
const MAX_PLAN_FILE_BYTES: u64 = 1 << 20;

/// Starts commands confined.
#[derive(Debug)]
pub struct CommandConfiner {
    program: PathBuf,
    /// The folders of stored requests; the first one that can be written to is used.
    folders: Vec<PathBuf>,
    /// The search path that the program is tried with.
    path_variable: OsString,
    support: OnceLock<Result<(), String>>,
    /// The stored requests that could be enforced when they were last looked at.
    enforceable: Mutex<HashMap<PathBuf, Instant>>,
}

/// Whether this machine can confine, as a file keeps it until the next start of the system.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct StoredSupport {
    boot_id: String,
    program: String,
    problem: Option<String>,
}

impl CommandConfiner {
    /// Creates a launcher that uses a program, and keeps its files in the first of these folders that can be written to.
    pub fn new(program: PathBuf, folders: Vec<PathBuf>, path_variable: OsString) -> Self {
        CommandConfiner { program, folders, path_variable, support: OnceLock::new(), enforceable: Mutex::default() }
    }

    /// Returns why this machine cannot confine commands, if so. It is found out by confining one.
    pub fn probe(&self) -> Result<(), String> {
        if !cfg!(target_os = "linux") {
            return Err("commands can be confined on Linux only".to_owned());
        }
        run_probe(&self.program, &self.path_variable)
    }

    /// The stored result of a probe since the system started, or a new one.
    fn support(&self) -> Result<(), String> {
        let known = self.support.get_or_init(|| {
            let current = |problem| StoredSupport {
                boot_id: hookwright_disk::read_text(Path::new("/proc/sys/kernel/random/boot_id"), 1 << 10)
                    .unwrap_or_default(),
                program: program_identity(&self.program),
                problem,
            };
            let files = self.folders.iter().map(|folder| folder.join(SUPPORT_FILE));
            let texts = files.filter_map(|file| hookwright_disk::read_text(&file, MAX_SUPPORT_FILE_BYTES).ok());
            let mut stored = texts.filter_map(|text| serde_json::from_str::<StoredSupport>(&text).ok());
            let supported = current(None);
            if stored.any(|stored| stored == supported) {
                return Ok(());
            }
            let result = self.probe();
            if let Ok(text) = serde_json::to_vec(&current(result.clone().err())) {
                // Without the file the next process tries again.
                let _ = self.write(SUPPORT_FILE, &text);
            }
            result
        });
        known.clone()
    }

    /// Stores a request and returns its file.
    fn store(&self, request: &ConfinementRequest) -> Result<PathBuf, String> {
        let bytes = serde_json::to_vec(request).map_err(|error| error.to_string())?;
        let name = format!("{}.json", digest(&bytes));
        let is_stored = |file: &PathBuf| {
            let stored = hookwright_disk::read(file, MAX_PLAN_FILE_BYTES, SymlinkPolicy::Follow);
            stored.is_ok_and(|stored| stored == bytes)
        };
        match self.folders.iter().map(|folder| folder.join(&name)).find(is_stored) {
            Some(file) => Ok(file),
            None => self.write(&name, &bytes),
        }
    }

    /// Writes a file into the first folder where that is possible.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let mut problem = "there is no folder for plans".to_owned();
        for folder in &self.folders {
            let file = folder.join(name);
            match write_private(&file, bytes) {
                Ok(()) => return Ok(file),
                Err(error) => problem = format!("{}: {error}", file.display()),
            }
        }
        Err(problem)
    }
}

impl CommandConfiner {
    /// Returns the words that start a command kept to a stored request, if the file is one.
    pub fn words_for_plan(&self, file: &Path) -> Option<Vec<OsString>> {
        let is_stored = self.folders.iter().any(|folder| file.parent() == Some(folder)) && file.is_file();
        is_stored.then(|| self.words(file))
    }

    fn words(&self, file: &Path) -> Vec<OsString> {
        let program = self.program.clone().into_os_string();
        vec![program, "run".into(), "--plan".into(), file.as_os_str().to_owned(), "--".into()]
    }
}

impl ConfinementLauncher for CommandConfiner {
    fn launch_words(&self, request: &ConfinementRequest) -> Result<Vec<OsString>, String> {
        self.support()?;
        let file = self.store(request)?;
        // It may search a large project for files. The program that starts the command looks again, and runs nothing if
        // something has changed.
        let mut enforceable = self.enforceable.lock().unwrap_or_else(PoisonError::into_inner);
        if enforceable.get(&file).is_none_or(|checked| checked.elapsed() > CHECK_LIFETIME) {
            check_enforceable(request)?;
            enforceable.insert(file.clone(), Instant::now());
        }
        Ok(self.words(&file))
    }
}

/// The digest by which a stored request is named.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The profile by which a command changes none of these files and folders.
pub fn protect_files(paths: impl IntoIterator<Item = PathBuf>) -> ConfinementProfile {
    let mut profile = ConfinementProfile::open();
    // A link is followed: what it leads to is protected.
    let mut real: Vec<PathBuf> = paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    real.sort();
    real.dedup();
    profile.writes.extend(
        real.iter().filter_map(|path| path.to_str()).filter(|path| is_literal(path)).map(|path| format!("!{path}")),
    );
    profile
}

/// Whether no character of a path means something in a pattern.
fn is_literal(path: &str) -> bool {
    !path.contains(['*', '?', '[', '{', '\\'])
}

fn write_private(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    write_atomic_private(file, bytes, Durability::Unsynced)
}

fn program_identity(program: &Path) -> String {
    let data = fs::metadata(program).ok();
    let time = data.as_ref().and_then(|data| data.modified().ok()).map(|time| format!("{time:?}")).unwrap_or_default();
    format!("{} {} {time}", program.display(), data.map_or(0, |data| data.len()))
}

#[cfg(target_os = "linux")]
fn check_enforceable(request: &ConfinementRequest) -> Result<(), String> {
    let compiled = hookwright_hooks::confinement::compile(&request.profiles, request.place());
    compiled.map(drop).map_err(|line| line.to_string())
}

#[cfg(not(target_os = "linux"))]
fn check_enforceable(_: &ConfinementRequest) -> Result<(), String> {
    Err("commands can be confined on Linux only".to_owned())
}

/// Confines `true` by the program, with a deadline.
fn run_probe(program: &Path, path_variable: &OsString) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(["run", "--time", "2", "--", "true"]).current_dir("/").env_clear().env("PATH", path_variable);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let deadline = Instant::now() + PROBE_TIMEOUT;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => {
                let mut text = String::new();
                let _ = child.stderr.take().map(|stderr| stderr.take(MAX_SUPPORT_FILE_BYTES).read_to_string(&mut text));
                let line = text.lines().next().unwrap_or("it does not say why").trim_start_matches("error: ");
                return Err(line.to_owned());
            }
            None if Instant::now() >= deadline => {
                let _ = child.kill();
                let _ = child.try_wait();
                return Err("a confined command did not end in time".to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
