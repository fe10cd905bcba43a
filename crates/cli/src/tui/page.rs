//! Whole pages over the session that something is chosen on: turns to go back to, sessions to go on with.

use crossterm::event::KeyEvent;
use hookwright_agent::session::{Order, Reply};
use hookwright_agent::transcript::SessionInfo;

use super::driver::Driver;
use super::picker::{Picked, Picker};
use super::restore::{RestorePage, Then};
use super::sessions;
use super::text::Line;

/// What is chosen on it.
pub(crate) enum Page {
    Restore(Box<RestorePage>),
    Sessions(Picker<SessionInfo>),
}

impl Driver<'_> {
    /// Opens the page that an answer is for, if there is one; else the answer is to be shown.
    pub(crate) fn open_page(&mut self, reply: Reply) -> Option<Reply> {
        self.page = match reply {
            Reply::Checkpoints(all) => {
                let view = self.session.view();
                let plan = |number| view.services.plan(number).map_err(|error| error.to_string());
                Some(Page::Restore(Box::new(RestorePage::new(all, &view.session_id(), plan))))
            }
            Reply::Sessions(all) => Some(Page::Sessions(sessions::picker(all))),
            other => return Some(other),
        };
        None
    }

    /// A key while a page is open.
    pub(crate) fn page_key(&mut self, key: KeyEvent) {
        let order = match &mut self.page {
            None => return,
            Some(Page::Restore(page)) => {
                let view = self.session.view();
                match page.key(key, |number| view.services.plan(number).map_err(|error| error.to_string())) {
                    Then::Open => return,
                    Then::Close => None,
                    Then::Do(order) => Some(order),
                }
            }
            Some(Page::Sessions(picker)) => match picker.key(key) {
                Picked::Open => return,
                Picked::Closed => None,
                Picked::Chosen => picker.current().map(|session| Order::Resume(Some(session.id.clone()))),
            },
        };
        self.page = None;
        order.into_iter().for_each(|order| self.session.order(order));
    }

    /// The page that is open, in so many columns and rows.
    pub(crate) fn page_view(&self, columns: usize, rows: usize) -> Option<Vec<Line>> {
        let waits = !self.app.dialogs.is_empty();
        Some(match self.page.as_ref()? {
            Page::Restore(page) => page.view(waits, columns, rows),
            Page::Sessions(picker) => sessions::view(picker, columns, rows),
        })
    }
}
