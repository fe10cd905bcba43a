//! Key bindings of the prompt: keys that no overlay takes.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hookwright_agent::EndReason;
use hookwright_agent::session::SessionCommand;

use super::app::{App, AppEffect};
use super::completion::Completion;
use super::composer::{Composer, Motion};
use super::history_search::HistorySearch;
use super::overlay::OverlayLayer;
use super::question_queue::QuestionQueue;
use super::vim::{Vim, VimKeyResult};
use crate::presentation::styled_text::WARN;

impl App {
    pub(crate) fn handle_key(&mut self, key: KeyEvent, now: Instant) -> Vec<AppEffect> {
        let control = |letter| key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter);
        if self.overlays.page_layer().is_none() {
            if control('o') {
                return vec![AppEffect::Expand];
            }
            if self.question().is_none() {
                self.last_typed = is_letter(key).then_some(now);
            }
        }
        if !control('c') {
            self.exit_deadline = None;
        }
        if key.code != KeyCode::Esc {
            self.rewind_deadline = None;
        }
        self.offer_key(key, now).unwrap_or_else(|| self.handle_prompt_key(key, now))
    }

    /// Handles a key that no overlay took.
    fn handle_prompt_key(&mut self, key: KeyEvent, now: Instant) -> Vec<AppEffect> {
        let control = |letter| key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter);
        if !self.overlays.is_open::<Completion>() && self.focus_newest_console(key) {
            return Vec::new();
        }
        if let Some(effects) = self.handle_vim_key(key) {
            return effects;
        }
        let effects = match key.code {
            KeyCode::Char('c') if control('c') => self.handle_interrupt(now),
            KeyCode::Char('d') if control('d') && self.is_shell_prompt_empty() => self.leave_shell_mode(),
            KeyCode::Char('d') if control('d') && self.composer.is_empty() => {
                vec![AppEffect::Quit(EndReason::PromptInputExit)]
            }
            KeyCode::Char('l') if control('l') => vec![AppEffect::Redraw],
            KeyCode::Char('x') if control('x') => vec![AppEffect::Editor],
            KeyCode::Char('v') if control('v') => vec![AppEffect::Clipboard],
            KeyCode::Char('r') if control('r') => {
                // The search may find prompts and shell commands; a command is marked with `!`.
                let sign = if std::mem::take(&mut self.shell_mode) { "!" } else { "" };
                let before = format!("{sign}{}", self.composer.expanded_text());
                self.overlays.open(OverlayLayer::HistorySearch, HistorySearch::new(before));
                Vec::new()
            }
            KeyCode::Esc if self.busy.is_some() => vec![AppEffect::Command(SessionCommand::Cancel)],
            KeyCode::Esc | KeyCode::Backspace if self.is_shell_prompt_empty() => self.leave_shell_mode(),
            KeyCode::Esc if self.composer.is_empty() => self.handle_rewind_key(now),
            // With vi keys, Esc changes the mode and is often pressed unintentionally.
            KeyCode::Esc if self.vim.is_some() => Vec::new(),
            KeyCode::Esc => {
                self.composer.set("");
                Vec::new()
            }
            KeyCode::BackTab => self.next_mode(),
            KeyCode::Enter if key.modifiers.is_empty() => self.handle_enter(),
            KeyCode::Up if !self.composer.up() => self.recall(HistoryStep::Older),
            KeyCode::Down if !self.composer.down() => self.recall(HistoryStep::Newer),
            KeyCode::Up | KeyCode::Down => Vec::new(),
            KeyCode::Char('p') if control('p') => self.recall(HistoryStep::Older),
            KeyCode::Char('n') if control('n') => self.recall(HistoryStep::Newer),
            _ => {
                edit_text(&mut self.composer, key);
                Vec::new()
            }
        };
        self.update_completion_after(key);
        effects
    }

    /// Handles a key with the vi bindings, or returns none if the key has its ordinary meaning.
    fn handle_vim_key(&mut self, key: KeyEvent) -> Option<Vec<AppEffect>> {
        let vim = self.vim.as_mut()?;
        let became = vim.handle_key(&mut self.composer, key);
        if became != VimKeyResult::NotHandled {
            self.overlays.close::<Completion>();
        }
        match became {
            VimKeyResult::NotHandled => None,
            VimKeyResult::Handled => Some(Vec::new()),
            VimKeyResult::Older => Some(self.recall(HistoryStep::Older)),
            VimKeyResult::Newer => Some(self.recall(HistoryStep::Newer)),
        }
    }

    /// Returns whether a key belongs to a text that the user was typing when a question came.
    ///
    /// A user who is typing a word when the dialog opens has not seen it yet, so the next letter must not approve
    /// anything. A short pause makes the difference.
    pub(super) fn continues_word(&mut self, key: KeyEvent, now: Instant) -> bool {
        const TYPING_PAUSE: Duration = Duration::from_millis(600);
        let goes_on = is_letter(key) || key.code == KeyCode::Enter;
        let in_a_word =
            goes_on && self.last_typed.is_some_and(|last| now.saturating_duration_since(last) < TYPING_PAUSE);
        if in_a_word {
            self.last_typed = is_letter(key).then_some(now);
        }
        in_a_word
    }

    /// Returns the text for an editor, and a file name for it.
    pub(crate) fn editable_text(&self) -> (String, String) {
        let asked = self.question().and_then(|dialog| dialog.edited_text());
        asked.map_or_else(
            || (self.composer.expanded_text(), "prompt.md".to_owned()),
            |(text, name)| (text.to_owned(), name),
        )
    }

    /// Applies the text from an editor.
    pub(crate) fn apply_edited_text(&mut self, text: &str) {
        let dialog = self.overlays.get_mut::<QuestionQueue>().and_then(QuestionQueue::dialog_mut);
        match dialog.filter(|dialog| dialog.edited_text().is_some()) {
            Some(dialog) => dialog.replace_text(text),
            None => self.composer.set_prompt(text.trim_end()),
        }
    }

    fn handle_enter(&mut self) -> Vec<AppEffect> {
        // A backslash at the end continues the prompt on another line.
        if self.composer.text().ends_with('\\') && self.composer.cursor() == self.composer.text().len() {
            self.composer.delete(Motion::Left);
            self.composer.insert("\n");
            return Vec::new();
        }
        let shown = self.composer.text().trim().to_owned();
        let (text, shown) = match (self.composer.take(), self.shell_mode) {
            // `!` alone switches shell mode on or off.
            (text, before) if text.trim() == "!" => {
                self.shell_mode = !before;
                return Vec::new();
            }
            (text, true) if !text.trim().is_empty() => (format!("!{text}"), format!("!{shown}")),
            (text, _) => (text, shown),
        };
        self.sent_prompts.remember(&text, shown);
        self.vim.iter_mut().for_each(Vim::start_prompt);
        if let Some(trouble) = self.history.add(&text) {
            self.push_text(WARN, trouble);
        }
        if text.trim().is_empty() { Vec::new() } else { vec![AppEffect::Submit(text)] }
    }

    fn next_mode(&mut self) -> Vec<AppEffect> {
        let modes = &self.status.modes;
        let at = modes.iter().position(|mode| *mode == self.status.mode).unwrap_or(0);
        vec![AppEffect::Command(SessionCommand::SetApprovalMode(
            modes.get((at + 1) % modes.len().max(1)).copied().unwrap_or_default(),
        ))]
    }

    fn recall(&mut self, which: HistoryStep) -> Vec<AppEffect> {
        let text = match which {
            // A queued prompt is recalled before the history.
            HistoryStep::Older if self.composer.is_empty() && !self.queue.is_empty() => {
                return vec![AppEffect::Command(SessionCommand::RecallPrompt)];
            }
            HistoryStep::Older if self.shell_mode => self.history.older(&format!("!{}", self.composer.expanded_text())),
            HistoryStep::Older => self.history.older(&self.composer.expanded_text()),
            HistoryStep::Newer => self.history.newer(),
        };
        if let Some(text) = text {
            self.set_recalled_prompt(&text);
        }
        Vec::new()
    }

    /// Puts an earlier prompt into the composer.
    ///
    /// In shell mode a command is shown without its `!`; a prompt that is no command ends shell mode.
    fn set_recalled_prompt(&mut self, text: &str) {
        let command = text.strip_prefix('!').filter(|_| self.shell_mode);
        self.shell_mode = command.is_some();
        self.composer.set_prompt(command.unwrap_or(text));
    }

    fn is_shell_prompt_empty(&self) -> bool {
        self.shell_mode && self.composer.is_empty()
    }

    fn leave_shell_mode(&mut self) -> Vec<AppEffect> {
        self.shell_mode = false;
        Vec::new()
    }

    /// Updates the suggestions after typing, and closes them after other keys.
    fn update_completion_after(&mut self, key: KeyEvent) {
        let typed = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete | KeyCode::Tab);
        match typed && !self.shell_mode {
            true => self.update_completion(),
            false => self.overlays.close::<Completion>(),
        }
    }
}

/// Returns whether a key types or deletes a character.
fn is_letter(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace) && !key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Returns whether a key suspends the program.
pub(crate) fn is_suspend(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL && key.kind != KeyEventKind::Release
}

enum HistoryStep {
    Older,
    Newer,
}

/// Applies the editing keys that all text fields share.
pub(crate) fn edit_text(composer: &mut Composer, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Enter => composer.insert("\n"),
        KeyCode::Char('j') if control => composer.insert("\n"),
        KeyCode::Char('a') if control => composer.move_cursor(Motion::LineStart),
        KeyCode::Char('e') if control => composer.move_cursor(Motion::LineEnd),
        KeyCode::Char('b') if control => composer.move_cursor(Motion::Left),
        KeyCode::Char('f') if control => composer.move_cursor(Motion::Right),
        KeyCode::Char('b') if alt => composer.move_cursor(Motion::WordLeft),
        KeyCode::Char('f') if alt => composer.move_cursor(Motion::WordRight),
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
        KeyCode::Left if control || alt => composer.move_cursor(Motion::WordLeft),
        KeyCode::Right if control || alt => composer.move_cursor(Motion::WordRight),
        KeyCode::Left => composer.move_cursor(Motion::Left),
        KeyCode::Right => composer.move_cursor(Motion::Right),
        KeyCode::Home if control => composer.move_cursor(Motion::Start),
        KeyCode::End if control => composer.move_cursor(Motion::End),
        KeyCode::Home => composer.move_cursor(Motion::LineStart),
        KeyCode::End => composer.move_cursor(Motion::LineEnd),
        KeyCode::Up => {
            composer.up();
        }
        KeyCode::Down => {
            composer.down();
        }
        _ => {}
    }
}
