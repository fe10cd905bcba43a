//! The page for `/restore` and Esc Esc: the turns to go back to, what that would do to files, and the choice of what to
//! restore.

use crossterm::event::{KeyCode, KeyEvent};
use hookwright_agent::checkpoint::{Checkpoint, CheckpointKind, ConflictPolicy, RestorePlan, RestoreScope};
use hookwright_agent::session::{RestoreAction, SessionCommand};

use super::picker::{Picker, PickerItem, PickerReaction};
use crate::output::escape_invisible;
use crate::presentation::humanize;
use crate::presentation::restore_plan::plan_lines;
use crate::presentation::styled_text::{BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN};

const KEY_HINTS: &str = "enter go back to before it  / search  ↑↓ choose  page up/down scroll  esc close";

/// The state of the restore page.
pub(crate) struct RestorePage {
    picker: Picker<RestoreEntry>,
    plan: Option<Result<RestorePlan, String>>,
    /// The choices and the selected one, once a turn is chosen.
    choices: Option<(Vec<RestoreChoice>, usize)>,
}

struct RestoreEntry {
    checkpoint: Checkpoint,
    /// Whether the checkpoint belongs to this session.
    is_own: bool,
}

/// A choice of what to restore.
struct RestoreChoice {
    label: String,
    target: RestoreScope,
    since: ConflictPolicy,
}

/// The result of a key.
pub(crate) enum RestoreReaction {
    Open,
    Close,
    Run(SessionCommand),
}

impl PickerItem for RestoreEntry {
    fn search_text(&self) -> String {
        let files: Vec<String> = self.checkpoint.files.iter().map(|file| file.path.display().to_string()).collect();
        format!("{} {} {}", self.checkpoint.number, self.checkpoint.prompt, files.join(" "))
    }

    fn row(&self, columns: usize) -> StyledLine {
        let Checkpoint { number, prompt, time, files, kind, .. } = &self.checkpoint;
        let changed = humanize::format_file_count(files.len());
        let age = humanize::format_age(*time);
        let other = if self.is_own { "" } else { "  another session" };
        let style = if *kind == CheckpointKind::Restore { DIM } else { PLAIN };
        let room = columns.saturating_sub(32 + other.len()).max(10);
        let prompt = crate::output::truncate_columns(&crate::output::one_line(prompt), room);
        StyledLine::styled(NOTE, format!("{number:>4}  "))
            .with_text(DIM, format!("{age:>8}  "))
            .with_text(if files.is_empty() { DIM } else { GOOD }, format!("{changed:<10}  "))
            .with_text(style, prompt)
            .with_text(DIM, other)
    }
}

impl RestorePage {
    /// Returns a page with this session's turns first, the newest on top.
    pub(crate) fn new(all: Vec<Checkpoint>, session: &str, plan: impl Fn(u64) -> Result<RestorePlan, String>) -> Self {
        let entry = |checkpoint: Checkpoint| RestoreEntry { is_own: checkpoint.session == session, checkpoint };
        let mut entries: Vec<RestoreEntry> = all.into_iter().rev().map(entry).collect();
        entries.sort_by_key(|entry| !entry.is_own);
        let mut page = RestorePage { picker: Picker::new("Turns", entries), plan: None, choices: None };
        page.load_plan(plan);
        page
    }

    fn load_plan(&mut self, plan: impl Fn(u64) -> Result<RestorePlan, String>) {
        self.plan = self.picker.current().map(|entry| plan(entry.checkpoint.number));
    }

    pub(crate) fn handle_key(
        &mut self,
        key: KeyEvent,
        plan: impl Fn(u64) -> Result<RestorePlan, String>,
    ) -> RestoreReaction {
        if self.choices.is_some() {
            return self.handle_choice_key(key);
        }
        let before = self.picker.current().map(|entry| entry.checkpoint.number);
        match self.picker.handle_key(key) {
            PickerReaction::Closed => return RestoreReaction::Close,
            PickerReaction::Chosen => self.choices = Some((self.available_choices(), 0)),
            PickerReaction::Open if self.picker.current().map(|entry| entry.checkpoint.number) != before => {
                self.load_plan(plan)
            }
            PickerReaction::Open => {}
        }
        RestoreReaction::Open
    }

    /// Returns the choices for the selected turn.
    fn available_choices(&self) -> Vec<RestoreChoice> {
        let Some(entry) = self.picker.current() else { return Vec::new() };
        let changes = self.plan.as_ref().and_then(|plan| plan.as_ref().ok()).map_or(&[][..], |plan| &plan.changes);
        let done: Vec<_> = changes.iter().filter(|change| change.action.has_effect()).collect();
        let since = done.iter().filter(|change| change.changed_since).count();
        let has_conversation = entry.is_own && entry.checkpoint.conversation.is_some();
        let mut offered = Vec::new();
        let mut offer = |words: &str, what: RestoreScope| {
            if since < done.len() || !what.includes_files() {
                let but = if since > 0 && what.includes_files() {
                    format!(", but for {since} changed since")
                } else {
                    String::new()
                };
                offered.push(RestoreChoice {
                    label: format!("{words}{but}"),
                    target: what,
                    since: ConflictPolicy::Keep,
                });
            }
            if since > 0 && what.includes_files() {
                let words = format!("{words}, and overwrite {since} changed since");
                offered.push(RestoreChoice { label: words, target: what, since: ConflictPolicy::Overwrite });
            }
        };
        if has_conversation && !done.is_empty() {
            offer("Files and conversation", RestoreScope::Both);
        }
        if !done.is_empty() {
            offer("Files only", RestoreScope::Files);
        }
        if has_conversation {
            offer("Conversation only", RestoreScope::Conversation);
        }
        offered
    }

    fn handle_choice_key(&mut self, key: KeyEvent) -> RestoreReaction {
        let Some((choices, selected)) = &mut self.choices else { return RestoreReaction::Open };
        let count = choices.len() + 1;
        let chosen = match key.code {
            KeyCode::Up | KeyCode::Char('k') => {
                *selected = (*selected + count - 1) % count;
                return RestoreReaction::Open;
            }
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => {
                *selected = (*selected + 1) % count;
                return RestoreReaction::Open;
            }
            KeyCode::PageUp | KeyCode::PageDown => {
                self.picker.handle_key(key);
                return RestoreReaction::Open;
            }
            KeyCode::Enter => *selected,
            KeyCode::Char(digit @ '1'..='9') => digit as usize - '1' as usize,
            KeyCode::Esc | KeyCode::Char('c' | 'n' | 'q') => count - 1,
            _ => return RestoreReaction::Open,
        };
        let choice = choices.get(chosen).map(|choice| (choice.target, choice.since));
        if chosen >= count {
            return RestoreReaction::Open;
        }
        self.choices = None;
        match (choice, self.picker.current()) {
            (Some((what, since)), Some(entry)) => {
                let which = entry.checkpoint.number.to_string();
                RestoreReaction::Run(SessionCommand::Restore(RestoreAction::Restore { which, what, since }))
            }
            _ => RestoreReaction::Open,
        }
    }

    /// Returns the page's lines in so many columns and rows.
    pub(crate) fn view(&self, waits: bool, columns: usize, rows: usize) -> Vec<StyledLine> {
        let foot = match &self.choices {
            _ if waits => {
                vec![StyledLine::styled(WARN.bold(), "the agent waits for your permission: esc shows the question")]
            }
            None => vec![StyledLine::styled(NOTE, KEY_HINTS)],
            Some((choices, selected)) => {
                let mut foot = vec![StyledLine::styled(BOLD, "Bring back what?")];
                let all = choices.iter().map(|choice| choice.label.as_str()).chain(["Nothing (esc)"]);
                foot.extend(all.enumerate().map(|(at, words)| {
                    let (mark, style) = if at == *selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
                    StyledLine::styled(style, format!("{mark}{}. {words}", at + 1))
                }));
                foot
            }
        };
        self.picker.view(&self.details(), &foot, columns, rows)
    }

    fn details(&self) -> Vec<StyledLine> {
        let Some(entry) = self.picker.current() else { return Vec::new() };
        let mut lines: Vec<StyledLine> = escape_invisible(&entry.checkpoint.prompt)
            .lines()
            .take(3)
            .map(|line| StyledLine::styled(BOLD, line))
            .collect();
        match &self.plan {
            Some(Ok(plan)) => lines.extend(plan_lines(plan)),
            Some(Err(problem)) => lines.push(StyledLine::styled(BAD, problem)),
            None => {}
        }
        lines
    }
}
