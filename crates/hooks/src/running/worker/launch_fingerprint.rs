//! What a worker process was started from: its session, its environment, and the files of its command. If any of these
//! changes, the process is restarted.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::HookRunner;
use crate::event::input::Session;
use crate::files::{Follower, Naming, Whereabouts};
use crate::hook::CommandAction;
use crate::running::session_dir::SessionSnapshot;

/// The maximum number of files that are checked before every request.
const MAX_FINGERPRINTED_FILES: usize = 64;

pub(super) struct LaunchFingerprint {
    session: Arc<Session>,
    env_generation: u64,
    files: Vec<(PathBuf, LaunchFileStamp)>,
}

/// The modification time and length of a file; `None` if it did not exist.
type LaunchFileStamp = Option<(Option<SystemTime>, u64)>;

fn file_stamp(file: &Path) -> LaunchFileStamp {
    file.metadata().ok().map(|found| (found.modified().ok(), found.len()))
}

impl LaunchFingerprint {
    /// The fingerprint of a process that is started now.
    pub(super) fn capture(command: &CommandAction, runner: &HookRunner, session: &SessionSnapshot) -> Self {
        let files = command_files(command, runner, session).into_iter().take(MAX_FINGERPRINTED_FILES);
        LaunchFingerprint {
            session: session.session().clone(),
            env_generation: runner.env_generation,
            files: files.map(|path| (file_stamp(&path), path)).map(|(stamp, path)| (path, stamp)).collect(),
        }
    }

    /// Whether a process started now would have the same session and environment.
    pub(super) fn has_same_context(&self, runner: &HookRunner, session: &SessionSnapshot) -> bool {
        self.env_generation == runner.env_generation
            && (Arc::ptr_eq(&self.session, session.session()) || *self.session == **session.session())
    }

    /// Whether the files are unchanged. This reads the metadata of each from the disk.
    pub(super) fn has_same_files(&self) -> bool {
        self.files.iter().all(|(file, known)| file_stamp(file) == *known)
    }
}

/// The files that a command names, and those that they load in turn.
fn command_files(command: &CommandAction, runner: &HookRunner, session: &SessionSnapshot) -> Vec<PathBuf> {
    let variable = |name: &str| runner.env_variable(name, command, session);
    let place = Whereabouts { cwd: runner.directory(session), variable: &variable };
    let named = command.files(&place).files;
    let run = named.iter().filter(|file| matches!(file.how, Naming::Runs | Naming::Sources | Naming::Mentions));
    let mut roots: Vec<PathBuf> = run.filter_map(|file| file.path.parent()).map(Path::to_owned).collect();
    roots.sort();
    roots.dedup();
    let followed = command.followed(&place, &Follower::new(roots, &read_prefix)).files;
    let mut all: Vec<PathBuf> = named.into_iter().chain(followed).map(|file| file.path).collect();
    let mut seen = std::collections::HashSet::new();
    all.retain(|path| seen.insert(path.clone()));
    all
}

/// The start of a regular file: opening anything else might block for ever.
fn read_prefix(path: &Path) -> Option<Vec<u8>> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(Follower::LONGEST as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
