//! Records the state of files before a turn changes them.
//!
//! Before and after every call it reads the paths that the call writes and deletes (`effects`), or the
//! whole project if its effects are unknown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_hooks::{Aspect, CallPlace, PathResolver, call_effects};
use hookwright_tools::Workspace;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::path_state::{PathState, read_state, read_state_and_content};
use super::project_scan::{ProjectSnapshot, ScanCache, ScanError};
use super::store::{Checkpoint, CheckpointError, CheckpointKind, CheckpointStore, ConversationMark, RecordedFile};

/// The maximum of content bytes that are recorded for one turn outside of project scans.
const MAX_TURN_BYTES: u64 = 64 << 20;
/// The maximum number of files that are recorded of folders which a call changes as a whole.
const MAX_FOLDER_FILES: usize = 2_000;
/// The maximum number of characters that are kept of a prompt.
const MAX_PROMPT_BYTES: usize = 16 << 10;
/// The maximum number of notes per turn.
const MAX_TURN_NOTES: usize = 50;

/// The start of a turn.
pub(crate) struct TurnStart<'a> {
    pub(crate) session: String,
    pub(crate) prompt: &'a str,
    /// The transcript and its end offset, if the conversation is saved.
    pub(crate) conversation: Option<(&'a Path, u64)>,
}

/// A call that may change files.
pub(crate) struct MutatingCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) workspace: &'a Arc<Workspace>,
    /// Returns whether a path is protected because guards depend on it.
    pub(crate) is_protected: &'a (dyn Fn(&Path) -> bool + Send + Sync),
}

/// Records the checkpoints of a session. The default records none.
#[derive(Debug, Default)]
pub struct CheckpointRecorder {
    store: Option<CheckpointStore>,
    /// Whether the contents of files are recorded.
    records_files: bool,
    home: PathBuf,
    turn: Mutex<Option<TurnRecord>>,
    scan_cache: Mutex<ScanCache>,
    /// Whether the user was warned that checkpoints cannot be written.
    has_warned: Mutex<bool>,
}

#[derive(Debug)]
struct TurnRecord {
    checkpoint: Checkpoint,
    project_snapshot: Option<ProjectSnapshot>,
    recorded_bytes: u64,
}

/// The paths that a call may change.
pub(crate) struct CallTargets {
    paths: BTreeSet<PathBuf>,
    /// The folders whose whole content may change.
    folders: Vec<PathBuf>,
    /// Whether the call may change other paths too.
    may_change_anything: bool,
}

impl CheckpointRecorder {
    pub(crate) fn new(store: CheckpointStore, keeps_files: bool, home: PathBuf) -> Self {
        let (turn, known, complained) = (Mutex::default(), Mutex::default(), Mutex::default());
        CheckpointRecorder {
            store: Some(store),
            records_files: keeps_files,
            home,
            turn,
            scan_cache: known,
            has_warned: complained,
        }
    }

    pub(crate) fn store(&self) -> Option<&CheckpointStore> {
        self.store.as_ref()
    }

    pub(crate) fn records_files(&self) -> bool {
        self.records_files
    }

    /// Begins the checkpoint of a turn; returns a warning if it cannot be written.
    pub(crate) fn begin_turn(&self, beginning: &TurnStart<'_>) -> Option<String> {
        let store = self.store.as_ref()?;
        let mark = |(transcript, at): (&Path, u64)| ConversationMark { transcript: transcript.to_owned(), at };
        let checkpoint = Checkpoint {
            number: 0,
            kind: CheckpointKind::Turn,
            session: beginning.session.clone(),
            prompt: beginning.prompt.chars().take(MAX_PROMPT_BYTES).collect(),
            time: Timestamp::now(),
            conversation: beginning.conversation.filter(|(path, _)| path.to_str().is_some()).map(mark),
            files: Vec::new(),
            notes: Vec::new(),
        };
        let begun = store.create(checkpoint);
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match begun {
            Ok(checkpoint) => {
                *turn = Some(TurnRecord { checkpoint, project_snapshot: None, recorded_bytes: 0 });
                None
            }
            Err(error) => {
                *turn = None;
                self.warn_once(&error)
            }
        }
    }

    /// Ends the turn and prunes the store.
    pub(crate) fn end_turn(&self) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(turn), Some(store)) = (turn.as_mut(), &self.store) else { return };
        let swept = turn.project_snapshot.take();
        if turn.checkpoint.files.is_empty() && swept.is_none() {
            return;
        }
        let content = |state: PathState| match state {
            PathState::File { sha256, .. } => Some(sha256),
            _ => None,
        };
        store.prune(&swept.into_iter().flat_map(ProjectSnapshot::into_values).filter_map(content).collect());
    }

    /// Returns the user's home directory.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Records the paths that a call is about to change, as far as they are known; the text is a warning if that fails.
    pub(crate) fn before_call(&self, touching: &MutatingCall<'_>) -> (Option<CallTargets>, Option<String>) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(turn), Some(store), true) = (turn.as_mut(), &self.store, self.records_files) else {
            return (None, None);
        };
        let root = touching.workspace.directory();
        let place = CallPlace { cwd: root, project: root, home: Some(&self.home) };
        let workspace = touching.workspace.clone();
        let resolver = PathResolver::new(move |path| workspace.real_path(path));
        let effects = call_effects(touching.tool, touching.args, &place, &resolver);
        let is_uncertain = effects.may_hold_more(Aspect::Writes) || effects.may_hold_more(Aspect::Deletes);
        let mut pending =
            CallTargets { paths: BTreeSet::new(), folders: Vec::new(), may_change_anything: is_uncertain };
        let notes_before = turn.checkpoint.notes.len();
        for touched in effects.writes.iter().chain(&effects.deletes) {
            if !is_recordable_or_note(&touched.path, touching, turn) {
                continue;
            }
            if touched.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                if touched.deep {
                    turn.collect_folder_files(&touched.path, &mut pending.paths);
                    pending.folders.push(touched.path.clone());
                }
            } else {
                pending.paths.insert(touched.path.clone());
                if touched.deep {
                    pending.folders.push(touched.path.clone());
                }
            }
        }
        if pending.paths.is_empty() && pending.folders.is_empty() && !is_uncertain {
            // The notes are written even if no file is recorded.
            let has_new_notes = turn.checkpoint.notes.len() > notes_before;
            let kept = if has_new_notes { store.write(&turn.checkpoint) } else { Ok(()) };
            return (None, kept.err().and_then(|error| self.warn_once(&error)));
        }
        let within = std::mem::take(&mut pending.paths);
        pending.paths = within.into_iter().filter(|path| is_recordable_or_note(path, touching, turn)).collect();
        let kept = self.record_targets(store, turn, &pending, touching);
        (Some(pending), kept.err().and_then(|error| self.warn_once(&error)))
    }

    /// Records the changes of a finished call in the checkpoint, and drops
    /// unchanged paths; returns a warning if that fails.
    pub(crate) fn after_call(&self, pending: &CallTargets, touching: &MutatingCall<'_>) -> Option<String> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (turn, store) = (turn.as_mut()?, self.store.as_ref()?);
        let mut paths = pending.paths.clone();
        pending.folders.iter().for_each(|folder| turn.collect_folder_files(folder, &mut paths));
        let made = turn.expand_created_folders(&mut paths);
        for path in paths.into_iter().filter(|path| is_recordable(path, touching)) {
            let now = read_state(&path);
            turn.record_after(path, now, &made);
        }
        if let Some(swept) = turn.project_snapshot.take() {
            let changed = self.scan_cache().changes_since(touching.workspace, &swept);
            match changed {
                Ok(changed) => {
                    for (path, now) in changed.into_iter().filter(|(path, _)| !(touching.is_protected)(path)) {
                        let new = || PathState::Missing {
                            parents: new_parent_count(&path, &swept, touching.workspace.directory()),
                        };
                        let before = swept.get(&path).cloned().unwrap_or_else(new);
                        turn.push_recorded_file(path, before, now);
                    }
                }
                Err(why) => {
                    turn.add_note(format!("{} may have changed more: {}", touching.describe_call(), why.message()))
                }
            }
            turn.project_snapshot = Some(swept);
        }
        turn.checkpoint.files.retain(|file| file.before != file.after);
        store.write(&turn.checkpoint).err().and_then(|error| self.warn_once(&error))
    }

    /// Records the states of a call's paths before it runs.
    fn record_targets(
        &self,
        store: &CheckpointStore,
        turn: &mut TurnRecord,
        pending: &CallTargets,
        touching: &MutatingCall<'_>,
    ) -> Result<(), CheckpointError> {
        if pending.may_change_anything && turn.project_snapshot.is_none() {
            match self.scan_cache().snapshot(touching.workspace, store) {
                Ok(swept) => turn.project_snapshot = Some(swept),
                Err(ScanError::Failed(error)) => return Err(error),
                Err(why @ ScanError::TooLarge(_)) => {
                    let words = why.message();
                    turn.add_note(format!(
                        "nobody can tell what {} changes, and {words}: only what it names is kept",
                        touching.describe_call()
                    ));
                }
            }
        }
        if touching.args.get("is_background").and_then(Value::as_bool) == Some(true) {
            turn.add_note(format!("{} runs on by itself: what it changes later is not kept", touching.describe_call()));
        }
        for path in &pending.paths {
            turn.record_before(path, store)?;
        }
        store.write(&turn.checkpoint)
    }

    fn scan_cache(&self) -> std::sync::MutexGuard<'_, ScanCache> {
        self.scan_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the warning the first time, and `None` later.
    fn warn_once(&self, error: &CheckpointError) -> Option<String> {
        tracing::warn!(%error, "no checkpoint");
        let mut complained = self.has_warned.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !std::mem::replace(&mut *complained, true);
        first.then(|| format!("there is no checkpoint to go back to: {error}"))
    }
}

/// Returns whether the content of a path is recorded: within the project, not inside `.git`, and not protected.
///
/// Other paths get a note, except those inside `.git` or behind a link.
fn is_recordable_or_note(path: &Path, touching: &MutatingCall<'_>, turn: &mut TurnRecord) -> bool {
    if is_git_internal(path) || !has_no_symlink_parents(path) {
        return false;
    }
    let why = match () {
        () if path.to_str().is_none() => "its name is no text",
        () if touching.workspace.root_of(path).is_none() => "it is outside of the project",
        () if (touching.is_protected)(path) => "guards are made of it",
        () => return true,
    };
    turn.add_note(format!("{} is not kept: {why}", touching.workspace.shorten(path)));
    false
}

/// Returns whether a path is recorded, without adding a note.
fn is_recordable(path: &Path, touching: &MutatingCall<'_>) -> bool {
    !is_git_internal(path) && has_no_symlink_parents(path) && !(touching.is_protected)(path)
}

fn is_git_internal(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Returns whether no parent folder is a symbolic link. A path that leads through a
/// link is also reported under its real name.
pub(super) fn has_no_symlink_parents(path: &Path) -> bool {
    let there = path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
    there.is_some_and(|folder| folder.canonicalize().is_ok_and(|real| real == folder))
}

/// Returns how many parent folders of a new file held no files before.
fn new_parent_count(path: &Path, swept: &ProjectSnapshot, root: &Path) -> u32 {
    let held =
        |folder: &Path| swept.range(folder.to_owned()..).next().is_some_and(|(next, _)| next.starts_with(folder));
    let new = path.ancestors().skip(1).take_while(|folder| *folder != root && !held(folder));
    u32::try_from(new.count()).unwrap_or(0)
}

impl MutatingCall<'_> {
    /// Returns the call as notes describe it.
    fn describe_call(&self) -> String {
        let command = self.args.get("command").and_then(Value::as_str).filter(|_| self.tool == "run_shell_command");
        match command {
            Some(command) => {
                let line = command.lines().next().unwrap_or_default();
                let short: String = line.chars().take(60).collect();
                let more = if short.len() < command.len() { "…" } else { "" };
                format!("`{short}{more}`")
            }
            None => self.tool.to_owned(),
        }
    }
}

impl ScanError {
    fn message(&self) -> String {
        match self {
            ScanError::TooLarge(why) => why.clone(),
            ScanError::Failed(error) => error.to_string(),
        }
    }
}

impl TurnRecord {
    fn add_note(&mut self, note: String) {
        let notes = &mut self.checkpoint.notes;
        if notes.len() < MAX_TURN_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn recorded_file(&mut self, path: &Path) -> Option<&mut RecordedFile> {
        self.checkpoint.files.iter_mut().find(|file| file.path == path)
    }

    /// Records the state of a path, unless this turn has recorded it already.
    fn record_before(&mut self, path: &Path, store: &CheckpointStore) -> Result<(), CheckpointError> {
        if self.recorded_file(path).is_some() {
            return Ok(());
        }
        let swept = self.project_snapshot.as_ref().and_then(|swept| swept.get(path)).cloned();
        let before = match swept {
            Some(state) => state,
            None => {
                let (state, bytes) = read_state_and_content(path);
                match (&state, bytes) {
                    (PathState::File { .. }, Some(bytes))
                        if self.recorded_bytes + bytes.len() as u64 > MAX_TURN_BYTES =>
                    {
                        PathState::Unkept { why: "this turn has changed too much already".to_owned() }
                    }
                    (PathState::File { sha256, .. }, Some(bytes)) => {
                        store.store_content(sha256, &bytes)?;
                        self.recorded_bytes += bytes.len() as u64;
                        state
                    }
                    _ => state,
                }
            }
        };
        if let PathState::Unkept { why } = &before {
            self.add_note(format!("{} is not kept: {why}", path.display()));
        }
        let after = PathState::Unkept { why: "not looked at yet".to_owned() };
        self.checkpoint.files.push(RecordedFile { path: path.to_owned(), before, after });
        Ok(())
    }

    /// Records the state of a path after a call.
    ///
    /// In a folder that the call changed as a whole, a path without a record is new, and so may be the folder.
    fn record_after(&mut self, path: PathBuf, now: PathState, made: &[(PathBuf, u32)]) {
        let below = |(folder, above): &(PathBuf, u32)| {
            let depth = path.strip_prefix(folder).ok()?.components().count();
            Some(u32::try_from(depth).ok()?.saturating_add(*above))
        };
        let parents = made.iter().find_map(below).unwrap_or(0);
        self.push_recorded_file(path, PathState::Missing { parents }, now);
    }

    /// Replaces folders that the call created with the files in them; returns each
    /// folder with its number of missing parents.
    fn expand_created_folders(&mut self, paths: &mut BTreeSet<PathBuf>) -> Vec<(PathBuf, u32)> {
        let is_folder = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let mut made = Vec::new();
        for folder in paths.iter().filter(is_folder).cloned().collect::<Vec<_>>() {
            let Some(PathState::Missing { parents }) = self.recorded_file(&folder).map(|file| file.before.clone())
            else {
                continue;
            };
            self.checkpoint.files.retain(|file| file.path != folder);
            paths.remove(&folder);
            self.collect_folder_files(&folder, paths);
            made.push((folder, parents));
        }
        made
    }

    fn push_recorded_file(&mut self, path: PathBuf, before: PathState, now: PathState) {
        match self.recorded_file(&path) {
            Some(file) => file.after = now,
            None => self.checkpoint.files.push(RecordedFile { path, before, after: now }),
        }
    }

    /// Collects the files in a folder, up to [`MAX_FOLDER_FILES`].
    fn collect_folder_files(&mut self, folder: &Path, into: &mut BTreeSet<PathBuf>) {
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                match path.to_str() {
                    _ if entry.file_name() == ".git" => {}
                    None => self.add_note(format!("{} is not kept: its name is no text", path.display())),
                    Some(_) if is_folder => folders.push(path),
                    Some(_) => drop(into.insert(path)),
                }
                if into.len() >= MAX_FOLDER_FILES {
                    return self.add_note(format!(
                        "of {} only {MAX_FOLDER_FILES} files are kept: there are more",
                        folder.display()
                    ));
                }
            }
        }
    }
}
