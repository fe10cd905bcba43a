//! `agents explain`: which of the hooks here lose what under an agent, in plain words. From the table of hosts; nothing runs.

use std::io::Write;
use std::time::Duration;

use hookwright_bridge::install::patience;
use hookwright_bridge::{Host, HostEvent, Lost, lost};
use hookwright_hooks::Hook;
use serde_json::{Value, json};

use crate::exit;
use crate::hooks::Toolbox;
use crate::out::{self, BAD, BOLD, DIM, GOOD, WARN, paint};

/// What becomes of a hook under an agent.
pub(super) struct Account {
    /// The agent's events that it runs at.
    pub(super) at: Vec<&'static str>,
    /// What it loses.
    pub(super) lost: Vec<Lost>,
    /// How long it can take there, if its own time-out is longer.
    pub(super) cut_short: Option<Duration>,
}

/// What becomes of a hook.
pub(super) fn account(host: Host, hook: &Hook) -> Account {
    let rows: Vec<&HostEvent> = host.events_for(hook.event).filter(|row| row.wired).collect();
    // The shortest of them: whichever fires, it may be that one.
    let cut_short =
        rows.iter().map(|row| Host::deadline(patience(host, row))).min().filter(|least| *least < hook.timeout);
    let lost = if rows.is_empty() { Vec::new() } else { lost(hook.event, &rows) };
    Account { at: rows.iter().map(|row| row.name).collect(), lost, cut_short }
}

pub(super) fn run(toolbox: &Toolbox, host: Host, only: Option<&str>, as_json: bool) -> anyhow::Result<u8> {
    let entries = toolbox.entries();
    let wanted = |hook: &Hook| only.is_none_or(|only| hook.id() == only || hook.name.as_deref() == Some(only));
    let hooks: Vec<&Hook> = entries.iter().map(|entry| entry.hook.as_ref()).filter(|hook| wanted(hook)).collect();
    if let Some(only) = only.filter(|_| hooks.is_empty()) {
        return Err(toolbox.no_hook(only));
    }
    let accounts: Vec<(&Hook, Account)> = hooks.into_iter().map(|hook| (hook, account(host, hook))).collect();
    if as_json {
        let hooks: Vec<Value> = accounts.iter().map(|(hook, account)| in_json(hook, account)).collect();
        out::json(&json!({"agent": host.name(), "hooks": hooks}))?;
        return Ok(exit::OK);
    }
    toolbox.say_what_is_wrong()?;
    if accounts.is_empty() {
        out::note("there are no hooks here")?;
        return Ok(exit::OK);
    }
    let mut stdout = out::stdout();
    for (hook, account) in &accounts {
        let (style, word) = match account {
            account if account.at.is_empty() => (BAD, "never runs"),
            account if account.lost.iter().any(|lost| lost.grave) => (BAD, "can't refuse"),
            account if !account.lost.is_empty() || account.cut_short.is_some() => (WARN, "loses something"),
            _ => (GOOD, "whole"),
        };
        let guard = if hook.is_guard() { ", guard" } else { "" };
        let name = paint(BOLD, out::shorten(hook.id(), 60));
        writeln!(stdout, "{name} ({}, {}{guard}): {}", hook.event, hook.source, paint(style, word))?;
        if account.at.is_empty() {
            writeln!(stdout, "    {} has no such moment for hooks", host.title())?;
            continue;
        }
        writeln!(stdout, "    {}", paint(DIM, format!("runs at {}", account.at.join(", "))))?;
        for lost in &account.lost {
            writeln!(stdout, "    {}", lost.words)?;
        }
        if let Some(longest) = account.cut_short {
            let (own, longest) = (in_seconds(hook.timeout), in_seconds(longest));
            writeln!(stdout, "    may take {own} s here, and is ended after {longest} s there")?;
        }
    }
    Ok(exit::OK)
}

/// Seconds, as people write them.
pub(super) fn in_seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds.fract() == 0.0 { format!("{seconds:.0}") } else { format!("{seconds}") }
}

fn in_json(hook: &Hook, account: &Account) -> Value {
    let lost = |lost: &Lost| json!({"power": format!("{:?}", lost.power), "words": lost.words, "grave": lost.grave});
    json!({
        "name": hook.id(), "event": hook.event, "source": hook.source.to_string(), "guard": hook.is_guard(),
        "never": account.at.is_empty(), "runs_at": account.at,
        "lost": account.lost.iter().map(lost).collect::<Vec<_>>(),
        "ended_after_ms": account.cut_short.map(|longest| longest.as_millis()),
    })
}
