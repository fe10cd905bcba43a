//! Tool calls as cards: name, arguments in short, live output, diff, duration, result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_agent::{ToolEnd, ToolStart};
use hookwright_tools::{Display, TodoStatus};
use serde_json::{Map, Value};

use super::block::Block;
use super::cards;
use super::console::{Console, Consoles, same_words_in_colour};
use super::diff;
use super::text::{BAD, BOLD, DIM, GOOD, Line, NOTE, PLAIN, WARN, elapsed};
use crate::past::PastCall;

/// So much of a running command's output is kept for the screen.
const MOST_OUTPUT: usize = 256 << 10;
const LIVE_LINES: usize = 6;
const RESULT_LINES: usize = 12;
const DIFF_LINES: usize = 60;
/// So much of a call of an earlier conversation.
const PAST_LINES: usize = 4;

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct LiveCard {
    pub(crate) call_id: String,
    name: String,
    description: String,
    rewritten: Vec<String>,
    output: String,
    /// How much there was of it altogether.
    printed: usize,
    /// Where the command draws, once it has.
    console: Option<Arc<Console>>,
    started: Instant,
}

impl LiveCard {
    pub(crate) fn new(start: ToolStart, now: Instant) -> Self {
        let ToolStart { call_id, name, description, rewritten, .. } = start;
        let output = String::new();
        LiveCard { call_id, name, description, rewritten, output, printed: 0, console: None, started: now }
    }

    /// Remembers the terminal that its output is drawn on, if there is one.
    pub(crate) fn draws_on(&mut self, consoles: &Consoles) {
        if self.console.is_none() {
            self.console = consoles.of(&self.call_id);
        }
    }

    /// Takes output; only its end is of interest.
    pub(crate) fn output(&mut self, text: &str) {
        self.output.push_str(text);
        self.printed += text.len();
        if self.output.len() > 2 * MOST_OUTPUT {
            self.output = cards::tail(&self.output, MOST_OUTPUT).0.to_owned();
        }
    }

    /// What it is, in a line.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.description).trim_end().to_owned()
    }

    /// What it printed so far, or the end of it.
    pub(crate) fn so_far(&self) -> &str {
        &self.output
    }

    /// How much it printed altogether.
    pub(crate) fn printed(&self) -> usize {
        self.printed
    }

    /// The card while it runs.
    pub(crate) fn live(&self, consoles: &Consoles, now: Instant) -> Vec<Line> {
        let time = now.saturating_duration_since(self.started);
        let mut lines = vec![title(NOTE, "…", &self.name, &self.description, &self.rewritten, Some(time))];
        if let Some(console) = consoles.of(&self.call_id) {
            lines.extend(consoles.tail(&console, LIVE_LINES, now));
            return lines;
        }
        let tail: Vec<&str> =
            self.output.lines().rev().filter(|line| !line.trim().is_empty()).take(LIVE_LINES).collect();
        lines.extend(tail.into_iter().rev().map(|line| Line::of(DIM, format!("  {line}"))));
        lines
    }

    /// The card when it is over.
    pub(crate) fn finish(self, end: &ToolEnd, consoles: &Consoles) -> Block {
        let mut block = finished(end, &self.description, &self.rewritten, &self.output);
        if let (Some(console), Block::Lines(lines)) = (&self.console, &mut block) {
            same_words_in_colour(lines.get_mut(1..).unwrap_or_default(), &consoles.drawn(console));
        }
        block
    }

    /// The card of a call that ended with its turn, and of which nobody said more.
    pub(crate) fn cut_off(self) -> Block {
        let mut lines = vec![title(WARN, "−", &self.name, &self.description, &self.rewritten, None)];
        lines.extend(cancelled(&self.output));
        Block::Lines(lines)
    }
}

fn title(
    style: anstyle::Style,
    mark: &str,
    name: &str,
    description: &str,
    rewritten: &[String],
    time: Option<Duration>,
) -> Line {
    let mut line = Line::of(style, format!("{mark} ")).with(BOLD, name).hanging(2);
    if !description.is_empty() {
        line.push(PLAIN, " ");
        line.push(PLAIN, description);
    }
    if !rewritten.is_empty() {
        line.push(WARN, &format!(" (hooks changed {})", rewritten.join(", ")));
    }
    if let Some(time) = time.filter(|time| *time >= Duration::from_millis(50)) {
        line.push(DIM, &format!("  {}", elapsed(time)));
    }
    line
}

/// What a call printed before it was cancelled.
fn cancelled(output: &str) -> Vec<Line> {
    let mut lines = indented(DIM, output, RESULT_LINES);
    lines.push(Line::of(WARN, "  Cancelled"));
    lines
}

/// A call that is over, also one that never ran; what it printed meanwhile counts where it was cancelled.
pub(crate) fn finished(end: &ToolEnd, description: &str, rewritten: &[String], output: &str) -> Block {
    let (style, mark) = match &end.error {
        None => (GOOD, "✓"),
        Some(error) if error.is_cancelled() => (WARN, "−"),
        Some(_) => (BAD, "✗"),
    };
    let failed = end.failed_command();
    let (style, mark) = if failed.is_some() { (BAD, "✗") } else { (style, mark) };
    let description = if description.is_empty() { short_args(&end.args) } else { description.to_owned() };
    let mut lines = vec![title(style, mark, &end.name, &description, rewritten, Some(end.duration))];
    if let Some((title, failed)) = lines.first_mut().zip(failed) {
        title.push(BAD, &format!("  {failed}"));
    }
    match &end.error {
        Some(error) if error.is_cancelled() => lines.extend(cancelled(output)),
        Some(error) => lines.extend(indented(BAD, &error.message, RESULT_LINES)),
        None => lines.extend(result(&end.display)),
    }
    Block::Lines(lines)
}

/// A call of an earlier conversation.
pub(crate) fn past(call: &PastCall) -> Block {
    let (style, mark) = match &call.result {
        Some(Ok(_)) => (GOOD, "✓"),
        Some(Err(_)) => (BAD, "✗"),
        None => (WARN, "−"),
    };
    let mut lines = vec![title(style, mark, &call.name, &short_args(&call.args), &[], None)];
    lines.extend(call.result.iter().flat_map(|result| match result {
        Ok(text) => indented(DIM, text, PAST_LINES),
        Err(text) => indented(BAD, text, PAST_LINES),
    }));
    Block::Lines(lines)
}

/// The arguments of a call that nobody described.
pub(crate) fn short_args(args: &Map<String, Value>) -> String {
    let first = ["command", "file_path", "path", "pattern", "query", "url", "prompt"];
    let value = first.iter().find_map(|key| args.get(*key)).or_else(|| args.values().next());
    match value {
        Some(Value::String(text)) => crate::out::shorten(text, 80),
        Some(value) => crate::out::shorten(&value.to_string(), 80),
        None => String::new(),
    }
}

fn result(display: &Display) -> Vec<Line> {
    match display {
        Display::Diff(file) => diff::lines(file, DIFF_LINES),
        Display::Todos(todos) => todos
            .iter()
            .map(|todo| {
                let (mark, style) = match todo.status {
                    TodoStatus::Completed => ("[x]", DIM),
                    TodoStatus::InProgress => ("[>]", BOLD),
                    TodoStatus::Cancelled => ("[-]", DIM),
                    TodoStatus::Blocked => ("[!]", WARN),
                    TodoStatus::Pending => ("[ ]", PLAIN),
                };
                Line::of(style, format!("  {mark} {}", todo.description)).hanging(6)
            })
            .collect(),
        Display::Text(text) => indented(DIM, text, RESULT_LINES),
        Display::Files { summary, .. } | Display::Matches { summary, .. } => indented(DIM, summary, 2),
    }
}

/// The end of a text, indented, saying how much of it is not shown.
fn indented(style: anstyle::Style, text: &str, most: usize) -> Vec<Line> {
    let all: Vec<&str> = text.lines().collect();
    let hidden = all.len().saturating_sub(most);
    let mut lines = Vec::new();
    if hidden > 0 {
        let lines_word = if hidden == 1 { "line" } else { "lines" };
        lines.push(Line::of(DIM, format!("  … {hidden} {lines_word} before (ctrl+o shows all)")));
    }
    lines.extend(all[hidden..].iter().map(|line| Line::of(style, format!("  {line}")).hanging(2)));
    lines
}
