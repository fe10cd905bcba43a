//! A full-screen list with a search and the details of the selected item.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::menu::{Menu, MenuFilter, MenuItem, MenuReaction};
use crate::presentation::styled_text::{BOLD, DIM, NOTE, StyledLine};

/// The number of rows by which Page Up and Page Down scroll the details.
const PAGE_ROWS: usize = 10;

/// The state of a picker.
pub(crate) struct Picker<T> {
    title: &'static str,
    pub(crate) menu: Menu<T>,
    /// The number of rows by which the details are scrolled.
    scroll: usize,
}

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickerReaction {
    /// The picker stays open; the selection may have changed.
    Open,
    /// The selected item was chosen.
    Chosen,
    /// The picker was closed without a choice.
    Closed,
}

impl<T: MenuItem> Picker<T> {
    pub(crate) fn new(title: &'static str, items: Vec<T>) -> Self {
        Picker { title, menu: Menu::list(MenuFilter::Fuzzy, items), scroll: 0 }
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> PickerReaction {
        match key.code {
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => return PickerReaction::Closed,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE_ROWS),
            KeyCode::PageDown => self.scroll += PAGE_ROWS,
            code => {
                let before = self.menu.selection().0;
                match self.menu.handle_key(key) {
                    MenuReaction::Chosen(_) => return PickerReaction::Chosen,
                    MenuReaction::Passed if matches!(code, KeyCode::Esc | KeyCode::Char('q')) => {
                        return PickerReaction::Closed;
                    }
                    _ if self.menu.selection().0 != before => self.scroll = 0,
                    _ => {}
                }
            }
        }
        PickerReaction::Open
    }

    /// Returns the page's lines: the rows, the details of the selected item, and a footer.
    pub(crate) fn view(
        &self,
        details: &[StyledLine],
        foot: &[StyledLine],
        columns: usize,
        rows: usize,
    ) -> Vec<StyledLine> {
        let count = self.menu.matching().len();
        let title = format!("{} {count}/{}  ", self.title, self.menu.items().len());
        let mut lines = vec![StyledLine::styled(BOLD, title).with_text(NOTE, self.menu.filter_label()).clip(columns)];
        let most = (rows / 2).saturating_sub(1).max(3);
        lines.extend(self.menu.rows(columns, most.min(rows.saturating_sub(foot.len() + 3).max(1))));
        lines.push(StyledLine::styled(DIM, "─".repeat(columns)));
        let details: Vec<StyledLine> = details.iter().flat_map(|line| line.wrap(columns)).collect();
        let room = rows.saturating_sub(lines.len() + foot.len());
        let from = self.scroll.min(details.len().saturating_sub(room));
        lines.extend(details.into_iter().skip(from).take(room));
        lines.resize(rows.saturating_sub(foot.len()), StyledLine::new());
        lines.extend(foot.iter().map(|line| line.clip(columns)));
        lines
    }
}
