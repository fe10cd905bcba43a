//! The earlier sessions of a project, to choose from: before a session begins (`--resume`) and in one (`/resume`).

use hookwright_agent::transcript::SessionInfo;
use hookwright_settings::World;

use super::Hands;
use super::picker::{Item, Picked, Picker};
use super::rewrap::Rewrap;
use super::screen::Screen;
use super::terminal;
use super::text::{BOLD, DIM, Line, NOTE, PLAIN};
use crate::checkpoints::words;

pub(crate) const KEYS: &str = "enter go on with it  / search  ↑↓ choose  esc close";

impl Item for SessionInfo {
    fn text(&self) -> String {
        let words = [self.first_prompt.as_deref(), self.branch.as_deref(), Some(&self.id)];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn row(&self, columns: usize) -> Line {
        let size = format!("{} messages, {}", self.messages, words::size(self.bytes));
        let wide = columns >= 70;
        let branch = self.branch.as_deref().filter(|_| wide).map(|branch| crate::out::shorten(branch, 20));
        let branch = branch.map(|branch| format!("{branch}  ")).unwrap_or_default();
        let taken = 14 + if wide { size.len() + branch.len() + 2 } else { 0 };
        let prompt = self.first_prompt.as_deref().unwrap_or_default();
        let prompt = crate::out::shorten(&crate::out::one_line(prompt), columns.saturating_sub(taken).max(8));
        let gap = columns.saturating_sub(taken + unicode_width::UnicodeWidthStr::width(prompt.as_str()));
        let mut line = Line::of(NOTE, format!("{:>3}  ", self.index))
            .with(DIM, format!("{:>8} ", words::age(self.updated)))
            .with(PLAIN, prompt);
        if wide {
            line.push(DIM, &format!("{}  ", " ".repeat(gap)));
            line.push(NOTE, &branch);
            line.push(DIM, &size);
        }
        line
    }
}

/// A page of them, the last used first.
pub(crate) fn picker(mut sessions: Vec<SessionInfo>) -> Picker<SessionInfo> {
    sessions.reverse();
    Picker::new("Sessions", sessions)
}

/// The page, in so many columns and rows.
pub(crate) fn view(picker: &Picker<SessionInfo>, columns: usize, rows: usize) -> Vec<Line> {
    let mut details = Vec::new();
    if let Some(session) = picker.current() {
        let prompt = crate::out::spelled(session.first_prompt.as_deref().unwrap_or_default());
        details.extend(prompt.lines().take(6).map(|line| Line::of(BOLD, line)));
        let fact = |name: &str, text: String| Line::of(DIM, format!("{name:<10}")).with(PLAIN, text).hanging(10);
        details.push(fact("session", session.id.clone()));
        details.push(fact("begun", session.started.strftime("%Y-%m-%d %H:%M UTC").to_string()));
        details.push(fact("last used", session.updated.strftime("%Y-%m-%d %H:%M UTC").to_string()));
        details.extend(session.branch.clone().map(|branch| fact("branch", branch)));
        details.push(fact("size", format!("{} messages, {}", session.messages, words::size(session.bytes))));
    }
    picker.view(&details, &[Line::of(NOTE, KEYS)], columns, rows)
}

/// The id of the one that the user chooses; none if the user wants none of them.
pub(crate) async fn choose(
    sessions: Vec<SessionInfo>,
    world: &World,
    hands: Option<&mut Hands>,
) -> anyhow::Result<Option<String>> {
    match hands {
        Some(hands) => choose_with_keys(sessions, world, hands).await,
        None => choose_in_lines(&sessions),
    }
}

async fn choose_with_keys(
    sessions: Vec<SessionInfo>,
    world: &World,
    hands: &mut Hands,
) -> anyhow::Result<Option<String>> {
    let mut screen = Screen::new(terminal::raw(), world.var("NO_COLOR").is_none_or(str::is_empty), Rewrap::of(world));
    let mut picker = picker(sessions);
    let chosen = loop {
        let (columns, rows) = terminal::size();
        screen.page(&view(&picker, columns, rows), rows)?;
        let Some(key) = hands.key(&mut screen).await? else { continue };
        match picker.key(key) {
            Picked::Open => {}
            Picked::Closed => break None,
            Picked::Chosen => break picker.current().map(|session| session.id.clone()),
        }
    };
    screen.finish()?;
    Ok(chosen)
}

/// Without a screen: the list, and a line that names one.
fn choose_in_lines(sessions: &[SessionInfo]) -> anyhow::Result<Option<String>> {
    use std::io::Write;
    let mut stdout = crate::out::stdout();
    for session in sessions {
        writeln!(stdout, "{}", crate::replies::session(session))?;
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
