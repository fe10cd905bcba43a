//! The approval dialog: the call that would run, why the user is asked, and the user's answer.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{Answer, ApprovalReply, ApprovalRequest, Question, QuestionId, QuestionSubject};
use hookwright_tools::{ToolDisplay, ToolKind};
use serde_json::Value;

use super::composer::Composer;
use super::guard_dialog::GuardDialog;
use super::inquiry_dialog::InquiryDialog;
use super::keys::edit_text;
use super::question_layout::QuestionLayout;
use crate::output::escape_invisible;
use crate::presentation::approval_text;
use crate::presentation::approval_text::ApprovalChoice;
use crate::presentation::diff::{self, escape_invisible_in_diff};
use crate::presentation::styled_text::{ACCENT, BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN};

/// A question of the session, on the screen.
pub(crate) struct QuestionDialog {
    pub(crate) id: QuestionId,
    pub(crate) dialog: OpenDialog,
}

impl From<Question> for QuestionDialog {
    fn from(question: Question) -> Self {
        let dialog = match question.subject {
            QuestionSubject::Approval(request) => OpenDialog::Call(ApprovalDialog::new(request)),
            QuestionSubject::GuardTrust(changes) => OpenDialog::Guards(GuardDialog::new(changes)),
            QuestionSubject::Input(inquiry) => OpenDialog::Inquiry(InquiryDialog::new(inquiry)),
        };
        QuestionDialog { id: question.id, dialog }
    }
}

/// The dialog of a question, by its subject.
pub(crate) enum OpenDialog {
    /// The question whether a call may run.
    Call(ApprovalDialog),
    /// The question whether the agent's changes to guards are trusted.
    Guards(GuardDialog),
    /// A command's question.
    Inquiry(InquiryDialog),
}

impl OpenDialog {
    /// Returns whether the dialog has a text field with the keyboard.
    pub(crate) fn is_writing(&self) -> bool {
        match self {
            OpenDialog::Call(dialog) => dialog.is_writing(),
            OpenDialog::Guards(_) => false,
            OpenDialog::Inquiry(_) => true,
        }
    }

    /// Returns whether a key would answer or move in the dialog instead of editing a text in it.
    pub(crate) fn is_hotkey(&self, key: KeyEvent) -> bool {
        match self {
            OpenDialog::Call(dialog) => !dialog.is_writing(),
            OpenDialog::Guards(_) => true,
            OpenDialog::Inquiry(dialog) => dialog.is_choice_number(key),
        }
    }

    /// Returns whether a character is an answer or moves the selection; any other one is a text for somewhere else.
    pub(crate) fn accepts_character(&self, character: char) -> bool {
        match self {
            OpenDialog::Call(dialog) => dialog.accepts_character(character),
            OpenDialog::Guards(_) => GuardDialog::ANSWER_KEYS.contains(character),
            OpenDialog::Inquiry(_) => true,
        }
    }

    /// Says in the dialog that what is typed does not answer it.
    pub(crate) fn set_ignores_text(&mut self, ignores: bool) {
        if let OpenDialog::Call(dialog) = self {
            dialog.ignores_text = ignores;
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        match self {
            OpenDialog::Call(dialog) => dialog.paste(text),
            OpenDialog::Guards(_) => {}
            OpenDialog::Inquiry(dialog) => dialog.paste(text),
        }
    }

    /// Returns the full details of the question.
    pub(crate) fn details(&self) -> Vec<StyledLine> {
        match self {
            OpenDialog::Call(dialog) => dialog.details(),
            OpenDialog::Guards(dialog) => dialog.details(),
            OpenDialog::Inquiry(_) => Vec::new(),
        }
    }

    /// Returns the arguments that the user is editing, and the name of a file in their language.
    pub(crate) fn edited_text(&self) -> Option<(&str, String)> {
        match self {
            OpenDialog::Call(dialog) => dialog.edited_text(),
            OpenDialog::Guards(_) | OpenDialog::Inquiry(_) => None,
        }
    }

    /// Returns the identifier of the call that the user is asked about, unless the user is writing.
    pub(crate) fn call_id(&self) -> Option<&str> {
        match self {
            OpenDialog::Call(dialog) => (!dialog.is_writing()).then_some(&*dialog.request.call_id),
            OpenDialog::Guards(_) | OpenDialog::Inquiry(_) => None,
        }
    }

    /// Replaces the text that the user is editing.
    pub(crate) fn replace_text(&mut self, text: &str) {
        if let OpenDialog::Call(dialog) = self {
            dialog.replace_text(text);
        }
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        match self {
            OpenDialog::Call(dialog) => dialog.handle_key(key),
            OpenDialog::Guards(dialog) => dialog.handle_key(key),
            OpenDialog::Inquiry(dialog) => dialog.handle_key(key),
        }
    }

    /// Returns the dialog's lines in so many columns and rows, and the position of the cursor.
    pub(crate) fn view(&self, columns: usize, rows: usize) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        match self {
            OpenDialog::Call(dialog) => dialog.view(columns, rows),
            OpenDialog::Guards(dialog) => (dialog.view(columns, rows), None),
            OpenDialog::Inquiry(dialog) => dialog.view(columns, rows),
        }
    }
}

/// A question whether a call may run, which waits for an answer.
pub(crate) struct ApprovalDialog {
    request: Box<ApprovalRequest>,
    selected: usize,
    scroll: usize,
    writing: Option<DialogTextField>,
    always: Option<AlwaysStep>,
    problem: Option<String>,
    /// Whether the user has typed a text, which does not answer the dialog.
    ignores_text: bool,
}

/// The steps to a rule that is stored permanently, with the index of the rule.
#[derive(Clone, Copy)]
enum AlwaysStep {
    Choose(usize),
    Confirm(usize),
}

/// The text field of a dialog.
struct DialogTextField {
    purpose: TextPurpose,
    text: Composer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPurpose {
    /// The call's arguments, edited.
    Arguments,
    /// A reason for the model.
    Feedback,
}

/// The result of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum DialogReaction {
    /// The dialog stays open.
    Open,
    /// The user has answered the question.
    Answered(Answer),
}

fn answered(reply: ApprovalReply) -> DialogReaction {
    DialogReaction::Answered(Answer::Approval(reply))
}

impl ApprovalDialog {
    pub(crate) fn new(request: Box<ApprovalRequest>) -> Self {
        ApprovalDialog {
            request,
            selected: 0,
            scroll: 0,
            writing: None,
            always: None,
            problem: None,
            ignores_text: false,
        }
    }

    fn choices(&self) -> Vec<ApprovalChoice> {
        ApprovalChoice::for_request(&self.request)
    }

    fn choice_label(&self, choice: ApprovalChoice) -> String {
        match choice {
            ApprovalChoice::Once => "Allow once (y)".to_owned(),
            ApprovalChoice::Session if self.request.approval_demand.is_some() => {
                "Allow exactly this for this session".to_owned()
            }
            // A command with compound shell syntax is allowed as a whole or not at all.
            ApprovalChoice::Session => match self.command().map(hookwright_agent::session_grant_scope) {
                Some(Some(words)) => format!("Allow `{}` for this session", escape_invisible(&words)),
                Some(None) => "Allow exactly this for this session".to_owned(),
                None if self.request.name == "activate_skill" => "Allow this skill for this session".to_owned(),
                None => format!("Allow {} for this session", escape_invisible(&self.request.title)),
            },
            ApprovalChoice::Server => {
                let server = self.request.server.as_ref().map_or("", |tool| tool.server.as_str());
                format!("Allow all tools of MCP server {} for this session", escape_invisible(server))
            }
            ApprovalChoice::Edit => "Edit before it runs (e)".to_owned(),
            ApprovalChoice::Deny => "Deny, and say why (n: just deny)".to_owned(),
            ApprovalChoice::Cancel => "Cancel the turn (esc)".to_owned(),
        }
    }

    fn command(&self) -> Option<&str> {
        let is_command = self.request.kind == ToolKind::Execute;
        is_command.then(|| self.request.args.get("command").and_then(Value::as_str)).flatten()
    }

    /// Returns whether the user is writing instead of choosing.
    fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    fn paste(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            writing.text.insert(text);
        }
    }

    fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        if self.writing.is_some() {
            return self.handle_text_key(key);
        }
        if let Some(step) = self.always {
            return self.handle_always_key(key, step);
        }
        match key.code {
            KeyCode::Char('a') if !self.request.rule_offer_texts.is_empty() => {
                self.always = Some(AlwaysStep::Choose(0));
                DialogReaction::Open
            }
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.apply_choice(ApprovalChoice::Cancel)
            }
            KeyCode::Esc => self.apply_choice(ApprovalChoice::Cancel),
            KeyCode::Enter => self.choose_number(self.selected),
            KeyCode::Char('y') => self.apply_choice(ApprovalChoice::Once),
            KeyCode::Char('n') => answered(ApprovalReply::Deny(None)),
            KeyCode::Char('e') => self.apply_choice(ApprovalChoice::Edit),
            KeyCode::Char(digit @ '1'..='6') => self.choose_number(digit as usize - '1' as usize),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.selected + self.choices().len() - 1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => self.select(self.selected + 1),
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => DialogReaction::Open,
        }
    }

    fn accepts_character(&self, character: char) -> bool {
        let numbers = match self.always {
            Some(AlwaysStep::Confirm(_)) => return matches!(character, 'y' | 'n'),
            Some(AlwaysStep::Choose(_)) => self.request.rule_offer_texts.len(),
            None => self.choices().len(),
        };
        let is_number = character.to_digit(10).is_some_and(|digit| (1..=numbers).contains(&(digit as usize)));
        let is_letter = match self.always {
            None if character == 'a' => !self.request.rule_offer_texts.is_empty(),
            None => "ynejk".contains(character),
            Some(_) => "jk".contains(character),
        };
        is_number || is_letter
    }

    /// Handles a key while the user chooses what to always allow, and confirms it; Esc goes back.
    fn handle_always_key(&mut self, key: KeyEvent, step: AlwaysStep) -> DialogReaction {
        let count = self.request.rule_offer_texts.len();
        let is_back =
            key.code == KeyCode::Esc || key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        self.always = match (step, key.code) {
            (AlwaysStep::Choose(_), _) if is_back => None,
            (AlwaysStep::Choose(at), KeyCode::Enter) => Some(AlwaysStep::Confirm(at)),
            (AlwaysStep::Choose(at), KeyCode::Char(digit @ '1'..='9')) => {
                let chosen = digit as usize - '1' as usize;
                Some(if chosen < count { AlwaysStep::Confirm(chosen) } else { AlwaysStep::Choose(at) })
            }
            (AlwaysStep::Choose(at), KeyCode::Up | KeyCode::Char('k')) => {
                Some(AlwaysStep::Choose((at + count - 1) % count))
            }
            (AlwaysStep::Choose(at), KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab) => {
                Some(AlwaysStep::Choose((at + 1) % count))
            }
            (AlwaysStep::Confirm(at), KeyCode::Char('y')) => return answered(ApprovalReply::Always(at)),
            (AlwaysStep::Confirm(at), KeyCode::Char('n')) => Some(AlwaysStep::Choose(at)),
            (AlwaysStep::Confirm(at), _) if is_back => Some(AlwaysStep::Choose(at)),
            (step, _) => Some(step),
        };
        DialogReaction::Open
    }

    fn select(&mut self, choice: usize) -> DialogReaction {
        self.selected = choice % self.choices().len();
        DialogReaction::Open
    }

    fn scroll_by(&mut self, lines: isize) -> DialogReaction {
        self.scroll = self.scroll.saturating_add_signed(lines).min(self.details().len().saturating_sub(1));
        DialogReaction::Open
    }

    fn choose_number(&mut self, at: usize) -> DialogReaction {
        let Some(choice) = self.choices().get(at).copied() else { return DialogReaction::Open };
        self.selected = at;
        self.apply_choice(choice)
    }

    fn apply_choice(&mut self, choice: ApprovalChoice) -> DialogReaction {
        match choice {
            ApprovalChoice::Once => answered(ApprovalReply::Once),
            ApprovalChoice::Session => answered(ApprovalReply::Session),
            ApprovalChoice::Server => answered(ApprovalReply::Server),
            ApprovalChoice::Edit => {
                self.start_writing(TextPurpose::Arguments, &approval_text::editable_text(&self.request))
            }
            ApprovalChoice::Deny => self.start_writing(TextPurpose::Feedback, ""),
            ApprovalChoice::Cancel => answered(ApprovalReply::Cancel),
        }
    }

    fn start_writing(&mut self, what: TextPurpose, text: &str) -> DialogReaction {
        let mut composer = Composer::default();
        composer.set(text);
        self.writing = Some(DialogTextField { purpose: what, text: composer });
        DialogReaction::Open
    }

    fn handle_text_key(&mut self, key: KeyEvent) -> DialogReaction {
        let Some(writing) = &mut self.writing else { return DialogReaction::Open };
        let plain_enter = key.code == KeyCode::Enter && key.modifiers.is_empty();
        if key.code == KeyCode::Esc || key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.writing = None;
            self.problem = None;
            return DialogReaction::Open;
        }
        if !plain_enter {
            edit_text(&mut writing.text, key);
            return DialogReaction::Open;
        }
        let text = writing.text.text().to_owned();
        match writing.purpose {
            TextPurpose::Feedback => {
                let word = Some(text.trim().to_owned()).filter(|word| !word.is_empty());
                answered(ApprovalReply::Deny(word))
            }
            TextPurpose::Arguments => match approval_text::args_with_text(&self.request, &text) {
                Ok(args) => answered(ApprovalReply::Edited(args)),
                Err(problem) => {
                    self.problem = Some(problem);
                    DialogReaction::Open
                }
            },
        }
    }

    /// Returns the full details: what hooks changed, and what would run.
    fn details(&self) -> Vec<StyledLine> {
        let mut lines: Vec<StyledLine> = change_lines(&self.request);
        lines.extend(self.subject_lines());
        lines
    }

    /// Returns the text that is being edited, and the name of a file in its language.
    fn edited_text(&self) -> Option<(&str, String)> {
        let writing = self.writing.as_ref().filter(|writing| writing.purpose == TextPurpose::Arguments)?;
        Some((writing.text.text(), approval_text::editor_file_name(&self.request)))
    }

    /// Replaces the text that is being edited.
    fn replace_text(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            // Editors add a line feed to the last line, even if it had none.
            let ended = writing.text.text().ends_with('\n');
            writing.text.set(if ended { text } else { text.strip_suffix('\n').unwrap_or(text) });
        }
    }

    /// Returns the lines for what would run: the command, the diff, or the arguments.
    fn subject_lines(&self) -> Vec<StyledLine> {
        match (&self.request.preview, self.command()) {
            (Some(ToolDisplay::Diff(file)), _) => diff::diff_lines(&escape_invisible_in_diff(file), usize::MAX),
            (_, Some(command)) => {
                let directory =
                    self.request.args.get("directory").or(self.request.args.get("dir_path")).and_then(Value::as_str);
                let mut lines = command_lines(&escape_invisible(command));
                lines.extend(
                    directory.map(|directory| StyledLine::styled(DIM, format!("  in {}", escape_invisible(directory)))),
                );
                lines
            }
            _ => {
                let args = escape_invisible(&format!("{:#}", Value::Object(self.request.args.clone())));
                let shown = match &self.request.preview {
                    Some(ToolDisplay::Text(text)) => escape_invisible(text),
                    _ => String::new(),
                };
                let lines = args.lines().chain(shown.lines());
                lines.map(|line| StyledLine::styled(PLAIN, format!("  {line}")).with_hanging_indent(4)).collect()
            }
        }
    }

    /// Returns the dialog's lines in so many columns and rows, and the position of the cursor.
    fn view(&self, columns: usize, rows: usize) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let request = &self.request;
        let mut head = vec![
            StyledLine::styled(ACCENT.bold(), "? ")
                .with_text(BOLD, format!("Allow {}?", escape_invisible(&request.title)))
                .with_text(DIM, format!("  {}{}", request.name, approval_text::call_position(request)))
                .with_hanging_indent(4),
        ];
        if let Some(description) = approval_text::description(request) {
            head.push(
                StyledLine::styled(DIM, "  the model says: ")
                    .with_text(PLAIN, escape_invisible(description))
                    .with_hanging_indent(4),
            );
        }
        if let Some(path) = &request.protected_file {
            head.push(
                StyledLine::styled(WARN, format!("  {path} is protected: guards are made of it"))
                    .with_hanging_indent(4),
            );
        }
        if let Some(asked) = &request.approval_demand {
            let who =
                if asked.hooks.is_empty() { "a hook".to_owned() } else { format!("hook {}", asked.hooks.join(", ")) };
            head.push(
                StyledLine::styled(WARN, format!("  {who} wants you to decide: "))
                    .with_text(PLAIN, &asked.reason)
                    .with_hanging_indent(4),
            );
        }
        let wrap = |lines: Vec<StyledLine>| lines.iter().flat_map(|line| line.wrap(columns)).collect::<Vec<_>>();
        let (foot, focus, cursor) = self.footer(columns);
        let question = QuestionLayout {
            head: wrap(head),
            subject: wrap(self.details()),
            scroll: self.scroll,
            footer: foot,
            focused_row: focus,
        };
        let (lines, first) = question.fit_rows(columns, rows);
        let seen = |column| Some((usize::try_from(first + focus.cast_signed()).ok()?, column));
        (lines, cursor.and_then(seen))
    }

    /// Returns the part below the call, the row that must stay visible, and the cursor's column in it.
    fn footer(&self, columns: usize) -> (Vec<StyledLine>, usize, Option<usize>) {
        let (mut lines, focus, cursor) = match self.always {
            Some(step) => self.always_lines(step, columns),
            None => self.choice_lines(columns),
        };
        if self.ignores_text {
            let hint = "What you type does not answer this: press Enter, then one of the keys above";
            lines.extend(StyledLine::styled(WARN, hint).wrap(columns));
        }
        (lines, focus, cursor)
    }

    /// Returns the lines of the steps to a permanent rule, and the row that must stay visible.
    fn always_lines(&self, step: AlwaysStep, columns: usize) -> (Vec<StyledLine>, usize, Option<usize>) {
        let rules = &self.request.rule_offer_texts;
        let AlwaysStep::Choose(selected) = step else {
            let (AlwaysStep::Choose(at) | AlwaysStep::Confirm(at)) = step;
            let words = rules.get(at).map_or("", String::as_str);
            let question = format!("Always allow {} in this project, unasked?", escape_invisible(words));
            let mut lines = StyledLine::styled(NOTE, question).wrap(columns);
            let focus = lines.len();
            lines.extend(
                ["  y yes, always", "  n no (Esc goes back)"].map(|line| StyledLine::styled(PLAIN, line).clip(columns)),
            );
            return (lines, focus, None);
        };
        let mut lines = StyledLine::styled(NOTE, "Always allow, in this project (Esc goes back):").wrap(columns);
        let focus = lines.len() + selected;
        lines.extend(rules.iter().enumerate().map(|(at, words)| {
            let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            StyledLine::styled(style, format!("{mark}{}. {}", at + 1, escape_invisible(words))).clip(columns)
        }));
        (lines, focus, None)
    }

    /// Returns the choices or the text field, the row that must stay visible, and the cursor's column in it.
    fn choice_lines(&self, columns: usize) -> (Vec<StyledLine>, usize, Option<usize>) {
        let Some(writing) = &self.writing else {
            let draw = |(at, choice): (usize, ApprovalChoice)| {
                let (mark, style) = if at == self.selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
                StyledLine::styled(style, format!("{mark}{}. {}", at + 1, self.choice_label(choice))).clip(columns)
            };
            let mut lines: Vec<StyledLine> = self.choices().into_iter().enumerate().map(draw).collect();
            if !self.request.rule_offer_texts.is_empty() {
                lines.push(StyledLine::styled(DIM, "  a always allow …").clip(columns));
            }
            return (lines, self.selected, None);
        };
        let what = match writing.purpose {
            TextPurpose::Feedback => "A word to the model, then Enter (Esc goes back):",
            TextPurpose::Arguments => "Edit, then Enter to run it (Ctrl+X: in your editor; Esc goes back):",
        };
        let mut lines = StyledLine::styled(NOTE, what).wrap(columns);
        lines.extend(self.problem.iter().map(|problem| StyledLine::styled(BAD, problem).clip(columns)));
        let (text, (row, column)) =
            super::view::layout_composer(&writing.text, super::view::PROMPT_SIGN, "", columns, 10);
        let focus = lines.len() + row;
        lines.extend(text);
        (lines, focus, Some(column))
    }
}

/// Returns a command's lines.
///
/// Consecutive blank lines are replaced by their number, so that they cannot push the rest out of sight.
fn command_lines(command: &str) -> Vec<StyledLine> {
    let lines: Vec<&str> = command.split('\n').collect();
    let runs = lines.chunk_by(|one, other| one.trim().is_empty() && other.trim().is_empty());
    runs.map(|run| match run {
        [line] => StyledLine::styled(PLAIN, "  ").with_text(BOLD, *line).with_hanging_indent(4),
        blank => StyledLine::styled(DIM, format!("  ({} blank lines)", blank.len())),
    })
    .collect()
}

/// Returns the lines for what hooks changed, before and after.
fn change_lines(request: &ApprovalRequest) -> Vec<StyledLine> {
    let draw = |change: approval_text::ArgumentChange| {
        let heading = StyledLine::styled(WARN, format!("  hooks changed {}", change.name)).with_hanging_indent(4);
        match change.difference {
            approval_text::ArgumentDifference::Inline(before, after) => {
                let heading = heading.with_text(PLAIN, ": ").with_text(BAD, escape_invisible(&before));
                vec![heading.with_text(DIM, " → ").with_text(GOOD, escape_invisible(&after))]
            }
            approval_text::ArgumentDifference::Diff(file) => {
                let mut lines = vec![heading.with_text(PLAIN, ":")];
                lines.extend(diff::diff_lines(&escape_invisible_in_diff(&file), usize::MAX).into_iter().skip(1));
                lines
            }
            approval_text::ArgumentDifference::Redacted => vec![heading],
        }
    };
    let mut lines: Vec<StyledLine> = approval_text::argument_changes(request).into_iter().flat_map(draw).collect();
    if !lines.is_empty() {
        lines.push(StyledLine::styled(WARN, "  this is what will run:"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_of_a_command_are_folded() {
        let shown: Vec<String> = command_lines("ls\n\n\n \t\n\nrm x\n\ntrue").iter().map(StyledLine::plain).collect();
        assert_eq!(shown, ["  ls", "  (4 blank lines)", "  rm x", "  ", "  true"]);
    }
}
