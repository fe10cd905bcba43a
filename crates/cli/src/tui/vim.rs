//! vi's keys for the composer: a mode for writing and one for everything else, with counts, operators and motions. Turns
//! keys into changes of a text; knows neither the screen nor what the text is for.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use super::composer::{Composer, Motion};

/// Nobody means more than that.
const MOST: usize = 999;

/// What letters are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Writing.
    #[default]
    Insert,
    /// Moving and changing.
    Normal,
}

impl Mode {
    /// The word at the foot.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Mode::Insert => "INSERT",
            Mode::Normal => "NORMAL",
        }
    }
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// It did its work.
    Done,
    /// It is no key of vi's: it means what it always does.
    Passed,
    /// There is nothing further up: an earlier prompt.
    Older,
    /// There is nothing further down: a later prompt.
    Newer,
}

/// What is done with what a motion passes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Yank,
}

impl Operator {
    fn of(letter: char) -> Option<Self> {
        match letter {
            'd' => Some(Operator::Delete),
            'c' => Some(Operator::Change),
            'y' => Some(Operator::Yank),
            _ => None,
        }
    }
}

/// What was last deleted or yanked.
#[derive(Clone, Debug, Default)]
struct Register {
    text: String,
    /// Whether it is whole lines.
    lines: bool,
}

/// vi's keys, and what they remember between two of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vim {
    pub(crate) mode: Mode,
    count: Option<usize>,
    operator: Option<(Operator, usize)>,
    /// The next letter takes the place of the one under the cursor.
    replacing: bool,
    register: Register,
}

impl Vim {
    /// A key, while the composer has them.
    pub(crate) fn key(&mut self, text: &mut Composer, key: KeyEvent) -> Became {
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match (self.mode, key.code) {
            (Mode::Insert, KeyCode::Esc) => {
                self.mode = Mode::Normal;
                if text.cursor() > line(text).start {
                    text.go(Motion::Left);
                }
                Became::Done
            }
            (Mode::Insert, _) => Became::Passed,
            (Mode::Normal, KeyCode::Esc) => {
                let amid = self.count.is_some() || self.operator.is_some() || self.replacing;
                self.forget();
                if amid { Became::Done } else { Became::Passed }
            }
            (Mode::Normal, KeyCode::Char('r')) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                text.redo();
                self.rest(text)
            }
            (Mode::Normal, KeyCode::Char(letter)) if plain => self.letter(text, letter),
            (Mode::Normal, KeyCode::Backspace) => self.letter(text, 'h'),
            (Mode::Normal, _) => {
                self.forget();
                Became::Passed
            }
        }
    }

    /// A prompt was sent: the next one is written.
    pub(crate) fn begin(&mut self) {
        self.mode = Mode::Insert;
        self.forget();
    }

    fn forget(&mut self) {
        (self.count, self.operator, self.replacing) = (None, None, false);
    }

    /// Back to moving: the cursor stands on a letter, not behind the last one.
    fn rest(&mut self, text: &mut Composer) -> Became {
        self.forget();
        let line = line(text);
        if self.mode == Mode::Normal && text.cursor() == line.end && !line.is_empty() {
            text.go(Motion::Left);
        }
        Became::Done
    }

    fn letter(&mut self, text: &mut Composer, letter: char) -> Became {
        if self.replacing {
            return self.replace_letter(text, letter);
        }
        if let Some(digit) = letter.to_digit(10).filter(|digit| *digit > 0 || self.count.is_some()) {
            let digit = usize::try_from(digit).unwrap_or(0);
            self.count = Some((self.count.unwrap_or(0) * 10 + digit).min(MOST));
            return Became::Done;
        }
        if let Some((operator, first)) = self.operator {
            let count = first.saturating_mul(self.count.take().unwrap_or(1)).min(MOST);
            return self.operate(text, operator, letter, count);
        }
        let count = self.count.take();
        if let Some(operator) = Operator::of(letter) {
            self.operator = Some((operator, count.unwrap_or(1)));
            return Became::Done;
        }
        let times = count.unwrap_or(1);
        match letter {
            'i' | 'a' | 'A' | 'I' | 'o' | 'O' => self.insert(text, letter),
            'x' | 's' => {
                let range = text.cursor()..right(text, times);
                self.apply(text, if letter == 'x' { Operator::Delete } else { Operator::Change }, range)
            }
            'X' => self.apply(text, Operator::Delete, left(text, times)..text.cursor()),
            'D' => self.apply(text, Operator::Delete, text.cursor()..line(text).end),
            'C' => self.apply(text, Operator::Change, text.cursor()..line(text).end),
            'S' => self.operate(text, Operator::Change, 'c', times),
            'Y' => self.operate(text, Operator::Yank, 'y', times),
            'r' => {
                self.replacing = true;
                Became::Done
            }
            'u' => {
                (0..times).for_each(|_| text.undo());
                self.rest(text)
            }
            'p' | 'P' => self.put(text, letter == 'p', times),
            'j' | 'k' => self.vertical(text, letter, times),
            _ => {
                if let Some(target) = motion(text, letter, count) {
                    text.set_cursor(target.at);
                }
                self.rest(text)
            }
        }
    }

    fn vertical(&mut self, text: &mut Composer, letter: char, times: usize) -> Became {
        for at in 0..times {
            let moved = if letter == 'j' { text.down() } else { text.up() };
            if !moved && at == 0 {
                self.forget();
                return if letter == 'j' { Became::Newer } else { Became::Older };
            }
        }
        self.rest(text)
    }

    fn insert(&mut self, text: &mut Composer, letter: char) -> Became {
        let here = line(text);
        match letter {
            'a' => text.set_cursor(right(text, 1)),
            'A' => text.set_cursor(here.end),
            'I' => text.set_cursor(first_letter(text)),
            'o' => text.replace(here.end..here.end, "\n"),
            'O' => {
                text.replace(here.start..here.start, "\n");
                text.set_cursor(here.start);
            }
            _ => {}
        }
        self.mode = Mode::Insert;
        self.rest(text)
    }

    fn replace_letter(&mut self, text: &mut Composer, letter: char) -> Became {
        let range = text.with_labels(text.cursor()..right(text, 1));
        if !range.is_empty() {
            let at = range.start;
            text.replace(range, letter.encode_utf8(&mut [0; 4]));
            text.set_cursor(at);
        }
        self.rest(text)
    }

    /// An operator and what it works on.
    fn operate(&mut self, text: &mut Composer, operator: Operator, letter: char, count: usize) -> Became {
        if Operator::of(letter) == Some(operator) {
            return self.whole_lines(text, operator, count);
        }
        // `cw` is `ce`, but for blanks.
        let on_blank = text.text()[text.cursor()..].chars().next().is_none_or(char::is_whitespace);
        let letter = match (operator, letter) {
            (Operator::Change, 'w') if !on_blank => 'e',
            (Operator::Change, 'W') if !on_blank => 'E',
            (_, letter) => letter,
        };
        let Some(target) = motion(text, letter, Some(count)) else { return self.rest(text) };
        let from = text.cursor();
        let mut range = from.min(target.at)..from.max(target.at);
        if target.inclusive {
            range.end += text.text()[range.end..].graphemes(true).next().map_or(0, str::len);
        }
        if matches!(letter, 'w' | 'W') {
            range.end = within_line(text.text(), &range);
        }
        self.apply(text, operator, range)
    }

    fn apply(&mut self, text: &mut Composer, operator: Operator, range: Range<usize>) -> Became {
        let range = text.with_labels(range);
        if !range.is_empty() {
            self.register = Register { text: text.text()[range.clone()].to_owned(), lines: false };
        }
        match operator {
            Operator::Yank => text.set_cursor(range.start),
            Operator::Delete | Operator::Change if !range.is_empty() => text.replace(range, ""),
            Operator::Delete | Operator::Change => {}
        }
        if operator == Operator::Change {
            self.mode = Mode::Insert;
        }
        self.rest(text)
    }

    fn whole_lines(&mut self, text: &mut Composer, operator: Operator, count: usize) -> Became {
        let here = line(text);
        let mut end = here.end;
        for _ in 1..count {
            let Some(rest) = text.text().get(end + 1..) else { break };
            end += 1 + rest.find('\n').unwrap_or(rest.len());
        }
        self.register = Register { text: text.text()[here.start..end].to_owned(), lines: true };
        match operator {
            Operator::Yank => {}
            Operator::Change => {
                text.replace(here.start..end, "");
                self.mode = Mode::Insert;
            }
            Operator::Delete => {
                // A line goes with its end, or with the one before it where it is the last.
                let range = match end < text.text().len() {
                    true => here.start..end + 1,
                    false => here.start.saturating_sub(1)..end,
                };
                text.replace(range, "");
                text.set_cursor(first_letter(text));
            }
        }
        self.rest(text)
    }

    fn put(&mut self, text: &mut Composer, behind: bool, times: usize) -> Became {
        let Register { text: put, lines } = self.register.clone();
        if put.is_empty() && !lines {
            return self.rest(text);
        }
        let here = line(text);
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
            let at = if behind { right(text, 1) } else { text.cursor() };
            text.replace(at..at, &put.repeat(times));
            text.go(Motion::Left);
        }
        self.rest(text)
    }
}

/// Where a motion leads.
struct Target {
    at: usize,
    /// Whether an operator takes the letter there along.
    inclusive: bool,
}

fn motion(text: &Composer, letter: char, count: Option<usize>) -> Option<Target> {
    let times = count.unwrap_or(1);
    let exclusive = |at| Some(Target { at, inclusive: false });
    let repeated = |step: fn(&str, usize, bool) -> usize, big: bool| {
        (0..times).fold(text.cursor(), |at, _| step(text.text(), at, big))
    };
    match letter {
        'h' => exclusive(left(text, times)),
        'l' | ' ' => exclusive(right(text, times)),
        '0' => exclusive(line(text).start),
        '^' => exclusive(first_letter(text)),
        '$' => exclusive(line(text).end),
        'G' => exclusive(text.text().len()),
        'w' | 'W' => exclusive(repeated(next_word, letter == 'W')),
        'b' | 'B' => exclusive(repeated(word_before, letter == 'B')),
        'e' | 'E' => Some(Target { at: repeated(word_end, letter == 'E'), inclusive: true }),
        _ => None,
    }
}

/// The line that the cursor is in, without its end.
fn line(text: &Composer) -> Range<usize> {
    let (before, after) = text.text().split_at(text.cursor());
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    start..after.find('\n').map_or(text.text().len(), |at| text.cursor() + at)
}

fn first_letter(text: &Composer) -> usize {
    let line = line(text);
    let shown = &text.text()[line.clone()];
    line.start + (shown.len() - shown.trim_start().len())
}

fn left(text: &Composer, times: usize) -> usize {
    let start = line(text).start;
    let before = text.text()[start..text.cursor()].grapheme_indices(true).rev();
    before.take(times).last().map_or(text.cursor(), |(at, _)| start + at)
}

fn right(text: &Composer, times: usize) -> usize {
    let rest = text.text()[text.cursor()..line(text).end].graphemes(true);
    text.cursor() + rest.take(times).map(str::len).sum::<usize>()
}

/// What kind of letter it is: words are made of one kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Word,
    Sign,
}

fn kind(grapheme: &str, big: bool) -> Kind {
    let first = grapheme.chars().next().unwrap_or(' ');
    match first {
        _ if first.is_whitespace() => Kind::Blank,
        _ if big || first.is_alphanumeric() || first == '_' => Kind::Word,
        _ => Kind::Sign,
    }
}

fn next_word(text: &str, from: usize, big: bool) -> usize {
    let mut rest = text[from..].grapheme_indices(true).peekable();
    let Some(first) = rest.peek().map(|(_, one)| kind(one, big)) else { return from };
    let past = |(_, one): &(usize, &str)| kind(one, big) == first && first != Kind::Blank;
    let mut rest = rest.skip_while(past).skip_while(|(_, one)| kind(one, big) == Kind::Blank);
    rest.next().map_or(text.len(), |(at, _)| from + at)
}

fn word_end(text: &str, from: usize, big: bool) -> usize {
    let step = text[from..].graphemes(true).next().map_or(0, str::len);
    let mut rest = text[from + step..].grapheme_indices(true).skip_while(|(_, one)| kind(one, big) == Kind::Blank);
    let Some((at, first)) = rest.next() else { return from };
    let own = kind(first, big);
    let last = rest.take_while(|(_, one)| kind(one, big) == own).last().map_or(at, |(at, _)| at);
    from + step + last
}

fn word_before(text: &str, from: usize, big: bool) -> usize {
    let mut before = text[..from].grapheme_indices(true).rev().skip_while(|(_, one)| kind(one, big) == Kind::Blank);
    let Some((at, first)) = before.next() else { return 0 };
    let own = kind(first, big);
    before.take_while(|(_, one)| kind(one, big) == own).last().map_or(at, |(at, _)| at)
}

/// Where an operator on words ends: a line's last word does not take the line's end along.
fn within_line(text: &str, range: &Range<usize>) -> usize {
    let passed = &text[range.clone()];
    let words = passed.trim_end().len();
    match passed[words..].find('\n') {
        Some(at) if words + at > 0 => range.start + words + at,
        _ => range.end,
    }
}

#[cfg(test)]
mod tests;
