//! The greeting before the first prompt.

use hookwright_agent::session::SessionCommand;

use super::ScreenDriver;
use crate::frontend::tui::block::ScrollbackBlock;
use crate::presentation::session_messages::{NO_MODEL_HINT, NO_MODEL_NOTICE, STARTUP_TIPS, is_model_offline};
use crate::presentation::styled_text::{BOLD, DIM, PLAIN, StyledLine, WARN};

impl ScreenDriver<'_> {
    /// Shows the banner and the tips, and sends the first prompt of the command line.
    pub(super) fn show_greeting(&mut self) {
        let view = self.session.view();
        let ui = &view.loaded.settings.ui;
        if !ui.hide_banner {
            let line = StyledLine::styled(BOLD, "Hookwright").with_text(DIM, format!(" {}", env!("CARGO_PKG_VERSION")));
            let tips = if ui.hide_tips { String::new() } else { format!("  {STARTUP_TIPS}") };
            self.app.push_block(ScrollbackBlock::line(line.with_text(DIM, tips)));
        }
        if is_model_offline(&view) {
            let line = StyledLine::styled(WARN, format!("{NO_MODEL_NOTICE}: ")).with_hanging_indent(2);
            self.app.push_block(ScrollbackBlock::line(line.with_text(PLAIN, NO_MODEL_HINT)));
        }
        if let Some(prompt) = crate::frontend::session_options::first_prompt(self.args) {
            if let Some(trouble) = self.app.history.add(&prompt) {
                self.app.push_text(WARN, trouble);
            }
            self.session.send(SessionCommand::Prompt(prompt));
        }
    }
}
