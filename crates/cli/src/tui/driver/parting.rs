//! The end of a session on the screen: what it waits for is shown, the last words are said, the terminal is given back.

use std::time::{Duration, Instant};

use hookwright_agent::session::When;

use super::{Driver, TICK};
use crate::farewell::Farewell;
use crate::tui::screen::Frame;
use crate::tui::terminal;
use crate::tui::text::{DIM, WARN};

/// What the session is busy with at its end.
const LEAVING: &str = "Leaving";
/// The last words, which scripts made for Gemini CLI look for.
pub(crate) const FAREWELL: &str = "Agent powering down. Goodbye!";
/// What tools left running gets this long, beside the time that SessionEnd hooks have.
const PARTING: Duration = Duration::from_secs(4);

impl Driver<'_> {
    /// Shows what the session's end waits for, until there is nothing more.
    async fn see_out(&mut self) {
        self.app.begin(LEAVING, Instant::now());
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => {
                        self.telemetry.record(&event);
                        self.app.agent(event, Instant::now());
                        // What ran has ended; the session has not.
                        if self.app.busy.is_none() {
                            self.app.begin(LEAVING, Instant::now());
                        }
                    }
                    None => break,
                },
                // A terminal that is gone is told nothing.
                () = tokio::time::sleep(TICK) => drop(self.draw()),
            }
        }
        let _ = (&mut self.ended).await;
    }

    /// Ends the session: what runs is cancelled, SessionEnd fires, the terminal is given back.
    pub(super) async fn part(&mut self) {
        let grace = self.session.view().services.hooks.session_end_grace();
        self.session.end(When::Now, self.reason);
        (self.panel, self.pager, self.page) = (None, None, None);
        self.app.dialogs.clear();
        self.app.parting = true;
        // The last words need the session, which is gone when they are said.
        let farewell = Farewell::of(&self.session.view());
        // Hooks have been given their time by then.
        let _ = tokio::time::timeout(PARTING + grace, self.see_out()).await;
        let warnings = std::mem::take(&mut self.telemetry).shutdown();
        warnings.iter().for_each(|warning| self.app.tell(WARN, format!("! {warning}")));
        self.app.busy = None;
        if self.leave.is_some() {
            self.app.tell(DIM, FAREWELL);
        }
        farewell.lines(&self.app.stats, self.since.elapsed()).iter().for_each(|line| self.app.tell(DIM, line));
        let nothing = Frame { size: Some(terminal::size()), ..Frame::default() };
        // A terminal that is gone takes no farewell.
        let _ = self.screen.draw(self.app.take_out(), &nothing);
        let _ = self.screen.finish();
    }
}
