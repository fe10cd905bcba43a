//! Draws a session's replies: rows, hooks, sessions, diagnostics, and the end of an earlier conversation.

use std::sync::Arc;

use hookwright_agent::session::{HookListEntry, Reply, Tone};
use hookwright_agent::transcript::SessionInfo;
use hookwright_model::Content;

use super::app::App;
use super::block::ScrollbackBlock;
use super::card;
use super::markdown::MarkdownStream;
use crate::presentation::call_text::short_args;
use crate::presentation::card_store::CardContent;
use crate::presentation::diff::guard_diff_line;
use crate::presentation::restore_plan::plan_lines;
use crate::presentation::resumed_history::{self, ResumedItem};
use crate::presentation::styled_text::{BAD, BOLD, DIM, NOTE, PLAIN, StyledLine, WARN};

pub(crate) fn show_reply(app: &mut App, reply: Reply) {
    for block in blocks_of(reply) {
        app.push_block(block);
    }
}

/// Returns a reply as blocks.
fn blocks_of(reply: Reply) -> Vec<ScrollbackBlock> {
    match reply {
        Reply::Text(tone, text) => vec![toned_block(tone, &text)],
        Reply::Rows(rows) => vec![self::rows_block(rows.iter().map(|(name, text)| (name.as_str(), text.as_str())))],
        Reply::Hooks(entries) => vec![ScrollbackBlock::Lines(entries.iter().map(hook_line).collect())],
        Reply::Diff(text) => {
            vec![ScrollbackBlock::Lines(text.lines().map(guard_diff_line).collect())]
        }
        Reply::Sessions(sessions) => {
            let how = StyledLine::styled(DIM, "go on with one: /resume NUMBER");
            vec![ScrollbackBlock::Lines(sessions.iter().map(session_line).chain([how]).collect())]
        }
        Reply::Checkpoints(all) => {
            vec![ScrollbackBlock::Lines(
                all.iter()
                    .map(|one| StyledLine::styled(PLAIN, crate::presentation::reply_text::checkpoint_line(one)))
                    .collect(),
            )]
        }
        Reply::Plan(plan) => {
            let mut lines = plan_lines(&plan);
            let number = plan.checkpoint.number;
            lines.push(StyledLine::styled(DIM, format!("go back: /restore {number} files, conversation or both")));
            vec![ScrollbackBlock::Lines(lines)]
        }
        Reply::Diagnostic(diagnostic) => vec![ScrollbackBlock::Diagnostic(diagnostic)],
        Reply::Notice(notice) => {
            let style = if notice.waits_for_trust() { WARN } else { NOTE };
            vec![ScrollbackBlock::line(
                StyledLine::styled(style, "• ").with_text(PLAIN, notice.to_string()).with_hanging_indent(2),
            )]
        }
    }
}

fn toned_block(tone: Tone, text: &str) -> ScrollbackBlock {
    let (style, mark) = match tone {
        Tone::Plain => (PLAIN, ""),
        Tone::Aside => (DIM, ""),
        Tone::News => (NOTE, ""),
        Tone::Warning => (WARN, "! "),
        Tone::Error => (BAD, "error: "),
    };
    let line = |(at, text): (usize, &str)| {
        StyledLine::styled(style, format!("{}{text}", if at == 0 { mark } else { "" })).with_hanging_indent(2)
    };
    ScrollbackBlock::Lines(text.lines().enumerate().map(line).collect())
}

/// Returns a block with rows of a name and its text.
pub(crate) fn rows_block<'r>(rows: impl IntoIterator<Item = (&'r str, &'r str)>) -> ScrollbackBlock {
    let rows: Vec<_> = rows.into_iter().collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
    let draw = |(name, text): &(&str, &str)| {
        StyledLine::styled(NOTE, format!("  {name:<width$}  ")).with_text(PLAIN, text).with_hanging_indent(width + 4)
    };
    ScrollbackBlock::Lines(rows.iter().map(draw).collect())
}

fn hook_line(entry: &HookListEntry) -> StyledLine {
    let matcher = entry.hook.matcher_text.as_deref().unwrap_or("*");
    StyledLine::styled(BOLD, entry.hook.id())
        .with_text(PLAIN, format!("  {} {matcher}  ", entry.hook.event))
        .with_text(DIM, format!("{}  ", entry.hook.source))
        .with_text(crate::output::state_style(&entry.state), entry.describe())
        .with_hanging_indent(4)
}

fn session_line(session: &SessionInfo) -> StyledLine {
    let prompt = crate::output::truncate_columns(session.first_prompt.as_deref().unwrap_or(""), 60);
    let time = session.updated.strftime("%Y-%m-%d %H:%M");
    StyledLine::styled(NOTE, format!("{:>4}  ", session.index))
        .with_text(DIM, format!("{time}  "))
        .with_text(PLAIN, prompt)
}

/// Shows the end of an earlier conversation when it is resumed.
pub(crate) fn show_history(app: &mut App, messages: &[Arc<Content>]) {
    for past in resumed_history::items_of(messages) {
        let gap = match past {
            ResumedItem::User(text) => {
                let shown = crate::output::truncate_columns(&text, 200);
                app.push_block(ScrollbackBlock::line(
                    StyledLine::styled(NOTE, "> ").with_text(BOLD, shown).with_hanging_indent(2),
                ));
                true
            }
            ResumedItem::Model(text) => {
                let mut stream = MarkdownStream::default();
                let done = stream.push(&text);
                done.into_iter().chain(stream.finish()).for_each(|block| app.push_block(block));
                true
            }
            ResumedItem::Call(call) => {
                app.push_block(card::resumed_card(&call));
                if let Some(Ok(text) | Err(text)) = call.result {
                    app.cards.push(format!("{} {}", call.name, short_args(&call.args)), CardContent::Text(text), None);
                }
                false
            }
        };
        if gap {
            app.push_block(ScrollbackBlock::Gap);
        }
    }
    app.push_block(ScrollbackBlock::Gap);
}
