//! The pager (Ctrl-O): shows one card at full length, with scrolling, search and copying.
//!
//! The output of a running call grows while it is shown. Everything shown passes through `styled_text.rs`, which
//! sanitizes it.

use std::ops::Range;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{App, AppEffect};
use super::overlay::{KeyOutcome, Overlay, OverlayLayer, OverlayPage};
use crate::presentation::card_store::{CardContent, no_card_text, text_lines};
use crate::presentation::humanize::format_line_count;
use crate::presentation::styled_text::{BOLD, DIM, NOTE, StyledLine, StyledSpan, WARN};

/// The text that the pager shows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PagerSubject {
    /// A card, by its number.
    Card(usize),
    /// A running call.
    Live(String),
    /// The model's current thought.
    Thought,
    /// The user's draft, if it contains labels.
    Draft,
    /// The details of the open dialog.
    Question,
}

/// The state of the pager.
pub(crate) struct Pager {
    subject: PagerSubject,
    /// The first visible row.
    top: usize,
    /// Whether the end stays visible when the text grows.
    is_following: bool,
    /// The search text, and whether it is being typed.
    search: String,
    is_searching: bool,
    /// Whether the next frame jumps to a hit, once the rows are known.
    jumps_to_hit: bool,
    notice: Option<String>,
    page: RenderedPage,
}

/// The rendered rows, and the key of what was rendered.
#[derive(Default)]
struct RenderedPage {
    cache_key: Option<(PagerSubject, usize, usize, String)>,
    rows: Vec<StyledLine>,
    /// The rows that contain the search text.
    hits: Vec<usize>,
    /// The number of rows that fit on the page.
    visible_rows: usize,
}

impl Pager {
    /// Opens the last subject: a dialog, a running call, or the last card; none if there is nothing to show.
    fn open(app: &App) -> Option<Pager> {
        let places = all_subjects(app);
        Some(Pager::show(places.last()?.clone()))
    }

    fn show(at: PagerSubject) -> Pager {
        let follows = matches!(at, PagerSubject::Live(_) | PagerSubject::Thought);
        Pager {
            subject: at,
            top: 0,
            is_following: follows,
            search: String::new(),
            is_searching: false,
            jumps_to_hit: false,
            notice: None,
            page: RenderedPage::default(),
        }
    }

    /// Opens the `back`-th card from the end.
    fn open_card(app: &App, back: usize) -> Option<Pager> {
        let number = app.cards.newest()?.checked_sub(back.saturating_sub(1))?;
        app.cards.get(number).map(|_| Pager::show(PagerSubject::Card(number)))
    }

    /// Returns whether there is something to show.
    ///
    /// A call that was running may have become a card meanwhile.
    fn refresh_subject(&mut self, app: &App) -> bool {
        if let PagerSubject::Live(call_id) = &self.subject
            && app.running.iter().all(|card| card.call_id != *call_id)
        {
            self.subject =
                app.cards.find_call(call_id).or(app.cards.newest()).map_or(PagerSubject::Thought, PagerSubject::Card);
            self.is_following = false;
        }
        if self.subject == PagerSubject::Thought && app.thought.trim().is_empty() {
            self.subject = app.cards.newest().map_or(PagerSubject::Question, PagerSubject::Card);
        }
        let places = all_subjects(app);
        if !places.contains(&self.subject)
            && let Some(nearest) = places.first()
        {
            *self = Pager::show(nearest.clone());
        }
        !places.is_empty()
    }

    fn step(&mut self, app: &App, by: isize) {
        let places = all_subjects(app);
        let at = places.iter().position(|place| *place == self.subject).unwrap_or(0);
        let next = at.saturating_add_signed(by).min(places.len().saturating_sub(1));
        if let Some(place) = places.get(next).filter(|_| next != at) {
            *self = Pager { search: std::mem::take(&mut self.search), ..Pager::show(place.clone()) };
        }
    }

    fn scroll_to(&mut self, top: usize) {
        let last = self.page.rows.len().saturating_sub(self.page.visible_rows);
        self.top = top.min(last);
        self.is_following = top >= last && matches!(self.subject, PagerSubject::Live(_) | PagerSubject::Thought);
    }

    /// Scrolls to the next or the previous hit.
    fn go_to_hit(&mut self, forwards: bool, from: usize) {
        let hits = &self.page.hits;
        let found = match forwards {
            true => hits.iter().find(|row| **row >= from).or(hits.first()),
            false => hits.iter().rev().find(|row| **row < from).or(hits.last()),
        };
        match found.copied() {
            Some(row) => self.scroll_to(row),
            None if self.search.is_empty() => {}
            None => self.notice = Some(format!("`{}` is not in it", self.search)),
        }
    }

    /// Handles a key while the search text is being typed; Enter starts the search.
    fn handle_search_key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Esc => {
                self.is_searching = false;
                self.search.clear();
            }
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.is_searching = false;
                self.search.clear();
            }
            KeyCode::Enter => (self.is_searching, self.jumps_to_hit) = (false, true),
            KeyCode::Backspace => {
                self.search.pop();
            }
            KeyCode::Char(char) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.search.push(char),
            _ => {}
        }
    }

    /// Shows a message until the next key.
    pub(crate) fn set_notice(&mut self, notice: String) {
        self.notice = Some(notice);
    }

    /// Returns the page's lines in so many columns and rows, or none if there is nothing to show any more.
    fn view(&mut self, app: &App, columns: usize, rows: usize) -> Option<Vec<StyledLine>> {
        if !self.refresh_subject(app) {
            return None;
        }
        self.page.draw(&self.subject, &self.search, app, columns);
        self.page.visible_rows = rows.saturating_sub(2).max(1);
        let last = self.page.rows.len().saturating_sub(self.page.visible_rows);
        self.top = if self.is_following { last } else { self.top.min(last) };
        if std::mem::take(&mut self.jumps_to_hit) {
            self.go_to_hit(true, self.top);
        }
        let places = all_subjects(app);
        let at = places.iter().position(|place| *place == self.subject).map_or(1, |at| at + 1);
        let mut lines = vec![
            StyledLine::styled(NOTE, format!("{at}/{}  ", places.len()))
                .with_text(BOLD, subject_title(&self.subject, app))
                .clip(columns),
        ];
        lines.extend(self.page.rows.iter().skip(self.top).take(self.page.visible_rows).cloned());
        lines.resize(rows.saturating_sub(1).max(1), StyledLine::new());
        lines.push(self.footer(app, columns));
        Some(lines)
    }

    fn footer(&self, app: &App, columns: usize) -> StyledLine {
        if self.is_searching {
            return StyledLine::styled(NOTE, format!("/{}▏", self.search)).clip(columns);
        }
        if let Some(notice) = &self.notice {
            return StyledLine::styled(NOTE, notice).clip(columns);
        }
        if let Some(notice) = app.question_notice("q").filter(|_| self.subject != PagerSubject::Question) {
            return notice.clip(columns);
        }
        let (all, room) = (self.page.rows.len(), self.page.visible_rows);
        let end = (self.top + room).min(all);
        let place =
            if all > room { format!("{}–{end} of {all}  ", self.top + 1) } else { format_line_count(all) + "  " };
        StyledLine::styled(DIM, place)
            .with_text(NOTE, "q close  / search  n N next  y copy  ← → others  g G ends")
            .clip(columns)
    }
}

impl RenderedPage {
    /// Renders the subject, unless it is unchanged.
    fn draw(&mut self, at: &PagerSubject, search: &str, app: &App, columns: usize) {
        let key = (at.clone(), subject_version(at, app), columns, search.to_owned());
        if self.cache_key.as_ref() == Some(&key) {
            return;
        }
        self.rows.clear();
        self.hits.clear();
        for line in subject_lines(at, app) {
            let ranges = occurrences(&line.plain(), search);
            if !ranges.is_empty() {
                self.hits.push(self.rows.len());
            }
            self.rows.extend(highlight_ranges(&line, &ranges).wrap(columns));
        }
        self.cache_key = Some(key);
    }
}

/// Returns all subjects in the order in which they appeared.
fn all_subjects(app: &App) -> Vec<PagerSubject> {
    let mut places: Vec<PagerSubject> = app
        .cards
        .newest()
        .map_or_else(Vec::new, |newest| (app.cards.oldest()..=newest).map(PagerSubject::Card).collect());
    if !app.thought.trim().is_empty() {
        places.push(PagerSubject::Thought);
    }
    places.extend(app.running.iter().map(|card| PagerSubject::Live(card.call_id.clone())));
    if app.composer.has_labels() {
        places.push(PagerSubject::Draft);
    }
    if app.question().is_some() {
        places.push(PagerSubject::Question);
    }
    places
}

fn subject_title(at: &PagerSubject, app: &App) -> String {
    match at {
        PagerSubject::Card(number) => app.cards.get(*number).map(|card| card.title.clone()).unwrap_or_default(),
        PagerSubject::Live(call_id) => {
            let card = app.running.iter().find(|card| card.call_id == *call_id);
            card.map(|card| format!("running: {}", card.title())).unwrap_or_default()
        }
        PagerSubject::Thought => "thinking".to_owned(),
        PagerSubject::Draft => "your draft".to_owned(),
        PagerSubject::Question => "what is asked about".to_owned(),
    }
}

/// Returns a number that changes when the subject grows.
fn subject_version(at: &PagerSubject, app: &App) -> usize {
    match at {
        PagerSubject::Live(call_id) => {
            app.running.iter().find(|card| card.call_id == *call_id).map_or(0, |card| card.printed_bytes())
        }
        PagerSubject::Thought => app.thought.len(),
        PagerSubject::Card(_) | PagerSubject::Draft | PagerSubject::Question => 0,
    }
}

fn subject_lines(at: &PagerSubject, app: &App) -> Vec<StyledLine> {
    match at {
        PagerSubject::Card(number) => app.cards.get(*number).map(|card| card.content.lines()).unwrap_or_default(),
        PagerSubject::Question => app.question().map(|dialog| dialog.details()).unwrap_or_default(),
        PagerSubject::Live(_) | PagerSubject::Thought | PagerSubject::Draft => text_lines(&subject_text(at, app)),
    }
}

fn subject_text(at: &PagerSubject, app: &App) -> String {
    match at {
        PagerSubject::Card(number) => {
            app.cards.get(*number).map(|card| card.content.text().to_owned()).unwrap_or_default()
        }
        PagerSubject::Live(call_id) => {
            let card = app.running.iter().find(|card| card.call_id == *call_id);
            card.map(|card| card.output_so_far().to_owned()).unwrap_or_default()
        }
        PagerSubject::Thought => app.thought.clone(),
        PagerSubject::Draft => app.composer.expanded_text(),
        PagerSubject::Question => subject_lines(at, app).iter().map(StyledLine::plain).collect::<Vec<_>>().join("\n"),
    }
}

/// Returns the occurrences of a text; the case counts if the searched text has capitals.
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

/// Returns the line with these ranges inverted.
fn highlight_ranges(line: &StyledLine, ranges: &[Range<usize>]) -> StyledLine {
    if ranges.is_empty() {
        return line.clone();
    }
    let mut marked = StyledLine { spans: Vec::new(), indent: line.indent };
    let mut offset = 0;
    for span in &line.spans {
        let (start, end) = (offset, offset + span.text.len());
        let mut from = start;
        for range in ranges.iter().filter(|range| range.start < end && range.end > start) {
            let (begin, stop) = (range.start.max(start), range.end.min(end));
            let piece = |range: Range<usize>, style| StyledSpan {
                style,
                text: span.text[range.start - start..range.end - start].to_owned(),
            };
            marked.spans.push(piece(from..begin, span.style));
            marked.spans.push(piece(begin..stop, span.style.invert()));
            from = stop;
        }
        marked.spans.push(StyledSpan { style: span.style, text: span.text[from - start..].to_owned() });
        offset = end;
    }
    marked.spans.retain(|span| !span.text.is_empty());
    marked
}

impl App {
    /// Opens the pager on the last subject.
    pub(crate) fn open_pager(&mut self) {
        match Pager::open(self) {
            Some(pager) => self.overlays.open(OverlayLayer::Pager, pager),
            None => self.push_text(DIM, no_card_text(1)),
        }
    }

    /// Opens the pager on the `back`-th card from the end.
    pub(crate) fn open_card(&mut self, back: usize) {
        match Pager::open_card(self, back) {
            Some(pager) => self.overlays.open(OverlayLayer::Pager, pager),
            None => self.push_text(WARN, no_card_text(back)),
        }
    }

    /// Keeps a text as a card, and opens the pager on it.
    pub(crate) fn open_text(&mut self, title: impl Into<String>, text: String) {
        self.cards.push(title, CardContent::Text(text), None);
        self.open_card(1);
    }
}

impl Overlay for Pager {
    fn handle_key(&mut self, key: KeyEvent, _now: Instant, app: &mut App) -> KeyOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.notice = None;
        if self.is_searching {
            self.handle_search_key(key);
            return KeyOutcome::TAKEN;
        }
        let (top, room) = (self.top, self.page.visible_rows);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return KeyOutcome::CLOSED,
            KeyCode::Char('c' | 'o') if control => return KeyOutcome::CLOSED,
            KeyCode::Up | KeyCode::Char('k') => self.scroll_to(top.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.scroll_to(top + 1),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll_to(top.saturating_sub(room)),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.scroll_to(top + room),
            KeyCode::Home | KeyCode::Char('g') => self.scroll_to(0),
            KeyCode::End | KeyCode::Char('G') => self.scroll_to(usize::MAX),
            KeyCode::Left | KeyCode::Char('[') => self.step(app, -1),
            KeyCode::Right | KeyCode::Char(']') => self.step(app, 1),
            KeyCode::Char('/') => {
                self.is_searching = true;
                self.search.clear();
            }
            KeyCode::Char('n') => self.go_to_hit(true, top + 1),
            KeyCode::Char('N') => self.go_to_hit(false, top),
            KeyCode::Char('y') => return KeyOutcome::Taken(vec![AppEffect::Copy(subject_text(&self.subject, app))]),
            _ => {}
        }
        KeyOutcome::TAKEN
    }

    /// Inserts pasted text into the search text while that is being typed.
    fn handle_paste(&mut self, text: &str, _now: Instant) -> bool {
        if self.is_searching {
            self.search.push_str(text.lines().next().unwrap_or_default());
        }
        true
    }

    fn page(&mut self, app: &App, columns: usize, rows: usize) -> Option<OverlayPage> {
        self.view(app, columns, rows).map(OverlayPage::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presentation::styled_text::{BAD, PLAIN};

    #[test]
    fn lower_case_finds_both_cases_and_capitals_only_themselves() {
        assert_eq!(occurrences("Error: error ERROR", "error"), [0..5, 7..12, 13..18]);
        assert_eq!(occurrences("ERR error ERROR", "ERR"), [0..3, 10..13]);
        assert_eq!(occurrences("aaaa", "aa"), [0..2, 2..4]);
        assert_eq!(occurrences("größe ÖL", "ö"), [2..4, 8..10]);
        assert!(occurrences("", "x").is_empty() && occurrences("x", "").is_empty());
    }

    #[test]
    fn hits_are_marked_across_styles_and_no_text_is_lost() {
        let line = StyledLine::styled(PLAIN, "ab").with_text(BAD, "cd");
        let found = highlight_ranges(&line, &occurrences(&line.plain(), "bc"));
        assert_eq!(found.plain(), "abcd");
        let texts: Vec<&str> = found.spans.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
        assert_eq!(found.spans[1].style, PLAIN.invert());
    }
}
