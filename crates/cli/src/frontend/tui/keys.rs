//! Key bindings of the session, apart from dialogs and full-screen pages.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hookwright_agent::EndReason;
use hookwright_agent::session::SessionCommand;

use super::app::{App, AppEffect, HistorySearch};
use super::completion::Completion;
use super::composer::{Composer, Motion};
use super::dialog::{DialogReaction, QuestionDialog};
use super::dialog_input::DialogInput;
use super::vim::{Vim, VimKeyResult};
use crate::presentation::styled_text::WARN;

impl App {
    pub(crate) fn handle_key(&mut self, key: KeyEvent, now: Instant) -> Vec<AppEffect> {
        let control = |letter| key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter);
        if control('o') {
            return vec![AppEffect::Expand];
        }
        if self.answers_dialog(key, now)
            && let Some(QuestionDialog { dialog, .. }) = self.dialogs.front_mut()
        {
            if control('x') && dialog.edited_text().is_some() {
                return vec![AppEffect::Editor];
            }
            if control('w')
                && let Some(call_id) = dialog.call_id()
            {
                return vec![AppEffect::Why(call_id.to_owned())];
            }
            let passes = match (dialog.is_hotkey(key), key.code) {
                (false, _) => self.dialog_input.passes_as_text(key, now),
                (true, KeyCode::Char(character)) => {
                    self.dialog_input.passes_character(key, dialog.accepts_character(character), now)
                }
                (true, _) => self.dialog_input.passes(key, now),
            };
            dialog.set_ignores_text(self.dialog_input.has_text());
            return if passes { self.handle_dialog_key(key) } else { Vec::new() };
        }
        if !control('c') {
            self.exit_deadline = None;
        }
        if key.code != KeyCode::Esc {
            self.rewind_deadline = None;
        }
        if self.search.is_none() && self.completion.is_none() && self.focus_newest_console(key) {
            return Vec::new();
        }
        if self.search.is_some() && self.handle_search_key(key) {
            return Vec::new();
        }
        if self.completion.is_some() && self.handle_completion_key(key) {
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
                self.search = Some(HistorySearch { draft: before, ..HistorySearch::default() });
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
        self.update_completion(key);
        effects
    }

    /// Passes a key to the open dialog, and returns the answer if the key gave it.
    fn handle_dialog_key(&mut self, key: KeyEvent) -> Vec<AppEffect> {
        let Some(question) = self.dialogs.front_mut() else { return Vec::new() };
        let DialogReaction::Answered(answer) = question.dialog.handle_key(key) else { return Vec::new() };
        let id = question.id;
        self.dialogs.pop_front();
        self.dialog_input = DialogInput::default();
        vec![AppEffect::Command(SessionCommand::Answer { id, answer })]
    }

    /// Passes on a key that was held back until no other key followed it.
    pub(crate) fn release_held_key(&mut self, now: Instant) -> Vec<AppEffect> {
        let Some(held) = self.dialog_input.release(now) else { return Vec::new() };
        let effects = self.handle_dialog_key(held.key);
        if effects.is_empty() && held.then_enter {
            return self.handle_dialog_key(KeyCode::Enter.into());
        }
        effects
    }

    /// Handles a key with the vi bindings, or returns none if the key has its ordinary meaning.
    fn handle_vim_key(&mut self, key: KeyEvent) -> Option<Vec<AppEffect>> {
        let vim = self.vim.as_mut()?;
        let became = vim.handle_key(&mut self.composer, key);
        if became != VimKeyResult::NotHandled {
            self.completion = None;
        }
        match became {
            VimKeyResult::NotHandled => None,
            VimKeyResult::Handled => Some(Vec::new()),
            VimKeyResult::Older => Some(self.recall(HistoryStep::Older)),
            VimKeyResult::Newer => Some(self.recall(HistoryStep::Newer)),
        }
    }

    /// Returns whether a key is meant for the dialog.
    ///
    /// A user who is typing a word when the dialog opens has not seen it yet, so the next letter must not approve
    /// anything. A short pause makes the difference.
    fn answers_dialog(&mut self, key: KeyEvent, now: Instant) -> bool {
        const TYPING_PAUSE: Duration = Duration::from_millis(600);
        let letter =
            matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace) && !key.modifiers.contains(KeyModifiers::CONTROL);
        let goes_on = letter || key.code == KeyCode::Enter;
        let in_a_word =
            goes_on && self.last_typed.is_some_and(|last| now.saturating_duration_since(last) < TYPING_PAUSE);
        if self.dialogs.is_empty() || in_a_word {
            self.last_typed = letter.then_some(now);
            return false;
        }
        true
    }

    /// Inserts pasted text; line ends in it never submit it.
    pub(crate) fn paste(&mut self, text: &str) {
        match (self.dialogs.front_mut(), &mut self.search) {
            (Some(question), _) if question.dialog.is_writing() => question.dialog.paste(text),
            (_, Some(search)) => search.text.push_str(text.lines().next().unwrap_or_default()),
            (_, None) => self.composer.paste(text),
        }
    }

    /// Returns the text for an editor, and a file name for it.
    pub(crate) fn editable_text(&self) -> (String, String) {
        let asked = self.dialogs.front().and_then(|question| question.dialog.edited_text());
        asked.map_or_else(
            || (self.composer.expanded_text(), "prompt.md".to_owned()),
            |(text, name)| (text.to_owned(), name),
        )
    }

    /// Applies the text from an editor.
    pub(crate) fn apply_edited_text(&mut self, text: &str) {
        match self.dialogs.front_mut() {
            Some(QuestionDialog { dialog, .. }) if dialog.edited_text().is_some() => dialog.replace_text(text),
            _ => self.composer.set_prompt(text.trim_end()),
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
    fn update_completion(&mut self, key: KeyEvent) {
        let typed = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete | KeyCode::Tab);
        self.completion = if typed && !self.shell_mode { Completion::find(&self.composer, &self.names) } else { None };
    }

    fn handle_completion_key(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = &mut self.completion else { return false };
        match key.code {
            KeyCode::Up => completion.step(-1),
            KeyCode::Down => completion.step(1),
            KeyCode::Esc => self.completion = None,
            KeyCode::Enter if !key.modifiers.is_empty() => return false,
            // Enter submits text that is complete already.
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

    /// Handles a key during Ctrl-R search: letters narrow it, Ctrl-R goes to the next match, and most other keys accept
    /// the match.
    fn handle_search_key(&mut self, key: KeyEvent) -> bool {
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
                // Enter only accepts the match; a second Enter submits it.
                return key.code == KeyCode::Enter;
            }
        }
        match self.history.find(&search.text, search.skip) {
            Some(found) if !search.text.is_empty() => self.composer.set_prompt(found.to_owned()),
            Some(_) => {}
            None => search.skip = search.skip.saturating_sub(1),
        }
        true
    }

    fn end_search(&mut self) -> bool {
        if let Some(search) = self.search.take() {
            self.composer.set_prompt(search.draft);
        }
        true
    }
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
