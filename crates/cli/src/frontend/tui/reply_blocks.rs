//! Draws a session's replies: rows, hooks, sessions, diagnostics, and the end of an earlier conversation.

use std::sync::Arc;

use hookwright_agent::session::{Reply, Tone};
use hookwright_model::Content;

use super::app::App;
use super::block::ScrollbackBlock;
use super::card;
use super::markdown::MarkdownStream;
use crate::presentation::call_text::short_args;
use crate::presentation::card_store::CardContent;
use crate::presentation::diff::guard_diff_line;
use crate::presentation::resumed_history::{self, ResumedItem};
use crate::presentation::styled_text::{BAD, BOLD, DIM, NOTE, PLAIN, StyledLine, WARN};
use crate::presentation::{Message, ReplyPart, reply_parts};

/// Returns a reply as blocks.
pub(crate) fn reply_blocks(reply: &Reply) -> Vec<ScrollbackBlock> {
    reply_parts(reply).into_iter().map(part_block).collect()
}

fn part_block(part: ReplyPart) -> ScrollbackBlock {
    match part {
        ReplyPart::Message(Message { tone, text }) => toned_block(tone, &text),
        ReplyPart::Rows(rows) => rows_block(&rows),
        ReplyPart::Diff(text) => ScrollbackBlock::Lines(text.lines().map(guard_diff_line).collect()),
        ReplyPart::Lines(lines) => ScrollbackBlock::Lines(lines),
        ReplyPart::Diagnostic(diagnostic) => ScrollbackBlock::Diagnostic(diagnostic),
        ReplyPart::Notice(notice) => {
            let style = if notice.waits_for_trust() { WARN } else { NOTE };
            let line = StyledLine::styled(style, "• ").with_text(PLAIN, notice.to_string());
            ScrollbackBlock::line(line.with_hanging_indent(2))
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
fn rows_block(rows: &[(String, String)]) -> ScrollbackBlock {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
    let draw = |(name, text): &(String, String)| {
        StyledLine::styled(NOTE, format!("  {name:<width$}  ")).with_text(PLAIN, text).with_hanging_indent(width + 4)
    };
    ScrollbackBlock::Lines(rows.iter().map(draw).collect())
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
