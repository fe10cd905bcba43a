//! Tool calls as cards: name, arguments in short, live output, diff, duration, result.

use std::time::{Duration, Instant};

use hookwright_agent::{ToolEnd, ToolStart};
use hookwright_tools::{TodoStatus, ToolDisplay};
use serde_json::{Map, Value};

use super::block::ScrollbackBlock;
use super::card_store;
use super::console::{ScreenConsoles, recolour_matching_lines};
use super::diff;
use super::styled_text::{BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN, format_elapsed};
use crate::frontend::resumed_history::ResumedCall;

/// So much of a running command's output is kept for the screen.
const MAX_LIVE_OUTPUT_BYTES: usize = 256 << 10;
const MAX_LIVE_LINES: usize = 6;
const MAX_RESULT_LINES: usize = 12;
const MAX_DIFF_LINES: usize = 60;
/// So much of a call of an earlier conversation.
const MAX_RESUMED_LINES: usize = 4;

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct LiveCard {
    pub(crate) call_id: String,
    name: String,
    description: String,
    rewritten: Vec<String>,
    output: String,
    /// How much there was of it altogether.
    printed_bytes: usize,
    started: Instant,
}

impl LiveCard {
    pub(crate) fn new(start: ToolStart, now: Instant) -> Self {
        let ToolStart { call_id, name, description, rewritten_args: rewritten, .. } = start;
        let output = String::new();
        LiveCard { call_id, name, description, rewritten, output, printed_bytes: 0, started: now }
    }

    /// Takes output; only its end is of interest.
    pub(crate) fn push_output(&mut self, text: &str) {
        self.output.push_str(text);
        self.printed_bytes += text.len();
        if self.output.len() > 2 * MAX_LIVE_OUTPUT_BYTES {
            self.output = card_store::tail(&self.output, MAX_LIVE_OUTPUT_BYTES).0.to_owned();
        }
    }

    /// What it is, in a line.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.name, self.description).trim_end().to_owned()
    }

    /// What it printed so far, or the end of it.
    pub(crate) fn output_so_far(&self) -> &str {
        &self.output
    }

    /// How much it printed altogether.
    pub(crate) fn printed_bytes(&self) -> usize {
        self.printed_bytes
    }

    /// The card while it runs.
    pub(crate) fn live_lines(&self, consoles: &ScreenConsoles, now: Instant) -> Vec<StyledLine> {
        let time = now.saturating_duration_since(self.started);
        let mut lines = vec![title_line(NOTE, "…", &self.name, &self.description, &self.rewritten, Some(time))];
        if let Some(console) = consoles.find(&self.call_id) {
            lines.extend(consoles.tail_lines(&console, MAX_LIVE_LINES, now));
            return lines;
        }
        let tail: Vec<&str> =
            self.output.lines().rev().filter(|line| !line.trim().is_empty()).take(MAX_LIVE_LINES).collect();
        lines.extend(tail.into_iter().rev().map(|line| StyledLine::styled(DIM, format!("  {line}"))));
        lines
    }

    /// The card when it is over.
    pub(crate) fn finish(self, end: &ToolEnd, consoles: &ScreenConsoles) -> ScrollbackBlock {
        let mut block = finished_card(end, &self.description, &self.rewritten, &self.output);
        if let (Some(console), ScrollbackBlock::Lines(lines)) = (consoles.take_finished(&self.call_id), &mut block) {
            recolour_matching_lines(lines.get_mut(1..).unwrap_or_default(), &consoles.all_lines(&console));
        }
        block
    }

    /// The card of a call that ended with its turn, and of which nobody said more.
    pub(crate) fn interrupted(self) -> ScrollbackBlock {
        let mut lines = vec![title_line(WARN, "−", &self.name, &self.description, &self.rewritten, None)];
        lines.extend(cancelled_lines(&self.output));
        ScrollbackBlock::Lines(lines)
    }
}

fn title_line(
    style: anstyle::Style,
    mark: &str,
    name: &str,
    description: &str,
    rewritten: &[String],
    time: Option<Duration>,
) -> StyledLine {
    let mut line = StyledLine::styled(style, format!("{mark} ")).with_text(BOLD, name).with_hanging_indent(2);
    if !description.is_empty() {
        line.push(PLAIN, " ");
        line.push(PLAIN, description);
    }
    if !rewritten.is_empty() {
        line.push(WARN, &format!(" (hooks changed {})", rewritten.join(", ")));
    }
    if let Some(time) = time.filter(|time| *time >= Duration::from_millis(50)) {
        line.push(DIM, &format!("  {}", format_elapsed(time)));
    }
    line
}

/// What a call printed before it was cancelled.
fn cancelled_lines(output: &str) -> Vec<StyledLine> {
    let mut lines = indented_tail(DIM, output, MAX_RESULT_LINES);
    lines.push(StyledLine::styled(WARN, "  Cancelled"));
    lines
}

/// A call that is over, also one that never ran; what it printed meanwhile counts where it was cancelled.
pub(crate) fn finished_card(end: &ToolEnd, description: &str, rewritten: &[String], output: &str) -> ScrollbackBlock {
    let (style, mark) = match &end.error {
        None => (GOOD, "✓"),
        Some(error) if error.is_cancelled() => (WARN, "−"),
        Some(_) => (BAD, "✗"),
    };
    let failed = end.failed_command();
    let (style, mark) = if failed.is_some() { (BAD, "✗") } else { (style, mark) };
    let description = if description.is_empty() { short_args(&end.args) } else { description.to_owned() };
    let mut lines = vec![title_line(style, mark, &end.name, &description, rewritten, Some(end.duration))];
    if let Some((title, failed)) = lines.first_mut().zip(failed) {
        title.push(BAD, &format!("  {failed}"));
    }
    match &end.error {
        Some(error) if error.is_cancelled() => lines.extend(cancelled_lines(output)),
        Some(error) => lines.extend(indented_tail(BAD, &error.message, MAX_RESULT_LINES)),
        None => lines.extend(result_lines(&end.display)),
    }
    ScrollbackBlock::Lines(lines)
}

/// A call of an earlier conversation.
pub(crate) fn resumed_card(call: &ResumedCall) -> ScrollbackBlock {
    let (style, mark) = match &call.result {
        Some(Ok(_)) => (GOOD, "✓"),
        Some(Err(_)) => (BAD, "✗"),
        None => (WARN, "−"),
    };
    let mut lines = vec![title_line(style, mark, &call.name, &short_args(&call.args), &[], None)];
    lines.extend(call.result.iter().flat_map(|result| match result {
        Ok(text) => indented_tail(DIM, text, MAX_RESUMED_LINES),
        Err(text) => indented_tail(BAD, text, MAX_RESUMED_LINES),
    }));
    ScrollbackBlock::Lines(lines)
}

/// The arguments of a call that nobody described.
pub(crate) fn short_args(args: &Map<String, Value>) -> String {
    let first = ["command", "file_path", "path", "pattern", "query", "url", "prompt"];
    let value = first.iter().find_map(|key| args.get(*key)).or_else(|| args.values().next());
    match value {
        Some(Value::String(text)) => crate::output::truncate_columns(text, 80),
        Some(value) => crate::output::truncate_columns(&value.to_string(), 80),
        None => String::new(),
    }
}

fn result_lines(display: &ToolDisplay) -> Vec<StyledLine> {
    match display {
        ToolDisplay::Diff(file) => diff::diff_lines(file, MAX_DIFF_LINES),
        ToolDisplay::Todos(todos) => todos
            .iter()
            .map(|todo| {
                let (mark, style) = match todo.status {
                    TodoStatus::Completed => ("[x]", DIM),
                    TodoStatus::InProgress => ("[>]", BOLD),
                    TodoStatus::Cancelled => ("[-]", DIM),
                    TodoStatus::Blocked => ("[!]", WARN),
                    TodoStatus::Pending => ("[ ]", PLAIN),
                };
                StyledLine::styled(style, format!("  {mark} {}", todo.description)).with_hanging_indent(6)
            })
            .collect(),
        ToolDisplay::Text(text) => indented_tail(DIM, text, MAX_RESULT_LINES),
        ToolDisplay::Files { summary, .. } | ToolDisplay::Matches { summary, .. } => indented_tail(DIM, summary, 2),
    }
}

/// The end of a text, indented, saying how much of it is not shown.
fn indented_tail(style: anstyle::Style, text: &str, most: usize) -> Vec<StyledLine> {
    let all: Vec<&str> = text.lines().collect();
    let hidden = all.len().saturating_sub(most);
    let mut lines = Vec::new();
    if hidden > 0 {
        let lines_word = if hidden == 1 { "line" } else { "lines" };
        lines.push(StyledLine::styled(DIM, format!("  … {hidden} {lines_word} before (ctrl+o shows all)")));
    }
    lines
        .extend(all[hidden..].iter().map(|line| StyledLine::styled(style, format!("  {line}")).with_hanging_indent(2)));
    lines
}
