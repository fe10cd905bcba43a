//! vi key bindings for the composer: insert and normal mode, with counts, operators and motions.
//!
//! It turns keys into changes of a text, and is independent of the screen.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use super::composer::{Composer, Motion};

/// The largest count.
const MAX_COUNT: usize = 999;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VimMode {
    /// Keys insert text.
    #[default]
    Insert,
    /// Keys move the cursor and change text.
    Normal,
}

impl VimMode {
    /// Returns the mode's name for the status line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            VimMode::Insert => "INSERT",
            VimMode::Normal => "NORMAL",
        }
    }
}

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VimKeyResult {
    /// The key was handled.
    Handled,
    /// The key has no vi binding and keeps its ordinary meaning.
    NotHandled,
    /// The cursor cannot move further up: recall an earlier prompt.
    Older,
    /// The cursor cannot move further down: recall a later prompt.
    Newer,
}

/// An operation on the text that a motion passes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VimOperator {
    Delete,
    Change,
    Yank,
}

impl VimOperator {
    fn from_letter(letter: char) -> Option<Self> {
        match letter {
            'd' => Some(VimOperator::Delete),
            'c' => Some(VimOperator::Change),
            'y' => Some(VimOperator::Yank),
            _ => None,
        }
    }
}

/// The text that was last deleted or yanked.
#[derive(Clone, Debug, Default)]
struct VimRegister {
    text: String,
    /// Whether the text is whole lines.
    is_linewise: bool,
}

/// The state of the vi keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vim {
    pub(crate) mode: VimMode,
    count: Option<usize>,
    operator: Option<(VimOperator, usize)>,
    /// Whether the next letter replaces the one under the cursor.
    is_replacing: bool,
    register: VimRegister,
}

impl Vim {
    /// Handles a key for the composer.
    pub(crate) fn handle_key(&mut self, text: &mut Composer, key: KeyEvent) -> VimKeyResult {
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match (self.mode, key.code) {
            (VimMode::Insert, KeyCode::Esc) => {
                self.mode = VimMode::Normal;
                if text.cursor() > current_line(text).start {
                    text.move_cursor(Motion::Left);
                }
                VimKeyResult::Handled
            }
            (VimMode::Insert, _) => VimKeyResult::NotHandled,
            (VimMode::Normal, KeyCode::Esc) => {
                let amid = self.count.is_some() || self.operator.is_some() || self.is_replacing;
                self.clear_pending();
                if amid { VimKeyResult::Handled } else { VimKeyResult::NotHandled }
            }
            (VimMode::Normal, KeyCode::Char('r')) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                text.redo();
                self.enter_normal_mode(text)
            }
            (VimMode::Normal, KeyCode::Char(letter)) if plain => self.handle_letter(text, letter),
            (VimMode::Normal, KeyCode::Backspace) => self.handle_letter(text, 'h'),
            (VimMode::Normal, _) => {
                self.clear_pending();
                VimKeyResult::NotHandled
            }
        }
    }

    /// Returns to insert mode after a prompt was sent.
    pub(crate) fn start_prompt(&mut self) {
        self.mode = VimMode::Insert;
        self.clear_pending();
    }

    fn clear_pending(&mut self) {
        (self.count, self.operator, self.is_replacing) = (None, None, false);
    }

    /// Ends a command; in normal mode the cursor stands on a letter, not after the last one.
    fn enter_normal_mode(&mut self, text: &mut Composer) -> VimKeyResult {
        self.clear_pending();
        let line = current_line(text);
        if self.mode == VimMode::Normal && text.cursor() == line.end && !line.is_empty() {
            text.move_cursor(Motion::Left);
        }
        VimKeyResult::Handled
    }

    fn handle_letter(&mut self, text: &mut Composer, letter: char) -> VimKeyResult {
        if self.is_replacing {
            return self.replace_letter(text, letter);
        }
        if let Some(digit) = letter.to_digit(10).filter(|digit| *digit > 0 || self.count.is_some()) {
            let digit = usize::try_from(digit).unwrap_or(0);
            self.count = Some((self.count.unwrap_or(0) * 10 + digit).min(MAX_COUNT));
            return VimKeyResult::Handled;
        }
        if let Some((operator, first)) = self.operator {
            let count = first.saturating_mul(self.count.take().unwrap_or(1)).min(MAX_COUNT);
            return self.operate(text, operator, letter, count);
        }
        let count = self.count.take();
        if let Some(operator) = VimOperator::from_letter(letter) {
            self.operator = Some((operator, count.unwrap_or(1)));
            return VimKeyResult::Handled;
        }
        let times = count.unwrap_or(1);
        match letter {
            'i' | 'a' | 'A' | 'I' | 'o' | 'O' => self.enter_insert_mode(text, letter),
            'x' | 's' => {
                let range = text.cursor()..graphemes_right(text, times);
                self.apply(text, if letter == 'x' { VimOperator::Delete } else { VimOperator::Change }, range)
            }
            'X' => self.apply(text, VimOperator::Delete, graphemes_left(text, times)..text.cursor()),
            'D' => self.apply(text, VimOperator::Delete, text.cursor()..current_line(text).end),
            'C' => self.apply(text, VimOperator::Change, text.cursor()..current_line(text).end),
            'S' => self.operate(text, VimOperator::Change, 'c', times),
            'Y' => self.operate(text, VimOperator::Yank, 'y', times),
            'r' => {
                self.is_replacing = true;
                VimKeyResult::Handled
            }
            'u' => {
                (0..times).for_each(|_| text.undo());
                self.enter_normal_mode(text)
            }
            'p' | 'P' => self.paste_register(text, letter == 'p', times),
            'j' | 'k' => self.move_vertically(text, letter, times),
            _ => {
                if let Some(target) = motion_target(text, letter, count) {
                    text.set_cursor(target.at);
                }
                self.enter_normal_mode(text)
            }
        }
    }

    fn move_vertically(&mut self, text: &mut Composer, letter: char, times: usize) -> VimKeyResult {
        for at in 0..times {
            let moved = if letter == 'j' { text.down() } else { text.up() };
            if !moved && at == 0 {
                self.clear_pending();
                return if letter == 'j' { VimKeyResult::Newer } else { VimKeyResult::Older };
            }
        }
        self.enter_normal_mode(text)
    }

    fn enter_insert_mode(&mut self, text: &mut Composer, letter: char) -> VimKeyResult {
        let here = current_line(text);
        match letter {
            'a' => text.set_cursor(graphemes_right(text, 1)),
            'A' => text.set_cursor(here.end),
            'I' => text.set_cursor(first_letter(text)),
            'o' => text.replace(here.end..here.end, "\n"),
            'O' => {
                text.replace(here.start..here.start, "\n");
                text.set_cursor(here.start);
            }
            _ => {}
        }
        self.mode = VimMode::Insert;
        self.enter_normal_mode(text)
    }

    fn replace_letter(&mut self, text: &mut Composer, letter: char) -> VimKeyResult {
        let range = text.extend_over_labels(text.cursor()..graphemes_right(text, 1));
        if !range.is_empty() {
            let at = range.start;
            text.replace(range, letter.encode_utf8(&mut [0; 4]));
            text.set_cursor(at);
        }
        self.enter_normal_mode(text)
    }

    /// Applies an operator to the range of a motion.
    fn operate(&mut self, text: &mut Composer, operator: VimOperator, letter: char, count: usize) -> VimKeyResult {
        if VimOperator::from_letter(letter) == Some(operator) {
            return self.operate_on_lines(text, operator, count);
        }
        // `cw` acts like `ce`, except on blanks.
        let on_blank = text.text()[text.cursor()..].chars().next().is_none_or(char::is_whitespace);
        let letter = match (operator, letter) {
            (VimOperator::Change, 'w') if !on_blank => 'e',
            (VimOperator::Change, 'W') if !on_blank => 'E',
            (_, letter) => letter,
        };
        let Some(target) = motion_target(text, letter, Some(count)) else { return self.enter_normal_mode(text) };
        let from = text.cursor();
        let mut range = from.min(target.at)..from.max(target.at);
        if target.inclusive {
            range.end += text.text()[range.end..].graphemes(true).next().map_or(0, str::len);
        }
        if matches!(letter, 'w' | 'W') {
            range.end = word_end_in_line(text.text(), &range);
        }
        self.apply(text, operator, range)
    }

    fn apply(&mut self, text: &mut Composer, operator: VimOperator, range: Range<usize>) -> VimKeyResult {
        let range = text.extend_over_labels(range);
        if !range.is_empty() {
            self.register = VimRegister { text: text.text()[range.clone()].to_owned(), is_linewise: false };
        }
        match operator {
            VimOperator::Yank => text.set_cursor(range.start),
            VimOperator::Delete | VimOperator::Change if !range.is_empty() => text.replace(range, ""),
            VimOperator::Delete | VimOperator::Change => {}
        }
        if operator == VimOperator::Change {
            self.mode = VimMode::Insert;
        }
        self.enter_normal_mode(text)
    }

    fn operate_on_lines(&mut self, text: &mut Composer, operator: VimOperator, count: usize) -> VimKeyResult {
        let here = current_line(text);
        let mut end = here.end;
        for _ in 1..count {
            let Some(rest) = text.text().get(end + 1..) else { break };
            end += 1 + rest.find('\n').unwrap_or(rest.len());
        }
        self.register = VimRegister { text: text.text()[here.start..end].to_owned(), is_linewise: true };
        match operator {
            VimOperator::Yank => {}
            VimOperator::Change => {
                text.replace(here.start..end, "");
                self.mode = VimMode::Insert;
            }
            VimOperator::Delete => {
                // A line is deleted with its line feed, or with the one before it if it is the last line.
                let range = match end < text.text().len() {
                    true => here.start..end + 1,
                    false => here.start.saturating_sub(1)..end,
                };
                text.replace(range, "");
                text.set_cursor(first_letter(text));
            }
        }
        self.enter_normal_mode(text)
    }

    fn paste_register(&mut self, text: &mut Composer, behind: bool, times: usize) -> VimKeyResult {
        let VimRegister { text: put, is_linewise: lines } = self.register.clone();
        if put.is_empty() && !lines {
            return self.enter_normal_mode(text);
        }
        let here = current_line(text);
        if lines {
            let all = vec![put.as_str(); times].join("\n");
            let at = match behind {
                true => {
                    text.replace(here.end..here.end, &format!("\n{all}"));
                    here.end + 1
                }
                false => {
                    text.replace(here.start..here.start, &format!("{all}\n"));
                    here.start
                }
            };
            text.set_cursor(at);
        } else {
            let at = if behind { graphemes_right(text, 1) } else { text.cursor() };
            text.replace(at..at, &put.repeat(times));
            text.move_cursor(Motion::Left);
        }
        self.enter_normal_mode(text)
    }
}

/// The target of a motion.
struct MotionTarget {
    at: usize,
    /// Whether an operator includes the letter at the target.
    inclusive: bool,
}

fn motion_target(text: &Composer, letter: char, count: Option<usize>) -> Option<MotionTarget> {
    let times = count.unwrap_or(1);
    let exclusive = |at| Some(MotionTarget { at, inclusive: false });
    let repeated = |step: fn(&str, usize, bool) -> usize, big: bool| {
        (0..times).fold(text.cursor(), |at, _| step(text.text(), at, big))
    };
    match letter {
        'h' => exclusive(graphemes_left(text, times)),
        'l' | ' ' => exclusive(graphemes_right(text, times)),
        '0' => exclusive(current_line(text).start),
        '^' => exclusive(first_letter(text)),
        '$' => exclusive(current_line(text).end),
        'G' => exclusive(text.text().len()),
        'w' | 'W' => exclusive(repeated(next_word, letter == 'W')),
        'b' | 'B' => exclusive(repeated(word_before, letter == 'B')),
        'e' | 'E' => Some(MotionTarget { at: repeated(word_end, letter == 'E'), inclusive: true }),
        _ => None,
    }
}

/// Returns the range of the cursor's line, without its line feed.
fn current_line(text: &Composer) -> Range<usize> {
    let (before, after) = text.text().split_at(text.cursor());
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    start..after.find('\n').map_or(text.text().len(), |at| text.cursor() + at)
}

fn first_letter(text: &Composer) -> usize {
    let line = current_line(text);
    let shown = &text.text()[line.clone()];
    line.start + (shown.len() - shown.trim_start().len())
}

fn graphemes_left(text: &Composer, times: usize) -> usize {
    let start = current_line(text).start;
    let before = text.text()[start..text.cursor()].grapheme_indices(true).rev();
    before.take(times).last().map_or(text.cursor(), |(at, _)| start + at)
}

fn graphemes_right(text: &Composer, times: usize) -> usize {
    let rest = text.text()[text.cursor()..current_line(text).end].graphemes(true);
    text.cursor() + rest.take(times).map(str::len).sum::<usize>()
}

/// The kind of a character; a word consists of one kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    Blank,
    Word,
    Punctuation,
}

fn character_kind(grapheme: &str, big: bool) -> CharacterKind {
    let first = grapheme.chars().next().unwrap_or(' ');
    match first {
        _ if first.is_whitespace() => CharacterKind::Blank,
        _ if big || first.is_alphanumeric() || first == '_' => CharacterKind::Word,
        _ => CharacterKind::Punctuation,
    }
}

fn next_word(text: &str, from: usize, big: bool) -> usize {
    let mut rest = text[from..].grapheme_indices(true).peekable();
    let Some(first) = rest.peek().map(|(_, one)| character_kind(one, big)) else { return from };
    let past = |(_, one): &(usize, &str)| character_kind(one, big) == first && first != CharacterKind::Blank;
    let mut rest = rest.skip_while(past).skip_while(|(_, one)| character_kind(one, big) == CharacterKind::Blank);
    rest.next().map_or(text.len(), |(at, _)| from + at)
}

fn word_end(text: &str, from: usize, big: bool) -> usize {
    let step = text[from..].graphemes(true).next().map_or(0, str::len);
    let mut rest = text[from + step..]
        .grapheme_indices(true)
        .skip_while(|(_, one)| character_kind(one, big) == CharacterKind::Blank);
    let Some((at, first)) = rest.next() else { return from };
    let own = character_kind(first, big);
    let last = rest.take_while(|(_, one)| character_kind(one, big) == own).last().map_or(at, |(at, _)| at);
    from + step + last
}

fn word_before(text: &str, from: usize, big: bool) -> usize {
    let mut before = text[..from]
        .grapheme_indices(true)
        .rev()
        .skip_while(|(_, one)| character_kind(one, big) == CharacterKind::Blank);
    let Some((at, first)) = before.next() else { return 0 };
    let own = character_kind(first, big);
    before.take_while(|(_, one)| character_kind(one, big) == own).last().map_or(at, |(at, _)| at)
}

/// Returns where an operator on words ends: the last word of a line does not include the line feed.
fn word_end_in_line(text: &str, range: &Range<usize>) -> usize {
    let passed = &text[range.clone()];
    let words = passed.trim_end().len();
    match passed[words..].find('\n') {
        Some(at) if words + at > 0 => range.start + words + at,
        _ => range.end,
    }
}

#[cfg(test)]
mod tests;
