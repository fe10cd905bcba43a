//! Renders the live part of the screen: streamed text, running calls, the dialog or the composer, and the status line.

use std::borrow::Cow;
use std::time::Instant;

use hookwright_agent::ApprovalMode;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::app::{App, StatusLine};
use super::completion::Completion;
use super::composer::Composer;
use super::history_search::HistorySearch;
use super::screen::ScreenFrame;
use crate::presentation::humanize::{format_elapsed, format_tokens};
use crate::presentation::session_messages::{EXIT_CONFIRM_TEXT, PLACEHOLDER};
use crate::presentation::styled_text::{ACCENT, BAD, BOLD, DIM, NOTE, PLAIN, StyledLine, WARN, single_line};

const SHELL_PLACEHOLDER: &str = "Type a shell command; Esc goes back to the agent";
const REWIND_CONFIRM_TEXT: &str = "Press Esc again to go back to an earlier turn";
const SPINNER_FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Renders the live part in so many columns and rows.
pub(crate) fn render(app: &App, columns: usize, rows: usize, now: Instant) -> ScreenFrame {
    let mut foot = Vec::new();
    let cursor = match app.question() {
        _ if app.is_leaving => None,
        Some(dialog) => {
            let (lines, cursor) = dialog.view(columns, rows.saturating_sub(2));
            foot.extend(lines);
            cursor
        }
        None => Some(push_composer_lines(app, columns, rows, &mut foot)),
    };
    if !app.status.is_hidden && !app.is_leaving {
        foot.push(status_line(app, columns));
    }
    foot.truncate(rows.saturating_sub(1).max(2));
    let mut lines = activity_lines(app, columns, now);
    let room = rows.saturating_sub(foot.len() + 1);
    // The beginning is cut, because the end is what changes.
    lines.drain(..lines.len().saturating_sub(room));
    let cursor =
        cursor.map(|(row, column)| (row + lines.len(), column)).filter(|(row, _)| *row < lines.len() + foot.len());
    lines.extend(foot);
    ScreenFrame { lines, cursor, size: Some((columns, rows)) }
}

/// Returns the lines of the streamed answer, of running calls and hooks, and of the spinner.
fn activity_lines(app: &App, columns: usize, now: Instant) -> Vec<StyledLine> {
    let mut lines = app.stream.live_block().map_or_else(Vec::new, |block| block.render(columns));
    if let Some(thought) = app.thought.lines().rev().find(|line| !line.trim().is_empty()) {
        lines.push(StyledLine::styled(DIM.italic(), thought.trim().trim_matches('*')).clip(columns));
    }
    for card in &app.running {
        lines.extend(card.live_lines(&app.consoles, now).iter().map(|line| line.clip(columns)));
    }
    if app.shows_hooks {
        lines.extend(app.log.live_lines(now).iter().map(|line| line.clip(columns)));
    }
    if let Some(busy) = app.busy.as_ref().filter(|_| app.question().is_none()) {
        let time = now.saturating_duration_since(busy.since);
        let spinner = SPINNER_FRAMES[usize::try_from(time.as_millis() / 100).unwrap_or(0) % SPINNER_FRAMES.len()];
        let way_out = if app.is_leaving { "ctrl+c twice: at once" } else { "esc to cancel" };
        let line = StyledLine::styled(NOTE, format!("{spinner} "))
            .with_text(PLAIN, busy.label)
            .with_text(DIM, format!(" {} ({way_out})", format_elapsed(time)));
        lines.push(line.clip(columns));
    }
    if let Some(retry) = &app.retry_notice {
        lines.push(StyledLine::styled(DIM, retry).clip(columns));
    }
    for prompt in &app.queue {
        let shown = app.sent_prompts.abbreviated(prompt);
        lines.push(StyledLine::styled(DIM, format!("queued: {}", shown.as_deref().unwrap_or(prompt))).clip(columns));
    }
    lines
}

/// Adds the composer's lines, and returns the position of the cursor.
fn push_composer_lines(app: &App, columns: usize, rows: usize, lines: &mut Vec<StyledLine>) -> (usize, usize) {
    let rule = StyledLine::styled(if app.status.mode == ApprovalMode::Yolo { BAD } else { DIM }, "─".repeat(columns));
    lines.push(rule.clone());
    lines.extend(app.overlays.get::<HistorySearch>().map(|search| search.line().clip(columns)));
    let first = lines.len();
    let (sign, placeholder) =
        if app.shell_mode { (SHELL_PROMPT_SIGN, SHELL_PLACEHOLDER) } else { (PROMPT_SIGN, PLACEHOLDER) };
    let (text, (row, column)) = layout_composer(&app.composer, sign, placeholder, columns, (rows / 3).max(3));
    lines.extend(text);
    if app.composer.has_labels() {
        lines.push(StyledLine::styled(DIM, "  ctrl+o shows all of it, ctrl+x opens it in your editor").clip(columns));
    }
    lines.push(rule);
    lines.extend(app.overlays.get::<Completion>().into_iter().flat_map(|completion| completion.lines(columns)));
    (first + row, column)
}

/// The sign before a text field, which takes two columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptSign(anstyle::Style, &'static str);

pub(crate) const PROMPT_SIGN: PromptSign = PromptSign(ACCENT, "> ");
const SHELL_PROMPT_SIGN: PromptSign = PromptSign(WARN, "! ");

/// Returns a text field, wrapped behind a sign, with at most `most` rows around the cursor, and the cursor's position.
pub(crate) fn layout_composer(
    composer: &Composer,
    sign: PromptSign,
    placeholder: &str,
    columns: usize,
    most: usize,
) -> (Vec<StyledLine>, (usize, usize)) {
    let PromptSign(style, mark) = sign;
    if composer.is_empty() {
        // Scripts made for Gemini CLI look for two blanks before the placeholder.
        return (
            vec![StyledLine::styled(style, mark).with_text(DIM, format!(" {placeholder}")).clip(columns)],
            (0, mark.len()),
        );
    }
    let room = columns.saturating_sub(mark.len() + 1).max(1);
    let mut rows = vec![String::new()];
    let mut used = 0;
    let mut cursor = (0, 0);
    let mut offset = 0;
    for grapheme in composer.text().graphemes(true) {
        // This is a fast path: nearly all of a long text is printable ASCII.
        let plain = matches!(grapheme.as_bytes(), [b' '..=b'~']);
        let shown = if plain { Cow::Borrowed(grapheme) } else { Cow::Owned(single_line(grapheme)) };
        let width = match grapheme {
            "\n" => 0,
            _ if plain => 1,
            _ => shown.width(),
        };
        if used + width > room {
            rows.push(String::new());
            used = 0;
        }
        if offset == composer.cursor() {
            cursor = (rows.len() - 1, used);
        }
        offset += grapheme.len();
        if grapheme == "\n" {
            rows.push(String::new());
            used = 0;
        } else if let Some(row) = rows.last_mut() {
            row.push_str(&shown);
            used += width;
        }
    }
    if offset == composer.cursor() {
        cursor = (rows.len() - 1, used);
    }
    let from = (cursor.0 + 1).saturating_sub(most);
    let draw = |(at, row): (usize, &String)| {
        StyledLine::styled(style, if at == 0 { mark } else { "  " }).with_text(PLAIN, row)
    };
    let lines = rows.iter().enumerate().skip(from).take(most).map(draw).collect();
    (lines, (cursor.0 - from, cursor.1 + mark.len()))
}

/// Returns the status line; parts that do not fit are left out from the end.
fn status_line(app: &App, columns: usize) -> StyledLine {
    if app.exit_deadline.is_some() {
        return StyledLine::styled(WARN.bold(), EXIT_CONFIRM_TEXT).clip(columns);
    }
    if app.rewind_deadline.is_some() {
        return StyledLine::styled(NOTE, REWIND_CONFIRM_TEXT).clip(columns);
    }
    let StatusLine { model, folder, branch, mode, tokens: used, window, hooks, guards, unarmed, .. } = &app.status;
    let (mode_style, mode_word) = match mode {
        ApprovalMode::Default => (PLAIN, "asks first"),
        ApprovalMode::AutoEdit => (WARN, "auto-edit"),
        ApprovalMode::Yolo => (BAD, "yolo"),
        ApprovalMode::Plan => (NOTE, "plan"),
    };
    let mut parts = vec![StyledLine::styled(BOLD, model), StyledLine::styled(mode_style, mode_word)];
    parts.extend(app.vim.as_ref().map(|vim| StyledLine::styled(NOTE, vim.mode.as_str())));
    let several = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if *unarmed > 0 {
        parts.push(StyledLine::styled(BAD, format!("{} not armed", several(*unarmed, "guard"))));
    }
    if *used > 0 {
        let share = used.saturating_mul(100) / (*window).max(1);
        parts.push(StyledLine::styled(
            if share >= 80 { WARN } else { DIM },
            format!("{} tokens ({share}%)", format_tokens(*used)),
        ));
    }
    let place = branch.as_ref().map_or_else(|| folder.clone(), |branch| format!("{folder} ({branch})"));
    parts.push(StyledLine::styled(DIM, place));
    match app.log.has_running() {
        true if app.shows_hooks => parts.push(StyledLine::styled(NOTE, format!("hook {}", app.log.running_names()))),
        _ if *guards > 0 => {
            parts.push(StyledLine::styled(DIM, format!("{} ({})", several(*hooks, "hook"), several(*guards, "guard"))));
        }
        _ if *hooks > 0 => parts.push(StyledLine::styled(DIM, several(*hooks, "hook"))),
        _ => {}
    }
    let mut line = StyledLine::new();
    for (at, part) in parts.iter().enumerate() {
        let separator = if at == 0 { "" } else { " · " };
        if at > 0 && line.width() + separator.width() + part.width() > columns {
            break;
        }
        line.push(DIM, separator);
        line.spans.extend(part.spans.clone());
    }
    line.clip(columns)
}
