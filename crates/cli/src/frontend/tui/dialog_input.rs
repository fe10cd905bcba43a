//! Decides which keys may answer a dialog.
//!
//! A terminal's reply to a query arrives like typing, and so does the rest of a sentence that was begun before the
//! dialog opened: neither may approve a call.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A character answers a dialog only if no other key follows it within this time.
pub(crate) const KEY_QUIET_PERIOD: Duration = Duration::from_millis(200);
/// Two characters that are closer than this belong to one text.
const MAX_TYPING_GAP: Duration = Duration::from_millis(600);
/// Two characters that are closer than this were not typed by a person.
const MAX_REPLY_GAP: Duration = Duration::from_millis(40);

/// The characters that were typed while a dialog was open.
#[derive(Debug, Default)]
pub(crate) struct DialogInput {
    held: Option<HeldKey>,
    last_character: Option<Instant>,
    has_text: bool,
}

/// A character that may answer the dialog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldKey {
    pub(crate) key: KeyEvent,
    /// Whether Enter was typed right after it, as scripts do.
    pub(crate) then_enter: bool,
    until: Instant,
}

impl DialogInput {
    /// Returns whether the dialog gets this character now.
    ///
    /// A character is held back instead, and dropped if it turns out to be part of a text. After a character that is no
    /// answer, all are part of a text, until a key says otherwise.
    pub(crate) fn passes_character(&mut self, key: KeyEvent, is_answer: bool, now: Instant) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return true;
        }
        let gap = self.last_character.map(|last| now.saturating_duration_since(last));
        let follows = gap.is_some_and(|gap| gap < MAX_TYPING_GAP);
        // Replies begin with an escape sequence, which reads as Alt and a character.
        let in_reply = key.modifiers.contains(KeyModifiers::ALT) || gap.is_some_and(|gap| gap < MAX_REPLY_GAP);
        self.has_text |= !in_reply && (follows || !is_answer);
        // These keys only move the selection, and repeat while they are held down.
        if matches!(key.code, KeyCode::Char('j' | 'k')) && is_answer && !self.has_text && !in_reply {
            return true;
        }
        self.last_character = Some(now);
        let until = now + KEY_QUIET_PERIOD;
        self.held = (!in_reply && !self.has_text).then_some(HeldKey { key, then_enter: false, until });
        false
    }

    /// Returns whether the dialog gets this key, which is no character, now. Keys that cancel, move or scroll pass;
    /// after a text, Enter ends the text alone.
    pub(crate) fn passes(&mut self, key: KeyEvent, now: Instant) -> bool {
        match key.code {
            KeyCode::Enter => {
                self.held.iter_mut().for_each(|held| held.then_enter = true);
                let follows =
                    self.last_character.is_some_and(|last| now.saturating_duration_since(last) < MAX_TYPING_GAP);
                !std::mem::take(&mut self.has_text) && self.held.is_none() && !follows
            }
            KeyCode::Up | KeyCode::Down | KeyCode::Tab => {
                *self = DialogInput::default();
                true
            }
            _ => true,
        }
    }

    /// Whether a text was typed, which does not answer the dialog.
    pub(crate) fn has_text(&self) -> bool {
        self.has_text
    }

    /// Takes note of a key that edits a text field of the dialog.
    ///
    /// A character that was held back before belonged to that text.
    pub(crate) fn passes_as_text(&mut self, key: KeyEvent, now: Instant) -> bool {
        let last_character = (key.code != KeyCode::Esc).then_some(now);
        *self = DialogInput { last_character, ..DialogInput::default() };
        true
    }

    /// Drops a held key, because the question that it was typed at is gone.
    pub(crate) fn drop_held(&mut self) {
        self.held = None;
    }

    pub(crate) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the held key, once no other one has followed it for long enough.
    pub(crate) fn release(&mut self, now: Instant) -> Option<HeldKey> {
        let held = self.held.take_if(|held| held.until <= now)?;
        self.last_character = None;
        Some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_text(input: &mut DialogInput, text: &str, gap: Duration, start: Instant) -> (Vec<KeyEvent>, Instant) {
        let mut now = start;
        let mut passed = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            let key = match character {
                '\x1b' => KeyEvent::new(KeyCode::Char(characters.next().unwrap_or('[')), KeyModifiers::ALT),
                '\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
                other => KeyEvent::new(KeyCode::Char(other), KeyModifiers::NONE),
            };
            passed.extend(input.release(now).map(|held| held.key));
            let passes = match key.code {
                KeyCode::Char(character) => input.passes_character(key, "ynaejk123456".contains(character), now),
                _ => input.passes(key, now),
            };
            passed.extend(passes.then_some(key));
            now += gap;
        }
        (passed, now)
    }

    fn answers(text: &str, gap_ms: u64) -> Vec<KeyCode> {
        let (mut input, start) = (DialogInput::default(), Instant::now());
        let (mut passed, end) = type_text(&mut input, text, Duration::from_millis(gap_ms), start);
        passed.extend(input.release(end + KEY_QUIET_PERIOD).map(|held| held.key));
        passed.iter().map(|key| key.code).collect()
    }

    #[test]
    fn one_key_answers_after_a_quiet_moment() {
        assert_eq!(answers("1", 0), [KeyCode::Char('1')]);
        assert_eq!(answers("y", 0), [KeyCode::Char('y')]);
        assert_eq!(answers("\r", 0), [KeyCode::Enter]);
        assert_eq!(answers("4\r", 0), [KeyCode::Char('4')]);
        assert_eq!(answers("a1", 250)[..1], [KeyCode::Char('a')]);
    }

    #[test]
    fn terminal_replies_do_not_answer_a_dialog() {
        for reply in [
            "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\",
            "\x1bP>|xterm(390)\x1b\\",
            "\x1bP1$r0m\x1b\\",
            "\x1b]l1\x1b\\",
            // The rest of a reply whose beginning was parsed as a broken escape sequence.
            "41;354;0c",
            "1;10;0c",
            "1y",
        ] {
            assert_eq!(answers(reply, 0), [], "{reply:?}");
            assert_eq!(answers(reply, 5), [], "{reply:?}");
        }
        assert_eq!(answers("\x1by", 0), [], "Alt and a letter");
    }

    #[test]
    fn a_sentence_that_is_typed_slowly_approves_nothing() {
        for gap in [250, 700, 2000] {
            assert_eq!(answers("maybe you should\r", gap), [], "{gap}");
            assert_eq!(answers("1) no\r", gap)[..], [KeyCode::Char('1')], "the first key is an answer: {gap}");
        }
        // Enter ends the text, and the next key answers.
        assert_eq!(answers("maybe\ry", 700), [KeyCode::Char('y')]);
    }

    #[test]
    fn a_sentence_approves_nothing() {
        for gap in [20, 80, 150, 190] {
            assert_eq!(answers("maybe you should\r", gap), [], "{gap}");
            assert_eq!(answers("yes, always\r", gap), [], "{gap}");
        }
    }
}
