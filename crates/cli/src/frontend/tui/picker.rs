//! A full-screen list with a search and the details of the selected item.
//!
//! It is generic: the caller decides what an item is and what happens when it is chosen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::fuzzy::{FuzzyMatcher, MatchRank};
use crate::presentation::styled_text::{BOLD, DIM, NOTE, PLAIN, StyledLine};

/// An item of a picker.
pub(crate) trait PickerItem {
    /// Returns the text that a search looks at.
    fn search_text(&self) -> String;
    /// Returns the item in one line.
    fn row(&self, columns: usize) -> StyledLine;
}

/// The state of a picker.
pub(crate) struct Picker<T> {
    title: &'static str,
    items: Vec<T>,
    selected: usize,
    search: String,
    is_searching: bool,
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

impl<T: PickerItem> Picker<T> {
    pub(crate) fn new(title: &'static str, items: Vec<T>) -> Self {
        Picker { title, items, selected: 0, search: String::new(), is_searching: false, scroll: 0 }
    }

    /// Returns the items that match every word of the search: those that contain the words in their order, then
    /// subsequence matches, best first.
    fn matching_items(&self) -> Vec<&T> {
        let mut words: Vec<FuzzyMatcher> = self.search.split_whitespace().map(FuzzyMatcher::new).collect();
        let mut fitting: Vec<(MatchRank, &T)> = Vec::new();
        for item in &self.items {
            let text = item.search_text();
            let worst =
                words.iter_mut().try_fold(MatchRank::Substring, |worst, word| Some(worst.max(word.rank(&text)?)));
            fitting.extend(worst.map(|worst| (worst, item)));
        }
        fitting.sort_by_key(|(fit, _)| *fit);
        fitting.into_iter().map(|(_, item)| item).collect()
    }

    /// Returns the selected item.
    pub(crate) fn current(&self) -> Option<&T> {
        self.matching_items().get(self.selected).copied()
    }

    fn step(&mut self, by: isize) -> PickerReaction {
        let last = self.matching_items().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.scroll = 0;
        PickerReaction::Open
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> PickerReaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return PickerReaction::Closed,
            KeyCode::Esc if self.is_searching || !self.search.is_empty() => {
                (self.is_searching, self.selected) = (false, 0);
                self.search.clear();
            }
            KeyCode::Esc => return PickerReaction::Closed,
            KeyCode::Enter if self.current().is_some() => return PickerReaction::Chosen,
            KeyCode::Up => return self.step(-1),
            KeyCode::Down => return self.step(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::PageDown => self.scroll += 10,
            KeyCode::Home => return self.step(isize::MIN),
            KeyCode::End => return self.step(isize::MAX),
            KeyCode::Backspace if self.is_searching => {
                self.search.pop();
                self.selected = 0;
            }
            KeyCode::Char(letter) if self.is_searching && !control => {
                self.search.push(letter);
                self.selected = 0;
            }
            KeyCode::Char('/') => self.is_searching = true,
            KeyCode::Char('k') => return self.step(-1),
            KeyCode::Char('j') => return self.step(1),
            KeyCode::Char('q') => return PickerReaction::Closed,
            _ => {}
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
        let shown = self.matching_items();
        let selected = self.selected.min(shown.len().saturating_sub(1));
        let search = match (self.is_searching, self.search.is_empty()) {
            (true, _) => format!("search: {}▏", self.search),
            (false, false) => format!("with `{}`", self.search),
            (false, true) => String::new(),
        };
        let title = format!("{} {}/{}  ", self.title, shown.len(), self.items.len());
        let mut lines = vec![StyledLine::styled(BOLD, title).with_text(NOTE, search).clip(columns)];
        let most = (rows / 2).saturating_sub(1).max(3);
        let list = shown.len().max(1).min(most).min(rows.saturating_sub(foot.len() + 3).max(1));
        let from = (selected + 1).saturating_sub(list);
        for (at, item) in shown.iter().enumerate().skip(from).take(list) {
            let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            let mut line = StyledLine::styled(style, mark);
            line.spans.extend(item.row(columns.saturating_sub(2)).spans);
            lines.push(line.clip(columns));
        }
        if shown.is_empty() {
            lines.push(StyledLine::styled(DIM, "  nothing fits").clip(columns));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    impl PickerItem for &'static str {
        fn search_text(&self) -> String {
            (*self).to_owned()
        }

        fn row(&self, _: usize) -> StyledLine {
            StyledLine::styled(PLAIN, self)
        }
    }

    fn press(picker: &mut Picker<&'static str>, codes: &[KeyCode]) -> PickerReaction {
        codes.iter().map(|code| picker.handle_key(KeyEvent::from(*code))).last().unwrap()
    }

    #[test]
    fn a_search_narrows_the_list_and_escape_clears_it_first() {
        let mut picker = Picker::new("Things", vec!["one apple", "two pears", "three apples"]);
        press(&mut picker, &[KeyCode::Char('/'), KeyCode::Char('A'), KeyCode::Char('p'), KeyCode::Down]);
        assert_eq!(picker.current(), Some(&"three apples"));
        assert_eq!(press(&mut picker, &[KeyCode::Enter]), PickerReaction::Chosen);
        assert_eq!(press(&mut picker, &[KeyCode::Esc]), PickerReaction::Open);
        assert_eq!(picker.current(), Some(&"one apple"));
        assert_eq!(press(&mut picker, &[KeyCode::Esc]), PickerReaction::Closed);
    }

    #[test]
    fn subsequences_match_and_items_with_the_words_come_first() {
        let mut picker = Picker::new("Things", vec!["the foo_bar tests", "fix the bar of foo", "say foobar", "other"]);
        press(&mut picker, &[KeyCode::Char('/')]);
        press(&mut picker, &"foobar".chars().map(KeyCode::Char).collect::<Vec<_>>());
        assert_eq!(picker.matching_items(), [&"say foobar", &"the foo_bar tests"]);
        press(&mut picker, &[KeyCode::Esc, KeyCode::Char('/')]);
        press(&mut picker, &"foo FIX".chars().map(KeyCode::Char).collect::<Vec<_>>());
        assert_eq!(picker.matching_items(), [&"fix the bar of foo"]);
    }

    #[test]
    fn nothing_is_chosen_without_a_match_and_any_size_is_drawn() {
        let mut picker = Picker::new("Things", vec!["a", "b"]);
        press(&mut picker, &[KeyCode::Char('/'), KeyCode::Char('z'), KeyCode::PageDown, KeyCode::Down]);
        assert_eq!(press(&mut picker, &[KeyCode::Enter]), PickerReaction::Open);
        for (columns, rows) in [(1, 1), (2, 3), (10, 4), (80, 30)] {
            let page = picker.view(
                &[StyledLine::styled(PLAIN, "details")],
                &[StyledLine::styled(PLAIN, "foot")],
                columns,
                rows,
            );
            assert!(page.iter().all(|line| line.width() <= columns), "{columns}");
        }
    }
}
