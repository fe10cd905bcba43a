//! A page to choose from: rows with a search, and details of the one that is selected. It knows neither sessions nor
//! checkpoints, and does nothing with what is chosen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::fuzzy::{Fit, Fitting};
use super::text::{BOLD, DIM, Line, NOTE, PLAIN};

/// Something to choose.
pub(crate) trait Item {
    /// What a search looks at.
    fn text(&self) -> String;
    /// It in one line.
    fn row(&self, columns: usize) -> Line;
}

/// The page.
pub(crate) struct Picker<T> {
    title: &'static str,
    items: Vec<T>,
    selected: usize,
    search: String,
    searching: bool,
    /// How far the details are scrolled.
    scroll: usize,
}

/// What a key came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// The page stands, and perhaps another one is selected.
    Open,
    /// What is selected is the one.
    Chosen,
    /// None of them.
    Closed,
}

impl<T: Item> Picker<T> {
    pub(crate) fn new(title: &'static str, items: Vec<T>) -> Self {
        Picker { title, items, selected: 0, search: String::new(), searching: false, scroll: 0 }
    }

    /// What fits every word of the search: first what holds them, in its order, then what has their letters, the best first.
    fn shown(&self) -> Vec<&T> {
        let mut words: Vec<Fitting> = self.search.split_whitespace().map(Fitting::new).collect();
        let mut fitting: Vec<(Fit, &T)> = Vec::new();
        for item in &self.items {
            let text = item.text();
            let worst = words.iter_mut().try_fold(Fit::Holds, |worst, word| Some(worst.max(word.of(&text)?)));
            fitting.extend(worst.map(|worst| (worst, item)));
        }
        fitting.sort_by_key(|(fit, _)| *fit);
        fitting.into_iter().map(|(_, item)| item).collect()
    }

    /// The one that is selected.
    pub(crate) fn current(&self) -> Option<&T> {
        self.shown().get(self.selected).copied()
    }

    fn step(&mut self, by: isize) -> Picked {
        let last = self.shown().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
        self.scroll = 0;
        Picked::Open
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Picked {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Picked::Closed,
            KeyCode::Esc if self.searching || !self.search.is_empty() => {
                (self.searching, self.selected) = (false, 0);
                self.search.clear();
            }
            KeyCode::Esc => return Picked::Closed,
            KeyCode::Enter if self.current().is_some() => return Picked::Chosen,
            KeyCode::Up => return self.step(-1),
            KeyCode::Down => return self.step(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::PageDown => self.scroll += 10,
            KeyCode::Home => return self.step(isize::MIN),
            KeyCode::End => return self.step(isize::MAX),
            KeyCode::Backspace if self.searching => {
                self.search.pop();
                self.selected = 0;
            }
            KeyCode::Char(letter) if self.searching && !control => {
                self.search.push(letter);
                self.selected = 0;
            }
            KeyCode::Char('/') => self.searching = true,
            KeyCode::Char('k') => return self.step(-1),
            KeyCode::Char('j') => return self.step(1),
            KeyCode::Char('q') => return Picked::Closed,
            _ => {}
        }
        Picked::Open
    }

    /// The page: the rows above, the details of the selected one below them, and a foot.
    pub(crate) fn view(&self, details: &[Line], foot: &[Line], columns: usize, rows: usize) -> Vec<Line> {
        let shown = self.shown();
        let selected = self.selected.min(shown.len().saturating_sub(1));
        let search = match (self.searching, self.search.is_empty()) {
            (true, _) => format!("search: {}▏", self.search),
            (false, false) => format!("with `{}`", self.search),
            (false, true) => String::new(),
        };
        let title = format!("{} {}/{}  ", self.title, shown.len(), self.items.len());
        let mut lines = vec![Line::of(BOLD, title).with(NOTE, search).clip(columns)];
        let most = (rows / 2).saturating_sub(1).max(3);
        let list = shown.len().max(1).min(most).min(rows.saturating_sub(foot.len() + 3).max(1));
        let from = (selected + 1).saturating_sub(list);
        for (at, item) in shown.iter().enumerate().skip(from).take(list) {
            let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            let mut line = Line::of(style, mark);
            line.spans.extend(item.row(columns.saturating_sub(2)).spans);
            lines.push(line.clip(columns));
        }
        if shown.is_empty() {
            lines.push(Line::of(DIM, "  nothing fits").clip(columns));
        }
        lines.push(Line::of(DIM, "─".repeat(columns)));
        let details: Vec<Line> = details.iter().flat_map(|line| line.wrap(columns)).collect();
        let room = rows.saturating_sub(lines.len() + foot.len());
        let from = self.scroll.min(details.len().saturating_sub(room));
        lines.extend(details.into_iter().skip(from).take(room));
        lines.resize(rows.saturating_sub(foot.len()), Line::new());
        lines.extend(foot.iter().map(|line| line.clip(columns)));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Item for &'static str {
        fn text(&self) -> String {
            (*self).to_owned()
        }

        fn row(&self, _: usize) -> Line {
            Line::of(PLAIN, self)
        }
    }

    fn press(picker: &mut Picker<&'static str>, codes: &[KeyCode]) -> Picked {
        codes.iter().map(|code| picker.key(KeyEvent::from(*code))).last().unwrap()
    }

    #[test]
    fn a_search_narrows_and_escape_takes_it_back_first() {
        let mut picker = Picker::new("Things", vec!["one apple", "two pears", "three apples"]);
        press(&mut picker, &[KeyCode::Char('/'), KeyCode::Char('A'), KeyCode::Char('p'), KeyCode::Down]);
        assert_eq!(picker.current(), Some(&"three apples"));
        assert_eq!(press(&mut picker, &[KeyCode::Enter]), Picked::Chosen);
        assert_eq!(press(&mut picker, &[KeyCode::Esc]), Picked::Open);
        assert_eq!(picker.current(), Some(&"one apple"));
        assert_eq!(press(&mut picker, &[KeyCode::Esc]), Picked::Closed);
    }

    #[test]
    fn letters_in_their_order_are_enough_and_what_holds_the_words_goes_first() {
        let mut picker = Picker::new("Things", vec!["the foo_bar tests", "fix the bar of foo", "say foobar", "other"]);
        press(&mut picker, &[KeyCode::Char('/')]);
        press(&mut picker, &"foobar".chars().map(KeyCode::Char).collect::<Vec<_>>());
        assert_eq!(picker.shown(), [&"say foobar", &"the foo_bar tests"]);
        press(&mut picker, &[KeyCode::Esc, KeyCode::Char('/')]);
        press(&mut picker, &"foo FIX".chars().map(KeyCode::Char).collect::<Vec<_>>());
        assert_eq!(picker.shown(), [&"fix the bar of foo"]);
    }

    #[test]
    fn nothing_is_chosen_where_nothing_fits_and_no_size_is_too_small() {
        let mut picker = Picker::new("Things", vec!["a", "b"]);
        press(&mut picker, &[KeyCode::Char('/'), KeyCode::Char('z'), KeyCode::PageDown, KeyCode::Down]);
        assert_eq!(press(&mut picker, &[KeyCode::Enter]), Picked::Open);
        for (columns, rows) in [(1, 1), (2, 3), (10, 4), (80, 30)] {
            let page = picker.view(&[Line::of(PLAIN, "details")], &[Line::of(PLAIN, "foot")], columns, rows);
            assert!(page.iter().all(|line| line.width() <= columns), "{columns}");
        }
    }
}
