//! While what runs the changes of guards count as the agent's: its calls, and hooks, which may run its work.

use super::*;

/// For how long a look counts.
const FRESH: Duration = Duration::from_millis(5);

/// Something that may change guards, while it runs.
pub(crate) struct Window<'g> {
    guards: &'g Guards,
    kind: WindowKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowKind {
    Call,
    Hooks,
    /// Hooks of a turn.
    HooksOfTurn,
}

impl Guards {
    /// A call begins that may change something; `allowed` is the file that the user lets it change.
    pub(crate) fn call(&self, allowed: Option<PathBuf>) -> Window<'_> {
        let window = self.open(WindowKind::Call);
        self.state().allowed = allowed;
        window
    }

    /// Hooks begin to run. They are trusted, but what they run may be the agent's work.
    pub(crate) fn hooks(&self) -> Window<'_> {
        self.open(WindowKind::Hooks)
    }

    /// The same within a turn, at whose end [`Guards::rest`] is called.
    pub(crate) fn hooks_of_turn(&self) -> Window<'_> {
        self.open(WindowKind::HooksOfTurn)
    }

    /// MCP servers that are programs begin to run. What changes from now on may be their work, whenever it is noticed: nobody
    /// can tell it from the user's own.
    pub(crate) fn serve(&self) {
        let mut state = self.state();
        if !state.files.is_empty() && !state.serving {
            self.look_at_all(&mut state);
            state.rouse();
        }
        state.serving = true;
    }

    fn open(&self, kind: WindowKind) -> Window<'_> {
        let mut state = self.state();
        if !state.files.is_empty() {
            // What comes right after another look need not look again; should the user have changed something just then, the
            // agent is blamed, and the user asked.
            if state.looked.is_none_or(|at| at.elapsed() > FRESH) {
                self.look_at_all(&mut state);
            }
            *state.count(kind) += 1;
            state.rouse();
            state.tell_busy();
        }
        Window { guards: self, kind }
    }

    fn close_window(&self, kind: WindowKind) {
        let mut state = self.state();
        if state.files.is_empty() {
            return;
        }
        if kind == WindowKind::Call {
            state.tend();
        }
        // Hooks run for every piece of an answer. What they change is found by the next look, a moment later; should the user
        // have changed something just then, the agent is blamed, and the user asked.
        let is_crowd = kind == WindowKind::HooksOfTurn && state.seen_out.is_some_and(|at| at.elapsed() <= FRESH);
        if is_crowd {
            state.unseen = true;
        } else {
            self.look_at_all(&mut state);
            state.seen_out = state.looked;
        }
        let count = state.count(kind);
        *count = count.saturating_sub(1);
        state.allowed = None;
        state.tell_busy();
    }

    /// A turn is over: what changes after this is the user's.
    pub(crate) fn rest(&self) {
        let mut state = self.state();
        if state.unseen {
            self.look_at_all(&mut state);
        }
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.guards.close_window(self.kind);
    }
}
