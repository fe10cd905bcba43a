//! The approval dialog: the call that would run, why the user is asked, and the user's answer.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{Answer, ApprovalReply, ApprovalRequest};
use hookwright_tools::{ToolDisplay, ToolKind};
use serde_json::Value;

use super::composer::Composer;
use super::keys::edit_text;
use super::menu::{Menu, MenuChoice, MenuKeys, MenuReaction};
use super::question_layout::QuestionLayout;
use super::question_queue::{DialogReaction, DialogView, QuestionDialog};
use crate::output::escape_invisible;
use crate::presentation::approval_text;
use crate::presentation::approval_text::ApprovalChoice;
use crate::presentation::diff::{self, escape_invisible_in_diff};
use crate::presentation::styled_text::{ACCENT, BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN};

/// A question whether a call may run, which waits for an answer.
pub(crate) struct ApprovalDialog {
    request: Box<ApprovalRequest>,
    choices: Menu<MenuChoice<ApprovalChoice>>,
    /// The permanent rules that are offered.
    rules: Menu<String>,
    scroll: usize,
    writing: Option<DialogTextField>,
    always: Option<AlwaysStep>,
    problem: Option<String>,
    /// Whether the user has typed a text, which does not answer the dialog.
    ignores_text: bool,
}

/// The steps to a rule that is stored permanently.
#[derive(Clone, Copy)]
enum AlwaysStep {
    Choose,
    /// The rule with this index has been chosen.
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

fn answered(reply: ApprovalReply) -> DialogReaction {
    DialogReaction::Answered(Answer::Approval(reply))
}

impl ApprovalDialog {
    pub(crate) fn new(request: Box<ApprovalRequest>) -> Self {
        let choices = ApprovalChoice::for_request(&request);
        let choice = |value| MenuChoice { value, label: choice_label(value, &request) };
        ApprovalDialog {
            choices: Menu::new(MenuKeys::Letters, choices.into_iter().map(choice).collect()),
            rules: Menu::new(
                MenuKeys::Letters,
                request.rule_offer_texts.iter().map(|words| escape_invisible(words)).collect(),
            ),
            request,
            scroll: 0,
            writing: None,
            always: None,
            problem: None,
            ignores_text: false,
        }
    }

    /// Handles a key while the user chooses what to always allow, and confirms it; Esc goes back.
    fn handle_always_key(&mut self, key: KeyEvent, step: AlwaysStep) -> DialogReaction {
        self.always = match step {
            AlwaysStep::Choose if is_back(key) => None,
            AlwaysStep::Choose => match self.rules.handle_key(key) {
                MenuReaction::Chosen(rule) => Some(AlwaysStep::Confirm(rule)),
                MenuReaction::Open | MenuReaction::Passed => Some(AlwaysStep::Choose),
            },
            AlwaysStep::Confirm(rule) if key.code == KeyCode::Char('y') => {
                return answered(ApprovalReply::Always(rule));
            }
            AlwaysStep::Confirm(_) if is_back(key) || key.code == KeyCode::Char('n') => Some(AlwaysStep::Choose),
            AlwaysStep::Confirm(rule) => Some(AlwaysStep::Confirm(rule)),
        };
        DialogReaction::Open
    }

    fn scroll_by(&mut self, lines: isize) -> DialogReaction {
        self.scroll = self.scroll.saturating_add_signed(lines).min(self.details().len().saturating_sub(1));
        DialogReaction::Open
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
        if is_back(key) {
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

    /// Returns the lines for what would run: the command, the diff, or the arguments.
    fn subject_lines(&self) -> Vec<StyledLine> {
        match (&self.request.preview, command_of(&self.request)) {
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
        if let AlwaysStep::Confirm(rule) = step {
            let words = self.rules.items().get(rule).map_or("", String::as_str);
            let mut lines =
                StyledLine::styled(NOTE, format!("Always allow {words} in this project, unasked?")).wrap(columns);
            let focus = lines.len();
            lines.extend(
                ["  y yes, always", "  n no (Esc goes back)"].map(|line| StyledLine::styled(PLAIN, line).clip(columns)),
            );
            return (lines, focus, None);
        }
        let mut lines = StyledLine::styled(NOTE, "Always allow, in this project (Esc goes back):").wrap(columns);
        let focus = lines.len() + self.rules.selection().0;
        lines.extend(self.rules.rows(columns, usize::MAX));
        (lines, focus, None)
    }

    /// Returns the choices or the text field, the row that must stay visible, and the cursor's column in it.
    fn choice_lines(&self, columns: usize) -> (Vec<StyledLine>, usize, Option<usize>) {
        let Some(writing) = &self.writing else {
            let mut lines = self.choices.rows(columns, usize::MAX);
            if !self.rules.items().is_empty() {
                lines.push(StyledLine::styled(DIM, "  a always allow …").clip(columns));
            }
            return (lines, self.choices.selection().0, None);
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

impl QuestionDialog for ApprovalDialog {
    fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        if self.writing.is_some() {
            return self.handle_text_key(key);
        }
        if let Some(step) = self.always {
            return self.handle_always_key(key, step);
        }
        match key.code {
            _ if is_back(key) => self.apply_choice(ApprovalChoice::Cancel),
            KeyCode::Char('a') if !self.rules.items().is_empty() => {
                self.always = Some(AlwaysStep::Choose);
                DialogReaction::Open
            }
            KeyCode::Char('y') => self.apply_choice(ApprovalChoice::Once),
            KeyCode::Char('n') => answered(ApprovalReply::Deny(None)),
            KeyCode::Char('e') => self.apply_choice(ApprovalChoice::Edit),
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => match self.choices.handle_key(key) {
                MenuReaction::Chosen(_) => match self.choices.current().map(|choice| choice.value) {
                    Some(choice) => self.apply_choice(choice),
                    None => DialogReaction::Open,
                },
                MenuReaction::Open | MenuReaction::Passed => DialogReaction::Open,
            },
        }
    }

    fn accepts_character(&self, character: char) -> bool {
        match self.always {
            Some(AlwaysStep::Confirm(_)) => matches!(character, 'y' | 'n'),
            Some(AlwaysStep::Choose) => self.rules.accepts_character(character),
            None if character == 'a' => !self.rules.items().is_empty(),
            None => "yne".contains(character) || self.choices.accepts_character(character),
        }
    }

    fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    fn set_ignores_text(&mut self, ignores: bool) {
        self.ignores_text = ignores;
    }

    fn paste(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            writing.text.insert(text);
        }
    }

    fn call_id(&self) -> Option<&str> {
        (!self.is_writing()).then_some(&*self.request.call_id)
    }

    fn details(&self) -> Vec<StyledLine> {
        let mut lines: Vec<StyledLine> = change_lines(&self.request);
        lines.extend(self.subject_lines());
        lines
    }

    fn edited_text(&self) -> Option<(&str, String)> {
        let writing = self.writing.as_ref().filter(|writing| writing.purpose == TextPurpose::Arguments)?;
        Some((writing.text.text(), approval_text::editor_file_name(&self.request)))
    }

    fn replace_text(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            // Editors add a line feed to the last line, even if it had none.
            let ended = writing.text.text().ends_with('\n');
            writing.text.set(if ended { text } else { text.strip_suffix('\n').unwrap_or(text) });
        }
    }

    fn view(&self, columns: usize, rows: usize) -> DialogView {
        let request = &self.request;
        let mut head = vec![
            StyledLine::styled(ACCENT.bold(), "? ")
                .with_text(BOLD, format!("Allow {}?", escape_invisible(&request.title)))
                .with_text(DIM, format!("  {}{}", request.name, approval_text::call_position(request)))
                .with_hanging_indent(4),
        ];
        head.extend(approval_text::notes(request).iter().map(|note| {
            let style = if note.is_by_model { DIM } else { WARN };
            let line = StyledLine::styled(style, format!("  {}", note.heading));
            line.with_text(PLAIN, &note.text).with_hanging_indent(4)
        }));
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
}

/// Returns whether a key goes back or cancels.
fn is_back(key: KeyEvent) -> bool {
    key.code == KeyCode::Esc || key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Returns a request's command, if it is one.
fn command_of(request: &ApprovalRequest) -> Option<&str> {
    let is_command = request.kind == ToolKind::Execute;
    is_command.then(|| request.args.get("command").and_then(Value::as_str)).flatten()
}

fn choice_label(choice: ApprovalChoice, request: &ApprovalRequest) -> String {
    match choice {
        ApprovalChoice::Once => "Allow once (y)".to_owned(),
        ApprovalChoice::Session if request.approval_demand.is_some() => {
            "Allow exactly this for this session".to_owned()
        }
        // A command with compound shell syntax is allowed as a whole or not at all.
        ApprovalChoice::Session => match command_of(request).map(hookwright_agent::session_grant_scope) {
            Some(Some(words)) => format!("Allow `{}` for this session", escape_invisible(&words)),
            Some(None) => "Allow exactly this for this session".to_owned(),
            None if request.name == "activate_skill" => "Allow this skill for this session".to_owned(),
            None => format!("Allow {} for this session", escape_invisible(&request.title)),
        },
        ApprovalChoice::Server => {
            let server = request.server.as_ref().map_or("", |tool| tool.server.as_str());
            format!("Allow all tools of MCP server {} for this session", escape_invisible(server))
        }
        ApprovalChoice::Edit => "Edit before it runs (e)".to_owned(),
        ApprovalChoice::Deny => "Deny, and say why (n: just deny)".to_owned(),
        ApprovalChoice::Cancel => "Cancel the turn (esc)".to_owned(),
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
