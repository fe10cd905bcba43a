//! The text editor of the prompt: cursor, word and line motions, undo, and labels for long pastes.
//!
//! It is independent of the terminal and of the text's use.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The number of undo steps.
const MAX_UNDO_STEPS: usize = 200;

/// A text with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composer {
    text: String,
    /// The cursor, as a byte offset between two graphemes.
    cursor: usize,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    /// Whether the last change was typing, which is undone a word at a time.
    typing: bool,
    kill_buffer: String,
    /// Long texts that are shown as labels.
    labels: Vec<PasteLabel>,
}

/// A long text that is shown as a label and sent whole.
#[derive(Clone, Debug)]
struct PasteLabel {
    shown: String,
    full_text: String,
}

/// The lines, and the characters, above which a text is shown as a label.
const MAX_UNLABELLED_LINES: usize = 20;
const MAX_UNLABELLED_CHARS: usize = 4_000;

/// A movement of the cursor, or the range to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Start,
    End,
}

impl Composer {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to an offset, or to the nearest grapheme boundary before it.
    pub(crate) fn set_cursor(&mut self, at: usize) {
        self.typing = false;
        let is_between = |at: usize| self.text.grapheme_indices(true).any(|(start, _)| start == at);
        let at = (0..=at.min(self.text.len())).rev().find(|at| *at == self.text.len() || is_between(*at)).unwrap_or(0);
        self.cursor = self.snap_to_label_edge(at);
    }

    /// Extends a range of bytes over every label that it touches: half a label would not stand for its text.
    pub(crate) fn extend_over_labels(&self, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let touches = |label: &std::ops::Range<usize>| label.start < range.end && range.start < label.end;
        let touched = self.label_ranges().into_iter().map(|(label, _)| label).filter(touches);
        touched.fold(range.clone(), |range, label| range.start.min(label.start)..range.end.max(label.end))
    }

    /// Replaces the whole text and moves the cursor to its end.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.push_undo();
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Replaces the whole text with a prompt; a long one is shown as a label.
    pub(crate) fn set_prompt(&mut self, text: impl Into<String>) {
        let mut text: String = text.into();
        for label in &self.labels {
            text = text.replace(&label.full_text, &label.shown);
        }
        let text = if is_long(&text) { self.add_size_label("", text) } else { text };
        self.set(text);
    }

    /// Takes the whole text, and leaves neither text nor undo steps.
    pub(crate) fn take(&mut self) -> String {
        let whole = self.expanded_text();
        *self = Composer { kill_buffer: std::mem::take(&mut self.kill_buffer), ..Composer::default() };
        whole
    }

    /// Inserts pasted text; a long one is shown as a label.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = normalize_line_ends(text);
        let shown = if is_long(&text) { self.add_size_label("pasted ", text) } else { text };
        self.insert(&shown);
        self.typing = false;
    }

    /// Adds a label for a long text, with its size, and returns it.
    fn add_size_label(&mut self, what: &str, whole: String) -> String {
        let size = match whole.lines().count() {
            lines @ 2.. => format!("{lines} lines"),
            _ => format!("{} letters", whole.chars().count()),
        };
        self.add_label(&format!("{what}{size}"), whole)
    }

    /// Inserts a label with these words for a text.
    pub(crate) fn attach(&mut self, words: &str, whole: String) {
        let shown = self.add_label(words, whole);
        self.insert(&format!("{shown} "));
        self.typing = false;
    }

    /// Adds a label with these words for a text, and returns it.
    fn add_label(&mut self, words: &str, whole: String) -> String {
        if let Some(known) = self.labels.iter().find(|label| label.full_text == whole) {
            return known.shown.clone();
        }
        let named = |number: usize| match number {
            1 => format!("[{words}]"),
            number => format!("[{words} #{number}]"),
        };
        let is_free = |shown: &String| self.labels.iter().all(|label| label.shown != *shown);
        let shown = (1..=self.labels.len() + 1).map(named).find(is_free).unwrap_or_else(|| named(1));
        self.labels.push(PasteLabel { shown: shown.clone(), full_text: whole });
        shown
    }

    /// Returns the ranges of the labels in the text.
    fn label_ranges(&self) -> Vec<(std::ops::Range<usize>, &PasteLabel)> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some((at, label)) = self
            .labels
            .iter()
            .filter_map(|label| Some((from + self.text[from..].find(&label.shown)?, label)))
            .min_by_key(|(at, _)| *at)
        {
            from = at + label.shown.len();
            found.push((at..from, label));
        }
        found
    }

    /// Returns whether the text contains a label.
    pub(crate) fn has_labels(&self) -> bool {
        !self.labels.is_empty() && !self.label_ranges().is_empty()
    }

    /// Returns the text as it is sent, with labels replaced by their texts.
    pub(crate) fn expanded_text(&self) -> String {
        let mut whole = String::with_capacity(self.text.len());
        let mut from = 0;
        for (range, label) in self.label_ranges() {
            whole.push_str(&self.text[from..range.start]);
            whole.push_str(&label.full_text);
            from = range.end;
        }
        whole.push_str(&self.text[from..]);
        whole
    }

    /// Inserts text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = normalize_line_ends(text);
        let goes_on = self.typing && text.chars().all(|char| !char.is_whitespace());
        if !goes_on {
            self.push_undo();
        }
        self.typing = true;
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Replaces a range of bytes, and puts the cursor after it.
    pub(crate) fn replace(&mut self, range: std::ops::Range<usize>, with: &str) {
        self.push_undo();
        self.text.replace_range(range.clone(), with);
        self.cursor = range.start + with.len();
    }

    pub(crate) fn move_cursor(&mut self, motion: Motion) {
        self.typing = false;
        self.cursor = self.motion_target(motion);
    }

    /// Deletes from the cursor to the motion's target.
    ///
    /// Deleted words and lines go into the kill buffer.
    pub(crate) fn delete(&mut self, motion: Motion) {
        let mut target = self.motion_target(motion);
        // At a line's end, deleting to the end of the line joins it with the next.
        if target == self.cursor && motion == Motion::LineEnd {
            target = self.motion_target(Motion::Right);
        }
        let range = target.min(self.cursor)..target.max(self.cursor);
        if range.is_empty() {
            return;
        }
        self.push_undo();
        if !matches!(motion, Motion::Left | Motion::Right) {
            self.kill_buffer = self.text[range.clone()].to_owned();
        }
        self.cursor = range.start;
        self.text.replace_range(range, "");
    }

    /// Inserts the word or line that was last deleted.
    pub(crate) fn yank(&mut self) {
        let killed = self.kill_buffer.clone();
        self.insert(&killed);
    }

    pub(crate) fn undo(&mut self) {
        if let Some(before) = self.undo.pop() {
            let now = std::mem::replace(&mut self.text, before.0);
            self.redo.push((now, self.cursor));
            self.cursor = before.1;
        }
        self.typing = false;
    }

    pub(crate) fn redo(&mut self) {
        if let Some(after) = self.redo.pop() {
            let now = std::mem::replace(&mut self.text, after.0);
            self.undo.push((now, self.cursor));
            self.cursor = after.1;
        }
        self.typing = false;
    }

    /// Moves the cursor one line up, and returns false if there is none.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.motion_target(Motion::LineStart);
        if start == 0 {
            return false;
        }
        let above = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
        self.move_to_column(above, start - 1);
        true
    }

    /// Moves the cursor one line down, and returns false if there is none.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.motion_target(Motion::LineEnd);
        if end == self.text.len() {
            return false;
        }
        let below_end = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
        self.move_to_column(end + 1, below_end);
        true
    }

    /// Moves the cursor to its column on the line between two offsets.
    fn move_to_column(&mut self, start: usize, end: usize) {
        let wanted = self.text[self.motion_target(Motion::LineStart)..self.cursor].width();
        self.typing = false;
        let mut column = 0;
        let mut at = start;
        for grapheme in self.text[start..end].graphemes(true) {
            if column >= wanted {
                break;
            }
            column += grapheme.width();
            at += grapheme.len();
        }
        self.cursor = self.snap_to_label_edge(at);
    }

    /// Returns the edge of the label that contains an offset, on the side farther from the cursor, or else the offset.
    fn snap_to_label_edge(&self, at: usize) -> usize {
        if self.labels.is_empty() {
            return at;
        }
        let within =
            self.label_ranges().into_iter().map(|(range, _)| range).find(|range| range.start < at && at < range.end);
        within.map_or(at, |range| if at < self.cursor { range.start } else { range.end })
    }

    fn push_undo(&mut self) {
        self.typing = false;
        self.redo.clear();
        self.undo.push((self.text.clone(), self.cursor));
        if self.undo.len() > MAX_UNDO_STEPS {
            self.undo.remove(0);
        }
    }

    fn motion_target(&self, motion: Motion) -> usize {
        self.snap_to_label_edge(self.motion_target_in_text(motion))
    }

    fn motion_target_in_text(&self, motion: Motion) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        let word =
            |text: &str| !text.trim().is_empty() && text.chars().any(|char| char.is_alphanumeric() || char == '_');
        match motion {
            Motion::Start => 0,
            Motion::End => self.text.len(),
            Motion::LineStart => before.rfind('\n').map_or(0, |at| at + 1),
            Motion::LineEnd => after.find('\n').map_or(self.text.len(), |at| self.cursor + at),
            Motion::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            Motion::Right => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            Motion::WordLeft => before.split_word_bound_indices().rfind(|(_, text)| word(text)).map_or(0, |(at, _)| at),
            Motion::WordRight => after
                .split_word_bound_indices()
                .find(|(_, text)| word(text))
                .map_or(self.text.len(), |(at, text)| self.cursor + at + text.len()),
        }
    }
}

fn normalize_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn is_long(text: &str) -> bool {
    text.len() > MAX_UNLABELLED_CHARS || text.lines().count() > MAX_UNLABELLED_LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composer(text: &str) -> Composer {
        let mut composer = Composer::default();
        composer.insert(text);
        composer
    }

    #[test]
    fn motions_respect_words_lines_and_graphemes() {
        let mut one = composer("git commit --amend 👩‍👩‍👧");
        one.delete(Motion::Left);
        assert_eq!(one.text(), "git commit --amend ");
        one.delete(Motion::WordLeft);
        assert_eq!(one.text(), "git commit --");
        one.move_cursor(Motion::LineStart);
        one.move_cursor(Motion::WordRight);
        one.insert("!");
        assert_eq!(one.text(), "git! commit --");
        one.delete(Motion::LineEnd);
        one.move_cursor(Motion::Start);
        one.yank();
        assert_eq!(one.text(), " commit --git!");
    }

    #[test]
    fn undo_removes_words_and_redo_restores_them() {
        let mut one = Composer::default();
        for char in ["h", "i", " ", "y", "o", "u"] {
            one.insert(char);
        }
        one.undo();
        assert_eq!(one.text(), "hi");
        one.undo();
        assert_eq!(one.text(), "");
        one.redo();
        assert_eq!(one.text(), "hi");
    }

    #[test]
    fn a_long_paste_is_shown_by_a_label_and_taken_whole() {
        let (long, other) = ("line\n".repeat(3000), "other\r\n".repeat(3000));
        let mut one = composer("see ");
        one.paste(&long);
        one.insert(" and ");
        one.paste(&other);
        assert_eq!(one.text(), "see [pasted 3000 lines] and [pasted 3000 lines #2]");
        // A label is a unit: it is deleted and restored as a whole, and nothing is typed into it.
        one.delete(Motion::Left);
        assert_eq!(one.text(), "see [pasted 3000 lines] and ");
        one.undo();
        one.move_cursor(Motion::Start);
        (0..6).for_each(|_| one.move_cursor(Motion::Right));
        one.insert("x");
        assert_eq!(one.text(), "see [pasted 3000 lines] xand [pasted 3000 lines #2]");
        let whole = one.take();
        assert_eq!(whole, format!("see {long} xand {}", other.replace("\r\n", "\n")));
        assert!(one.is_empty() && !one.has_labels());
    }

    #[test]
    fn a_label_inside_a_labelled_text_is_not_expanded() {
        let mut one = Composer::default();
        one.paste(&"[pasted 30 lines]\n".repeat(30));
        one.paste(&"x\n".repeat(30));
        assert_eq!(one.text(), "[pasted 30 lines][pasted 30 lines #2]");
        assert_eq!(one.expanded_text(), "[pasted 30 lines]\n".repeat(30) + &"x\n".repeat(30));
        one.paste(&"é".repeat(4000));
        assert!(one.text().ends_with("[pasted 4000 letters]"));
        one.set_prompt("é".repeat(4000) + "!");
        assert_eq!(one.text(), "[pasted 4000 letters]!");
        one.set_prompt("y\n".repeat(21));
        assert_eq!((one.text(), one.expanded_text()), ("[21 lines]", "y\n".repeat(21)));
    }

    #[test]
    fn up_and_down_keep_the_column() {
        let mut one = composer("first line\nab\nthird line");
        one.move_cursor(Motion::Start);
        (0..5).for_each(|_| one.move_cursor(Motion::Right));
        assert!(one.down());
        assert_eq!(one.cursor(), 13);
        assert!(one.down() && !one.down());
        assert!(one.up() && one.up() && !one.up());
    }
}
