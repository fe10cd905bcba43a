//! Draws tool calls as cards: name, short arguments, live output, diff, duration and result.

use std::time::{Duration, Instant};

use hookwright_agent::ToolEnd;
use hookwright_tools::{TodoStatus, ToolDisplay};

use super::block::ScrollbackBlock;
use super::console::{ScreenConsoles, recolour_matching_lines};
use crate::presentation::call_text::{LiveCard, short_args};
use crate::presentation::diff;
use crate::presentation::humanize::format_elapsed;
use crate::presentation::resumed_history::ResumedCall;
use crate::presentation::styled_text::{BAD, BOLD, DIM, GOOD, NOTE, PLAIN, StyledLine, WARN};

const MAX_LIVE_LINES: usize = 6;
const MAX_RESULT_LINES: usize = 12;
const MAX_DIFF_LINES: usize = 60;
/// The number of lines shown of a call in a resumed conversation.
const MAX_RESUMED_LINES: usize = 4;

impl LiveCard {
    /// Returns the card's lines while the call runs.
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

    /// Returns the card of the finished call.
    pub(crate) fn finish(self, end: &ToolEnd, consoles: &ScreenConsoles) -> ScrollbackBlock {
        let mut block = finished_card(end, &self.description, &self.rewritten, &self.output);
        if let (Some(console), ScrollbackBlock::Lines(lines)) = (consoles.take_finished(&self.call_id), &mut block) {
            recolour_matching_lines(lines.get_mut(1..).unwrap_or_default(), &consoles.all_lines(&console));
        }
        block
    }

    /// Returns the card of a call that ended with its turn, without a result.
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

/// Returns the lines for the output that a call printed before it was cancelled.
fn cancelled_lines(output: &str) -> Vec<StyledLine> {
    let mut lines = indented_tail(DIM, output, MAX_RESULT_LINES);
    lines.push(StyledLine::styled(WARN, "  Cancelled"));
    lines
}

/// Returns the card of a finished call, also of one that never ran.
///
/// `output` is shown if the call was cancelled.
pub(crate) fn finished_card(end: &ToolEnd, description: &str, rewritten: &[String], output: &str) -> ScrollbackBlock {
    let (style, mark) = match &end.error {
        None => (GOOD, "✓"),
        Some(error) if error.is_cancelled() => (WARN, "−"),
        Some(_) => (BAD, "✗"),
    };
    let failed = end.failed_command();
    let (style, mark) = if failed.is_some() { (BAD, "✗") } else { (style, mark) };
    let description = if description.is_empty() { short_args(end.screen_args()) } else { description.to_owned() };
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

/// Returns the card of a call in a resumed conversation.
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

/// Returns the end of a text, indented, with the number of lines that are not shown.
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
