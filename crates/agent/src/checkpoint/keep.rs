//! Keeps what files were before a turn changes them: told before and after every call, it looks at what the call writes and
//! deletes (`effects`), and where nobody can tell, at the whole project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_hooks::{Aspect, CallPlace, Effects, PathResolver};
use hookwright_tools::Workspace;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::look::{State, look, state};
use super::store::{Checkpoint, CheckpointError, KeptFile, Kind, Mark, Store};
use super::sweep::{Known, NotSwept, Swept};

/// More bytes are not kept for one turn.
const MOST_BYTES: u64 = 64 << 20;
/// More files in folders that a call changes as a whole are not kept.
const MOST_FILES: usize = 2_000;
/// Of a prompt more is not kept.
const LONGEST_PROMPT: usize = 16 << 10;
/// More is not said of one turn.
const MOST_NOTES: usize = 50;

/// A turn that begins.
pub(crate) struct Beginning<'a> {
    pub(crate) session: String,
    pub(crate) prompt: &'a str,
    /// Where its transcript ends, if it is kept.
    pub(crate) conversation: Option<(&'a Path, u64)>,
}

/// A call that may change files.
pub(crate) struct Touching<'a> {
    pub(crate) tool: &'a str,
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) workspace: &'a Arc<Workspace>,
    /// Whether a path is one that guards are made of.
    pub(crate) is_protected: &'a (dyn Fn(&Path) -> bool + Send + Sync),
}

/// The checkpoints of a session. By default none are kept.
#[derive(Debug, Default)]
pub struct Checkpoints {
    store: Option<Store>,
    /// Whether contents of files are kept.
    keeps_files: bool,
    home: PathBuf,
    turn: Mutex<Option<Turn>>,
    known: Mutex<Known>,
    /// Whether it was said that nothing can be kept.
    complained: Mutex<bool>,
}

#[derive(Debug)]
struct Turn {
    checkpoint: Checkpoint,
    swept: Option<Swept>,
    kept_bytes: u64,
}

/// What a call is about to change.
pub(crate) struct Pending {
    paths: BTreeSet<PathBuf>,
    /// Folders of which everything may change.
    folders: Vec<PathBuf>,
    /// Whether it may change anything else.
    is_uncertain: bool,
}

impl Checkpoints {
    pub(crate) fn new(store: Store, keeps_files: bool, home: PathBuf) -> Self {
        let (turn, known, complained) = (Mutex::default(), Mutex::default(), Mutex::default());
        Checkpoints { store: Some(store), keeps_files, home, turn, known, complained }
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    pub(crate) fn keeps_files(&self) -> bool {
        self.keeps_files
    }

    /// A turn begins; what to say if it can't be kept.
    pub(crate) fn begin(&self, beginning: &Beginning<'_>) -> Option<String> {
        let store = self.store.as_ref()?;
        let mark = |(transcript, at): (&Path, u64)| Mark { transcript: transcript.to_owned(), at };
        let checkpoint = Checkpoint {
            number: 0,
            kind: Kind::Turn,
            session: beginning.session.clone(),
            prompt: beginning.prompt.chars().take(LONGEST_PROMPT).collect(),
            time: Timestamp::now(),
            conversation: beginning.conversation.filter(|(path, _)| path.to_str().is_some()).map(mark),
            files: Vec::new(),
            notes: Vec::new(),
        };
        let begun = store.begin(checkpoint);
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match begun {
            Ok(checkpoint) => {
                *turn = Some(Turn { checkpoint, swept: None, kept_bytes: 0 });
                None
            }
            Err(error) => {
                *turn = None;
                self.complaint(&error)
            }
        }
    }

    /// The turn is over: what it kept may have made others too many.
    pub(crate) fn end(&self) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(turn), Some(store)) = (turn.as_mut(), &self.store) else { return };
        let swept = turn.swept.take();
        if turn.checkpoint.files.is_empty() && swept.is_none() {
            return;
        }
        let content = |state: State| match state {
            State::File { sha256, .. } => Some(sha256),
            _ => None,
        };
        store.make_room(&swept.into_iter().flat_map(Swept::into_values).filter_map(content).collect());
    }

    /// A call is about to run: keeps what it will change, as far as that can be told. And what to say if it can't be kept.
    pub(crate) fn before(&self, touching: &Touching<'_>) -> (Option<Pending>, Option<String>) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(turn), Some(store), true) = (turn.as_mut(), &self.store, self.keeps_files) else {
            return (None, None);
        };
        let root = touching.workspace.directory();
        let place = CallPlace { cwd: root, project: root, home: Some(&self.home) };
        let workspace = touching.workspace.clone();
        let resolver = PathResolver::new(move |path| workspace.leads_to(path));
        let effects = Effects::resolved(touching.tool, touching.args, &place, &resolver);
        let is_uncertain = effects.may_hold_more(Aspect::Writes) || effects.may_hold_more(Aspect::Deletes);
        let mut pending = Pending { paths: BTreeSet::new(), folders: Vec::new(), is_uncertain };
        let said = turn.checkpoint.notes.len();
        for touched in effects.writes.iter().chain(&effects.deletes) {
            if !is_ours(&touched.path, touching, turn) {
                continue;
            }
            if touched.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                if touched.deep {
                    turn.expand(&touched.path, &mut pending.paths);
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
            return (None, kept.err().and_then(|error| self.complaint(&error)));
        }
        let within = std::mem::take(&mut pending.paths);
        pending.paths = within.into_iter().filter(|path| is_ours(path, touching, turn)).collect();
        let kept = self.keep(store, turn, &pending, touching);
        (Some(pending), kept.err().and_then(|error| self.complaint(&error)))
    }

    /// The call is over: what it has changed is a part of the checkpoint, the rest is not. And what to say if it can't be.
    pub(crate) fn after(&self, pending: &Pending, touching: &Touching<'_>) -> Option<String> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (turn, store) = (turn.as_mut()?, self.store.as_ref()?);
        let mut paths = pending.paths.clone();
        pending.folders.iter().for_each(|folder| turn.expand(folder, &mut paths));
        let made = turn.made_folders(&mut paths);
        for path in paths.into_iter().filter(|path| is_open(path, touching)) {
            let now = state(&path);
            turn.changed(path, now, &made);
        }
        if let Some(swept) = turn.swept.take() {
            let changed = self.known().changes(touching.workspace, &swept);
            match changed {
                Ok(changed) => {
                    for (path, now) in changed.into_iter().filter(|(path, _)| !(touching.is_protected)(path)) {
                        let new =
                            || State::Missing { parents: new_parents(&path, &swept, touching.workspace.directory()) };
                        let before = swept.get(&path).cloned().unwrap_or_else(new);
                        turn.took(path, before, now);
                    }
                }
                Err(why) => turn.note(format!("{} may have changed more: {}", touching.told(), why.words())),
            }
            turn.swept = Some(swept);
        }
        turn.checkpoint.files.retain(|file| file.before != file.after);
        store.write(&turn.checkpoint).err().and_then(|error| self.complaint(&error))
    }

    /// Keeps what stands at the paths of a call, before it runs.
    fn keep(
        &self,
        store: &Store,
        turn: &mut Turn,
        pending: &Pending,
        touching: &Touching<'_>,
    ) -> Result<(), CheckpointError> {
        if pending.is_uncertain && turn.swept.is_none() {
            match self.known().keep(touching.workspace, store) {
                Ok(swept) => turn.swept = Some(swept),
                Err(NotSwept::Failed(error)) => return Err(error),
                Err(why @ NotSwept::TooMuch(_)) => {
                    let words = why.words();
                    turn.note(format!(
                        "nobody can tell what {} changes, and {words}: only what it names is kept",
                        touching.told()
                    ));
                }
            }
        }
        if touching.args.get("is_background").and_then(Value::as_bool) == Some(true) {
            turn.note(format!("{} runs on by itself: what it changes later is not kept", touching.told()));
        }
        for path in &pending.paths {
            turn.take(path, store)?;
        }
        store.write(&turn.checkpoint)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Said once.
    fn complaint(&self, error: &CheckpointError) -> Option<String> {
        tracing::warn!(%error, "no checkpoint");
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !std::mem::replace(&mut *complained, true);
        first.then(|| format!("there is no checkpoint to go back to: {error}"))
    }
}

/// Whether a path is one whose content is kept: in the project, none of git's own, and nothing that guards are made of.
fn is_ours(path: &Path, touching: &Touching<'_>, turn: &mut Turn) -> bool {
    if is_of_git(path) || !is_straight(path) {
        return false;
    }
    let why = match () {
        () if path.to_str().is_none() => "its name is no text",
        () if touching.workspace.root_of(path).is_none() => "it is outside of the project",
        () if (touching.is_protected)(path) => "guards are made of it",
        () => return true,
    };
    turn.note(format!("{} is not kept: {why}", touching.workspace.shorten(path)));
    false
}

/// The same without a word.
fn is_open(path: &Path, touching: &Touching<'_>) -> bool {
    !is_of_git(path) && is_straight(path) && !(touching.is_protected)(path)
}

fn is_of_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Whether no link is among the folders above it. One that leads through a link is told under its real name too.
pub(super) fn is_straight(path: &Path) -> bool {
    let there = path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
    there.is_some_and(|folder| folder.canonicalize().is_ok_and(|real| real == folder))
}

/// How many of the folders above a new file held nothing before.
fn new_parents(path: &Path, swept: &Swept, root: &Path) -> u32 {
    let held =
        |folder: &Path| swept.range(folder.to_owned()..).next().is_some_and(|(next, _)| next.starts_with(folder));
    let new = path.ancestors().skip(1).take_while(|folder| *folder != root && !held(folder));
    u32::try_from(new.count()).unwrap_or(0)
}

impl Touching<'_> {
    /// How the call is told in a note.
    fn told(&self) -> String {
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

impl NotSwept {
    fn words(&self) -> String {
        match self {
            NotSwept::TooMuch(why) => why.clone(),
            NotSwept::Failed(error) => error.to_string(),
        }
    }
}

impl Turn {
    fn note(&mut self, note: String) {
        let notes = &mut self.checkpoint.notes;
        if notes.len() < MOST_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn at(&mut self, path: &Path) -> Option<&mut KeptFile> {
        self.checkpoint.files.iter_mut().find(|file| file.path == path)
    }

    /// Keeps what stands at a path, unless this turn has done so before.
    fn take(&mut self, path: &Path, store: &Store) -> Result<(), CheckpointError> {
        if self.at(path).is_some() {
            return Ok(());
        }
        let swept = self.swept.as_ref().and_then(|swept| swept.get(path)).cloned();
        let before = match swept {
            Some(state) => state,
            None => {
                let (state, bytes) = look(path);
                match (&state, bytes) {
                    (State::File { .. }, Some(bytes)) if self.kept_bytes + bytes.len() as u64 > MOST_BYTES => {
                        State::Unkept { why: "this turn has changed too much already".to_owned() }
                    }
                    (State::File { sha256, .. }, Some(bytes)) => {
                        store.keep(sha256, &bytes)?;
                        self.kept_bytes += bytes.len() as u64;
                        state
                    }
                    _ => state,
                }
            }
        };
        if let State::Unkept { why } = &before {
            self.note(format!("{} is not kept: {why}", path.display()));
        }
        let after = State::Unkept { why: "not looked at yet".to_owned() };
        self.checkpoint.files.push(KeptFile { path: path.to_owned(), before, after });
        Ok(())
    }

    /// What the agent has left at a path that was looked at before. In a folder that was changed as a whole, what was not
    /// there before is new, and so may be the folder.
    fn changed(&mut self, path: PathBuf, now: State, made: &[(PathBuf, u32)]) {
        let below = |(folder, above): &(PathBuf, u32)| {
            let depth = path.strip_prefix(folder).ok()?.components().count();
            Some(u32::try_from(depth).ok()?.saturating_add(*above))
        };
        let parents = made.iter().find_map(below).unwrap_or(0);
        self.took(path, State::Missing { parents }, now);
    }

    /// Folders that stand where nothing was: what is in them is new, they themselves are no files. Each with how many of the
    /// folders above it were missing.
    fn made_folders(&mut self, paths: &mut BTreeSet<PathBuf>) -> Vec<(PathBuf, u32)> {
        let is_folder = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let mut made = Vec::new();
        for folder in paths.iter().filter(is_folder).cloned().collect::<Vec<_>>() {
            let Some(State::Missing { parents }) = self.at(&folder).map(|file| file.before.clone()) else { continue };
            self.checkpoint.files.retain(|file| file.path != folder);
            paths.remove(&folder);
            self.expand(&folder, paths);
            made.push((folder, parents));
        }
        made
    }

    fn took(&mut self, path: PathBuf, before: State, now: State) {
        match self.at(&path) {
            Some(file) => file.after = now,
            None => self.checkpoint.files.push(KeptFile { path, before, after: now }),
        }
    }

    /// Every file in a folder, as far as there are not too many.
    fn expand(&mut self, folder: &Path, into: &mut BTreeSet<PathBuf>) {
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                match path.to_str() {
                    _ if entry.file_name() == ".git" => {}
                    None => self.note(format!("{} is not kept: its name is no text", path.display())),
                    Some(_) if is_folder => folders.push(path),
                    Some(_) => drop(into.insert(path)),
                }
                if into.len() >= MOST_FILES {
                    return self
                        .note(format!("of {} only {MOST_FILES} files are kept: there are more", folder.display()));
                }
            }
        }
    }
}
