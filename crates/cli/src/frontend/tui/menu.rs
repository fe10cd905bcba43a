//! A list from which the user chooses one item: its selection, keys, filter and rows.
//!
//! It is generic: the owner decides what an item is and what happens when one is chosen.

use std::borrow::Cow;

use anstyle::Style;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthStr;

use super::fuzzy::{FuzzyMatcher, MatchRank};
use crate::output::truncate_columns;
use crate::presentation::styled_text::{DIM, NOTE, PLAIN, StyledLine};

/// The number of items up to which digits choose them.
const MAX_NUMBERED_ITEMS: usize = 9;
/// The number of items that Page Up and Page Down pass over.
const PAGE_ITEMS: isize = 10;
/// The width up to which a name is not cut in favour of its description.
const MIN_NAME_COLUMNS: usize = 8;

/// An item of a menu.
pub(crate) trait MenuItem {
    /// Returns the item's name.
    fn name(&self) -> Cow<'_, str>;

    /// Returns the text beside the name.
    fn description(&self) -> &str {
        ""
    }

    /// Returns the text that a filter looks at.
    fn filter_text(&self) -> String {
        format!("{} {}", self.name(), self.description())
    }

    /// Returns the item in one line, if that is more than a name with a description.
    fn row(&self, _columns: usize) -> Option<StyledLine> {
        None
    }
}

/// A value with the label under which it is chosen.
pub(crate) struct MenuChoice<T> {
    pub(crate) value: T,
    pub(crate) label: String,
}

impl MenuItem for String {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

impl<T> MenuItem for MenuChoice<T> {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.label)
    }
}

/// The keys of a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MenuKeys {
    /// Arrows move, beyond an end to the other one.
    Arrows,
    /// Digits choose, too, and so do arrows in a list that a text field beside it narrows.
    Digits,
    /// The letters j and k move, too.
    Letters,
    /// The keys of a long list: it ends at its ends, and `/` filters it.
    List,
}

/// How a filter compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MenuFilter {
    /// An item contains every word; the order stays.
    Words,
    /// An item has the characters of every word in their order; the best come first.
    Fuzzy,
}

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MenuReaction {
    /// The menu took the key, and nothing is chosen.
    Open,
    /// The item with this index among all items was chosen.
    Chosen(usize),
    /// The key has no meaning for the menu.
    Passed,
}

/// The state of a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Menu<T> {
    items: Vec<T>,
    keys: MenuKeys,
    filter_kind: MenuFilter,
    /// The index among the items that match the filter.
    selected: usize,
    filter: String,
    /// Whether the filter is being typed.
    is_filtering: bool,
}

impl<T: MenuItem> Menu<T> {
    pub(crate) fn new(keys: MenuKeys, items: Vec<T>) -> Self {
        let filter_kind = MenuFilter::Words;
        Menu { items, keys, filter_kind, selected: 0, filter: String::new(), is_filtering: false }
    }

    /// Returns a long list whose filter compares like this.
    pub(crate) fn list(filter_kind: MenuFilter, items: Vec<T>) -> Self {
        Menu { filter_kind, ..Menu::new(MenuKeys::List, items) }
    }

    /// Returns the menu with this item selected.
    #[must_use]
    pub(crate) fn with_selected(self, selected: usize) -> Self {
        Menu { selected, ..self }
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// Replaces the items.
    pub(crate) fn set_items(&mut self, items: Vec<T>) {
        self.items = items;
    }

    /// Replaces the filter; the first item that matches is selected.
    pub(crate) fn set_filter(&mut self, filter: &str) {
        if self.filter != filter {
            (self.filter, self.selected) = (filter.to_owned(), 0);
        }
    }

    pub(crate) fn is_filtering(&self) -> bool {
        self.is_filtering
    }

    /// Ends the typing of the filter, which stays.
    pub(crate) fn end_filtering(&mut self) {
        (self.is_filtering, self.selected) = (false, 0);
    }

    /// Returns the items that match the filter, with their indices among all items.
    pub(crate) fn matching(&self) -> Vec<(usize, &T)> {
        let all = self.items.iter().enumerate();
        match self.filter_kind {
            _ if self.filter.trim().is_empty() => all.collect(),
            MenuFilter::Words => {
                let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
                let fits = |text: String| words.iter().all(|word| text.contains(word));
                all.filter(|(_, item)| fits(item.filter_text().to_lowercase())).collect()
            }
            MenuFilter::Fuzzy => {
                let mut words: Vec<FuzzyMatcher> = self.filter.split_whitespace().map(FuzzyMatcher::new).collect();
                let mut worst_rank = |item: &T| {
                    let text = item.filter_text();
                    words.iter_mut().try_fold(MatchRank::Substring, |worst, word| Some(worst.max(word.rank(&text)?)))
                };
                let mut ranked: Vec<_> = all.filter_map(|(at, item)| Some((worst_rank(item)?, (at, item)))).collect();
                ranked.sort_by_key(|(rank, _)| *rank);
                ranked.into_iter().map(|(_, item)| item).collect()
            }
        }
    }

    /// Returns the position of the selected item among those that match, and the item.
    pub(crate) fn selection(&self) -> (usize, Option<&T>) {
        let matching = self.matching();
        let at = self.selected.min(matching.len().saturating_sub(1));
        (at, matching.get(at).map(|(_, item)| *item))
    }

    /// Returns the selected item.
    pub(crate) fn current(&self) -> Option<&T> {
        self.selection().1
    }

    /// Returns whether digits choose items.
    pub(crate) fn is_numbered(&self) -> bool {
        let digits = matches!(self.keys, MenuKeys::Digits | MenuKeys::Letters);
        digits && self.items.len() <= MAX_NUMBERED_ITEMS && self.filter.is_empty()
    }

    /// Returns whether a character chooses an item or moves the selection.
    pub(crate) fn accepts_character(&self, character: char) -> bool {
        let moves = self.keys == MenuKeys::Letters && matches!(character, 'j' | 'k');
        moves || self.numbered_item(character).is_some()
    }

    /// Returns the index of the item that a digit chooses.
    pub(crate) fn numbered_item(&self, character: char) -> Option<usize> {
        let at = usize::try_from(character.to_digit(10)?).ok()?.checked_sub(1)?;
        Some(at).filter(|at| self.is_numbered() && *at < self.items.len())
    }

    fn step(&mut self, by: isize) {
        let (at, last) = (self.selection().0, self.matching().len().saturating_sub(1));
        let wraps = self.keys != MenuKeys::List;
        self.selected = match by {
            -1 if wraps && at == 0 => last,
            1 if wraps && at == last => 0,
            by => at.saturating_add_signed(by).min(last),
        };
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> MenuReaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_list = self.keys == MenuKeys::List;
        let letters = !control && matches!(self.keys, MenuKeys::Letters | MenuKeys::List);
        match key.code {
            KeyCode::Enter => return self.choose_selected(),
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::PageUp => self.step(-PAGE_ITEMS),
            KeyCode::PageDown => self.step(PAGE_ITEMS),
            KeyCode::Home if is_list => self.step(isize::MIN),
            KeyCode::End if is_list => self.step(isize::MAX),
            KeyCode::Tab if matches!(self.keys, MenuKeys::Digits | MenuKeys::Letters) => self.step(1),
            KeyCode::Esc if is_list && (self.is_filtering || !self.filter.is_empty()) => {
                self.filter.clear();
                self.end_filtering();
            }
            KeyCode::Backspace if self.is_filtering => {
                self.filter.pop();
                self.selected = 0;
            }
            KeyCode::Char(character) if self.is_filtering && !control => {
                self.filter.push(character);
                self.selected = 0;
            }
            KeyCode::Char('k') if letters => self.step(-1),
            KeyCode::Char('j') if letters => self.step(1),
            KeyCode::Char('/') if is_list => self.is_filtering = true,
            KeyCode::Char(character) => match self.numbered_item(character) {
                Some(item) => {
                    self.selected = item;
                    return MenuReaction::Chosen(item);
                }
                None => return MenuReaction::Passed,
            },
            _ => return MenuReaction::Passed,
        }
        MenuReaction::Open
    }

    fn choose_selected(&self) -> MenuReaction {
        let chosen = self.matching().get(self.selection().0).map(|(at, _)| *at);
        chosen.map_or(MenuReaction::Open, MenuReaction::Chosen)
    }

    /// Returns the filter for a heading, or nothing if there is none.
    pub(crate) fn filter_label(&self) -> String {
        match (self.is_filtering, self.filter.is_empty()) {
            (true, _) => format!("search: {}▏", self.filter),
            (false, false) => format!("with `{}`", self.filter),
            (false, true) => String::new(),
        }
    }

    /// Returns the number of matching items below those that [`rows`](Self::rows) returns.
    pub(crate) fn hidden_below(&self, most: usize) -> usize {
        self.matching().len().saturating_sub(self.first_row(most) + most)
    }

    /// Returns the position of the first item that is shown if at most so many are.
    fn first_row(&self, most: usize) -> usize {
        (self.selection().0 + 1).saturating_sub(most)
    }

    /// Returns the rows of at most so many matching items, the selected one among them.
    pub(crate) fn rows(&self, columns: usize, most: usize) -> Vec<StyledLine> {
        let matching = self.matching();
        if matching.is_empty() {
            return vec![StyledLine::styled(DIM, "  nothing fits").clip(columns)];
        }
        let numbered = self.is_numbered();
        let name = |(at, item): &(usize, &T)| match numbered {
            true => format!("{}. {}", at + 1, item.name()),
            false => item.name().into_owned(),
        };
        let width = matching.iter().map(|item| name(item).width()).max().unwrap_or(0).min(columns * 3 / 5);
        let (selected, first) = (self.selection().0, self.first_row(most));
        let draw = |(position, item): (usize, &(usize, &T))| {
            let (mark, style) = selection_mark(position == selected);
            let mut line = StyledLine::styled(style, mark);
            match item.1.row(columns.saturating_sub(2)) {
                Some(row) => line.spans.extend(row.spans),
                None => push_name(&mut line, style, &name(item), item.1.description(), width),
            }
            line.clip(columns)
        };
        matching.iter().enumerate().skip(first).take(most).map(draw).collect()
    }
}

/// Returns what stands before an item, and the style of its name.
pub(crate) fn selection_mark(is_selected: bool) -> (&'static str, Style) {
    if is_selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) }
}

/// Adds a name, and its description in a column of its own.
fn push_name(line: &mut StyledLine, style: Style, name: &str, description: &str, width: usize) {
    if description.is_empty() {
        return line.push(style, name);
    }
    let name = truncate_columns(name, width.max(MIN_NAME_COLUMNS));
    let gap = " ".repeat(width.saturating_sub(name.width()) + 2);
    line.push(style, &name);
    line.push(DIM, &format!("{gap}{description}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu(keys: MenuKeys, names: &[&str]) -> Menu<MenuChoice<usize>> {
        let choice = |(value, name): (usize, &&str)| MenuChoice { value, label: (*name).to_owned() };
        Menu::new(keys, names.iter().enumerate().map(choice).collect())
    }

    fn press(menu: &mut Menu<MenuChoice<usize>>, codes: &[KeyCode]) -> MenuReaction {
        codes.iter().map(|code| menu.handle_key(KeyEvent::from(*code))).last().unwrap()
    }

    fn typed(menu: &mut Menu<MenuChoice<usize>>, text: &str) -> MenuReaction {
        press(menu, &text.chars().map(KeyCode::Char).collect::<Vec<_>>())
    }

    fn values(menu: &Menu<MenuChoice<usize>>) -> Vec<usize> {
        menu.matching().into_iter().map(|(_, item)| item.value).collect()
    }

    #[test]
    fn short_menus_wrap_and_long_lists_do_not() {
        for (keys, up) in [(MenuKeys::Arrows, 2), (MenuKeys::Digits, 2), (MenuKeys::Letters, 2), (MenuKeys::List, 0)] {
            let mut menu = menu(keys, &["a", "b", "c"]);
            press(&mut menu, &[KeyCode::Up]);
            assert_eq!(menu.selection().0, up, "{keys:?}");
            press(&mut menu, &[KeyCode::PageDown, KeyCode::PageDown]);
            assert_eq!(menu.selection().0, 2, "paging ends at the end: {keys:?}");
            press(&mut menu, &[KeyCode::Down]);
            assert_eq!(menu.selection().0, if up == 2 { 0 } else { 2 }, "{keys:?}");
        }
    }

    #[test]
    fn digits_and_letters_mean_something_only_where_they_should() {
        for (keys, digit, letter) in [
            (MenuKeys::Arrows, MenuReaction::Passed, MenuReaction::Passed),
            (MenuKeys::Digits, MenuReaction::Chosen(1), MenuReaction::Passed),
            (MenuKeys::Letters, MenuReaction::Chosen(1), MenuReaction::Open),
            (MenuKeys::List, MenuReaction::Passed, MenuReaction::Open),
        ] {
            assert_eq!(typed(&mut menu(keys, &["a", "b"]), "2"), digit, "{keys:?}");
            assert_eq!(typed(&mut menu(keys, &["a", "b"]), "j"), letter, "{keys:?}");
            assert_eq!(typed(&mut menu(keys, &["a", "b"]), "3"), MenuReaction::Passed, "{keys:?}");
        }
        let mut many = menu(MenuKeys::Digits, &["a"; 10]);
        assert_eq!(typed(&mut many, "1"), MenuReaction::Passed, "more than nine have no numbers");
        assert!(many.rows(80, 20).iter().all(|line| !line.plain().contains("1.")));
    }

    #[test]
    fn a_filter_is_typed_after_a_slash_and_escape_clears_it_first() {
        let names = ["one apple", "two pears", "three apples"];
        let mut menu = Menu { filter_kind: MenuFilter::Fuzzy, ..menu(MenuKeys::List, &names) };
        typed(&mut menu, "/Ap");
        assert_eq!(press(&mut menu, &[KeyCode::Down, KeyCode::Enter]), MenuReaction::Chosen(2));
        assert_eq!(press(&mut menu, &[KeyCode::Esc]), MenuReaction::Open);
        assert_eq!(values(&menu), [0, 1, 2]);
        assert_eq!(press(&mut menu, &[KeyCode::Esc]), MenuReaction::Passed);
        typed(&mut menu, "/pears");
        assert_eq!(values(&menu), [1]);
    }

    #[test]
    fn subsequences_match_and_items_with_the_words_come_first() {
        let names = ["the foo_bar tests", "fix the bar of foo", "say foobar", "other"];
        let mut menu = Menu { filter_kind: MenuFilter::Fuzzy, ..menu(MenuKeys::List, &names) };
        typed(&mut menu, "/foobar");
        assert_eq!(values(&menu), [2, 0]);
        press(&mut menu, &[KeyCode::Esc]);
        typed(&mut menu, "/foo FIX");
        assert_eq!(values(&menu), [1]);
        menu.filter_kind = MenuFilter::Words;
        menu.set_filter("FOO bar");
        assert_eq!(values(&menu), [0, 1, 2], "the order stays");
    }

    #[test]
    fn nothing_is_chosen_without_a_match_and_any_size_is_drawn() {
        let mut menu = menu(MenuKeys::List, &["a", "b"]);
        typed(&mut menu, "/z");
        assert_eq!(press(&mut menu, &[KeyCode::PageDown, KeyCode::Down, KeyCode::Enter]), MenuReaction::Open);
        assert_eq!(menu.rows(80, 5)[0].plain(), "  nothing fits");
        press(&mut menu, &[KeyCode::Esc, KeyCode::End]);
        for (columns, rows) in [(1, 1), (2, 3), (10, 4), (80, 30)] {
            let shown = menu.rows(columns, rows);
            assert!(shown.len() <= rows && shown.iter().all(|line| line.width() <= columns.max(1)), "{columns}");
        }
        assert_eq!(menu.rows(80, 1)[0].plain(), "› b", "the selected one is seen");
        assert_eq!(menu.hidden_below(1), 0);
    }
}
