//! Full-screen pages on which the user chooses: turns to go back to, and sessions to resume.

use crossterm::event::KeyEvent;
use hookwright_agent::session::{Reply, SessionCommand};
use hookwright_agent::transcript::SessionInfo;

use super::driver::ScreenDriver;
use super::picker::{Picker, PickerReaction};
use super::restore_page::{RestorePage, RestoreReaction};
use super::session_picker;
use crate::presentation::styled_text::StyledLine;

/// A page that is open.
pub(crate) enum ChoicePage {
    Restore(Box<RestorePage>),
    Sessions(Picker<SessionInfo>),
}

impl ScreenDriver<'_> {
    /// Opens the page for a reply, or returns the reply if it has no page.
    pub(crate) fn open_page(&mut self, reply: Reply) -> Option<Reply> {
        self.page = match reply {
            Reply::Checkpoints(all) => {
                let view = self.session.view();
                let plan = |number| view.services.plan_restore(number).map_err(|error| error.to_string());
                Some(ChoicePage::Restore(Box::new(RestorePage::new(all, &view.session_id(), plan))))
            }
            Reply::Sessions(all) => Some(ChoicePage::Sessions(session_picker::session_picker(all))),
            other => return Some(other),
        };
        None
    }

    /// Handles a key while a page is open.
    pub(crate) fn handle_page_key(&mut self, key: KeyEvent) {
        let order = match &mut self.page {
            None => return,
            Some(ChoicePage::Restore(page)) => {
                let view = self.session.view();
                match page
                    .handle_key(key, |number| view.services.plan_restore(number).map_err(|error| error.to_string()))
                {
                    RestoreReaction::Open => return,
                    RestoreReaction::Close => None,
                    RestoreReaction::Run(order) => Some(order),
                }
            }
            Some(ChoicePage::Sessions(picker)) => match picker.handle_key(key) {
                PickerReaction::Open => return,
                PickerReaction::Closed => None,
                PickerReaction::Chosen => {
                    picker.current().map(|session| SessionCommand::Resume(Some(session.id.clone())))
                }
            },
        };
        self.page = None;
        order.into_iter().for_each(|order| self.session.send(order));
    }

    /// Returns the open page's lines in so many columns and rows.
    pub(crate) fn page_view(&self, columns: usize, rows: usize) -> Option<Vec<StyledLine>> {
        let waits = !self.app.dialogs.is_empty();
        Some(match self.page.as_ref()? {
            ChoicePage::Restore(page) => page.view(waits, columns, rows),
            ChoicePage::Sessions(picker) => session_picker::view(picker, columns, rows),
        })
    }
}
