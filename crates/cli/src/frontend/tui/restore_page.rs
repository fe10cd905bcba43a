//! The page for `/restore` and Esc Esc: the turns to go back to, what that would do to files, and the choice of what to
//! restore.

use std::borrow::Cow;
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};
use hookwright_agent::checkpoint::{
    Checkpoint, CheckpointError, CheckpointKind, ConflictPolicy, RestorePlan, RestoreScope,
};
use hookwright_agent::session::{RestoreAction, SessionCommand, SessionHandle};

use super::app::{App, AppEffect};
use super::menu::{Menu, MenuChoice, MenuItem, MenuKeys, MenuReaction};
use super::overlay::{KeyOutcome, Overlay, OverlayPage};
use super::picker::{Picker, PickerReaction};
use crate::output::escape_invisible;
use crate::presentation::humanize;
use crate::presentation::restore_plan::plan_lines;
use crate::presentation::styled_text::{BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine};

const KEY_HINTS: &str = "enter go back to before it  / search  ↑↓ choose  page up/down scroll  esc close";

/// The state of the restore page.
pub(crate) struct RestorePage {
    session: SessionHandle,
    picker: Picker<RestoreEntry>,
    plan: Option<Result<RestorePlan, CheckpointError>>,
    /// What can be restored, and nothing as the last choice, once a turn is chosen.
    choices: Option<Menu<MenuChoice<Option<RestoreTarget>>>>,
}

struct RestoreEntry {
    checkpoint: Checkpoint,
    /// Whether the checkpoint belongs to this session.
    is_own: bool,
}

/// What to restore of a turn.
#[derive(Clone, Copy)]
struct RestoreTarget {
    scope: RestoreScope,
    since: ConflictPolicy,
}

impl MenuItem for RestoreEntry {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.checkpoint.prompt)
    }

    fn filter_text(&self) -> String {
        let files: Vec<String> = self.checkpoint.files.iter().map(|file| file.path.display().to_string()).collect();
        format!("{} {} {}", self.checkpoint.number, self.checkpoint.prompt, files.join(" "))
    }

    fn row(&self, columns: usize) -> Option<StyledLine> {
        let Checkpoint { number, prompt, time, files, kind, .. } = &self.checkpoint;
        let changed = humanize::format_file_count(files.len());
        let age = humanize::format_age(*time);
        let other = if self.is_own { "" } else { "  another session" };
        let style = if *kind == CheckpointKind::Restore { DIM } else { PLAIN };
        let room = columns.saturating_sub(32 + other.len()).max(10);
        let prompt = crate::output::truncate_columns(&crate::output::one_line(prompt), room);
        let line = StyledLine::styled(NOTE, format!("{number:>4}  "))
            .with_text(DIM, format!("{age:>8}  "))
            .with_text(if files.is_empty() { DIM } else { GOOD }, format!("{changed:<10}  "));
        Some(line.with_text(style, prompt).with_text(DIM, other))
    }
}

impl RestorePage {
    /// Returns a page with the turns of this session first, the newest on top.
    pub(crate) fn new(all: Vec<Checkpoint>, session: SessionHandle) -> Self {
        let id = session.view().session_id();
        let entry = |checkpoint: Checkpoint| RestoreEntry { is_own: checkpoint.session == id, checkpoint };
        let mut entries: Vec<RestoreEntry> = all.into_iter().rev().map(entry).collect();
        entries.sort_by_key(|entry| !entry.is_own);
        let mut page = RestorePage { session, picker: Picker::new("Turns", entries), plan: None, choices: None };
        page.load_plan();
        page
    }

    fn selected_number(&self) -> Option<u64> {
        self.picker.menu.current().map(|entry| entry.checkpoint.number)
    }

    fn load_plan(&mut self) {
        self.plan = self.selected_number().map(|number| self.session.view().services.plan_restore(number));
    }

    /// Returns the choices for the selected turn.
    fn available_choices(&self) -> Vec<MenuChoice<Option<RestoreTarget>>> {
        let Some(entry) = self.picker.menu.current() else { return Vec::new() };
        let changes = self.plan.as_ref().and_then(|plan| plan.as_ref().ok()).map_or(&[][..], |plan| &plan.changes);
        let done: Vec<_> = changes.iter().filter(|change| change.action.has_effect()).collect();
        let since = done.iter().filter(|change| change.changed_since).count();
        let has_conversation = entry.is_own && entry.checkpoint.conversation.is_some();
        let mut offered = Vec::new();
        let mut offer = |words: &str, scope: RestoreScope| {
            let conflicts = if scope.includes_files() { since } else { 0 };
            let mut push =
                |label, since| offered.push(MenuChoice { label, value: Some(RestoreTarget { scope, since }) });
            if conflicts < done.len() || !scope.includes_files() {
                let but = if conflicts > 0 { format!(", but for {since} changed since") } else { String::new() };
                push(format!("{words}{but}"), ConflictPolicy::Keep);
            }
            if conflicts > 0 {
                push(format!("{words}, and overwrite {since} changed since"), ConflictPolicy::Overwrite);
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
        offered.push(MenuChoice { label: "Nothing (esc)".to_owned(), value: None });
        offered
    }

    fn handle_choice_key(&mut self, key: KeyEvent) -> KeyOutcome {
        let Some(choices) = &mut self.choices else { return KeyOutcome::TAKEN };
        match key.code {
            KeyCode::PageUp | KeyCode::PageDown => {
                self.picker.handle_key(key);
            }
            KeyCode::Esc | KeyCode::Char('c' | 'n' | 'q') => self.choices = None,
            _ => {
                if let MenuReaction::Chosen(_) = choices.handle_key(key) {
                    let chosen = choices.current().and_then(|choice| choice.value).zip(self.selected_number());
                    self.choices = None;
                    if let Some((RestoreTarget { scope, since }, number)) = chosen {
                        let action = RestoreAction::Restore { which: number.to_string(), what: scope, since };
                        return KeyOutcome::Closed(vec![AppEffect::Command(SessionCommand::Restore(action))]);
                    }
                }
            }
        }
        KeyOutcome::TAKEN
    }

    fn footer(&self, app: &App, columns: usize) -> Vec<StyledLine> {
        if let Some(notice) = app.question_notice("esc") {
            return vec![notice];
        }
        let Some(choices) = &self.choices else { return vec![StyledLine::styled(NOTE, KEY_HINTS)] };
        let mut foot = vec![StyledLine::styled(BOLD, "Bring back what?")];
        foot.extend(choices.rows(columns, usize::MAX));
        foot
    }

    fn details(&self) -> Vec<StyledLine> {
        let Some(entry) = self.picker.menu.current() else { return Vec::new() };
        let mut lines: Vec<StyledLine> = escape_invisible(&entry.checkpoint.prompt)
            .lines()
            .take(3)
            .map(|line| StyledLine::styled(BOLD, line))
            .collect();
        match &self.plan {
            Some(Ok(plan)) => lines.extend(plan_lines(plan)),
            Some(Err(problem)) => lines.push(StyledLine::styled(BAD, problem.to_string())),
            None => {}
        }
        lines
    }
}

impl Overlay for RestorePage {
    fn handle_key(&mut self, key: KeyEvent, _now: Instant, _app: &mut App) -> KeyOutcome {
        if self.choices.is_some() {
            return self.handle_choice_key(key);
        }
        let before = self.selected_number();
        match self.picker.handle_key(key) {
            PickerReaction::Closed => return KeyOutcome::CLOSED,
            PickerReaction::Chosen => {
                self.choices = Some(Menu::new(MenuKeys::Letters, self.available_choices()));
            }
            PickerReaction::Open if self.selected_number() != before => self.load_plan(),
            PickerReaction::Open => {}
        }
        KeyOutcome::TAKEN
    }

    fn page(&mut self, app: &App, columns: usize, rows: usize) -> Option<OverlayPage> {
        Some(self.picker.view(&self.details(), &self.footer(app, columns), columns, rows).into())
    }
}
