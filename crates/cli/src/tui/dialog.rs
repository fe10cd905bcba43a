//! The permission dialog: what exactly would run, who wants it asked and why, and the user's word.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{ApprovalReply, ApprovalRequest};
use hookwright_tools::{Display, ToolKind};
use serde_json::Value;
use tokio::sync::oneshot;

use super::composer::Composer;
use super::diff::{self, spelled_diff};
use super::fit::Question;
use super::guards::GuardDialog;
use super::inquiry::InquiryDialog;
use super::keys::edit;
use super::text::{ACCENT, BAD, BOLD, DIM, GOOD, Line, NOTE, PLAIN, WARN};
use crate::asked;
use crate::choices::Choice;
use crate::out::spelled;

/// Something that the user is asked while the agent works.
pub(crate) enum Asking {
    /// Whether a call may run.
    Call(Dialog),
    /// Whether what the agent changed of the guards counts.
    Guards(GuardDialog),
    /// Something that a command wants to know.
    Inquiry(InquiryDialog),
}

impl Asking {
    /// Whether nobody waits for the answer any more.
    pub(crate) fn is_stale(&self) -> bool {
        match self {
            Asking::Call(dialog) => dialog.is_stale(),
            Asking::Guards(dialog) => dialog.is_stale(),
            Asking::Inquiry(dialog) => dialog.is_stale(),
        }
    }

    /// Whether the user is writing instead of choosing.
    pub(crate) fn is_writing(&self) -> bool {
        match self {
            Asking::Call(dialog) => dialog.is_writing(),
            Asking::Guards(_) => false,
            Asking::Inquiry(_) => true,
        }
    }

    /// Whether a key would answer or move in the dialog, and not edit a text in it.
    pub(crate) fn is_hotkey(&self, key: KeyEvent) -> bool {
        match self {
            Asking::Call(dialog) => !dialog.is_writing(),
            Asking::Guards(_) => true,
            Asking::Inquiry(dialog) => dialog.is_number(key),
        }
    }

    /// Whether it is about what the turn does, and over with it.
    pub(crate) fn is_of_turn(&self) -> bool {
        !matches!(self, Asking::Inquiry(_))
    }

    pub(crate) fn paste(&mut self, text: &str) {
        match self {
            Asking::Call(dialog) => dialog.paste(text),
            Asking::Guards(_) => {}
            Asking::Inquiry(dialog) => dialog.paste(text),
        }
    }

    /// All there is to see of what is asked about.
    pub(crate) fn whole(&self) -> Vec<Line> {
        match self {
            Asking::Call(dialog) => dialog.whole(),
            Asking::Guards(dialog) => dialog.whole(),
            Asking::Inquiry(_) => Vec::new(),
        }
    }

    /// The arguments that the user is writing, and the file whose language they are in.
    pub(crate) fn written(&self) -> Option<(&str, String)> {
        match self {
            Asking::Call(dialog) => dialog.written(),
            Asking::Guards(_) | Asking::Inquiry(_) => None,
        }
    }

    /// Replaces what the user is writing.
    pub(crate) fn rewrite(&mut self, text: &str) {
        if let Asking::Call(dialog) = self {
            dialog.rewrite(text);
        }
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Reaction {
        match self {
            Asking::Call(dialog) => dialog.key(key),
            Asking::Guards(dialog) => dialog.key(key),
            Asking::Inquiry(dialog) => dialog.key(key),
        }
    }

    /// The question, in so many columns and rows, and where the cursor is.
    pub(crate) fn view(&self, columns: usize, rows: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        match self {
            Asking::Call(dialog) => dialog.view(columns, rows),
            Asking::Guards(dialog) => (dialog.view(columns, rows), None),
            Asking::Inquiry(dialog) => dialog.view(columns, rows),
        }
    }
}

/// A question that waits for an answer.
pub(crate) struct Dialog {
    request: Box<ApprovalRequest>,
    reply: Option<oneshot::Sender<ApprovalReply>>,
    selected: usize,
    scroll: usize,
    writing: Option<Writing>,
    /// Whether it is chosen what to allow for good, and which is selected.
    always: Option<usize>,
    problem: Option<String>,
}

/// What the user is writing instead of choosing.
struct Writing {
    what: Written,
    text: Composer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Other arguments.
    Arguments,
    /// A word to the model.
    Word,
}

/// What became of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// The question stands.
    Open,
    /// It was answered.
    Given,
}

impl Dialog {
    pub(crate) fn new(request: Box<ApprovalRequest>, reply: oneshot::Sender<ApprovalReply>) -> Self {
        Dialog { request, reply: Some(reply), selected: 0, scroll: 0, writing: None, always: None, problem: None }
    }

    /// Whether nobody waits for the answer any more.
    fn is_stale(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn choices(&self) -> Vec<Choice> {
        Choice::of(&self.request)
    }

    fn words(&self, choice: Choice) -> String {
        match choice {
            Choice::Once => "Allow once".to_owned(),
            // What shell syntax holds together is allowed as a whole or not at all.
            Choice::Session => match self.command().map(hookwright_agent::session_grant) {
                Some(Some(words)) => format!("Allow `{}` for this session", spelled(&words)),
                Some(None) => "Allow exactly this for this session".to_owned(),
                None if self.request.name == "activate_skill" => "Allow this skill for this session".to_owned(),
                None => format!("Allow {} for this session", spelled(&self.request.title)),
            },
            Choice::Server => {
                let server = self.request.server.as_ref().map_or("", |tool| tool.server.as_str());
                format!("Allow all tools of MCP server {} for this session", spelled(server))
            }
            Choice::Edit => "Edit before it runs".to_owned(),
            Choice::Deny => "Deny, and say why".to_owned(),
            Choice::Cancel => "Cancel the turn (esc)".to_owned(),
        }
    }

    fn command(&self) -> Option<&str> {
        let is_command = self.request.kind == ToolKind::Execute;
        is_command.then(|| self.request.args.get("command").and_then(Value::as_str)).flatten()
    }

    /// Whether the user is writing instead of choosing.
    fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    fn paste(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            writing.text.insert(text);
        }
    }

    fn key(&mut self, key: KeyEvent) -> Reaction {
        if self.writing.is_some() {
            return self.write(key);
        }
        if let Some(selected) = self.always {
            return self.choose_always(key, selected);
        }
        match key.code {
            KeyCode::Char('a') if !self.request.always.is_empty() => {
                self.always = Some(0);
                Reaction::Open
            }
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => self.choose(Choice::Cancel),
            KeyCode::Esc => self.choose(Choice::Cancel),
            KeyCode::Enter => self.choose_number(self.selected),
            KeyCode::Char('y') => self.choose(Choice::Once),
            KeyCode::Char('n') => self.answer(ApprovalReply::Deny(None)),
            KeyCode::Char('e') => self.choose(Choice::Edit),
            KeyCode::Char(digit @ '1'..='6') => self.choose_number(digit as usize - '1' as usize),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.selected + self.choices().len() - 1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => self.select(self.selected + 1),
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => Reaction::Open,
        }
    }

    /// What is allowed for good; Esc goes back.
    fn choose_always(&mut self, key: KeyEvent, selected: usize) -> Reaction {
        let count = self.request.always.len();
        let chosen = match key.code {
            KeyCode::Enter => Some(selected),
            KeyCode::Char(digit @ '1'..='9') => Some(digit as usize - '1' as usize).filter(|at| *at < count),
            _ => None,
        };
        if let Some(at) = chosen {
            return self.answer(ApprovalReply::Always(at));
        }
        self.always = match key.code {
            KeyCode::Esc => None,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => None,
            KeyCode::Up | KeyCode::Char('k') => Some((selected + count - 1) % count),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => Some((selected + 1) % count),
            _ => Some(selected),
        };
        Reaction::Open
    }

    fn select(&mut self, choice: usize) -> Reaction {
        self.selected = choice % self.choices().len();
        Reaction::Open
    }

    fn scroll_by(&mut self, lines: isize) -> Reaction {
        self.scroll = self.scroll.saturating_add_signed(lines).min(self.whole().len().saturating_sub(1));
        Reaction::Open
    }

    fn choose_number(&mut self, at: usize) -> Reaction {
        let Some(choice) = self.choices().get(at).copied() else { return Reaction::Open };
        self.selected = at;
        self.choose(choice)
    }

    fn choose(&mut self, choice: Choice) -> Reaction {
        match choice {
            Choice::Once => self.answer(ApprovalReply::Once),
            Choice::Session => self.answer(ApprovalReply::Session),
            Choice::Server => self.answer(ApprovalReply::Server),
            Choice::Edit => self.begin(Written::Arguments, &asked::text_of(&self.request)),
            Choice::Deny => self.begin(Written::Word, ""),
            Choice::Cancel => self.answer(ApprovalReply::Cancel),
        }
    }

    fn begin(&mut self, what: Written, text: &str) -> Reaction {
        let mut composer = Composer::default();
        composer.set(text);
        self.writing = Some(Writing { what, text: composer });
        Reaction::Open
    }

    fn write(&mut self, key: KeyEvent) -> Reaction {
        let Some(writing) = &mut self.writing else { return Reaction::Open };
        let plain_enter = key.code == KeyCode::Enter && key.modifiers.is_empty();
        if key.code == KeyCode::Esc || key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.writing = None;
            self.problem = None;
            return Reaction::Open;
        }
        if !plain_enter {
            edit(&mut writing.text, key);
            return Reaction::Open;
        }
        let text = writing.text.text().to_owned();
        match writing.what {
            Written::Word => {
                let word = Some(text.trim().to_owned()).filter(|word| !word.is_empty());
                self.answer(ApprovalReply::Deny(word))
            }
            Written::Arguments => match asked::with_text(&self.request, &text) {
                Ok(args) => self.answer(ApprovalReply::Edited(args)),
                Err(problem) => {
                    self.problem = Some(problem);
                    Reaction::Open
                }
            },
        }
    }

    fn answer(&mut self, reply: ApprovalReply) -> Reaction {
        if let Some(sender) = self.reply.take() {
            // Nobody waits where the turn was cancelled meanwhile.
            let _ = sender.send(reply);
        }
        Reaction::Given
    }

    /// All there is to see before the answer: what hooks changed, and what would run.
    fn whole(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = changes(&self.request);
        lines.extend(self.subject());
        lines
    }

    /// What is being written, and the file whose language it is in.
    fn written(&self) -> Option<(&str, String)> {
        let writing = self.writing.as_ref().filter(|writing| writing.what == Written::Arguments)?;
        Some((writing.text.text(), asked::file_name(&self.request)))
    }

    /// Replaces what is being written.
    fn rewrite(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            // Editors end the last line, whether it had an end or not.
            let ended = writing.text.text().ends_with('\n');
            writing.text.set(if ended { text } else { text.strip_suffix('\n').unwrap_or(text) });
        }
    }

    /// What would run: the command, the diff, or the arguments.
    fn subject(&self) -> Vec<Line> {
        match (&self.request.preview, self.command()) {
            (Some(Display::Diff(file)), _) => diff::lines(&spelled_diff(file), usize::MAX),
            (_, Some(command)) => {
                let directory =
                    self.request.args.get("directory").or(self.request.args.get("dir_path")).and_then(Value::as_str);
                let mut lines = command_lines(&spelled(command));
                lines.extend(directory.map(|directory| Line::of(DIM, format!("  in {}", spelled(directory)))));
                lines
            }
            _ => {
                let args = spelled(&format!("{:#}", Value::Object(self.request.args.clone())));
                let shown = match &self.request.preview {
                    Some(Display::Text(text)) => spelled(text),
                    _ => String::new(),
                };
                let lines = args.lines().chain(shown.lines());
                lines.map(|line| Line::of(PLAIN, format!("  {line}")).hanging(4)).collect()
            }
        }
    }

    /// The dialog, in so many columns and rows, and where the cursor is.
    fn view(&self, columns: usize, rows: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        let request = &self.request;
        let mut head = vec![
            Line::of(ACCENT.bold(), "? ")
                .with(BOLD, format!("Allow {}?", spelled(&request.title)))
                .with(DIM, format!("  {}{}", request.name, asked::number(request)))
                .hanging(4),
        ];
        if let Some(said) = asked::description(request) {
            head.push(Line::of(DIM, "  the model says: ").with(PLAIN, spelled(said)).hanging(4));
        }
        if let Some(path) = &request.protected {
            head.push(Line::of(WARN, format!("  {path} is protected: guards are made of it")).hanging(4));
        }
        if let Some(asked) = &request.asked_by {
            let who =
                if asked.hooks.is_empty() { "a hook".to_owned() } else { format!("hook {}", asked.hooks.join(", ")) };
            head.push(Line::of(WARN, format!("  {who} wants you to decide: ")).with(PLAIN, &asked.reason).hanging(4));
        }
        let wrap = |lines: Vec<Line>| lines.iter().flat_map(|line| line.wrap(columns)).collect::<Vec<_>>();
        let (foot, focus, cursor) = self.foot(columns);
        let question = Question { head: wrap(head), subject: wrap(self.whole()), scroll: self.scroll, foot, focus };
        let (lines, first) = question.fit(columns, rows);
        let seen = |column| Some((usize::try_from(first + focus.cast_signed()).ok()?, column));
        (lines, cursor.and_then(seen))
    }

    /// What can be answered, which row of it has to be seen, and the column of the cursor there.
    fn foot(&self, columns: usize) -> (Vec<Line>, usize, Option<usize>) {
        if let Some(selected) = self.always {
            let mut lines = Line::of(NOTE, "Always allow, in this project (Esc goes back):").wrap(columns);
            let focus = lines.len() + selected;
            lines.extend(self.request.always.iter().enumerate().map(|(at, words)| {
                let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
                Line::of(style, format!("{mark}{}. {}", at + 1, spelled(words))).clip(columns)
            }));
            return (lines, focus, None);
        }
        let Some(writing) = &self.writing else {
            let draw = |(at, choice): (usize, Choice)| {
                let (mark, style) = if at == self.selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
                Line::of(style, format!("{mark}{}. {}", at + 1, self.words(choice))).clip(columns)
            };
            let mut lines: Vec<Line> = self.choices().into_iter().enumerate().map(draw).collect();
            if !self.request.always.is_empty() {
                lines.push(Line::of(DIM, "  a always allow …").clip(columns));
            }
            return (lines, self.selected, None);
        };
        let what = match writing.what {
            Written::Word => "A word to the model, then Enter (Esc goes back):",
            Written::Arguments => "Edit, then Enter to run it (Ctrl+X: in your editor; Esc goes back):",
        };
        let mut lines = Line::of(NOTE, what).wrap(columns);
        lines.extend(self.problem.iter().map(|problem| Line::of(BAD, problem).clip(columns)));
        let (text, (row, column)) = super::view::layout(&writing.text, super::view::SIGN, "", columns, 10);
        let focus = lines.len() + row;
        lines.extend(text);
        (lines, focus, Some(column))
    }
}

/// A command's lines. Blank lines in a row are counted instead of shown, so that they push nothing out of sight.
fn command_lines(command: &str) -> Vec<Line> {
    let lines: Vec<&str> = command.split('\n').collect();
    let runs = lines.chunk_by(|one, other| one.trim().is_empty() && other.trim().is_empty());
    runs.map(|run| match run {
        [line] => Line::of(PLAIN, "  ").with(BOLD, *line).hanging(4),
        blank => Line::of(DIM, format!("  ({} blank lines)", blank.len())),
    })
    .collect()
}

/// What hooks changed, as it was and as it is.
fn changes(request: &ApprovalRequest) -> Vec<Line> {
    let draw = |change: asked::Change| {
        let heading = Line::of(WARN, format!("  hooks changed {}", change.name)).hanging(4);
        match change.what {
            asked::Difference::Short(before, after) => {
                let heading = heading.with(PLAIN, ": ").with(BAD, spelled(&before));
                vec![heading.with(DIM, " → ").with(GOOD, spelled(&after))]
            }
            asked::Difference::Long(file) => {
                let mut lines = vec![heading.with(PLAIN, ":")];
                lines.extend(diff::lines(&spelled_diff(&file), usize::MAX).into_iter().skip(1));
                lines
            }
            asked::Difference::Unsaid => vec![heading],
        }
    };
    let mut lines: Vec<Line> = asked::changes(request).into_iter().flat_map(draw).collect();
    if !lines.is_empty() {
        lines.push(Line::of(WARN, "  this is what will run:"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_of_a_command_are_folded() {
        let shown: Vec<String> = command_lines("ls\n\n\n \t\n\nrm x\n\ntrue").iter().map(Line::plain).collect();
        assert_eq!(shown, ["  ls", "  (4 blank lines)", "  rm x", "  ", "  true"]);
    }
}
