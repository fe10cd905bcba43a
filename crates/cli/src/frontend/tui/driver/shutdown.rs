//! The end of a session on the screen: shows what is waited for, prints the exit summary, and restores the terminal.

use std::time::{Duration, Instant};

use hookwright_agent::session::Shutdown;

use super::{ScreenDriver, TICK_INTERVAL};
use crate::frontend::tui::screen::ScreenFrame;
use crate::frontend::tui::terminal;
use crate::presentation::session_messages::{ExitSummary, FAREWELL_MESSAGE};
use crate::presentation::styled_text::{DIM, WARN};

/// The activity shown while the session ends.
const LEAVING_LABEL: &str = "Leaving";
/// How long running tools have to end, in addition to the time of SessionEnd hooks.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(4);

impl ScreenDriver<'_> {
    /// Waits for the session's end, draws events until then, and returns the last warnings.
    async fn wait_for_session_end(&mut self) -> Vec<String> {
        self.app.set_busy(LEAVING_LABEL, Instant::now());
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => {
                        self.app.handle_event(event, Instant::now());
                        // A turn has ended, but the session has not.
                        if self.app.busy.is_none() {
                            self.app.set_busy(LEAVING_LABEL, Instant::now());
                        }
                    }
                    None => break,
                },
                // The terminal may be gone.
                () = tokio::time::sleep(TICK_INTERVAL) => drop(self.draw()),
            }
        }
        (&mut self.session_task).await.unwrap_or_default()
    }

    /// Ends the session: cancels running work, waits for SessionEnd hooks, and restores the terminal.
    pub(super) async fn end_session(&mut self) {
        let grace = self.session.view().services.hooks.session_end_grace();
        self.session.end(Shutdown::Now, self.end_reason);
        self.app.overlays.close_all();
        self.app.is_leaving = true;
        // The summary needs the session, which is gone when it is printed.
        let farewell = ExitSummary::for_session(&self.session.view());
        // The timeout includes the hooks' own time.
        let ended = tokio::time::timeout(SHUTDOWN_GRACE_PERIOD + grace, self.wait_for_session_end()).await;
        let warnings = ended.unwrap_or_else(|_| self.session.finish_observers());
        warnings.iter().for_each(|warning| self.app.push_text(WARN, format!("! {warning}")));
        self.app.busy = None;
        if self.exit_code.is_some() {
            self.app.push_text(DIM, FAREWELL_MESSAGE);
        }
        farewell
            .lines(&self.events.statistics(), self.started.elapsed())
            .iter()
            .for_each(|line| self.app.push_text(DIM, line));
        let nothing = ScreenFrame { size: Some(terminal::size()), ..ScreenFrame::default() };
        // The terminal may be gone.
        let _ = self.screen.draw(self.app.take_finished(), &nothing);
        let _ = self.screen.finish();
    }
}
