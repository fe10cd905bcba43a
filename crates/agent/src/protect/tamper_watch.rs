//! Detects changes to the files that guards depend on.
//!
//! A change while a call of the agent, or a process that it left running, is active is attributed
//! to the agent and waits for the user's trust. Changes while hooks or MCP servers run are
//! attributed likewise; all others are the user's.
//!
//! `change_report.rs` asks the user, `watched_file.rs` compares one file, `tamper_watch/state.rs` holds the state of
//! all files and the ledger, and `tamper_watch/window.rs` tracks what is running.

mod state;
mod watch_view;
mod window;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hookwright_hooks::{Hook, HookState, Registry, TrustGate};
use hookwright_settings::trust::{
    GuardFile, GuardFileKind, Ledger, PendingChange, exact_name, hooks_before, pending_changes, trust_changes,
};
use hookwright_settings::{ConfigPaths, LoadedConfig, SessionGuardRecord};
use hookwright_tools::ProcessGroups;
use serde::Serialize;

use super::guarded_files::GuardedFiles;
use super::missing_hooks::{self, declaration_text, hook_identity};
use super::protected_paths::ProtectedPaths;
use super::watched_file::{ChangeAuthor, RescanResult, WatchedFile};
use watch_view::TamperWatchView;
use window::TamperWindowKind;

/// The advice on what to do about an untrusted guard.
pub(crate) const TRUST_HINT: &str =
    "review it, then trust it with `hookwright hooks trust --all` or /hooks trust --all, or restore it";
/// The advice in a denial, which the model may read: it does not say how to trust a change.
const PERSON_REQUIRED_MESSAGE: &str = "a person must review it";

/// A change by the agent to a file that guards depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GuardChange {
    /// The path of the file for display.
    pub path: String,
    /// The kind of change: `changed`, `made`, `removed` or `made not executable`.
    pub change_kind: &'static str,
    /// The unified diff, where it can be shown.
    pub diff: Option<String>,
    /// The digest of the file's present content.
    digest: String,
    /// The processes that may have made the change, in words.
    attribution: &'static str,
}

impl GuardChange {
    /// Says how and when the file was changed.
    pub(crate) fn manner(&self) -> String {
        format!("{} {}", self.change_kind, self.attribution)
    }
}

impl std::fmt::Display for GuardChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was {}", self.path, self.manner())
    }
}

/// When a session's ledger is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerStart {
    /// The ledger is opened at once, so that a write error is known before anything runs.
    Immediate,
    /// The ledger is opened when something first runs. That is enough if no hook can deny anything.
    OnFirstRun,
}

type RegistryLoader = dyn Fn() -> Option<Registry> + Send + Sync;

/// Watches the files that a session's guards depend on.
pub struct TamperWatch {
    /// Locked while a scan waits for the disk, so that only blocking threads and the user's own commands lock it.
    state: Mutex<TamperWatchState>,
    view: Arc<Mutex<TamperWatchView>>,
    /// Whether hooks ran for which no window could be opened.
    has_unwatched_hooks: AtomicBool,
    /// Reads the configuration as it is on disk now.
    load_registry: Option<Box<RegistryLoader>>,
}

#[derive(Default)]
struct TamperWatchState {
    project: PathBuf,
    /// The present folder of the project.
    current_root: PathBuf,
    protected: Arc<ProtectedPaths>,
    watched_files: Vec<WatchedFile>,
    armed_hooks: Vec<ArmedHook>,
    /// The index of each hook in `armed_hooks`, by its address.
    hook_indices: HashMap<usize, usize>,
    /// The addresses of the hooks that are stand-ins.
    stand_in_addresses: HashSet<usize>,
    /// The hooks whose declaration on disk differs from the one that runs, each with the reason.
    stale_declarations: HashMap<usize, String>,
    /// The stand-ins for hooks that an earlier session's agent removed.
    stand_ins: Vec<Hook>,
    /// The number of running calls of the agent.
    running_calls: usize,
    /// The number of hook events that are running.
    running_hook_events: usize,
    /// Whether MCP servers run as child processes, which may change files at any time.
    has_servers: bool,
    /// The background processes of the agent's calls.
    background: Arc<ProcessGroups>,
    /// The time of the last scan of all files.
    last_full_scan: Option<Instant>,
    /// The time when a window was last closed with a scan of all files.
    last_window_closed: Option<Instant>,
    /// Whether hooks have run since the last scan of all files, so that changes may be theirs.
    hooks_ran_since_scan: bool,
    /// Whether background processes were running at the last scan of all files.
    had_background_processes: bool,
    /// The file that the user let the running call change.
    allowed_path: Option<PathBuf>,
    ledger: Option<Ledger>,
    /// Whether the ledger tells other sessions that the agent is at work.
    is_busy_published: bool,
    paths: Option<ConfigPaths>,
    view: Arc<Mutex<TamperWatchView>>,
    /// The record of this session's guards.
    guard_record: Option<SessionGuardRecord>,
    /// The reason why the ledger could not be opened.
    ledger_error: Option<String>,
}

/// The paths of untrusted instructions to the model.
pub(crate) struct UntrustedInstructions(Vec<PathBuf>);

impl UntrustedInstructions {
    /// Returns why a file is not used, if the file or one of its parent folders is untrusted.
    pub(crate) fn reason_for(&self, path: &Path) -> Option<String> {
        let is_held = self.0.iter().any(|held| path.starts_with(held));
        is_held.then(|| format!("an agent has changed {}, so it is not used; {TRUST_HINT}", path.display()))
    }
}

/// A hook with the files that it depends on.
struct ArmedHook {
    hook: Arc<Hook>,
    /// The indices of its files in `watched_files`.
    file_indices: Vec<usize>,
    /// The settings file of the hook, if it was untrusted when the hook was read.
    untrusted_settings: Option<usize>,
}

impl Default for TamperWatch {
    /// Creates a watch over no files.
    fn default() -> Self {
        TamperWatch::from_state(TamperWatchState::default(), None)
    }
}

impl std::fmt::Debug for TamperWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guards")
    }
}

impl TamperWatch {
    /// Starts the watch. `pending` are changes of earlier sessions that the user has not trusted.
    pub(crate) fn new(
        loaded: &LoadedConfig,
        made_of: GuardedFiles,
        pending: &[PendingChange],
        ledger: LedgerStart,
        load: impl Fn() -> Option<Registry> + Send + Sync + 'static,
    ) -> Self {
        let (project, paths) = (loaded.project.root.clone(), Some(loaded.paths.clone()));
        let mut state =
            TamperWatchState { current_root: project.clone(), project, paths, ..TamperWatchState::default() };
        state.watch_configuration(loaded, made_of, pending);
        let before = hooks_before(&loaded.project.root, pending);
        state.view().problems.extend(missing_hooks::old_form_note(&before));
        let gone = missing_hooks::missing_from(before, &loaded.registry);
        state.stand_ins = gone.iter().filter_map(missing_hooks::stand_in_hook).collect();
        let mut own = Ledger::new(&loaded.paths, &loaded.project.root, &uuid::Uuid::new_v4().to_string());
        own.set_hooks(missing_hooks::ledger_hooks(loaded).into_iter().chain(gone).collect());
        state.ledger = Some(own);
        if ledger == LedgerStart::Immediate {
            state.ledger_error = state.open_ledger().err().map(|error| error.to_string());
        }
        state.update_view();
        TamperWatch::from_state(state, Some(Box::new(load)))
    }

    fn from_state(state: TamperWatchState, load: Option<Box<RegistryLoader>>) -> Self {
        let published = state.view.clone();
        TamperWatch {
            state: Mutex::new(state),
            view: published,
            has_unwatched_hooks: AtomicBool::default(),
            load_registry: load,
        }
    }

    fn view(&self) -> MutexGuard<'_, TamperWatchView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the paths that no tool changes without approval.
    pub(crate) fn protected(&self) -> Arc<ProtectedPaths> {
        self.view().protected.clone()
    }

    /// Returns the folder of the ledger and the error, if the ledger cannot be used.
    pub(crate) fn ledger_error(&self) -> Option<(PathBuf, String)> {
        let state = self.state();
        let folder = state.ledger.as_ref()?.path().parent()?.to_owned();
        Some((folder, state.ledger_error.clone()?))
    }

    /// Continues although the ledger could not be opened, and reports that to the user.
    pub(crate) fn continue_without_ledger(&self) {
        let mut state = self.state();
        if let Some(why) = state.ledger_error.take() {
            state.report_ledger_error(&why);
            state.save_ledger();
        }
    }

    /// Takes the problems with the records on disk that were not reported yet.
    pub(crate) fn take_unreported_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.view().problems)
    }

    fn state(&self) -> MutexGuard<'_, TamperWatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the hooks that run from now on, and the registry of the agent's background processes.
    pub(crate) fn arm(&self, loaded: &LoadedConfig, registry: &Registry, background: &Arc<ProcessGroups>) {
        let mut state = self.state();
        state.background = background.clone();
        state.arm_hooks(loaded, registry);
    }

    /// Accepts another configuration as the user's.
    pub(crate) fn reload(&self, loaded: &LoadedConfig, policies: &[PathBuf], registry: &Registry) {
        let mut state = self.state();
        state.watch_configuration(loaded, GuardedFiles::new(loaded, policies), &[]);
        state.stand_ins.clear();
        if let Some(ledger) = &mut state.ledger {
            ledger.set_hooks(missing_hooks::ledger_hooks(loaded));
        }
        state.arm_hooks(loaded, registry);
        state.save_ledger();
    }

    /// Returns the stand-ins for hooks that an earlier session's agent removed without the user's trust.
    pub(crate) fn stand_ins(&self) -> Vec<Hook> {
        self.view().stand_ins.clone()
    }

    /// Scans all files and returns whether none is untrusted, so that all changes are the user's.
    pub(crate) fn rescan_blocking(&self) -> bool {
        let mut state = self.state();
        self.rescan_all(&mut state);
        !state.watched_files.iter().any(WatchedFile::is_untrusted) && state.stale_declarations.is_empty()
    }

    /// Takes the changes by the agent that were not reported yet.
    pub(crate) fn take_unreported_changes(&self) -> Vec<GuardChange> {
        std::mem::take(&mut self.view().unreported)
    }

    /// Returns all untrusted changes.
    pub(crate) fn untrusted_changes(&self) -> Vec<GuardChange> {
        self.view().untrusted.iter().map(|file| file.change.clone()).collect()
    }

    /// Returns the untrusted changes that keep hooks of this name from running: files of the hooks,
    /// and their settings file if it affects them.
    pub(crate) fn untrusted_changes_of_hook(&self, name: &str) -> (Vec<GuardChange>, Option<GuardChange>) {
        let mut state = self.state();
        self.rescan_all(&mut state);
        let mut own = Vec::new();
        let mut settings = None;
        for armed in state.armed_hooks.iter().filter(|armed| armed.hook.id() == name) {
            let declared = state.stale_declarations.contains_key(&hook_address(&armed.hook));
            for at in armed.file_indices.iter().copied().filter(|at| state.watched_files[*at].is_untrusted()) {
                if state.watched_files[at].file.kind != GuardFileKind::Settings {
                    own.push(state.guard_change(at));
                } else if declared || armed.untrusted_settings == Some(at) {
                    settings = Some(state.guard_change(at));
                }
            }
        }
        own.dedup();
        (own, settings)
    }

    /// Returns the untrusted definitions of agents, commands and the system prompt,
    /// and folders of them, which are not used.
    pub(crate) fn untrusted_instructions(&self) -> UntrustedInstructions {
        let published = self.view();
        let held = published.untrusted.iter().filter(|file| file.kind == GuardFileKind::Instructions);
        UntrustedInstructions(held.map(|file| file.path.clone()).collect())
    }

    /// Accepts the present state of a file as the user's change.
    pub(crate) fn accept_user_change(&self, path: &Path) {
        let mut state = self.state();
        let project = state.project.clone();
        for watched in state.watched_files.iter_mut().filter(|watched| !watched.is_untrusted()) {
            if is_same_file(&watched.file.path, path) {
                watched.rescan(&project, |_| ChangeAuthor::User);
            }
        }
        state.save_ledger();
    }

    /// Returns whether any change is untrusted.
    pub(crate) fn has_untrusted_changes(&self) -> bool {
        !self.view().untrusted.is_empty()
    }

    /// Trusts changes, provided that the files are still as they were shown.
    pub(crate) fn trust(&self, changes: &[GuardChange]) {
        let mut state = self.state();
        self.rescan_all(&mut state);
        for at in 0..state.watched_files.len() {
            let now = state.guard_change(at);
            if changes.iter().any(|shown| shown.path == now.path) {
                let shown = changes.iter().find(|shown| **shown == now).map(|shown| shown.digest.clone());
                state.watched_files[at].trust(Some(shown.as_deref().unwrap_or_default()));
            }
        }
        state.view().unreported.clear();
        self.find_stale_declarations(&mut state);
        let files: Vec<_> =
            state.watched_files.iter().filter(|one| !one.is_untrusted()).map(|one| one.file.clone()).collect();
        if let Some(paths) = &state.paths {
            let earlier = pending_changes(paths, &state.project, &files);
            if let Err(error) = trust_changes(&state.project, &earlier.iter().collect::<Vec<_>>()) {
                tracing::warn!(%error, "the ledger of guards can't be written");
            }
        }
        state.save_ledger();
    }

    /// Runs a change of this file on behalf of the user.
    pub(crate) fn with_user_change<T>(&self, path: &Path, change: impl FnOnce() -> T) -> T {
        self.with_user_changes(&[path], change)
    }

    /// Runs a change of these files on behalf of the user.
    ///
    /// No other scan sees the files between the change and its attribution. The change must not use this watch.
    pub(crate) fn with_user_changes<T>(&self, paths: &[&Path], change: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        self.rescan_all(&mut state);
        let done = change();
        let project = state.project.clone();
        let mut taken = false;
        for watched in &mut state.watched_files {
            let is_changed = paths.iter().any(|path| is_same_file(&watched.file.path, path));
            if !watched.is_untrusted() && is_changed {
                taken |= watched.rescan(&project, |_| ChangeAuthor::User) == RescanResult::ChangedByUser;
            }
        }
        if taken {
            state.save_ledger();
        }
        done
    }

    /// Ends the watch with the session.
    pub(crate) fn end_session(&self) {
        let mut state = self.state();
        if state.ledger.as_ref().is_some_and(Ledger::is_unopened) {
            // Nothing has run that could have changed a file.
            state.ledger = None;
            state.watched_files.clear();
            return state.update_view();
        }
        if !state.watched_files.is_empty() && state.ledger_error.is_none() {
            state.repair_records();
        }
        self.rescan_all(&mut state);
        let entries = state.watched_files.iter().map(WatchedFile::ledger_entry).collect();
        if let Some(mut ledger) = state.ledger.take()
            && let Err(error) = ledger.close(entries)
        {
            state.report_write_failure(ledger.path(), &error.to_string());
        }
        state.watched_files.clear();
        state.update_view();
    }

    fn rescan_all(&self, state: &mut TamperWatchState) {
        self.record_unwatched_hooks(state);
        state.apply_external_trust();
        let everything = 0..state.watched_files.len();
        self.rescan_files(state, everything);
        state.last_full_scan = Some(Instant::now());
        state.hooks_ran_since_scan = false;
        // Only a scan of all files may reset this: processes that have ended may have changed any of them.
        state.had_background_processes = state.background.has_live_processes();
        state.publish_busy();
    }

    fn record_unwatched_hooks(&self, state: &mut TamperWatchState) {
        state.hooks_ran_since_scan |= self.has_unwatched_hooks.swap(false, Ordering::Relaxed);
    }

    fn rescan_files(&self, state: &mut TamperWatchState, places: impl IntoIterator<Item = usize>) {
        self.record_unwatched_hooks(state);
        state.follow_moved_project();
        let now = SystemTime::now();
        let (mut distrusted, mut moved) = (Vec::new(), false);
        for at in places {
            if !state.watched_files[at].may_have_changed(now) {
                continue;
            }
            match state.rescan_file(at) {
                RescanResult::Unchanged => {}
                RescanResult::ChangedByUser | RescanResult::Restored => moved = true,
                RescanResult::ChangedByAgent => distrusted.push(at),
            }
        }
        if distrusted.is_empty() && !moved {
            return;
        }
        let settings = |at: &usize| state.watched_files[*at].file.kind == GuardFileKind::Settings;
        if moved || distrusted.iter().any(settings) {
            self.find_stale_declarations(state);
        }
        for at in distrusted {
            let change = state.guard_change(at);
            tracing::warn!(path = change.path, deed = change.change_kind, "the agent changed what guards are made of");
            let mut published = state.view();
            published.unreported.retain(|known| known.path != change.path);
            published.unreported.push(change);
        }
        state.save_ledger();
    }

    /// Finds the hooks whose declaration in the settings on disk differs from the one that runs.
    fn find_stale_declarations(&self, state: &mut TamperWatchState) {
        let distrusted =
            state.watched_files.iter().any(|file| file.is_untrusted() && file.file.kind == GuardFileKind::Settings);
        state.stale_declarations.clear();
        if !distrusted {
            return;
        }
        // The folder at the old place of a moved project is another project.
        let in_place = state.current_root == state.project;
        let registry = self.load_registry.as_ref().filter(|_| in_place).and_then(|load| load()).unwrap_or_default();
        let runs = |hooks: &Registry| {
            let enabled = hooks.entries().filter(|(_, state)| **state == HookState::Enabled);
            enabled.map(|(hook, _)| (hook_identity(hook), declaration_text(hook))).collect::<Vec<_>>()
        };
        let now = runs(&registry);
        for ArmedHook { hook, .. } in &state.armed_hooks {
            let (identity, declaration) = (hook_identity(hook), declaration_text(hook));
            let change =
                match now.iter().filter(|(other, _)| *other == identity).map(|(_, other)| other).collect::<Vec<_>>() {
                    same if same.contains(&&declaration) => continue,
                    same if same.is_empty() => "removed from",
                    _ => "changed in",
                };
            let file = hook
                .location
                .as_ref()
                .map_or_else(|| "the settings".to_owned(), |place| state.display_path(&place.file));
            state.stale_declarations.insert(hook_address(hook), format!("it was {change} {file}"));
        }
    }
}

impl TrustGate for TamperWatch {
    fn check(&self, hook: &Arc<Hook>) -> Result<(), String> {
        let mut state = self.state();
        let key = hook_address(hook);
        let Some(at) = state.hook_indices.get(&key).copied() else { return Ok(()) };
        if state.stand_in_addresses.contains(&key) {
            let file = hook.location.as_ref().map(|place| state.display_path(&place.file)).unwrap_or_default();
            return Err(format!(
                "it was changed or removed in {file} while the agent worked; {PERSON_REQUIRED_MESSAGE}"
            ));
        }
        let files = std::mem::take(&mut state.armed_hooks[at].file_indices);
        self.rescan_files(&mut state, files.iter().copied());
        let doubtful =
            state.armed_hooks[at].untrusted_settings.filter(|settings| state.watched_files[*settings].is_untrusted());
        let own = |at: &&usize| {
            state.watched_files[**at].is_untrusted() && state.watched_files[**at].file.kind != GuardFileKind::Settings
        };
        let changed = files.iter().find(own).copied().or(doubtful).map(|at| state.guard_change(at));
        let why = match (changed, state.stale_declarations.get(&key)) {
            (Some(change), _) => Some(change.to_string()),
            (None, declared) => declared.map(|reason| format!("{reason} {}", state.change_attribution())),
        };
        state.armed_hooks[at].file_indices = files;
        why.map_or(Ok(()), |why| Err(format!("{why}, so it is not trusted; {PERSON_REQUIRED_MESSAGE}")))
    }
}

/// Returns whether two paths lead to the same file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns the address of a hook, which identifies it within the process.
fn hook_address(hook: &Arc<Hook>) -> usize {
    Arc::as_ptr(hook) as usize
}

/// Returns whether two hooks have the same identity and declaration.
fn has_same_declaration(one: &Hook, other: &Hook) -> bool {
    hook_identity(one) == hook_identity(other) && declaration_text(one) == declaration_text(other)
}

impl Drop for TamperWatch {
    /// Closes the ledger, so that only a killed session leaves it open.
    fn drop(&mut self) {
        self.end_session();
    }
}

#[cfg(test)]
mod tests;
