//! The view that the session reads at any time.
//!
//! The watch's own state is locked while a scan waits for the disk. The view is locked only briefly, so that a dead
//! mount blocks no task of the session.

use super::*;

#[derive(Default)]
pub(super) struct TamperWatchView {
    pub(super) protected: Arc<ProtectedPaths>,
    pub(super) stand_ins: Vec<Hook>,
    /// Changes that wait for the user's trust.
    pub(super) untrusted: Vec<UntrustedFile>,
    /// Changes that the session has not reported yet.
    pub(super) unreported: Vec<GuardChange>,
    /// Problems with the record on disk that the session has not reported yet.
    pub(super) problems: Vec<String>,
}

pub(super) struct UntrustedFile {
    pub(super) kind: GuardFileKind,
    pub(super) path: PathBuf,
    pub(super) change: GuardChange,
}

impl TamperWatchView {
    pub(super) fn report_problem(&mut self, text: String) {
        tracing::warn!("{text}");
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }
}

impl TamperWatchState {
    pub(super) fn view(&self) -> MutexGuard<'_, TamperWatchView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the present state to the view.
    pub(super) fn update_view(&self) {
        let untrusted = |at: usize| {
            let file = &self.watched_files[at].file;
            UntrustedFile { kind: file.kind, path: file.path.clone(), change: self.guard_change(at) }
        };
        let waiting = (0..self.watched_files.len()).filter(|at| self.watched_files[*at].is_untrusted());
        let untrusted = waiting.map(untrusted).collect();
        let mut published = self.view();
        published.protected = self.protected.clone();
        published.stand_ins.clone_from(&self.stand_ins);
        published.untrusted = untrusted;
    }
}
