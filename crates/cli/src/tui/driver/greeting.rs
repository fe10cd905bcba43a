//! What is said before the first prompt.

use hookwright_agent::session::Order;

use super::Driver;
use crate::greeting::{NO_MODEL, NO_MODEL_HOW, TIPS};
use crate::tui::block::Block;
use crate::tui::text::{BOLD, DIM, Line, PLAIN, WARN};

impl Driver<'_> {
    /// What is said before the first prompt.
    pub(super) fn greet(&mut self, problems: &[String]) {
        let ui = self.session.view().loaded.settings.ui.clone();
        if !ui.hide_banner {
            let line = Line::of(BOLD, "Hookwright").with(DIM, format!(" {}", env!("CARGO_PKG_VERSION")));
            let tips = if ui.hide_tips { String::new() } else { format!("  {TIPS}") };
            self.app.say(Block::line(line.with(DIM, tips)));
        }
        if self.app.status.model == "offline" {
            let line = Line::of(WARN, format!("{NO_MODEL}: ")).hanging(2);
            self.app.say(Block::line(line.with(PLAIN, NO_MODEL_HOW)));
        }
        for problem in problems {
            self.app.tell(WARN, format!("! {problem}"));
        }
        if let Some(prompt) = crate::tui::first_prompt(self.args) {
            if let Some(trouble) = self.app.history.add(&prompt) {
                self.app.tell(WARN, trouble);
            }
            self.session.order(Order::Prompt(prompt));
        }
    }
}
