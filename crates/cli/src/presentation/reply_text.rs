//! A session's replies as text.

use std::io;

use hookwright_agent::checkpoint::Checkpoint;
use hookwright_agent::session::{HookListEntry, Reply, Tone};
use hookwright_agent::transcript::SessionInfo;

use super::humanize;
use super::restore_plan::restore_plan_lines;
use super::session_stats::summary_rows;
use super::styled_text::{BOLD, DIM, PLAIN, StyledLine};
use super::{Message, ReplyPart};
use crate::{output, output::diagnostics};

/// Returns the lines of a reply that lists something, or none for other replies.
pub(crate) fn list_lines(reply: &Reply) -> Option<Vec<StyledLine>> {
    let plain = |text: String| StyledLine::styled(PLAIN, text);
    let (mut lines, how): (Vec<StyledLine>, String) = match reply {
        Reply::Hooks(entries) => return Some(entries.iter().map(hook_line).collect()),
        Reply::Statistics(statistics) => {
            let line = |(name, text)| StyledLine::styled(BOLD, format!("{name}  ")).with_text(PLAIN, text);
            return Some(summary_rows(statistics).into_iter().map(line).collect());
        }
        Reply::Sessions(sessions) => {
            (sessions.iter().map(session_line).map(plain).collect(), "go on with one: /resume NUMBER".to_owned())
        }
        Reply::Checkpoints(all) => {
            let how = "see what a restore would change: /restore NUMBER".to_owned();
            (all.iter().map(checkpoint_line).map(plain).collect(), how)
        }
        Reply::Plan(plan) => {
            let number = plan.checkpoint.number;
            let how =
                format!("go back: /restore {number} files, /restore {number} conversation or /restore {number} both");
            (restore_plan_lines(plan), how)
        }
        _ => return None,
    };
    lines.push(StyledLine::styled(DIM, how));
    Some(lines)
}

/// Returns names with their descriptions in lines.
pub(crate) fn rows_text(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
    let lines = rows.iter().map(|(name, text)| format!("{name:<width$}  {text}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the text for stdout, or none if this is only a message about the answer.
pub(crate) fn stdout_text(part: ReplyPart) -> Result<String, ReplyPart> {
    match part {
        ReplyPart::Diff(text) | ReplyPart::Message(Message { tone: Tone::Plain, text }) => Ok(text),
        ReplyPart::Lines(lines) => Ok(lines.iter().map(StyledLine::plain).collect::<Vec<_>>().join("\n")),
        ReplyPart::Rows(rows) => Ok(rows_text(&rows)),
        part => Err(part),
    }
}

/// Prints what is only a message about the answer to stderr, and returns the warning or error, if it is one.
pub(crate) fn print_stderr(part: ReplyPart) -> io::Result<Option<String>> {
    match part {
        ReplyPart::Diff(_) | ReplyPart::Lines(_) | ReplyPart::Rows(_) => Ok(None),
        ReplyPart::Message(Message { tone: Tone::Aside, text }) => output::note(text.trim()).map(|()| None),
        ReplyPart::Message(message) => {
            message.print()?;
            Ok(matches!(message.tone, Tone::Warning | Tone::Error).then_some(message.text))
        }
        ReplyPart::Diagnostic(diagnostic) => {
            diagnostics::print([&*diagnostic])?;
            Ok(Some(diagnostic.to_string()))
        }
        ReplyPart::Notice(notice) => {
            output::note(&notice)?;
            Ok(notice.waits_for_trust().then(|| notice.to_string()))
        }
    }
}

fn hook_line(entry: &HookListEntry) -> StyledLine {
    let hook = &entry.hook;
    let matcher = hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
    StyledLine::styled(BOLD, hook.id())
        .with_text(PLAIN, format!("  {} {matcher}  ", hook.event))
        .with_text(DIM, format!("{}  ", hook.source))
        .with_text(output::state_style(&entry.state), entry.describe())
        .with_hanging_indent(4)
}

/// Returns a session in one line: age, size, branch and first prompt.
pub(crate) fn session_line(session: &SessionInfo) -> String {
    let prompt = output::truncate_columns(&output::one_line(session.first_prompt.as_deref().unwrap_or("")), 60);
    let size = format!("{} messages, {}", session.messages, humanize::format_size(session.bytes));
    let branch = session.branch.as_deref().map(|branch| format!("{branch}, ")).unwrap_or_default();
    format!("{:>4}  {:>8}  {prompt}  ({branch}{size})", session.index, humanize::format_age(session.updated))
}

fn checkpoint_line(one: &Checkpoint) -> String {
    let prompt = output::truncate_columns(&output::one_line(&one.prompt), 60);
    format!(
        "{:>4}  {:>8}  {:<9}  {prompt}",
        one.number,
        humanize::format_age(one.time),
        humanize::format_file_count(one.files.len())
    )
}
