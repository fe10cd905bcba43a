//! What the session reads of the watch at any time. The watch's own state is locked while a scan waits for the disk; this is
//! locked for a moment only, so that a dead mount blocks no task of the session.

use super::*;

#[derive(Default)]
pub(super) struct Published {
    pub(super) protected: Arc<Protected>,
    pub(super) stand_ins: Vec<Hook>,
    /// Changes that wait for the user's trust.
    pub(super) untrusted: Vec<UntrustedFile>,
    /// Changes that the session has not reported yet.
    pub(super) unreported: Vec<GuardChange>,
    /// Problems with the record on disk that the session has not reported yet.
    pub(super) problems: Vec<String>,
}

pub(super) struct UntrustedFile {
    pub(super) kind: GuardKind,
    pub(super) path: PathBuf,
    pub(super) change: GuardChange,
}

impl Published {
    pub(super) fn report_problem(&mut self, text: String) {
        tracing::warn!("{text}");
        if !self.problems.contains(&text) {
            self.problems.push(text);
        }
    }
}

impl State {
    pub(super) fn published(&self) -> MutexGuard<'_, Published> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes known what has changed here.
    pub(super) fn publish(&self) {
        let untrusted = |at: usize| {
            let file = &self.files[at].file;
            UntrustedFile { kind: file.kind, path: file.path.clone(), change: self.change(at) }
        };
        let waiting = (0..self.files.len()).filter(|at| self.files[*at].is_distrusted());
        let untrusted = waiting.map(untrusted).collect();
        let mut published = self.published();
        published.protected = self.protected.clone();
        published.stand_ins.clone_from(&self.stand_ins);
        published.untrusted = untrusted;
    }
}
