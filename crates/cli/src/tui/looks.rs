//! The screen follows what the settings say of its colours and keys, as soon as they say it.

use std::time::Instant;

use crossterm::event::KeyEvent;
use hookwright_agent::session::SessionView;

use super::driver::Driver;
use super::theme::{self, FilteredKey, Wanted};
use super::vim::Vim;

/// What the settings say of colours and keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Looks {
    theme: Option<String>,
    vim: bool,
}

impl Looks {
    pub(crate) fn of(view: &SessionView) -> Self {
        let settings = &view.loaded.settings;
        Looks { theme: settings.ui.theme.clone(), vim: settings.general.vim_mode }
    }
}

impl Driver<'_> {
    /// Colours and keys as the settings say now; only what is different is changed.
    pub(crate) fn follow_looks(&mut self, before: Option<Looks>) {
        let now = self.looks.clone();
        if before.as_ref().is_none_or(|before| before.vim != now.vim) {
            self.app.vim = now.vim.then(Vim::default);
        }
        if before.is_some_and(|before| before.theme == now.theme) {
            return;
        }
        match Wanted::named(now.theme.as_deref()) {
            Wanted::This(theme) => self.screen.set_theme(theme),
            Wanted::Auto => {
                self.screen.set_theme(theme::by_environment(self.world));
                self.replies.asked(Instant::now());
                // A terminal that is gone is noticed by whoever reads its keys.
                let _ = self.screen.write(theme::QUESTION);
            }
        }
    }

    /// Whether a key is part of a terminal's reply to a query, which is not typing.
    pub(crate) fn is_reply(&mut self, key: KeyEvent, now: Instant) -> bool {
        match self.replies.filter(key, now) {
            FilteredKey::Typed => false,
            FilteredKey::Reply | FilteredKey::Background(None) => true,
            FilteredKey::Background(Some(theme)) => {
                self.screen.set_theme(theme);
                true
            }
        }
    }
}
