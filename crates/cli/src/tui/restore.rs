//! `/restore` and Esc Esc on the screen: the turns that can be gone back to, what that would do to files, and what to bring back.

use crossterm::event::{KeyCode, KeyEvent};
use hookwright_agent::checkpoint::{Checkpoint, Deed, Kind, Plan, Since, What};
use hookwright_agent::session::{Order, RestoreOrder};

use super::picker::{Item, Picked, Picker};
use super::text::{BAD, BOLD, DIM, GOOD, Line, NOTE, PLAIN, WARN};
use crate::checkpoints::words;
use crate::out::spelled;

const KEYS: &str = "enter go back to before it  / search  ↑↓ choose  page up/down scroll  esc close";

/// The page.
pub(crate) struct RestorePage {
    picker: Picker<Entry>,
    plan: Option<Result<Plan, String>>,
    /// What is asked, once a turn is chosen.
    choices: Option<(Vec<Choice>, usize)>,
}

struct Entry {
    checkpoint: Checkpoint,
    /// Whether it is of this session.
    is_own: bool,
}

/// What can be brought back.
struct Choice {
    words: String,
    what: What,
    since: Since,
}

/// What a key came to.
pub(crate) enum Then {
    Open,
    Close,
    Do(Order),
}

impl Item for Entry {
    fn text(&self) -> String {
        let files: Vec<String> = self.checkpoint.files.iter().map(|file| file.path.display().to_string()).collect();
        format!("{} {} {}", self.checkpoint.number, self.checkpoint.prompt, files.join(" "))
    }

    fn row(&self, columns: usize) -> Line {
        let Checkpoint { number, prompt, time, files, kind, .. } = &self.checkpoint;
        let changed = words::files(files.len());
        let age = words::age(*time);
        let other = if self.is_own { "" } else { "  another session" };
        let style = if *kind == Kind::Restore { DIM } else { PLAIN };
        let room = columns.saturating_sub(32 + other.len()).max(10);
        let prompt = crate::out::shorten(&crate::out::one_line(prompt), room);
        Line::of(NOTE, format!("{number:>4}  "))
            .with(DIM, format!("{age:>8}  "))
            .with(if files.is_empty() { DIM } else { GOOD }, format!("{changed:<10}  "))
            .with(style, prompt)
            .with(DIM, other)
    }
}

impl RestorePage {
    /// The newest first.
    pub(crate) fn new(all: Vec<Checkpoint>, session: &str, plan: impl Fn(u64) -> Result<Plan, String>) -> Self {
        let entry = |checkpoint: Checkpoint| Entry { is_own: checkpoint.session == session, checkpoint };
        let mut entries: Vec<Entry> = all.into_iter().rev().map(entry).collect();
        entries.sort_by_key(|entry| !entry.is_own);
        let mut page = RestorePage { picker: Picker::new("Turns", entries), plan: None, choices: None };
        page.look(plan);
        page
    }

    fn look(&mut self, plan: impl Fn(u64) -> Result<Plan, String>) {
        self.plan = self.picker.current().map(|entry| plan(entry.checkpoint.number));
    }

    pub(crate) fn key(&mut self, key: KeyEvent, plan: impl Fn(u64) -> Result<Plan, String>) -> Then {
        if self.choices.is_some() {
            return self.choose(key);
        }
        let before = self.picker.current().map(|entry| entry.checkpoint.number);
        match self.picker.key(key) {
            Picked::Closed => return Then::Close,
            Picked::Chosen => self.choices = Some((self.offered(), 0)),
            Picked::Open if self.picker.current().map(|entry| entry.checkpoint.number) != before => self.look(plan),
            Picked::Open => {}
        }
        Then::Open
    }

    /// What there is to bring back of the selected one.
    fn offered(&self) -> Vec<Choice> {
        let Some(entry) = self.picker.current() else { return Vec::new() };
        let changes = self.plan.as_ref().and_then(|plan| plan.as_ref().ok()).map_or(&[][..], |plan| &plan.changes);
        let done: Vec<_> = changes.iter().filter(|change| change.deed.is_done()).collect();
        let since = done.iter().filter(|change| change.changed_since).count();
        let has_conversation = entry.is_own && entry.checkpoint.conversation.is_some();
        let mut offered = Vec::new();
        let mut offer = |words: &str, what: What| {
            if since < done.len() || !what.files() {
                let but =
                    if since > 0 && what.files() { format!(", but for {since} changed since") } else { String::new() };
                offered.push(Choice { words: format!("{words}{but}"), what, since: Since::Keep });
            }
            if since > 0 && what.files() {
                let words = format!("{words}, and overwrite {since} changed since");
                offered.push(Choice { words, what, since: Since::Overwrite });
            }
        };
        if has_conversation && !done.is_empty() {
            offer("Files and conversation", What::Both);
        }
        if !done.is_empty() {
            offer("Files only", What::Files);
        }
        if has_conversation {
            offer("Conversation only", What::Conversation);
        }
        offered
    }

    fn choose(&mut self, key: KeyEvent) -> Then {
        let Some((choices, selected)) = &mut self.choices else { return Then::Open };
        let count = choices.len() + 1;
        let chosen = match key.code {
            KeyCode::Up | KeyCode::Char('k') => {
                *selected = (*selected + count - 1) % count;
                return Then::Open;
            }
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => {
                *selected = (*selected + 1) % count;
                return Then::Open;
            }
            KeyCode::PageUp | KeyCode::PageDown => {
                self.picker.key(key);
                return Then::Open;
            }
            KeyCode::Enter => *selected,
            KeyCode::Char(digit @ '1'..='9') => digit as usize - '1' as usize,
            KeyCode::Esc | KeyCode::Char('c' | 'n' | 'q') => count - 1,
            _ => return Then::Open,
        };
        let choice = choices.get(chosen).map(|choice| (choice.what, choice.since));
        if chosen >= count {
            return Then::Open;
        }
        self.choices = None;
        match (choice, self.picker.current()) {
            (Some((what, since)), Some(entry)) => {
                let which = entry.checkpoint.number.to_string();
                Then::Do(Order::Restore(RestoreOrder::Restore { which, what, since }))
            }
            _ => Then::Open,
        }
    }

    /// The page, in so many columns and rows.
    pub(crate) fn view(&self, waits: bool, columns: usize, rows: usize) -> Vec<Line> {
        let foot = match &self.choices {
            _ if waits => vec![Line::of(WARN.bold(), "the agent waits for your permission: esc shows the question")],
            None => vec![Line::of(NOTE, KEYS)],
            Some((choices, selected)) => {
                let mut foot = vec![Line::of(BOLD, "Bring back what?")];
                let all = choices.iter().map(|choice| choice.words.as_str()).chain(["Nothing (esc)"]);
                foot.extend(all.enumerate().map(|(at, words)| {
                    let (mark, style) = if at == *selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
                    Line::of(style, format!("{mark}{}. {words}", at + 1))
                }));
                foot
            }
        };
        self.picker.view(&self.details(), &foot, columns, rows)
    }

    fn details(&self) -> Vec<Line> {
        let Some(entry) = self.picker.current() else { return Vec::new() };
        let mut lines: Vec<Line> =
            spelled(&entry.checkpoint.prompt).lines().take(3).map(|line| Line::of(BOLD, line)).collect();
        match &self.plan {
            Some(Ok(plan)) => lines.extend(plan_lines(plan)),
            Some(Err(problem)) => lines.push(Line::of(BAD, problem)),
            None => {}
        }
        lines
    }
}

/// What bringing something back would do, with the differences.
pub(crate) fn plan_lines(plan: &Plan) -> Vec<Line> {
    let mut lines = Vec::new();
    if plan.changes.is_empty() {
        lines.push(Line::of(DIM, "every file is as it was then"));
    }
    for change in &plan.changes {
        let style = if change.deed.is_done() { PLAIN } else { WARN };
        lines.push(Line::of(style, words::change(change)).hanging(4));
        if change.changed_since && change.deed.is_done() {
            lines.push(Line::of(WARN, "    changed since, by you or somebody else: it would be overwritten"));
        }
        let diff = change.diff.as_deref().filter(|_| !matches!(change.deed, Deed::Mode)).unwrap_or_default();
        for line in spelled(&diff.replace("\r\n", "\n")).lines().skip(2) {
            let style = match line.chars().next() {
                Some('+') => GOOD,
                Some('-') => BAD,
                Some('@') => NOTE,
                _ => DIM,
            };
            lines.push(Line::of(style, format!("    {line}")).hanging(6));
        }
    }
    lines.extend(plan.notes.iter().map(|note| Line::of(WARN, format!("! {}", spelled(note))).hanging(2)));
    lines
}
