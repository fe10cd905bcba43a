//! Windows during which changes to guard files are attributed to the agent: its calls, and
//! hooks, which may run programs of the agent.
//!
//! Opening and closing a window scans the guard files on a blocking thread, with a timeout.

use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_hooks::{DISK_TIMEOUT, DISK_TIMEOUT_MESSAGE, run_with_disk_timeout};
use tokio::runtime::Handle;

use super::*;

/// The period for which a scan counts as current.
const FRESH_SCAN_PERIOD: Duration = Duration::from_millis(5);

/// A window during which changes are attributed to the agent.
pub(crate) struct TamperWindow {
    watch: Arc<TamperWatch>,
    kind: TamperWindowKind,
    /// Set by the opening scan when it has counted this window, or by the caller when it no longer waits.
    claimed: Arc<AtomicBool>,
    is_closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TamperWindowKind {
    Call,
    Hooks,
    /// The hooks of an event within a turn.
    TurnHooks,
}

impl TamperWatch {
    /// Opens the window of a call that may change files; `allowed` is the file that the user lets it change.
    ///
    /// Returns `None` if the disk does not answer: then the call must not run.
    pub(crate) async fn open_call_window(self: &Arc<Self>, allowed: Option<PathBuf>) -> Option<TamperWindow> {
        self.open_window(TamperWindowKind::Call, allowed).await
    }

    /// Opens a window for hooks, which are trusted but may run programs of the agent.
    ///
    /// Returns `None` if the disk does not answer; then changes up to the next scan are attributed to the agent.
    pub(crate) async fn open_hook_window(self: &Arc<Self>) -> Option<TamperWindow> {
        self.open_window(TamperWindowKind::Hooks, None).await
    }

    /// Opens a window for hooks within a turn, at whose end [`TamperWatch::end_turn`] is called.
    pub(crate) async fn open_turn_hook_window(self: &Arc<Self>) -> Option<TamperWindow> {
        self.open_window(TamperWindowKind::TurnHooks, None).await
    }

    /// Notes that MCP servers run as child processes.
    ///
    /// From now on any change may be theirs, as it cannot be told from the user's.
    pub(crate) fn note_servers_started(&self) {
        let mut state = self.state();
        if !state.watched_files.is_empty() && !state.has_servers {
            self.rescan_all(&mut state);
            state.begin_ledger_activity();
        }
        state.has_servers = true;
    }

    async fn open_window(self: &Arc<Self>, kind: TamperWindowKind, allowed: Option<PathBuf>) -> Option<TamperWindow> {
        let window = TamperWindow::new(self, kind);
        if self.open_without_scan(&window) {
            return Some(window);
        }
        let (guards, claimed) = (self.clone(), window.claimed.clone());
        if run_with_disk_timeout(move || guards.open_with_scan(kind, allowed, &claimed)).await.is_some() {
            return Some(window);
        }
        if kind != TamperWindowKind::Call {
            self.has_unwatched_hooks.store(true, Ordering::Relaxed);
        }
        self.report_silent_disk();
        None
    }

    /// Opens a window without a scan if the last one is current; returns whether it did.
    ///
    /// A change by the user within that moment is attributed to the agent, and the user is asked.
    fn open_without_scan(&self, window: &TamperWindow) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        let is_current =
            state.last_full_scan.is_some_and(|at| at.elapsed() <= FRESH_SCAN_PERIOD) && state.is_ledger_active();
        let needs_no_scan = state.watched_files.is_empty() || is_current && window.kind != TamperWindowKind::Call;
        if !needs_no_scan {
            return false;
        }
        *state.running_count(window.kind) += 1;
        window.claimed.store(true, Ordering::Relaxed);
        true
    }

    fn open_with_scan(&self, kind: TamperWindowKind, allowed: Option<PathBuf>, claimed: &AtomicBool) {
        let mut state = self.state();
        if state.last_full_scan.is_none_or(|at| at.elapsed() > FRESH_SCAN_PERIOD) {
            self.rescan_all(&mut state);
        }
        if claimed.swap(true, Ordering::Relaxed) {
            return;
        }
        *state.running_count(kind) += 1;
        state.begin_ledger_activity();
        state.publish_busy();
        if kind == TamperWindowKind::Call {
            state.allowed_path = allowed;
        }
    }

    /// Closes the window of a turn's hooks without a scan if the last one is current; returns whether it did.
    ///
    /// The next scan finds what they changed.
    fn close_without_scan(&self, kind: TamperWindowKind) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        let is_current = state.last_window_closed.is_some_and(|at| at.elapsed() <= FRESH_SCAN_PERIOD);
        let needs_no_scan = state.watched_files.is_empty() || is_current && kind == TamperWindowKind::TurnHooks;
        if !needs_no_scan {
            return false;
        }
        state.hooks_ran_since_scan |= !state.watched_files.is_empty();
        let count = state.running_count(kind);
        *count = count.saturating_sub(1);
        true
    }

    fn close_with_scan(&self, kind: TamperWindowKind) {
        let mut state = self.state();
        if kind == TamperWindowKind::Call && !state.watched_files.is_empty() {
            state.repair_records();
        }
        self.rescan_all(&mut state);
        state.last_window_closed = state.last_full_scan;
        let count = state.running_count(kind);
        *count = count.saturating_sub(1);
        if kind == TamperWindowKind::Call {
            state.allowed_path = None;
        }
        state.publish_busy();
    }

    /// Ends a turn: later changes are the user's.
    pub(crate) async fn end_turn(self: &Arc<Self>) {
        let is_scanned = self.state.try_lock().is_ok_and(|state| !state.hooks_ran_since_scan);
        if !is_scanned {
            self.rescan().await;
        }
    }

    /// Scans all files on a blocking thread and returns whether none is untrusted.
    ///
    /// A disk that does not answer is reported, and the result is false.
    pub(crate) async fn rescan(self: &Arc<Self>) -> bool {
        let guards = self.clone();
        let scanned = run_with_disk_timeout(move || guards.rescan_blocking()).await;
        if scanned.is_none() {
            self.report_silent_disk();
        }
        scanned.unwrap_or(false)
    }

    fn report_silent_disk(&self) {
        let text = format!(
            "{DISK_TIMEOUT_MESSAGE}, so it is not known yet whether the agent has changed files that guards depend on"
        );
        self.view().report_problem(text);
    }
}

impl TamperWindow {
    pub(super) fn new(guards: &Arc<TamperWatch>, kind: TamperWindowKind) -> Self {
        TamperWindow { watch: guards.clone(), kind, claimed: Arc::default(), is_closed: false }
    }

    /// Closes the window and waits for the scan, up to the disk timeout.
    ///
    /// If the disk does not answer, the window stays open until it does, and
    /// changes meanwhile are attributed to the agent.
    pub(crate) async fn close(mut self) {
        let Some(task) = self.begin_close() else { return };
        if tokio::time::timeout(DISK_TIMEOUT, task).await.is_err() {
            self.watch.report_silent_disk();
        }
    }

    /// Starts the scan that closes the window, if one is needed; without a runtime it runs in place.
    fn begin_close(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let is_opened = self.claimed.swap(true, Ordering::Relaxed);
        if std::mem::replace(&mut self.is_closed, true) || !is_opened || self.watch.close_without_scan(self.kind) {
            return None;
        }
        let (guards, kind) = (self.watch.clone(), self.kind);
        match Handle::try_current() {
            Ok(runtime) => Some(runtime.spawn_blocking(move || guards.close_with_scan(kind))),
            Err(_) => {
                guards.close_with_scan(kind);
                None
            }
        }
    }
}

impl Drop for TamperWindow {
    /// Closes the window of cancelled work.
    fn drop(&mut self) {
        drop(self.begin_close());
    }
}

#[cfg(test)]
impl TamperWindow {
    /// Opens a window on this thread.
    pub(super) fn open_for_test(guards: &Arc<TamperWatch>, kind: TamperWindowKind, allowed: Option<PathBuf>) -> Self {
        let window = TamperWindow::new(guards, kind);
        if !guards.open_without_scan(&window) {
            guards.open_with_scan(kind, allowed, &window.claimed);
        }
        window
    }
}
