//! The live part of the screen as a value: what streams, what runs, the dialog or the composer, the line at the foot.

use std::borrow::Cow;
use std::time::Instant;

use hookwright_agent::ApprovalMode;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::app::{App, Status};
use super::composer::Composer;
use super::screen::Frame;
use super::text::{ACCENT, BAD, BOLD, DIM, Line, NOTE, PLAIN, WARN, clean, elapsed, tokens};

pub(crate) const PLACEHOLDER: &str = "Type your message or @path/to/file";
const SHELL_PLACEHOLDER: &str = "Type a shell command; Esc goes back to the agent";
pub(crate) const LEAVING: &str = "Press Ctrl+C again to exit";
const GOING_BACK: &str = "Press Esc again to go back to an earlier turn";
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const MOST_SUGGESTIONS: usize = 8;

/// The live part in so many columns and rows.
pub(crate) fn view(app: &App, columns: usize, rows: usize, now: Instant) -> Frame {
    let mut foot = Vec::new();
    let cursor = match app.dialogs.front() {
        _ if app.parting => None,
        Some(dialog) => {
            let (lines, cursor) = dialog.view(columns, rows.saturating_sub(2));
            foot.extend(lines);
            cursor
        }
        None => Some(composer(app, columns, rows, &mut foot)),
    };
    if !app.status.hidden && !app.parting {
        foot.push(status(app, columns));
    }
    foot.truncate(rows.saturating_sub(1).max(2));
    let mut lines = activity(app, columns, now);
    let room = rows.saturating_sub(foot.len() + 1);
    // Its end is what changes.
    lines.drain(..lines.len().saturating_sub(room));
    let cursor =
        cursor.map(|(row, column)| (row + lines.len(), column)).filter(|(row, _)| *row < lines.len() + foot.len());
    lines.extend(foot);
    Frame { lines, cursor, size: Some((columns, rows)) }
}

/// What streams and what runs.
fn activity(app: &App, columns: usize, now: Instant) -> Vec<Line> {
    let mut lines = app.stream.live().map_or_else(Vec::new, |block| block.render(columns));
    if let Some(thought) = app.thought.lines().rev().find(|line| !line.trim().is_empty()) {
        lines.push(Line::of(DIM.italic(), thought.trim().trim_matches('*')).clip(columns));
    }
    for card in &app.running {
        lines.extend(card.live(&app.consoles, now).iter().map(|line| line.clip(columns)));
    }
    if app.notifications {
        lines.extend(app.log.live(now).iter().map(|line| line.clip(columns)));
    }
    if let Some(busy) = app.busy.as_ref().filter(|_| app.dialogs.is_empty()) {
        let time = now.saturating_duration_since(busy.since);
        let spinner = SPINNER[usize::try_from(time.as_millis() / 100).unwrap_or(0) % SPINNER.len()];
        let way_out = if app.parting { "ctrl+c twice: at once" } else { "esc to cancel" };
        let line = Line::of(NOTE, format!("{spinner} "))
            .with(PLAIN, busy.what)
            .with(DIM, format!(" {} ({way_out})", elapsed(time)));
        lines.push(line.clip(columns));
    }
    if let Some(retry) = &app.retry {
        lines.push(Line::of(DIM, retry).clip(columns));
    }
    for prompt in &app.queue {
        let shown = app.sent.in_short(prompt);
        lines.push(Line::of(DIM, format!("queued: {}", shown.as_deref().unwrap_or(prompt))).clip(columns));
    }
    lines
}

/// Adds the composer's lines; where the cursor is.
fn composer(app: &App, columns: usize, rows: usize, lines: &mut Vec<Line>) -> (usize, usize) {
    let rule = Line::of(if app.status.mode == ApprovalMode::Yolo { BAD } else { DIM }, "─".repeat(columns));
    lines.push(rule.clone());
    if let Some(search) = &app.search {
        lines.push(Line::of(NOTE, "search: ").with(PLAIN, &search.text).clip(columns));
    }
    let first = lines.len();
    let (sign, placeholder) = if app.shell_mode { (SHELL_SIGN, SHELL_PLACEHOLDER) } else { (SIGN, PLACEHOLDER) };
    let (text, (row, column)) = layout(&app.composer, sign, placeholder, columns, (rows / 3).max(3));
    lines.extend(text);
    if app.composer.has_labels() {
        lines.push(Line::of(DIM, "  ctrl+o shows all of it, ctrl+x opens it in your editor").clip(columns));
    }
    lines.push(rule);
    if let Some(completion) = &app.completion {
        let from = completion.selected.saturating_sub(MOST_SUGGESTIONS - 1);
        let width = completion.items.iter().map(|(item, _)| item.width()).max().unwrap_or(0).min(columns / 2);
        for (at, (item, description)) in completion.items.iter().enumerate().skip(from).take(MOST_SUGGESTIONS) {
            let style = if at == completion.selected { NOTE.bold() } else { PLAIN };
            let mark = if at == completion.selected { "› " } else { "  " };
            let gap = " ".repeat(width.saturating_sub(item.width()) + 2);
            lines.push(Line::of(style, format!("{mark}{item}")).with(DIM, format!("{gap}{description}")).clip(columns));
        }
    }
    (first + row, column)
}

/// What stands before a text that is being written; it takes two columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sign(anstyle::Style, &'static str);

pub(crate) const SIGN: Sign = Sign(ACCENT, "> ");
const SHELL_SIGN: Sign = Sign(WARN, "! ");

/// A text being written, wrapped, behind a sign; at most so many rows around the cursor. And where the cursor is.
pub(crate) fn layout(
    composer: &Composer,
    sign: Sign,
    placeholder: &str,
    columns: usize,
    most: usize,
) -> (Vec<Line>, (usize, usize)) {
    let Sign(style, mark) = sign;
    if composer.is_empty() {
        // Scripts made for Gemini CLI look for two blanks before the words.
        return (vec![Line::of(style, mark).with(DIM, format!(" {placeholder}")).clip(columns)], (0, mark.len()));
    }
    let room = columns.saturating_sub(mark.len() + 1).max(1);
    let mut rows = vec![String::new()];
    let mut used = 0;
    let mut cursor = (0, 0);
    let mut offset = 0;
    for grapheme in composer.text().graphemes(true) {
        // Nearly all of a long text is plain letters.
        let plain = matches!(grapheme.as_bytes(), [b' '..=b'~']);
        let shown = if plain { Cow::Borrowed(grapheme) } else { Cow::Owned(clean(grapheme)) };
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
    let draw = |(at, row): (usize, &String)| Line::of(style, if at == 0 { mark } else { "  " }).with(PLAIN, row);
    let lines = rows.iter().enumerate().skip(from).take(most).map(draw).collect();
    (lines, (cursor.0 - from, cursor.1 + mark.len()))
}

/// The line at the foot; what does not fit is left out from the end.
fn status(app: &App, columns: usize) -> Line {
    if app.leaving.is_some() {
        return Line::of(WARN.bold(), LEAVING).clip(columns);
    }
    if app.going_back.is_some() {
        return Line::of(NOTE, GOING_BACK).clip(columns);
    }
    let Status { model, folder, branch, mode, tokens: used, window, hooks, guards, unarmed, .. } = &app.status;
    let (mode_style, mode_word) = match mode {
        ApprovalMode::Default => (PLAIN, "asks first"),
        ApprovalMode::AutoEdit => (WARN, "auto-edit"),
        ApprovalMode::Yolo => (BAD, "yolo"),
        ApprovalMode::Plan => (NOTE, "plan"),
    };
    let mut parts = vec![Line::of(BOLD, model), Line::of(mode_style, mode_word)];
    parts.extend(app.vim.as_ref().map(|vim| Line::of(NOTE, vim.mode.as_str())));
    let several = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    if *unarmed > 0 {
        parts.push(Line::of(BAD, format!("{} not armed", several(*unarmed, "guard"))));
    }
    if *used > 0 {
        let share = used.saturating_mul(100) / (*window).max(1);
        parts.push(Line::of(if share >= 80 { WARN } else { DIM }, format!("{} tokens ({share}%)", tokens(*used))));
    }
    let place = branch.as_ref().map_or_else(|| folder.clone(), |branch| format!("{folder} ({branch})"));
    parts.push(Line::of(DIM, place));
    match app.log.any_running() {
        true if app.notifications => parts.push(Line::of(NOTE, format!("hook {}", app.log.names()))),
        _ if *guards > 0 => {
            parts.push(Line::of(DIM, format!("{} ({})", several(*hooks, "hook"), several(*guards, "guard"))));
        }
        _ if *hooks > 0 => parts.push(Line::of(DIM, several(*hooks, "hook"))),
        _ => {}
    }
    let mut line = Line::new();
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
