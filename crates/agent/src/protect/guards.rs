//! Notices who changes what guards are made of. What changes while a call of the agent runs, or something that it left
//! running, is the agent's and waits for the user's trust; everything else is the user's own.
//!
//! Asking the user is `settle.rs`; what one file was and is, `watched.rs`; what is kept in mind and on record of them all,
//! `guards/state.rs`; while what runs whose changes count as the agent's, `guards/window.rs`.

mod published;
mod state;
mod window;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hookwright_hooks::{Hook, HookState, Registry, Sentry};
use hookwright_settings::trust::{
    GuardFile, GuardKind, Ledger, PendingChange, exact_name, hooks_before, pending, trust_changes,
};
use hookwright_settings::{GuardMemory, Loaded, Paths};
use hookwright_tools::Groups;

use super::made_of::MadeOf;
use super::missing::{self, declaration, identity};
use super::paths::Protected;
use super::watched::{Looked, Watched, Whose};
use published::Published;
use window::WindowKind;

/// How to go on where a guard is not trusted.
pub(crate) const WAY_ON: &str =
    "look at it, then trust it with `hookwright hooks trust --all` or /hooks trust --all, or put it back as it was";
/// The same for whoever reads a denial: that may be the model, which is not told how to trust its own work.
const PERSON: &str = "a person must look at it";

/// A change that the agent made to what guards are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardChange {
    /// The file, as it is told to people.
    pub path: String,
    /// What became of it: `changed`, `made`, `removed`.
    pub deed: &'static str,
    /// What is different, where that can be shown.
    pub diff: Option<String>,
    /// One word for what the file is now.
    digest: String,
    /// Who may have done it.
    when: &'static str,
}

impl std::fmt::Display for GuardChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was {} {}", self.path, self.deed, self.when)
    }
}

/// When a session's part of the ledger begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerStart {
    /// At once: what can't be written down is known before anything runs.
    Now,
    /// With the first thing that runs. Enough where no hook could say no.
    WhenSomethingRuns,
}

type Load = dyn Fn() -> Option<Registry> + Send + Sync;

/// Watches over the guards of a session.
pub struct Guards {
    /// Locked while a scan waits for the disk, so that only threads for blocking work and the user's own commands lock it.
    state: Mutex<State>,
    published: Arc<Mutex<Published>>,
    /// Whether hooks ran for which no window could be opened.
    unwatched: AtomicBool,
    /// Reads the configuration as it is on disk now.
    load: Option<Box<Load>>,
}

#[derive(Default)]
struct State {
    project: PathBuf,
    /// Where the project is by now.
    place: PathBuf,
    protected: Arc<Protected>,
    files: Vec<Watched>,
    hooks: Vec<Armed>,
    /// Where a hook stands in `hooks`, by its address.
    places: HashMap<usize, usize>,
    /// Those hooks that only stand in for others.
    gone: HashSet<usize>,
    /// Hooks that the settings on disk do not declare any more as they run; why they do not.
    declared: HashMap<usize, String>,
    /// What stands in for hooks that an earlier session's agent took away.
    stand_ins: Vec<Hook>,
    /// How many calls of the agent run.
    calls: usize,
    /// How many events of hooks run.
    events: usize,
    /// Whether programs that are MCP servers run beside it all: between events too they may change what they like.
    serving: bool,
    /// What the agent's calls run in the background.
    background: Arc<Groups>,
    /// When all files were last looked at.
    looked: Option<Instant>,
    /// When hooks or a call were last seen out with a look at all files.
    seen_out: Option<Instant>,
    /// Whether hooks have run since the last look at all files: what has changed by the next may be their work.
    unseen: bool,
    /// Whether something ran there at the last look at all files.
    left_running: bool,
    /// The file that the user let the running call change.
    allowed: Option<PathBuf>,
    ledger: Option<Ledger>,
    /// Whether other sessions are told that the agent is at work.
    busy: bool,
    paths: Option<Paths>,
    published: Arc<Mutex<Published>>,
    /// Which guards there are, for their record.
    memory: Option<GuardMemory>,
    /// Why the ledger was not opened.
    unopened: Option<String>,
}

/// Paths of instructions to the model that wait for trust.
pub(crate) struct HeldInstructions(Vec<PathBuf>);

impl HeldInstructions {
    /// Why a file is not used, if it, or a folder that it is in, waits for trust.
    pub(crate) fn why(&self, path: &Path) -> Option<String> {
        let is_held = self.0.iter().any(|held| path.starts_with(held));
        is_held.then(|| format!("an agent has changed {}, so it is not used; {WAY_ON}", path.display()))
    }
}

/// A hook, and what it is made of.
struct Armed {
    hook: Arc<Hook>,
    /// Where its files stand.
    files: Vec<usize>,
    /// The settings that it was read from after an agent had changed them, if so.
    doubtful: Option<usize>,
}

impl Default for Guards {
    /// Watches over nothing.
    fn default() -> Self {
        Guards::with(State::default(), None)
    }
}

impl std::fmt::Debug for Guards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guards")
    }
}

impl Guards {
    /// Begins to watch. `pending` is what earlier sessions left and nobody has trusted.
    pub(crate) fn new(
        loaded: &Loaded,
        made_of: MadeOf,
        pending: &[PendingChange],
        ledger: LedgerStart,
        load: impl Fn() -> Option<Registry> + Send + Sync + 'static,
    ) -> Self {
        let (project, paths) = (loaded.project.root.clone(), Some(loaded.paths.clone()));
        let mut state = State { place: project.clone(), project, paths, ..State::default() };
        state.watch(loaded, made_of, pending);
        let before = hooks_before(&loaded.project.root, pending);
        state.published().problems.extend(missing::old_form_note(&before));
        let gone = missing::among(before, &loaded.registry);
        state.stand_ins = gone.iter().filter_map(missing::stand_in).collect();
        let mut own = Ledger::new(&loaded.paths, &loaded.project.root, &uuid::Uuid::new_v4().to_string());
        own.set_hooks(missing::known(loaded).into_iter().chain(gone).collect());
        state.ledger = Some(own);
        if ledger == LedgerStart::Now {
            state.unopened = state.open_ledger().err().map(|error| error.to_string());
        }
        state.publish();
        Guards::with(state, Some(Box::new(load)))
    }

    fn with(state: State, load: Option<Box<Load>>) -> Self {
        let published = state.published.clone();
        Guards { state: Mutex::new(state), published, unwatched: AtomicBool::default(), load }
    }

    fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The paths that no tool changes unasked.
    pub(crate) fn protected(&self) -> Arc<Protected> {
        self.published().protected.clone()
    }

    /// The folder of the ledger and why that can't be used, if so.
    pub(crate) fn unopened(&self) -> Option<(PathBuf, String)> {
        let state = self.state();
        let folder = state.ledger.as_ref()?.path().parent()?.to_owned();
        Some((folder, state.unopened.clone()?))
    }

    /// Goes on although the ledger could not be used: somebody is there to be told.
    pub(crate) fn go_on_unopened(&self) {
        let mut state = self.state();
        if let Some(why) = state.unopened.take() {
            state.tell_unopened(&why);
            state.keep();
        }
    }

    /// Problems with the record on disk since the last time.
    pub(crate) fn take_troubles(&self) -> Vec<String> {
        std::mem::take(&mut self.published().problems)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hooks that run from now on, and where what the agent leaves running is known.
    pub(crate) fn arm(&self, loaded: &Loaded, registry: &Registry, background: &Arc<Groups>) {
        let mut state = self.state();
        state.background = background.clone();
        state.arm(loaded, registry);
    }

    /// Another configuration, which the user wants as it is.
    pub(crate) fn reload(&self, loaded: &Loaded, policies: &[PathBuf], registry: &Registry) {
        let mut state = self.state();
        state.watch(loaded, MadeOf::new(loaded, policies), &[]);
        state.stand_ins.clear();
        if let Some(ledger) = &mut state.ledger {
            ledger.set_hooks(missing::known(loaded));
        }
        state.arm(loaded, registry);
        state.keep();
    }

    /// What stands in for hooks that an earlier session's agent took away, and nobody has trusted that.
    pub(crate) fn stand_ins(&self) -> Vec<Hook> {
        self.published().stand_ins.clone()
    }

    /// Looks at everything; whether nothing waits for trust, so that what has changed is the user's.
    pub(crate) fn look(&self) -> bool {
        let mut state = self.state();
        self.look_at_all(&mut state);
        !state.files.iter().any(Watched::is_distrusted) && state.declared.is_empty()
    }

    /// What the agent has changed since the last time.
    pub(crate) fn take_news(&self) -> Vec<GuardChange> {
        std::mem::take(&mut self.published().unreported)
    }

    /// Everything that waits for trust.
    pub(crate) fn waiting(&self) -> Vec<GuardChange> {
        self.published().untrusted.iter().map(|file| file.change.clone()).collect()
    }

    /// What waits for trust and keeps hooks of this name from running: files that only hooks run, and settings, if it is they.
    pub(crate) fn waiting_for(&self, name: &str) -> (Vec<GuardChange>, Option<GuardChange>) {
        let mut state = self.state();
        self.look_at_all(&mut state);
        let mut own = Vec::new();
        let mut settings = None;
        for armed in state.hooks.iter().filter(|armed| armed.hook.id() == name) {
            let declared = state.declared.contains_key(&address(&armed.hook));
            for at in armed.files.iter().copied().filter(|at| state.files[*at].is_distrusted()) {
                if state.files[at].file.kind != GuardKind::Settings {
                    own.push(state.change(at));
                } else if declared || armed.doubtful == Some(at) {
                    settings = Some(state.change(at));
                }
            }
        }
        own.dedup();
        (own, settings)
    }

    /// Definitions of agents, commands and the system prompt that an agent has changed, and folders of them: nothing there
    /// counts before it is trusted.
    pub(crate) fn held_instructions(&self) -> HeldInstructions {
        let published = self.published();
        let held = published.untrusted.iter().filter(|file| file.kind == GuardKind::Instructions);
        HeldInstructions(held.map(|file| file.path.clone()).collect())
    }

    /// The user has had this file changed, a moment ago.
    pub(crate) fn take_over(&self, path: &Path) {
        let mut state = self.state();
        let project = state.project.clone();
        for watched in state.files.iter_mut().filter(|watched| !watched.is_distrusted()) {
            if is_same(&watched.file.path, path) {
                watched.look(&project, |_| Whose::Users);
            }
        }
        state.keep();
    }

    /// Whether anything waits for trust.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.published().untrusted.is_empty()
    }

    /// The user's word that these changes are fine, as they were shown.
    pub(crate) fn trust(&self, changes: &[GuardChange]) {
        let mut state = self.state();
        self.look_at_all(&mut state);
        for at in 0..state.files.len() {
            let now = state.change(at);
            if changes.iter().any(|shown| shown.path == now.path) {
                let shown = changes.iter().find(|shown| **shown == now).map(|shown| shown.digest.clone());
                state.files[at].trust(Some(shown.as_deref().unwrap_or_default()));
            }
        }
        state.published().unreported.clear();
        self.compare_declarations(&mut state);
        let files: Vec<_> = state.files.iter().filter(|one| !one.is_distrusted()).map(|one| one.file.clone()).collect();
        if let Some(paths) = &state.paths {
            let earlier = pending(paths, &state.project, &files);
            if let Err(error) = trust_changes(&state.project, &earlier.iter().collect::<Vec<_>>()) {
                tracing::warn!(%error, "the ledger of guards can't be written");
            }
        }
        state.keep();
    }

    /// Does something for the user that changes this file.
    pub(crate) fn own_change<T>(&self, path: &Path, change: impl FnOnce() -> T) -> T {
        self.look_at_all(&mut self.state());
        let done = change();
        let mut state = self.state();
        let project = state.project.clone();
        let mut taken = false;
        for watched in &mut state.files {
            if !watched.is_distrusted() && is_same(&watched.file.path, path) {
                taken |= watched.look(&project, |_| Whose::Users) == Looked::Taken;
            }
        }
        if taken {
            state.keep();
        }
        done
    }

    /// The session is over.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        if state.ledger.as_ref().is_some_and(Ledger::is_unbegun) {
            // Nothing has run that could have changed anything.
            state.ledger = None;
            state.files.clear();
            return state.publish();
        }
        if !state.files.is_empty() && state.unopened.is_none() {
            state.tend();
        }
        self.look_at_all(&mut state);
        let entries = state.files.iter().map(Watched::entry).collect();
        if let Some(mut ledger) = state.ledger.take()
            && let Err(error) = ledger.close(entries)
        {
            state.unwritten(ledger.path(), &error.to_string());
        }
        state.files.clear();
        state.publish();
    }

    fn look_at_all(&self, state: &mut State) {
        self.take_in_unwatched(state);
        state.hear_of_trust();
        let everything = 0..state.files.len();
        self.look_at(state, everything);
        state.looked = Some(Instant::now());
        state.unseen = false;
        // Only a look at everything may say that whoever ran has changed nothing more.
        state.left_running = state.background.is_anybody_left();
        state.tell_busy();
    }

    fn take_in_unwatched(&self, state: &mut State) {
        state.unseen |= self.unwatched.swap(false, Ordering::Relaxed);
    }

    fn look_at(&self, state: &mut State, places: impl IntoIterator<Item = usize>) {
        self.take_in_unwatched(state);
        state.follow();
        let now = SystemTime::now();
        let (mut distrusted, mut moved) = (Vec::new(), false);
        for at in places {
            if !state.files[at].has_moved(now) {
                continue;
            }
            match state.look_into(at) {
                Looked::Same => {}
                Looked::Taken | Looked::Restored => moved = true,
                Looked::Distrusted => distrusted.push(at),
            }
        }
        if distrusted.is_empty() && !moved {
            return;
        }
        let settings = |at: &usize| state.files[*at].file.kind == GuardKind::Settings;
        if moved || distrusted.iter().any(settings) {
            self.compare_declarations(state);
        }
        for at in distrusted {
            let change = state.change(at);
            tracing::warn!(path = change.path, deed = change.deed, "the agent changed what guards are made of");
            let mut published = state.published();
            published.unreported.retain(|known| known.path != change.path);
            published.unreported.push(change);
        }
        state.keep();
    }

    /// Which hooks would not be the same if the settings were read now.
    fn compare_declarations(&self, state: &mut State) {
        let distrusted = state.files.iter().any(|file| file.is_distrusted() && file.file.kind == GuardKind::Settings);
        state.declared.clear();
        if !distrusted {
            return;
        }
        // What stands in the place of a project that was moved is another one.
        let in_place = state.place == state.project;
        let registry = self.load.as_ref().filter(|_| in_place).and_then(|load| load()).unwrap_or_default();
        let runs = |hooks: &Registry| {
            let enabled = hooks.entries().filter(|(_, state)| **state == HookState::Enabled);
            enabled.map(|(hook, _)| (identity(hook), declaration(hook))).collect::<Vec<_>>()
        };
        let now = runs(&registry);
        for Armed { hook, .. } in &state.hooks {
            let (identity, declaration) = (identity(hook), declaration(hook));
            let deed =
                match now.iter().filter(|(other, _)| *other == identity).map(|(_, other)| other).collect::<Vec<_>>() {
                    same if same.contains(&&declaration) => continue,
                    same if same.is_empty() => "removed from",
                    _ => "changed in",
                };
            let file =
                hook.place.as_ref().map_or_else(|| "the settings".to_owned(), |place| state.shorten(&place.file));
            state.declared.insert(address(hook), format!("it was {deed} {file}"));
        }
    }
}

impl Sentry for Guards {
    fn challenge(&self, hook: &Arc<Hook>) -> Result<(), String> {
        let mut state = self.state();
        let key = address(hook);
        let Some(at) = state.places.get(&key).copied() else { return Ok(()) };
        if state.gone.contains(&key) {
            let file = hook.place.as_ref().map(|place| state.shorten(&place.file)).unwrap_or_default();
            return Err(format!(
                "it was changed or removed in {file} while the agent worked, so it is missed; {PERSON}"
            ));
        }
        let files = std::mem::take(&mut state.hooks[at].files);
        self.look_at(&mut state, files.iter().copied());
        let doubtful = state.hooks[at].doubtful.filter(|settings| state.files[*settings].is_distrusted());
        let own = |at: &&usize| state.files[**at].is_distrusted() && state.files[**at].file.kind != GuardKind::Settings;
        let changed = files.iter().find(own).copied().or(doubtful).map(|at| state.change(at));
        let why = match (changed, state.declared.get(&key)) {
            (Some(change), _) => Some(change.to_string()),
            (None, declared) => declared.map(|deed| format!("{deed} {}", state.when())),
        };
        state.hooks[at].files = files;
        why.map_or(Ok(()), |why| Err(format!("{why}, so it is not trusted; {PERSON}")))
    }
}

/// Whether two names lead to one file, or would.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// What tells a hook from all others that are there.
fn address(hook: &Arc<Hook>) -> usize {
    Arc::as_ptr(hook) as usize
}

/// Whether two hooks are declared alike.
fn is_alike(one: &Hook, other: &Hook) -> bool {
    identity(one) == identity(other) && declaration(one) == declaration(other)
}

impl Drop for Guards {
    /// Only a session that is killed leaves more than what waits for the user.
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
