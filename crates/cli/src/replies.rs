//! What a session answers, in plain lines: for headless runs and sessions without a screen.

use std::io;

use hookwright_agent::session::{HookEntry, Reply, Tone};
use hookwright_agent::transcript::SessionInfo;

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
        Reply::Hooks(entries) => Some(entries.iter().map(hook).collect::<Vec<_>>().join("\n")),
        Reply::Sessions(sessions) => Some(sessions.iter().map(session).collect::<Vec<_>>().join("\n")),
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
        Reply::Text(Tone::Plain, _) | Reply::Rows(_) | Reply::Hooks(_) | Reply::Sessions(_) => Ok(()),
    }
}

/// A hook in one line.
pub(crate) fn hook(entry: &HookEntry) -> String {
    let hook = &entry.hook;
    let matcher = hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
    format!("{}  {} {matcher}  {}  {}", hook.id(), hook.event, hook.source, entry.describe())
}

fn session(session: &SessionInfo) -> String {
    let prompt = out::shorten(session.first_prompt.as_deref().unwrap_or(""), 60);
    format!("{:>4}  {}  {prompt}", session.index, session.updated.strftime("%Y-%m-%d %H:%M"))
}
