//! What keys do, apart from dialogs and the panel.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hookwright_agent::EndReason;
use hookwright_agent::session::Order;

use super::app::{App, Effect, Search};
use super::complete::Completion;
use super::composer::{Composer, Motion};
use super::dialog::{Asking, Reaction};
use super::dialog_input::DialogInput;
use super::text::WARN;
use super::vim::{Became, Vim};

impl App {
    /// A key was pressed.
    pub(crate) fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        let control = |letter| key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter);
        if control('o') {
            return vec![Effect::Expand];
        }
        if self.answers_dialog(key, now)
            && let Some(dialog) = self.dialogs.front_mut()
        {
            if control('x') && dialog.written().is_some() {
                return vec![Effect::Editor];
            }
            let passes = match dialog.is_hotkey(key) {
                true => self.dialog_input.passes(key, now),
                false => self.dialog_input.passes_as_text(key, now),
            };
            if passes {
                self.dialog_key(key);
            }
            return Vec::new();
        }
        if !control('c') {
            self.leaving = None;
        }
        if key.code != KeyCode::Esc {
            self.going_back = None;
        }
        if self.search.is_none() && self.completion.is_none() && self.gives_keyboard(key) {
            return Vec::new();
        }
        if self.search.is_some() && self.search_key(key) {
            return Vec::new();
        }
        if self.completion.is_some() && self.completion_key(key) {
            return Vec::new();
        }
        if let Some(effects) = self.vim_key(key) {
            return effects;
        }
        let effects = match key.code {
            KeyCode::Char('c') if control('c') => self.interrupt(now),
            KeyCode::Char('d') if control('d') && self.is_empty_shell() => self.leave_shell(),
            KeyCode::Char('d') if control('d') && self.composer.is_empty() => {
                vec![Effect::Quit(EndReason::PromptInputExit)]
            }
            KeyCode::Char('l') if control('l') => vec![Effect::Redraw],
            KeyCode::Char('x') if control('x') => vec![Effect::Editor],
            KeyCode::Char('v') if control('v') => vec![Effect::Clipboard],
            KeyCode::Char('r') if control('r') => {
                // What is found may be anything; a command has its sign.
                let sign = if std::mem::take(&mut self.shell_mode) { "!" } else { "" };
                let before = format!("{sign}{}", self.composer.whole());
                self.search = Some(Search { before, ..Search::default() });
                Vec::new()
            }
            KeyCode::Esc if self.busy.is_some() => vec![Effect::Order(Order::Cancel)],
            KeyCode::Esc | KeyCode::Backspace if self.is_empty_shell() => self.leave_shell(),
            KeyCode::Esc if self.composer.is_empty() => self.go_back(now),
            // Esc is for moving with vi's keys, and pressed more often than meant.
            KeyCode::Esc if self.vim.is_some() => Vec::new(),
            KeyCode::Esc => {
                self.composer.set("");
                Vec::new()
            }
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Enter if key.modifiers.is_empty() => self.enter(),
            KeyCode::Up if !self.composer.up() => self.recall(Recall::Older),
            KeyCode::Down if !self.composer.down() => self.recall(Recall::Newer),
            KeyCode::Up | KeyCode::Down => Vec::new(),
            KeyCode::Char('p') if control('p') => self.recall(Recall::Older),
            KeyCode::Char('n') if control('n') => self.recall(Recall::Newer),
            _ => {
                edit(&mut self.composer, key);
                Vec::new()
            }
        };
        self.suggest(key);
        effects
    }

    /// Hands a key to the open dialog; whether the dialog is still open.
    fn dialog_key(&mut self, key: KeyEvent) -> bool {
        let Some(dialog) = self.dialogs.front_mut() else { return false };
        let is_open = dialog.key(key) == Reaction::Open;
        if !is_open {
            self.dialogs.pop_front();
            self.dialog_input = DialogInput::default();
        }
        is_open
    }

    /// Hands over a key that was held back until it was clear that no other one follows it.
    pub(crate) fn release_held_key(&mut self, now: Instant) {
        if let Some(held) = self.dialog_input.release(now)
            && self.dialog_key(held.key)
            && held.then_enter
        {
            self.dialog_key(KeyCode::Enter.into());
        }
    }

    /// What vi's keys make of a key; nothing if it means what it always does.
    fn vim_key(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let vim = self.vim.as_mut()?;
        let became = vim.key(&mut self.composer, key);
        if became != Became::Passed {
            self.completion = None;
        }
        match became {
            Became::Passed => None,
            Became::Done => Some(Vec::new()),
            Became::Older => Some(self.recall(Recall::Older)),
            Became::Newer => Some(self.recall(Recall::Newer)),
        }
    }

    /// Whether a key is meant for the dialog. Somebody in the middle of a word when the question comes up has not seen it
    /// yet, and must not allow anything with the next letter; a short pause makes the difference.
    fn answers_dialog(&mut self, key: KeyEvent, now: Instant) -> bool {
        const PAUSE: Duration = Duration::from_millis(600);
        let letter =
            matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace) && !key.modifiers.contains(KeyModifiers::CONTROL);
        let goes_on = letter || key.code == KeyCode::Enter;
        let in_a_word = goes_on && self.writing.is_some_and(|last| now.saturating_duration_since(last) < PAUSE);
        if self.dialogs.is_empty() || in_a_word {
            self.writing = letter.then_some(now);
            return false;
        }
        true
    }

    /// Text was pasted: never a command to run, whatever line ends it has.
    pub(crate) fn paste(&mut self, text: &str) {
        match (self.dialogs.front_mut(), &mut self.search) {
            (Some(dialog), _) if dialog.is_writing() => dialog.paste(text),
            (_, Some(search)) => search.text.push_str(text.lines().next().unwrap_or_default()),
            (_, None) => self.composer.paste(text),
        }
    }

    /// What an editor would show now, and a name for it.
    pub(crate) fn editable(&self) -> (String, String) {
        let asked = self.dialogs.front().and_then(Asking::written);
        asked.map_or_else(|| (self.composer.whole(), "prompt.md".to_owned()), |(text, name)| (text.to_owned(), name))
    }

    /// What an editor gave back.
    pub(crate) fn edited(&mut self, text: &str) {
        match self.dialogs.front_mut() {
            Some(dialog) if dialog.written().is_some() => dialog.rewrite(text),
            _ => self.composer.put(text.trim_end()),
        }
    }

    fn enter(&mut self) -> Vec<Effect> {
        // A backslash at the end asks for another line.
        if self.composer.text().ends_with('\\') && self.composer.cursor() == self.composer.text().len() {
            self.composer.delete(Motion::Left);
            self.composer.insert("\n");
            return Vec::new();
        }
        let shown = self.composer.text().trim().to_owned();
        let (text, shown) = match (self.composer.take(), self.shell_mode) {
            // The sign alone changes the mode, either way.
            (text, before) if text.trim() == "!" => {
                self.shell_mode = !before;
                return Vec::new();
            }
            (text, true) if !text.trim().is_empty() => (format!("!{text}"), format!("!{shown}")),
            (text, _) => (text, shown),
        };
        self.sent.note(&text, shown);
        self.vim.iter_mut().for_each(Vim::begin);
        if let Some(trouble) = self.history.add(&text) {
            self.tell(WARN, trouble);
        }
        if text.trim().is_empty() { Vec::new() } else { vec![Effect::Submit(text)] }
    }

    fn next_mode(&mut self) -> Vec<Effect> {
        let modes = &self.status.modes;
        let at = modes.iter().position(|mode| *mode == self.status.mode).unwrap_or(0);
        vec![Effect::Order(Order::Mode(modes.get((at + 1) % modes.len().max(1)).copied().unwrap_or_default()))]
    }

    fn recall(&mut self, which: Recall) -> Vec<Effect> {
        let text = match which {
            // A prompt that still waits comes back first.
            Recall::Older if self.composer.is_empty() && !self.queue.is_empty() => {
                return vec![Effect::Order(Order::TakeBack)];
            }
            Recall::Older if self.shell_mode => self.history.older(&format!("!{}", self.composer.whole())),
            Recall::Older => self.history.older(&self.composer.whole()),
            Recall::Newer => self.history.newer(),
        };
        if let Some(text) = text {
            self.write(&text);
        }
        Vec::new()
    }

    /// Puts an earlier prompt into the composer. In the shell's mode a command is there without its sign, and what was none
    /// does not become one.
    fn write(&mut self, text: &str) {
        let command = text.strip_prefix('!').filter(|_| self.shell_mode);
        self.shell_mode = command.is_some();
        self.composer.put(command.unwrap_or(text));
    }

    fn is_empty_shell(&self) -> bool {
        self.shell_mode && self.composer.is_empty()
    }

    fn leave_shell(&mut self) -> Vec<Effect> {
        self.shell_mode = false;
        Vec::new()
    }

    /// Suggestions follow what is typed; walking through the history does not call them up.
    fn suggest(&mut self, key: KeyEvent) {
        let typed = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete | KeyCode::Tab);
        self.completion = if typed && !self.shell_mode { Completion::find(&self.composer, &self.names) } else { None };
    }

    fn completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = &mut self.completion else { return false };
        match key.code {
            KeyCode::Up => completion.step(-1),
            KeyCode::Down => completion.step(1),
            KeyCode::Esc => self.completion = None,
            KeyCode::Enter if !key.modifiers.is_empty() => return false,
            // What is complete as it is goes off; a suggestion would only be in the way.
            KeyCode::Enter if completion.selected == 0 && completion.is_exact(&self.composer) => return false,
            KeyCode::Tab | KeyCode::Enter => {
                if let Some(completion) = self.completion.take() {
                    completion.accept(&mut self.composer);
                }
                self.completion = Completion::find(&self.composer, &self.names);
            }
            _ => return false,
        }
        true
    }

    /// Ctrl-R: each letter narrows the search, Ctrl-R goes on to an older one. Any other key takes what was found.
    fn search_key(&mut self, key: KeyEvent) -> bool {
        let Some(search) = &mut self.search else { return false };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => search.skip += 1,
            KeyCode::Char('c' | 'g') if control => return self.end_search(),
            KeyCode::Esc => return self.end_search(),
            KeyCode::Char(char) if !control => {
                search.text.push(char);
                search.skip = 0;
            }
            KeyCode::Backspace => {
                search.text.pop();
                search.skip = 0;
            }
            _ => {
                self.search = None;
                // Enter only takes what was found; it is sent by the next one.
                return key.code == KeyCode::Enter;
            }
        }
        match self.history.find(&search.text, search.skip) {
            Some(found) if !search.text.is_empty() => self.composer.put(found.to_owned()),
            Some(_) => {}
            None => search.skip = search.skip.saturating_sub(1),
        }
        true
    }

    fn end_search(&mut self) -> bool {
        if let Some(search) = self.search.take() {
            self.composer.put(search.before);
        }
        true
    }
}

/// Whether a key asks to suspend the program, wherever it is pressed.
pub(crate) fn is_suspend(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL && key.kind != KeyEventKind::Release
}

enum Recall {
    Older,
    Newer,
}

/// The keys that every text field knows.
pub(crate) fn edit(composer: &mut Composer, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Enter => composer.insert("\n"),
        KeyCode::Char('j') if control => composer.insert("\n"),
        KeyCode::Char('a') if control => composer.go(Motion::LineStart),
        KeyCode::Char('e') if control => composer.go(Motion::LineEnd),
        KeyCode::Char('b') if control => composer.go(Motion::Left),
        KeyCode::Char('f') if control => composer.go(Motion::Right),
        KeyCode::Char('b') if alt => composer.go(Motion::WordLeft),
        KeyCode::Char('f') if alt => composer.go(Motion::WordRight),
        KeyCode::Char('d') if control => composer.delete(Motion::Right),
        KeyCode::Char('d') if alt => composer.delete(Motion::WordRight),
        KeyCode::Char('h') if control => composer.delete(Motion::Left),
        KeyCode::Char('w') if control => composer.delete(Motion::WordLeft),
        KeyCode::Char('u') if control => composer.delete(Motion::LineStart),
        KeyCode::Char('k') if control => composer.delete(Motion::LineEnd),
        KeyCode::Char('y') if control => composer.yank(),
        // Terminals send Ctrl-_ as Ctrl-7.
        KeyCode::Char('_' | '7') if control => composer.undo(),
        KeyCode::Char('z') if alt && !key.modifiers.contains(KeyModifiers::SHIFT) => composer.undo(),
        KeyCode::Char('z' | 'Z') if alt => composer.redo(),
        KeyCode::Char(char) if !control && !alt => composer.insert(char.encode_utf8(&mut [0; 4])),
        KeyCode::Backspace if control || alt => composer.delete(Motion::WordLeft),
        KeyCode::Backspace => composer.delete(Motion::Left),
        KeyCode::Delete if control || alt => composer.delete(Motion::WordRight),
        KeyCode::Delete => composer.delete(Motion::Right),
        KeyCode::Left if control || alt => composer.go(Motion::WordLeft),
        KeyCode::Right if control || alt => composer.go(Motion::WordRight),
        KeyCode::Left => composer.go(Motion::Left),
        KeyCode::Right => composer.go(Motion::Right),
        KeyCode::Home if control => composer.go(Motion::Start),
        KeyCode::End if control => composer.go(Motion::End),
        KeyCode::Home => composer.go(Motion::LineStart),
        KeyCode::End => composer.go(Motion::LineEnd),
        KeyCode::Up => {
            composer.up();
        }
        KeyCode::Down => {
            composer.down();
        }
        _ => {}
    }
}
