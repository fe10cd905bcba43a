//! Applies the settings for colours and keys to the screen, also when they change during a session.

use std::time::Instant;

use crossterm::event::KeyEvent;
use hookwright_agent::session::SessionView;

use super::driver::ScreenDriver;
use super::theme::{self, FilteredKey, ThemeSetting};
use super::vim::Vim;
use crate::presentation::styled_text::DIM;

/// What is said when vi's keys are switched on.
const VIM_KEYS_HINT: &str = "with vi's keys, Esc starts moving and i starts writing";

/// The settings for colours and keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScreenAppearance {
    theme: Option<String>,
    vim: bool,
}

impl ScreenAppearance {
    pub(crate) fn from_view(view: &SessionView) -> Self {
        let settings = &view.loaded.settings;
        ScreenAppearance { theme: settings.ui.theme.clone(), vim: settings.general.vim_mode }
    }
}

impl ScreenDriver<'_> {
    /// Applies the current settings, as far as they differ from those before.
    pub(crate) fn apply_appearance(&mut self, before: Option<ScreenAppearance>) {
        let now = self.appearance.clone();
        if before.as_ref().is_none_or(|before| before.vim != now.vim) {
            self.app.vim = now.vim.then(Vim::default);
            if before.is_some() && now.vim {
                self.app.push_text(DIM, VIM_KEYS_HINT);
            }
        }
        if before.is_some_and(|before| before.theme == now.theme) {
            return;
        }
        match ThemeSetting::from_name(now.theme.as_deref()) {
            ThemeSetting::Fixed(theme) => self.screen.set_theme(theme),
            ThemeSetting::Auto => {
                self.screen.set_theme(theme::from_environment(self.world));
                self.reply_filter.mark_asked(Instant::now());
                // If the terminal is gone, the key reader notices it.
                let _ = self.screen.write(theme::BACKGROUND_QUERY);
            }
        }
    }

    /// Returns whether a key is part of a terminal's reply to a query, which is not typing.
    pub(crate) fn is_terminal_reply(&mut self, key: KeyEvent, now: Instant) -> bool {
        match self.reply_filter.filter(key, now) {
            FilteredKey::Typed => false,
            FilteredKey::Reply | FilteredKey::Background(None) => true,
            FilteredKey::Background(Some(theme)) => {
                self.screen.set_theme(theme);
                true
            }
        }
    }
}
