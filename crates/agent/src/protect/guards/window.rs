//! While what runs the changes of guards count as the agent's: its calls, and hooks, which may run its work.
//!
//! Opening and closing a window rescans the guards' files, on a thread for blocking work and for a bounded time.

use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_hooks::{DISK_SILENT, DISK_TIMEOUT, within_disk_timeout};
use tokio::runtime::Handle;

use super::*;

/// For how long a scan counts as current.
const FRESH_SCAN_PERIOD: Duration = Duration::from_millis(5);

/// Something that may change guards, while it runs.
pub(crate) struct Window {
    guards: Arc<Guards>,
    kind: WindowKind,
    /// Set by the opening scan when it has counted this window, or by the caller that no longer waits for it.
    claimed: Arc<AtomicBool>,
    is_closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowKind {
    Call,
    Hooks,
    /// Hooks of a turn.
    HooksOfTurn,
}

impl Guards {
    /// A call begins that may change something; `allowed` is the file that the user lets it change. Nothing if the disk does
    /// not answer: then the call must not run.
    pub(crate) async fn call(self: &Arc<Self>, allowed: Option<PathBuf>) -> Option<Window> {
        self.open(WindowKind::Call, allowed).await
    }

    /// Hooks begin to run. They are trusted, but what they run may be the agent's work.
    ///
    /// Nothing if the disk does not answer; then what has changed by the next scan counts as the agent's.
    pub(crate) async fn hooks(self: &Arc<Self>) -> Option<Window> {
        self.open(WindowKind::Hooks, None).await
    }

    /// The same within a turn, at whose end [`Guards::rest`] is called.
    pub(crate) async fn hooks_of_turn(self: &Arc<Self>) -> Option<Window> {
        self.open(WindowKind::HooksOfTurn, None).await
    }

    /// MCP servers that are programs begin to run. From now on any change may be their work, whenever it is noticed: it can't
    /// be told from the user's own.
    pub(crate) fn serve(&self) {
        let mut state = self.state();
        if !state.files.is_empty() && !state.serving {
            self.look_at_all(&mut state);
            state.rouse();
        }
        state.serving = true;
    }

    async fn open(self: &Arc<Self>, kind: WindowKind, allowed: Option<PathBuf>) -> Option<Window> {
        let window = Window::new(self, kind);
        if self.open_without_scan(&window) {
            return Some(window);
        }
        let (guards, claimed) = (self.clone(), window.claimed.clone());
        if within_disk_timeout(move || guards.open_with_scan(kind, allowed, &claimed)).await.is_some() {
            return Some(window);
        }
        if kind != WindowKind::Call {
            self.unwatched.store(true, Ordering::Relaxed);
        }
        self.report_silent_disk();
        None
    }

    /// Opens a window for hooks right after another scan, so that the disk is not touched; whether that is so.
    ///
    /// A user's change in that moment is blamed on the agent, and the user is asked.
    fn open_without_scan(&self, window: &Window) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        let is_current = state.looked.is_some_and(|at| at.elapsed() <= FRESH_SCAN_PERIOD) && state.is_roused();
        if !state.files.is_empty() && !(is_current && window.kind != WindowKind::Call) {
            return false;
        }
        *state.count(window.kind) += 1;
        window.claimed.store(true, Ordering::Relaxed);
        true
    }

    fn open_with_scan(&self, kind: WindowKind, allowed: Option<PathBuf>, claimed: &AtomicBool) {
        let mut state = self.state();
        if state.looked.is_none_or(|at| at.elapsed() > FRESH_SCAN_PERIOD) {
            self.look_at_all(&mut state);
        }
        if claimed.swap(true, Ordering::Relaxed) {
            return;
        }
        *state.count(kind) += 1;
        state.rouse();
        state.tell_busy();
        if kind == WindowKind::Call {
            state.allowed = allowed;
        }
    }

    /// Closes a window of a turn's hooks right after another scan; whether that is so. The next scan, a moment later, finds
    /// what they changed.
    fn close_without_scan(&self, kind: WindowKind) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        let is_current = state.seen_out.is_some_and(|at| at.elapsed() <= FRESH_SCAN_PERIOD);
        if !state.files.is_empty() && !(is_current && kind == WindowKind::HooksOfTurn) {
            return false;
        }
        state.unseen |= !state.files.is_empty();
        let count = state.count(kind);
        *count = count.saturating_sub(1);
        true
    }

    fn close_with_scan(&self, kind: WindowKind) {
        let mut state = self.state();
        if kind == WindowKind::Call && !state.files.is_empty() {
            state.tend();
        }
        self.look_at_all(&mut state);
        state.seen_out = state.looked;
        let count = state.count(kind);
        *count = count.saturating_sub(1);
        if kind == WindowKind::Call {
            state.allowed = None;
        }
        state.tell_busy();
    }

    /// A turn is over: what changes after this is the user's.
    pub(crate) async fn rest(self: &Arc<Self>) {
        let is_scanned = self.state.try_lock().is_ok_and(|state| !state.unseen);
        if !is_scanned {
            self.rescan().await;
        }
    }

    /// Looks at everything, on a thread for blocking work; whether nothing waits for trust. What the disk does not answer is
    /// reported, and is no.
    pub(crate) async fn rescan(self: &Arc<Self>) -> bool {
        let guards = self.clone();
        let scanned = within_disk_timeout(move || guards.look()).await;
        if scanned.is_none() {
            self.report_silent_disk();
        }
        scanned.unwrap_or(false)
    }

    fn report_silent_disk(&self) {
        let text =
            format!("{DISK_SILENT}, so it is not known yet whether the agent has changed what guards are made of");
        self.published().report_problem(text);
    }
}

impl Window {
    pub(super) fn new(guards: &Arc<Guards>, kind: WindowKind) -> Self {
        Window { guards: guards.clone(), kind, claimed: Arc::default(), is_closed: false }
    }

    /// Closes the window and waits until the guards' files have been scanned, a bounded time. If the disk does not answer,
    /// the window stays open until it does, and what changes meanwhile counts as the agent's.
    pub(crate) async fn close(mut self) {
        let Some(task) = self.start_to_close() else { return };
        if tokio::time::timeout(DISK_TIMEOUT, task).await.is_err() {
            self.guards.report_silent_disk();
        }
    }

    /// The scan that closes it, if one is needed and there is a runtime to run it on.
    fn start_to_close(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        let is_opened = self.claimed.swap(true, Ordering::Relaxed);
        if std::mem::replace(&mut self.is_closed, true) || !is_opened || self.guards.close_without_scan(self.kind) {
            return None;
        }
        let (guards, kind) = (self.guards.clone(), self.kind);
        match Handle::try_current() {
            Ok(runtime) => Some(runtime.spawn_blocking(move || guards.close_with_scan(kind))),
            Err(_) => {
                guards.close_with_scan(kind);
                None
            }
        }
    }
}

impl Drop for Window {
    /// Closes the window of work that was cancelled.
    fn drop(&mut self) {
        drop(self.start_to_close());
    }
}

#[cfg(test)]
impl Window {
    /// Opens a window on this thread.
    pub(super) fn opened(guards: &Arc<Guards>, kind: WindowKind, allowed: Option<PathBuf>) -> Self {
        let window = Window::new(guards, kind);
        if !guards.open_without_scan(&window) {
            guards.open_with_scan(kind, allowed, &window.claimed);
        }
        window
    }
}
