//! What a session answers, in plain lines: for headless runs and sessions without a screen.

use std::io;

use hookwright_agent::checkpoint::Checkpoint;
use hookwright_agent::session::{HookEntry, Reply, Tone};
use hookwright_agent::transcript::SessionInfo;

use crate::checkpoints::words;
use crate::{out, report};

/// What belongs to the answer, for stdout; none if it is only about it.
pub(crate) fn answer(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Text(Tone::Plain, text) => Some(text.clone()),
        Reply::Rows(rows) => {
            let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
            let lines = rows.iter().map(|(name, text)| format!("{name:<width$}  {text}").trim_end().to_owned());
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        Reply::Diff(text) => Some(text.trim_end().to_owned()),
        Reply::Hooks(entries) => Some(entries.iter().map(hook).collect::<Vec<_>>().join("\n")),
        Reply::Sessions(sessions) => {
            let how = "go on with one: /resume NUMBER".to_owned();
            Some(sessions.iter().map(session).chain([how]).collect::<Vec<_>>().join("\n"))
        }
        Reply::Checkpoints(all) => {
            let how = "see what going back would do: /restore NUMBER".to_owned();
            Some(all.iter().map(checkpoint).chain([how]).collect::<Vec<_>>().join("\n"))
        }
        Reply::Plan(plan) => {
            let number = plan.checkpoint.number;
            let how =
                format!("go back: /restore {number} files, /restore {number} conversation or /restore {number} both");
            Some(crate::checkpoints::lines(plan).into_iter().chain([how]).collect::<Vec<_>>().join("\n"))
        }
        Reply::Text(..) | Reply::Diagnostic(_) | Reply::Notice(_) => None,
    }
}

/// What is only about the answer, on stderr.
pub(crate) fn aside(reply: &Reply) -> io::Result<()> {
    match reply {
        Reply::Text(Tone::Aside | Tone::News, text) => out::note(text.trim()),
        Reply::Text(Tone::Warning, text) => out::warn(text),
        Reply::Text(Tone::Error, text) => out::error(text),
        Reply::Diagnostic(diagnostic) => report::print([&**diagnostic]),
        Reply::Notice(notice) => out::note(notice),
        Reply::Text(Tone::Plain, _) | Reply::Rows(_) | Reply::Diff(_) | Reply::Hooks(_) | Reply::Sessions(_) => Ok(()),
        Reply::Checkpoints(_) | Reply::Plan(_) => Ok(()),
    }
}

/// What is wrong, as text for machines, if this says that something is.
pub(crate) fn warning(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Text(Tone::Warning | Tone::Error, text) => Some(text.clone()),
        Reply::Diagnostic(diagnostic) => Some(diagnostic.to_string()),
        Reply::Notice(notice) if notice.waits_for_trust() => Some(notice.to_string()),
        _ => None,
    }
}

/// A hook in one line.
pub(crate) fn hook(entry: &HookEntry) -> String {
    let hook = &entry.hook;
    let matcher = hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
    format!("{}  {} {matcher}  {}  {}", hook.id(), hook.event, hook.source, entry.describe())
}

/// A session in one line: how old, how large, on which branch, and its first words.
pub(crate) fn session(session: &SessionInfo) -> String {
    let prompt = out::shorten(&out::one_line(session.first_prompt.as_deref().unwrap_or("")), 60);
    let size = format!("{} messages, {}", session.messages, words::size(session.bytes));
    let branch = session.branch.as_deref().map(|branch| format!("{branch}, ")).unwrap_or_default();
    format!("{:>4}  {:>8}  {prompt}  ({branch}{size})", session.index, words::age(session.updated))
}

/// A checkpoint in one line.
pub(crate) fn checkpoint(one: &Checkpoint) -> String {
    let prompt = out::shorten(&out::one_line(&one.prompt), 60);
    format!("{:>4}  {:>8}  {:<9}  {prompt}", one.number, words::age(one.time), words::files(one.files.len()))
}
