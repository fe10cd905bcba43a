//! The question about what the agent changed of its guards: what is different, and whether that is to count. It has its
//! own choices, and the harmless one comes first: whoever answers out of habit trusts nothing.

use crossterm::event::{KeyCode, KeyEvent};
use hookwright_agent::{GuardChange, GuardReply};
use tokio::sync::oneshot;

use super::dialog::Reaction;
use super::fit::Question;
use super::text::{ACCENT, BAD, BOLD, DIM, GOOD, Line, NOTE, PLAIN, WARN};

const CHOICES: [(GuardReply, &str); 2] = [
    (GuardReply::Leave, "Leave it distrusted (esc): hooks that depend on it deny what they can"),
    (GuardReply::Trust, "Trust the change: it counts from now on"),
];

/// The question.
pub(crate) struct GuardDialog {
    changes: Vec<GuardChange>,
    reply: Option<oneshot::Sender<GuardReply>>,
    selected: usize,
    scroll: usize,
}

impl GuardDialog {
    pub(crate) fn new(changes: Vec<GuardChange>, reply: oneshot::Sender<GuardReply>) -> Self {
        GuardDialog { changes, reply: Some(reply), selected: 0, scroll: 0 }
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Reaction {
        match key.code {
            KeyCode::Enter => self.answer(self.selected),
            KeyCode::Char('1' | 'n') | KeyCode::Esc => self.answer(0),
            KeyCode::Char('2') => self.answer(1),
            KeyCode::Up | KeyCode::Down | KeyCode::Tab => {
                self.selected = 1 - self.selected;
                Reaction::Open
            }
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => Reaction::Open,
        }
    }

    fn scroll_by(&mut self, lines: isize) -> Reaction {
        let most = lines_of(&self.changes).len().saturating_sub(1);
        self.scroll = self.scroll.saturating_add_signed(lines).min(most);
        Reaction::Open
    }

    fn answer(&mut self, choice: usize) -> Reaction {
        if let Some(sender) = self.reply.take() {
            // Nobody waits where the turn was cancelled meanwhile.
            let _ = sender.send(CHOICES[choice].0);
        }
        Reaction::Given
    }

    /// What changed.
    pub(crate) fn whole(&self) -> Vec<Line> {
        lines_of(&self.changes)
    }

    /// The question, in so many columns and rows.
    pub(crate) fn view(&self, columns: usize, rows: usize) -> Vec<Line> {
        let title = Line::of(ACCENT.bold(), "? ").with(BOLD, "The agent changed what your guards are made of");
        let choice = |(at, (_, text)): (usize, &(GuardReply, &str))| {
            let (mark, style) = if at == self.selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            Line::of(style, format!("{mark}{}. {text}", at + 1)).clip(columns)
        };
        let question = Question {
            head: title.wrap(columns),
            subject: lines_of(&self.changes).iter().flat_map(|line| line.wrap(columns)).collect(),
            scroll: self.scroll,
            foot: CHOICES.iter().enumerate().map(choice).collect(),
            focus: self.selected,
        };
        question.fit(columns, rows).0
    }
}

/// What changed, with its diff.
fn lines_of(changes: &[GuardChange]) -> Vec<Line> {
    let of_one = |change: &GuardChange| {
        let mut lines = vec![Line::of(WARN, format!("  {change}")).hanging(4)];
        lines.extend(change.diff.as_deref().unwrap_or_default().lines().map(diff_line));
        lines
    };
    changes.iter().flat_map(of_one).collect()
}

/// A line of a diff.
pub(crate) fn diff_line(line: &str) -> Line {
    let style = match line.as_bytes().first() {
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => DIM,
        _ => PLAIN,
    };
    Line::of(style, format!("    {}", crate::out::spelled(line))).hanging(6)
}
