//! What a session answers, drawn: rows, hooks, sessions, diagnostics, and the end of an earlier conversation.

use std::sync::Arc;

use hookwright_agent::session::{HookEntry, Reply, Tone};
use hookwright_agent::transcript::SessionInfo;
use hookwright_model::Content;

use super::app::App;
use super::block::Block;
use super::card;
use super::cards::Whole;
use super::markdown::Stream;
use super::text::{BAD, BOLD, DIM, Line, NOTE, PLAIN, WARN};
use crate::past::{self, Past};

/// Adds an answer to what is shown.
pub(crate) fn say(app: &mut App, reply: Reply) {
    for block in blocks(reply) {
        app.say(block);
    }
}

/// An answer as finished pieces.
fn blocks(reply: Reply) -> Vec<Block> {
    match reply {
        Reply::Text(tone, text) => vec![words(tone, &text)],
        Reply::Rows(rows) => vec![self::rows(rows.iter().map(|(name, text)| (name.as_str(), text.as_str())))],
        Reply::Hooks(entries) => vec![Block::Lines(entries.iter().map(hook).collect())],
        Reply::Diff(text) => vec![Block::Lines(text.lines().map(super::guards::diff_line).collect())],
        Reply::Sessions(sessions) => {
            let how = Line::of(DIM, "go on with one: /resume NUMBER");
            vec![Block::Lines(sessions.iter().map(session).chain([how]).collect())]
        }
        Reply::Checkpoints(all) => {
            vec![Block::Lines(all.iter().map(|one| Line::of(PLAIN, crate::replies::checkpoint(one))).collect())]
        }
        Reply::Plan(plan) => {
            let mut lines = super::restore::plan_lines(&plan);
            let number = plan.checkpoint.number;
            lines.push(Line::of(DIM, format!("go back: /restore {number} files, conversation or both")));
            vec![Block::Lines(lines)]
        }
        Reply::Diagnostic(diagnostic) => vec![Block::Diagnostic(diagnostic)],
        Reply::Notice(notice) => {
            let style = if notice.waits_for_trust() { WARN } else { NOTE };
            vec![Block::line(Line::of(style, "• ").with(PLAIN, notice.to_string()).hanging(2))]
        }
    }
}

fn words(tone: Tone, text: &str) -> Block {
    let (style, mark) = match tone {
        Tone::Plain => (PLAIN, ""),
        Tone::Aside => (DIM, ""),
        Tone::News => (NOTE, ""),
        Tone::Warning => (WARN, "! "),
        Tone::Error => (BAD, "error: "),
    };
    let line =
        |(at, text): (usize, &str)| Line::of(style, format!("{}{text}", if at == 0 { mark } else { "" })).hanging(2);
    Block::Lines(text.lines().enumerate().map(line).collect())
}

/// Rows of a name and what it stands for.
pub(crate) fn rows<'r>(rows: impl IntoIterator<Item = (&'r str, &'r str)>) -> Block {
    let rows: Vec<_> = rows.into_iter().collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
    let draw = |(name, text): &(&str, &str)| {
        Line::of(NOTE, format!("  {name:<width$}  ")).with(PLAIN, text).hanging(width + 4)
    };
    Block::Lines(rows.iter().map(draw).collect())
}

fn hook(entry: &HookEntry) -> Line {
    let matcher = entry.hook.matcher_text.as_deref().unwrap_or("*");
    Line::of(BOLD, entry.hook.id())
        .with(PLAIN, format!("  {} {matcher}  ", entry.hook.event))
        .with(DIM, format!("{}  ", entry.hook.source))
        .with(crate::out::state_style(&entry.state), entry.describe())
        .hanging(4)
}

fn session(session: &SessionInfo) -> Line {
    let prompt = crate::out::shorten(session.first_prompt.as_deref().unwrap_or(""), 60);
    let time = session.updated.strftime("%Y-%m-%d %H:%M");
    Line::of(NOTE, format!("{:>4}  ", session.index)).with(DIM, format!("{time}  ")).with(PLAIN, prompt)
}

/// The end of an earlier conversation, for whoever goes on with it.
pub(crate) fn show_history(app: &mut App, messages: &[Arc<Content>]) {
    for past in past::of(messages) {
        let gap = match past {
            Past::User(text) => {
                let shown = crate::out::shorten(&text, 200);
                app.say(Block::line(Line::of(NOTE, "> ").with(BOLD, shown).hanging(2)));
                true
            }
            Past::Model(text) => {
                let mut stream = Stream::default();
                let done = stream.push(&text);
                done.into_iter().chain(stream.finish()).for_each(|block| app.say(block));
                true
            }
            Past::Call(call) => {
                app.say(card::past(&call));
                if let Some(Ok(text) | Err(text)) = call.result {
                    app.cards.keep(format!("{} {}", call.name, card::short_args(&call.args)), Whole::Text(text), None);
                }
                false
            }
        };
        if gap {
            app.say(Block::Gap);
        }
    }
    app.say(Block::Gap);
}
