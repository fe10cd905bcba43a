//! A session's replies in plain lines, for headless runs and sessions without a screen.

use std::io;

use hookwright_agent::checkpoint::Checkpoint;
use hookwright_agent::session::{HookListEntry, Reply, Tone};
use hookwright_agent::transcript::SessionInfo;

use super::humanize;
use super::restore_plan::restore_plan_lines;
use crate::{output, output::diagnostics};

/// Returns the text for stdout, or none if the reply is only a message about the answer.
pub(crate) fn stdout_text(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Text(Tone::Plain, text) => Some(text.clone()),
        Reply::Rows(rows) => {
            let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
            let lines = rows.iter().map(|(name, text)| format!("{name:<width$}  {text}").trim_end().to_owned());
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        Reply::Diff(text) => Some(text.trim_end().to_owned()),
        Reply::Hooks(entries) => Some(entries.iter().map(hook_line).collect::<Vec<_>>().join("\n")),
        Reply::Sessions(sessions) => {
            let how = "go on with one: /resume NUMBER".to_owned();
            Some(sessions.iter().map(session_line).chain([how]).collect::<Vec<_>>().join("\n"))
        }
        Reply::Checkpoints(all) => {
            let how = "see what a restore would change: /restore NUMBER".to_owned();
            Some(all.iter().map(checkpoint_line).chain([how]).collect::<Vec<_>>().join("\n"))
        }
        Reply::Plan(plan) => {
            let number = plan.checkpoint.number;
            let how =
                format!("go back: /restore {number} files, /restore {number} conversation or /restore {number} both");
            Some(restore_plan_lines(plan).into_iter().chain([how]).collect::<Vec<_>>().join("\n"))
        }
        Reply::Text(..) | Reply::Diagnostic(_) | Reply::Notice(_) => None,
    }
}

/// Prints a reply that is only a message about the answer to stderr.
pub(crate) fn print_stderr(reply: &Reply) -> io::Result<()> {
    match reply {
        Reply::Text(Tone::Aside | Tone::News, text) => output::note(text.trim()),
        Reply::Text(Tone::Warning, text) => output::warn(text),
        Reply::Text(Tone::Error, text) => output::error(text),
        Reply::Diagnostic(diagnostic) => diagnostics::print([&**diagnostic]),
        Reply::Notice(notice) => output::note(notice),
        Reply::Text(Tone::Plain, _) | Reply::Rows(_) | Reply::Diff(_) | Reply::Hooks(_) | Reply::Sessions(_) => Ok(()),
        Reply::Checkpoints(_) | Reply::Plan(_) => Ok(()),
    }
}

/// Returns the warning or error in a reply, if it is one, for machine-readable output.
pub(crate) fn warning_text(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Text(Tone::Warning | Tone::Error, text) => Some(text.clone()),
        Reply::Diagnostic(diagnostic) => Some(diagnostic.to_string()),
        Reply::Notice(notice) if notice.waits_for_trust() => Some(notice.to_string()),
        _ => None,
    }
}

/// Returns a hook in one line.
pub(crate) fn hook_line(entry: &HookListEntry) -> String {
    let hook = &entry.hook;
    let matcher = hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
    format!("{}  {} {matcher}  {}  {}", hook.id(), hook.event, hook.source, entry.describe())
}

/// Returns a session in one line: age, size, branch and first prompt.
pub(crate) fn session_line(session: &SessionInfo) -> String {
    let prompt = output::truncate_columns(&output::one_line(session.first_prompt.as_deref().unwrap_or("")), 60);
    let size = format!("{} messages, {}", session.messages, humanize::format_size(session.bytes));
    let branch = session.branch.as_deref().map(|branch| format!("{branch}, ")).unwrap_or_default();
    format!("{:>4}  {:>8}  {prompt}  ({branch}{size})", session.index, humanize::format_age(session.updated))
}

/// Returns a checkpoint in one line.
pub(crate) fn checkpoint_line(one: &Checkpoint) -> String {
    let prompt = output::truncate_columns(&output::one_line(&one.prompt), 60);
    format!(
        "{:>4}  {:>8}  {:<9}  {prompt}",
        one.number,
        humanize::format_age(one.time),
        humanize::format_file_count(one.files.len())
    )
}
