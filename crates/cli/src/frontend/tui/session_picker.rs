//! The picker for the earlier sessions of a project: before a session begins (`--resume`) and during one (`/resume`).

use std::borrow::Cow;
use std::time::Instant;

use crossterm::event::KeyEvent;
use hookwright_agent::session::SessionCommand;
use hookwright_agent::transcript::SessionInfo;
use hookwright_settings::ProcessEnv;

use super::TerminalHandle;
use super::app::{App, AppEffect};
use super::menu::MenuItem;
use super::overlay::{KeyOutcome, Overlay, OverlayPage};
use super::picker::{Picker, PickerReaction};
use super::screen::TerminalScreen;
use super::terminal;
use crate::presentation::humanize;
use crate::presentation::styled_text::{BOLD, DIM, NOTE, PLAIN, StyledLine};

const KEY_HINTS: &str = "enter go on with it  / search  ↑↓ choose  esc close";

impl MenuItem for SessionInfo {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.first_prompt.as_deref().unwrap_or_default())
    }

    fn filter_text(&self) -> String {
        let words = [self.first_prompt.as_deref(), self.branch.as_deref(), Some(&self.id)];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn row(&self, columns: usize) -> Option<StyledLine> {
        let size = format!("{} messages, {}", self.messages, humanize::format_size(self.bytes));
        let wide = columns >= 70;
        let branch = self.branch.as_deref().filter(|_| wide).map(|branch| crate::output::truncate_columns(branch, 20));
        let branch = branch.map(|branch| format!("{branch}  ")).unwrap_or_default();
        let taken = 14 + if wide { size.len() + branch.len() + 2 } else { 0 };
        let prompt = self.first_prompt.as_deref().unwrap_or_default();
        let prompt =
            crate::output::truncate_columns(&crate::output::one_line(prompt), columns.saturating_sub(taken).max(8));
        let gap = columns.saturating_sub(taken + unicode_width::UnicodeWidthStr::width(prompt.as_str()));
        let mut line = StyledLine::styled(NOTE, format!("{:>3}  ", self.index))
            .with_text(DIM, format!("{:>8} ", humanize::format_age(self.updated)))
            .with_text(PLAIN, prompt);
        if wide {
            line.push(DIM, &format!("{}  ", " ".repeat(gap)));
            line.push(NOTE, &branch);
            line.push(DIM, &size);
        }
        Some(line)
    }
}

/// Returns a picker of sessions, the last used first.
pub(crate) fn session_picker(mut sessions: Vec<SessionInfo>) -> Picker<SessionInfo> {
    sessions.reverse();
    Picker::new("Sessions", sessions)
}

impl Overlay for Picker<SessionInfo> {
    fn handle_key(&mut self, key: KeyEvent, _now: Instant, _app: &mut App) -> KeyOutcome {
        match Picker::handle_key(self, key) {
            PickerReaction::Open => KeyOutcome::TAKEN,
            PickerReaction::Closed => KeyOutcome::CLOSED,
            PickerReaction::Chosen => {
                let chosen = self.menu.current().map(|session| SessionCommand::Resume(Some(session.id.clone())));
                KeyOutcome::Closed(chosen.map(AppEffect::Command).into_iter().collect())
            }
        }
    }

    fn page(&mut self, _app: &App, columns: usize, rows: usize) -> Option<OverlayPage> {
        Some(view(self, columns, rows).into())
    }
}

/// Returns the page's lines in so many columns and rows.
fn view(picker: &Picker<SessionInfo>, columns: usize, rows: usize) -> Vec<StyledLine> {
    let mut details = Vec::new();
    if let Some(session) = picker.menu.current() {
        let prompt = crate::output::escape_invisible(session.first_prompt.as_deref().unwrap_or_default());
        details.extend(prompt.lines().take(6).map(|line| StyledLine::styled(BOLD, line)));
        let fact = |name: &str, text: String| {
            StyledLine::styled(DIM, format!("{name:<10}")).with_text(PLAIN, text).with_hanging_indent(10)
        };
        details.push(fact("session", session.id.clone()));
        details.push(fact("begun", session.started.strftime("%Y-%m-%d %H:%M UTC").to_string()));
        details.push(fact("last used", session.updated.strftime("%Y-%m-%d %H:%M UTC").to_string()));
        details.extend(session.branch.clone().map(|branch| fact("branch", branch)));
        details.push(fact("size", format!("{} messages, {}", session.messages, humanize::format_size(session.bytes))));
    }
    picker.view(&details, &[StyledLine::styled(NOTE, KEY_HINTS)], columns, rows)
}

/// Returns the id of the session that the user chooses, or none if the user declines.
pub(crate) async fn choose_session(
    sessions: Vec<SessionInfo>,
    world: &ProcessEnv,
    hands: Option<&mut TerminalHandle>,
) -> anyhow::Result<Option<String>> {
    match hands {
        Some(hands) => choose_with_keys(sessions, world, hands).await,
        None => choose_in_lines(&sessions),
    }
}

async fn choose_with_keys(
    sessions: Vec<SessionInfo>,
    world: &ProcessEnv,
    hands: &mut TerminalHandle,
) -> anyhow::Result<Option<String>> {
    let mut screen = TerminalScreen::open(world);
    let mut picker = session_picker(sessions);
    let chosen = loop {
        let (columns, rows) = terminal::size();
        screen.draw_page(&view(&picker, columns, rows), rows)?;
        let Some(key) = hands.next_key(&mut screen).await? else { continue };
        match picker.handle_key(key) {
            PickerReaction::Open => {}
            PickerReaction::Closed => break None,
            PickerReaction::Chosen => break picker.menu.current().map(|session| session.id.clone()),
        }
    };
    screen.finish()?;
    Ok(chosen)
}

/// Asks in plain lines: prints the list and reads a number.
fn choose_in_lines(sessions: &[SessionInfo]) -> anyhow::Result<Option<String>> {
    use std::io::Write;
    let mut stdout = crate::output::stdout();
    for session in sessions {
        writeln!(stdout, "{}", crate::presentation::reply_text::session_line(session))?;
    }
    loop {
        write!(stdout, "Number of the session to go on with, or nothing for a new one: ")?;
        stdout.flush()?;
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(None);
        }
        match hookwright_agent::transcript::find(sessions, &line) {
            Ok(session) => return Ok(Some(session.id.clone())),
            Err(error) => writeln!(stdout, "{error}")?,
        }
    }
}
