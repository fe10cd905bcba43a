//! The session's questions on the screen: the first one is asked in place of the prompt, the others wait.

use std::collections::VecDeque;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::session::SessionCommand;
use hookwright_agent::{Answer, Question, QuestionId, QuestionSubject};

use super::app::{App, AppEffect};
use super::approval_dialog::ApprovalDialog;
use super::dialog_input::DialogInput;
use super::guard_dialog::GuardDialog;
use super::inquiry_dialog::InquiryDialog;
use super::overlay::{KeyOutcome, Overlay, OverlayLayer};
use crate::presentation::styled_text::StyledLine;

/// The result of a key in a dialog.
#[derive(Debug, PartialEq)]
pub(crate) enum DialogReaction {
    /// The dialog stays open.
    Open,
    /// The user has answered the question.
    Answered(Answer),
}

/// The lines of a dialog, and the position of the cursor.
pub(crate) type DialogView = (Vec<StyledLine>, Option<(usize, usize)>);

/// The dialog of a question.
pub(crate) trait QuestionDialog {
    fn handle_key(&mut self, key: KeyEvent) -> DialogReaction;

    /// Returns the dialog's lines in so many columns and rows, and the position of the cursor.
    fn view(&self, columns: usize, rows: usize) -> DialogView;

    /// Returns whether a character is an answer or moves the selection; any other one is a text for somewhere else.
    fn accepts_character(&self, character: char) -> bool;

    /// Returns whether the dialog has a text field with the keyboard.
    fn is_writing(&self) -> bool {
        false
    }

    /// Returns whether a key would answer or move in the dialog instead of editing a text in it.
    fn is_hotkey(&self, _key: KeyEvent) -> bool {
        !self.is_writing()
    }

    /// Says in the dialog that what is typed does not answer it.
    fn set_ignores_text(&mut self, _ignores: bool) {}

    /// Inserts pasted text into the text field.
    fn paste(&mut self, _text: &str) {}

    /// Returns the full details of the question.
    fn details(&self) -> Vec<StyledLine> {
        Vec::new()
    }

    /// Returns the text that the user is editing, and the name of a file in its language.
    fn edited_text(&self) -> Option<(&str, String)> {
        None
    }

    /// Replaces the text that the user is editing.
    fn replace_text(&mut self, _text: &str) {}

    /// Returns the identifier of the call that the user is asked about, unless the user is writing.
    fn call_id(&self) -> Option<&str> {
        None
    }
}

/// The open questions, the first of which is asked.
pub(crate) struct QuestionQueue {
    questions: VecDeque<(QuestionId, Box<dyn QuestionDialog>)>,
    /// Decides which keys may answer.
    input: DialogInput,
}

impl QuestionQueue {
    pub(crate) fn new(question: Question) -> Self {
        let mut queue = QuestionQueue { questions: VecDeque::new(), input: DialogInput::default() };
        queue.push(question);
        queue
    }

    pub(crate) fn push(&mut self, question: Question) {
        let dialog: Box<dyn QuestionDialog> = match question.subject {
            QuestionSubject::Approval(request) => Box::new(ApprovalDialog::new(request)),
            QuestionSubject::GuardTrust(changes) => Box::new(GuardDialog::new(changes)),
            QuestionSubject::Input(inquiry) => Box::new(InquiryDialog::new(inquiry)),
        };
        self.questions.push_back((question.id, dialog));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// Returns whether a key is held back.
    pub(crate) fn is_holding(&self) -> bool {
        self.input.is_holding()
    }

    pub(crate) fn dialog(&self) -> Option<&dyn QuestionDialog> {
        self.questions.front().map(|(_, dialog)| &**dialog)
    }

    pub(crate) fn dialog_mut(&mut self) -> Option<&mut Box<dyn QuestionDialog>> {
        self.questions.front_mut().map(|(_, dialog)| dialog)
    }

    /// Removes a question that the session no longer asks; a key that was held back for it answers no other.
    pub(crate) fn withdraw(&mut self, id: QuestionId) {
        if self.questions.front().is_some_and(|(first, _)| *first == id) {
            self.input.drop_held();
        }
        self.questions.retain(|(other, _)| *other != id);
    }

    /// Passes a key to the dialog, and returns the answer if the key gave it.
    fn pass_key(&mut self, key: KeyEvent) -> Vec<AppEffect> {
        let reaction = self.dialog_mut().map(|dialog| dialog.handle_key(key));
        let Some(DialogReaction::Answered(answer)) = reaction else { return Vec::new() };
        self.input = DialogInput::default();
        let answered = self.questions.pop_front();
        answered.map(|(id, _)| AppEffect::Command(SessionCommand::Answer { id, answer })).into_iter().collect()
    }

    /// Passes on a key that was held back until no other key followed it.
    pub(crate) fn release_held_key(&mut self, now: Instant) -> Vec<AppEffect> {
        let Some(held) = self.input.release(now) else { return Vec::new() };
        let effects = self.pass_key(held.key);
        if effects.is_empty() && held.then_enter {
            return self.pass_key(KeyCode::Enter.into());
        }
        effects
    }
}

impl Overlay for QuestionQueue {
    fn handle_key(&mut self, key: KeyEvent, now: Instant, app: &mut App) -> KeyOutcome {
        if app.continues_word(key, now) {
            return KeyOutcome::Passed;
        }
        let Some((_, dialog)) = self.questions.front_mut() else { return KeyOutcome::ClosedAndPassed };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('x') if control && dialog.edited_text().is_some() => {
                return KeyOutcome::Taken(vec![AppEffect::Editor]);
            }
            KeyCode::Char('w') if control => {
                if let Some(call_id) = dialog.call_id() {
                    return KeyOutcome::Taken(vec![AppEffect::WhyCall(call_id.to_owned())]);
                }
            }
            _ => {}
        }
        let passes = match (dialog.is_hotkey(key), key.code) {
            (false, _) => self.input.passes_as_text(key, now),
            (true, KeyCode::Char(character)) => {
                self.input.passes_character(key, dialog.accepts_character(character), now)
            }
            (true, _) => self.input.passes(key, now),
        };
        dialog.set_ignores_text(self.input.has_text());
        let effects = if passes { self.pass_key(key) } else { Vec::new() };
        if self.is_empty() { KeyOutcome::Closed(effects) } else { KeyOutcome::Taken(effects) }
    }

    fn handle_paste(&mut self, text: &str, _now: Instant) -> bool {
        let writing = self.dialog_mut().filter(|dialog| dialog.is_writing());
        writing.map(|dialog| dialog.paste(text)).is_some()
    }
}

impl App {
    /// Asks a question, after those that are open.
    pub(super) fn ask(&mut self, question: Question) {
        match self.overlays.get_mut::<QuestionQueue>() {
            Some(queue) => queue.push(question),
            None => self.overlays.open(OverlayLayer::Questions, QuestionQueue::new(question)),
        }
    }

    /// Changes the open questions, and closes their overlay after the last one.
    pub(super) fn with_questions<T: Default>(&mut self, change: impl FnOnce(&mut QuestionQueue) -> T) -> T {
        let Some(queue) = self.overlays.get_mut::<QuestionQueue>() else { return T::default() };
        let result = change(queue);
        if queue.is_empty() {
            self.overlays.close::<QuestionQueue>();
        }
        result
    }

    /// Passes on a key that was held back until no other key followed it.
    pub(crate) fn release_held_key(&mut self, now: Instant) -> Vec<AppEffect> {
        self.with_questions(|queue| queue.release_held_key(now))
    }
}
