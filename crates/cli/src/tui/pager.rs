//! Ctrl-O: one card whole on a page of its own, at any width: scrolled, searched, copied; the card's output grows while it is
//! looked at. Everything shown passes through `text.rs`, so nothing in an output steers the terminal.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::App;
use super::cards::text_lines;
use super::commands::{lines as count_of_lines, nothing_to_open};
use super::driver::Driver;
use super::text::{BOLD, DIM, Line, NOTE, Span, WARN};

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    /// A card, by its number.
    Kept(usize),
    /// A call that is under way.
    Live(String),
    /// What the model thinks now.
    Thought,
    /// What the user writes, where it is shown in short.
    Draft,
    /// What the user is asked about.
    Question,
}

/// The pager.
pub(crate) struct Pager {
    at: At,
    /// The first row that is shown.
    top: usize,
    /// Whether the end is shown, also when there is more of it.
    follows: bool,
    /// What is searched for, and whether it is being written.
    search: String,
    searching: bool,
    /// Whether the next hit is to be gone to once it is known where it is.
    jumps: bool,
    said: Option<String>,
    page: Page,
}

/// What was drawn last, and of what.
#[derive(Default)]
struct Page {
    key: Option<(At, usize, usize, String)>,
    rows: Vec<Line>,
    /// The rows that hold what is searched for.
    hits: Vec<usize>,
    /// How many rows there is room for.
    room: usize,
}

impl Pager {
    /// Opens what is of most interest now: a question, what runs, the last card. Nothing if there is nothing.
    pub(crate) fn open(app: &App) -> Option<Pager> {
        let places = places(app);
        Some(Pager::at(places.last()?.clone()))
    }

    fn at(at: At) -> Pager {
        let follows = matches!(at, At::Live(_) | At::Thought);
        Pager {
            at,
            top: 0,
            follows,
            search: String::new(),
            searching: false,
            jumps: false,
            said: None,
            page: Page::default(),
        }
    }

    /// Opens the `back`-th card from the end.
    pub(crate) fn open_card(app: &App, back: usize) -> Option<Pager> {
        let number = app.cards.newest()?.checked_sub(back.saturating_sub(1))?;
        app.cards.get(number).map(|_| Pager::at(At::Kept(number)))
    }

    /// Whether what is looked at is still there; what was under way may have become a card.
    fn settle(&mut self, app: &App) -> bool {
        if let At::Live(call_id) = &self.at
            && app.running.iter().all(|card| card.call_id != *call_id)
        {
            self.at = app.cards.of_call(call_id).or(app.cards.newest()).map_or(At::Thought, At::Kept);
            self.follows = false;
        }
        if self.at == At::Thought && app.thought.trim().is_empty() {
            self.at = app.cards.newest().map_or(At::Question, At::Kept);
        }
        let places = places(app);
        if !places.contains(&self.at)
            && let Some(nearest) = places.first()
        {
            *self = Pager::at(nearest.clone());
        }
        !places.is_empty()
    }

    fn step(&mut self, app: &App, by: isize) {
        let places = places(app);
        let at = places.iter().position(|place| *place == self.at).unwrap_or(0);
        let next = at.saturating_add_signed(by).min(places.len().saturating_sub(1));
        if let Some(place) = places.get(next).filter(|_| next != at) {
            *self = Pager { search: std::mem::take(&mut self.search), ..Pager::at(place.clone()) };
        }
    }

    fn scroll_to(&mut self, top: usize) {
        let last = self.page.rows.len().saturating_sub(self.page.room);
        self.top = top.min(last);
        self.follows = top >= last && matches!(self.at, At::Live(_) | At::Thought);
    }

    /// Goes to the next hit, or the one before.
    fn find(&mut self, forwards: bool, from: usize) {
        let hits = &self.page.hits;
        let found = match forwards {
            true => hits.iter().find(|row| **row >= from).or(hits.first()),
            false => hits.iter().rev().find(|row| **row < from).or(hits.last()),
        };
        match found.copied() {
            Some(row) => self.scroll_to(row),
            None if self.search.is_empty() => {}
            None => self.said = Some(format!("`{}` is not in it", self.search)),
        }
    }

    /// The page, in so many columns and rows; nothing if there is nothing to show any more.
    pub(crate) fn view(&mut self, app: &App, columns: usize, rows: usize) -> Option<Vec<Line>> {
        if !self.settle(app) {
            return None;
        }
        self.page.draw(&self.at, &self.search, app, columns);
        self.page.room = rows.saturating_sub(2).max(1);
        let last = self.page.rows.len().saturating_sub(self.page.room);
        self.top = if self.follows { last } else { self.top.min(last) };
        if std::mem::take(&mut self.jumps) {
            self.find(true, self.top);
        }
        let places = places(app);
        let at = places.iter().position(|place| *place == self.at).map_or(1, |at| at + 1);
        let mut lines =
            vec![Line::of(NOTE, format!("{at}/{}  ", places.len())).with(BOLD, title(&self.at, app)).clip(columns)];
        lines.extend(self.page.rows.iter().skip(self.top).take(self.page.room).cloned());
        lines.resize(rows.saturating_sub(1).max(1), Line::new());
        lines.push(self.foot(app, columns));
        Some(lines)
    }

    fn foot(&self, app: &App, columns: usize) -> Line {
        if self.searching {
            return Line::of(NOTE, format!("/{}▏", self.search)).clip(columns);
        }
        if let Some(said) = &self.said {
            return Line::of(NOTE, said).clip(columns);
        }
        if !app.dialogs.is_empty() && self.at != At::Question {
            return Line::of(WARN.bold(), "the agent waits for your permission: q shows the question").clip(columns);
        }
        let (all, room) = (self.page.rows.len(), self.page.room);
        let end = (self.top + room).min(all);
        let place =
            if all > room { format!("{}–{end} of {all}  ", self.top + 1) } else { count_of_lines(all) + "  " };
        Line::of(DIM, place).with(NOTE, "q close  / search  n N next  y copy  ← → others  g G ends").clip(columns)
    }
}

impl Page {
    /// Draws it anew, if it is not what was drawn.
    fn draw(&mut self, at: &At, search: &str, app: &App, columns: usize) {
        let key = (at.clone(), version(at, app), columns, search.to_owned());
        if self.key.as_ref() == Some(&key) {
            return;
        }
        self.rows.clear();
        self.hits.clear();
        for line in lines(at, app) {
            let ranges = occurrences(&line.plain(), search);
            if !ranges.is_empty() {
                self.hits.push(self.rows.len());
            }
            self.rows.extend(marked(&line, &ranges).wrap(columns));
        }
        self.key = Some(key);
    }
}

/// All that can be looked at, in the order in which it came.
fn places(app: &App) -> Vec<At> {
    let mut places: Vec<At> =
        app.cards.newest().map_or_else(Vec::new, |newest| (app.cards.oldest()..=newest).map(At::Kept).collect());
    if !app.thought.trim().is_empty() {
        places.push(At::Thought);
    }
    places.extend(app.running.iter().map(|card| At::Live(card.call_id.clone())));
    if app.composer.has_labels() {
        places.push(At::Draft);
    }
    if !app.dialogs.is_empty() {
        places.push(At::Question);
    }
    places
}

fn title(at: &At, app: &App) -> String {
    match at {
        At::Kept(number) => app.cards.get(*number).map(|card| card.title.clone()).unwrap_or_default(),
        At::Live(call_id) => {
            let card = app.running.iter().find(|card| card.call_id == *call_id);
            card.map(|card| format!("running: {}", card.title())).unwrap_or_default()
        }
        At::Thought => "thinking".to_owned(),
        At::Draft => "your draft".to_owned(),
        At::Question => "what is asked about".to_owned(),
    }
}

/// Another number whenever there is more of it.
fn version(at: &At, app: &App) -> usize {
    match at {
        At::Live(call_id) => app.running.iter().find(|card| card.call_id == *call_id).map_or(0, |card| card.printed()),
        At::Thought => app.thought.len(),
        At::Kept(_) | At::Draft | At::Question => 0,
    }
}

fn lines(at: &At, app: &App) -> Vec<Line> {
    match at {
        At::Kept(number) => app.cards.get(*number).map(|card| card.whole.lines()).unwrap_or_default(),
        At::Question => app.dialogs.front().map(|dialog| dialog.whole()).unwrap_or_default(),
        At::Live(_) | At::Thought | At::Draft => text_lines(&text(at, app)),
    }
}

fn text(at: &At, app: &App) -> String {
    match at {
        At::Kept(number) => app.cards.get(*number).map(|card| card.whole.text().to_owned()).unwrap_or_default(),
        At::Live(call_id) => {
            let card = app.running.iter().find(|card| card.call_id == *call_id);
            card.map(|card| card.so_far().to_owned()).unwrap_or_default()
        }
        At::Thought => app.thought.clone(),
        At::Draft => app.composer.whole(),
        At::Question => lines(at, app).iter().map(Line::plain).collect::<Vec<_>>().join("\n"),
    }
}

/// Where a text holds another one; capitals count if it has some.
fn occurrences(text: &str, wanted: &str) -> Vec<Range<usize>> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let exactly = wanted.chars().any(char::is_uppercase);
    let same = |one: char, other: char| one == other || !exactly && one.to_lowercase().eq(other.to_lowercase());
    let length_at = |text: &str| {
        let mut chars = text.chars();
        let fits = wanted.chars().all(|wanted| chars.next().is_some_and(|char| same(char, wanted)));
        fits.then(|| text.len() - chars.as_str().len())
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.char_indices() {
        if found.last().is_none_or(|last| last.end <= at)
            && let Some(length) = length_at(&text[at..])
        {
            found.push(at..at + length);
        }
    }
    found
}

/// The line with these parts of it the other way round.
fn marked(line: &Line, ranges: &[Range<usize>]) -> Line {
    if ranges.is_empty() {
        return line.clone();
    }
    let mut marked = Line { spans: Vec::new(), indent: line.indent };
    let mut offset = 0;
    for span in &line.spans {
        let (start, end) = (offset, offset + span.text.len());
        let mut from = start;
        for range in ranges.iter().filter(|range| range.start < end && range.end > start) {
            let (begin, stop) = (range.start.max(start), range.end.min(end));
            let piece = |range: Range<usize>, style| Span {
                style,
                text: span.text[range.start - start..range.end - start].to_owned(),
            };
            marked.spans.push(piece(from..begin, span.style));
            marked.spans.push(piece(begin..stop, span.style.invert()));
            from = stop;
        }
        marked.spans.push(Span { style: span.style, text: span.text[from - start..].to_owned() });
        offset = end;
    }
    marked.spans.retain(|span| !span.text.is_empty());
    marked
}

impl Driver<'_> {
    /// Opens the pager.
    pub(crate) fn expand(&mut self) {
        self.pager = Pager::open(&self.app);
        if self.pager.is_none() {
            self.app.tell(DIM, nothing_to_open(1));
        }
    }

    /// A key while the pager is open.
    pub(crate) fn pager_key(&mut self, key: KeyEvent) -> anyhow::Result<()> {
        let Some(pager) = &mut self.pager else { return Ok(()) };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        pager.said = None;
        if pager.searching {
            pager.search_key(key);
            return Ok(());
        }
        let (top, room) = (pager.top, pager.page.room);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => self.pager = None,
            KeyCode::Char('c' | 'o') if control => self.pager = None,
            KeyCode::Up | KeyCode::Char('k') => pager.scroll_to(top.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => pager.scroll_to(top + 1),
            KeyCode::PageUp | KeyCode::Char('b') => pager.scroll_to(top.saturating_sub(room)),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => pager.scroll_to(top + room),
            KeyCode::Home | KeyCode::Char('g') => pager.scroll_to(0),
            KeyCode::End | KeyCode::Char('G') => pager.scroll_to(usize::MAX),
            KeyCode::Left | KeyCode::Char('[') => pager.step(&self.app, -1),
            KeyCode::Right | KeyCode::Char(']') => pager.step(&self.app, 1),
            KeyCode::Char('/') => {
                pager.searching = true;
                pager.search.clear();
            }
            KeyCode::Char('n') => pager.find(true, top + 1),
            KeyCode::Char('N') => pager.find(false, top),
            KeyCode::Char('y') => {
                let text = text(&pager.at, &self.app);
                let said = self.copy_text(&text)?;
                self.pager.iter_mut().for_each(|pager| pager.said = Some(said.clone()));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Pager {
    /// A key while what is searched for is being written; Enter looks for it.
    fn search_key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => {
                self.searching = false;
                self.search.clear();
            }
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.searching = false;
                self.search.clear();
            }
            KeyCode::Enter => (self.searching, self.jumps) = (false, true),
            KeyCode::Backspace => {
                self.search.pop();
            }
            KeyCode::Char(char) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.search.push(char),
            _ => {}
        }
    }

    /// Text was pasted: part of what is searched for, or nothing.
    pub(crate) fn paste(&mut self, text: &str) {
        if self.searching {
            self.search.push_str(text.lines().next().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::{BAD, PLAIN};
    use super::*;

    #[test]
    fn small_letters_find_capitals_and_capitals_only_themselves() {
        assert_eq!(occurrences("Error: error ERROR", "error"), [0..5, 7..12, 13..18]);
        assert_eq!(occurrences("ERR error ERROR", "ERR"), [0..3, 10..13]);
        assert_eq!(occurrences("aaaa", "aa"), [0..2, 2..4]);
        assert_eq!(occurrences("größe ÖL", "ö"), [2..4, 8..10]);
        assert!(occurrences("", "x").is_empty() && occurrences("x", "").is_empty());
    }

    #[test]
    fn what_is_found_is_marked_across_styles_and_nothing_is_lost() {
        let line = Line::of(PLAIN, "ab").with(BAD, "cd");
        let found = marked(&line, &occurrences(&line.plain(), "bc"));
        assert_eq!(found.plain(), "abcd");
        let texts: Vec<&str> = found.spans.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
        assert_eq!(found.spans[1].style, PLAIN.invert());
    }
}
