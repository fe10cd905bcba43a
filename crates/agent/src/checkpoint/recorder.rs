//! Keeps what files were before a turn changes them: told before and after every call, it looks at what the call writes and
//! deletes (`effects`), and where nobody can tell, at the whole project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_hooks::{Aspect, CallPlace, Effects, PathResolver};
use hookwright_tools::Workspace;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::path_state::{PathState, read_state, read_state_and_content};
use super::project_scan::{ProjectSnapshot, ScanCache, ScanError};
use super::store::{Checkpoint, CheckpointError, CheckpointKind, CheckpointStore, ConversationMark, RecordedFile};

/// More bytes are not kept for one turn.
const MAX_TURN_BYTES: u64 = 64 << 20;
/// More files in folders that a call changes as a whole are not kept.
const MAX_FOLDER_FILES: usize = 2_000;
/// Of a prompt more is not kept.
const MAX_PROMPT_BYTES: usize = 16 << 10;
/// More is not said of one turn.
const MAX_TURN_NOTES: usize = 50;

/// A turn that begins.
pub(crate) struct TurnStart<'a> {
    pub(crate) session: String,
    pub(crate) prompt: &'a str,
    /// Where its transcript ends, if it is kept.
    pub(crate) conversation: Option<(&'a Path, u64)>,
}

/// A call that may change files.
pub(crate) struct MutatingCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) workspace: &'a Arc<Workspace>,
    /// Whether a path is one that guards are made of.
    pub(crate) is_protected: &'a (dyn Fn(&Path) -> bool + Send + Sync),
}

/// The checkpoints of a session. By default none are kept.
#[derive(Debug, Default)]
pub struct CheckpointRecorder {
    store: Option<CheckpointStore>,
    /// Whether contents of files are kept.
    records_files: bool,
    home: PathBuf,
    turn: Mutex<Option<TurnRecord>>,
    scan_cache: Mutex<ScanCache>,
    /// Whether it was said that nothing can be kept.
    has_warned: Mutex<bool>,
}

#[derive(Debug)]
struct TurnRecord {
    checkpoint: Checkpoint,
    project_snapshot: Option<ProjectSnapshot>,
    recorded_bytes: u64,
}

/// What a call is about to change.
pub(crate) struct CallTargets {
    paths: BTreeSet<PathBuf>,
    /// Folders of which everything may change.
    folders: Vec<PathBuf>,
    /// Whether it may change anything else.
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

    /// A turn begins; what to say if it can't be kept.
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

    /// The turn is over: what it kept may have made others too many.
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

    /// A call is about to run: keeps what it will change, as far as that can be told. And what to say if it can't be kept.
    pub(crate) fn before_call(&self, touching: &MutatingCall<'_>) -> (Option<CallTargets>, Option<String>) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(turn), Some(store), true) = (turn.as_mut(), &self.store, self.records_files) else {
            return (None, None);
        };
        let root = touching.workspace.directory();
        let place = CallPlace { cwd: root, project: root, home: Some(&self.home) };
        let workspace = touching.workspace.clone();
        let resolver = PathResolver::new(move |path| workspace.real_path(path));
        let effects = Effects::resolved(touching.tool, touching.args, &place, &resolver);
        let is_uncertain = effects.may_hold_more(Aspect::Writes) || effects.may_hold_more(Aspect::Deletes);
        let mut pending =
            CallTargets { paths: BTreeSet::new(), folders: Vec::new(), may_change_anything: is_uncertain };
        let said = turn.checkpoint.notes.len();
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
            // That something is not kept is to be known, even if nothing is.
            let news = turn.checkpoint.notes.len() > said;
            let kept = if news { store.write(&turn.checkpoint) } else { Ok(()) };
            return (None, kept.err().and_then(|error| self.warn_once(&error)));
        }
        let within = std::mem::take(&mut pending.paths);
        pending.paths = within.into_iter().filter(|path| is_recordable_or_note(path, touching, turn)).collect();
        let kept = self.record_targets(store, turn, &pending, touching);
        (Some(pending), kept.err().and_then(|error| self.warn_once(&error)))
    }

    /// The call is over: what it has changed is a part of the checkpoint, the rest is not. And what to say if it can't be.
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

    /// Keeps what stands at the paths of a call, before it runs.
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

    /// Said once.
    fn warn_once(&self, error: &CheckpointError) -> Option<String> {
        tracing::warn!(%error, "no checkpoint");
        let mut complained = self.has_warned.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !std::mem::replace(&mut *complained, true);
        first.then(|| format!("there is no checkpoint to go back to: {error}"))
    }
}

/// Whether a path is one whose content is kept: in the project, none of git's own, and nothing that guards are made of.
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

/// The same without a word.
fn is_recordable(path: &Path, touching: &MutatingCall<'_>) -> bool {
    !is_git_internal(path) && has_no_symlink_parents(path) && !(touching.is_protected)(path)
}

fn is_git_internal(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Whether no link is among the folders above it. One that leads through a link is told under its real name too.
pub(super) fn has_no_symlink_parents(path: &Path) -> bool {
    let there = path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
    there.is_some_and(|folder| folder.canonicalize().is_ok_and(|real| real == folder))
}

/// How many of the folders above a new file held nothing before.
fn new_parent_count(path: &Path, swept: &ProjectSnapshot, root: &Path) -> u32 {
    let held =
        |folder: &Path| swept.range(folder.to_owned()..).next().is_some_and(|(next, _)| next.starts_with(folder));
    let new = path.ancestors().skip(1).take_while(|folder| *folder != root && !held(folder));
    u32::try_from(new.count()).unwrap_or(0)
}

impl MutatingCall<'_> {
    /// How the call is told in a note.
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

    /// Keeps what stands at a path, unless this turn has done so before.
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

    /// What the agent has left at a path that was looked at before. In a folder that was changed as a whole, what was not
    /// there before is new, and so may be the folder.
    fn record_after(&mut self, path: PathBuf, now: PathState, made: &[(PathBuf, u32)]) {
        let below = |(folder, above): &(PathBuf, u32)| {
            let depth = path.strip_prefix(folder).ok()?.components().count();
            Some(u32::try_from(depth).ok()?.saturating_add(*above))
        };
        let parents = made.iter().find_map(below).unwrap_or(0);
        self.push_recorded_file(path, PathState::Missing { parents }, now);
    }

    /// Folders that stand where nothing was: what is in them is new, they themselves are no files. Each with how many of the
    /// folders above it were missing.
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

    /// Every file in a folder, as far as there are not too many.
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
