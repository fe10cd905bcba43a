//! `agents explain`: which hooks lose which capability under an agent. It reads the table of hosts, and runs nothing.

use std::io::Write;
use std::time::Duration;

use hookwright_bridge::install::entry_timeout;
use hookwright_bridge::{Host, HostEventInfo, MissingCapability, missing_capabilities};
use hookwright_hooks::{Hook, HookCapability};
use serde_json::{Value, json};

use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, WARN, paint};

/// What a hook keeps and loses under an agent.
pub(super) struct HostCompatibility {
    /// The agent's events that the hook runs at.
    pub(super) host_events: Vec<&'static str>,
    pub(super) missing: Vec<MissingCapability>,
    /// The time limit there, if it is shorter than the hook's own timeout.
    pub(super) shortened_timeout: Option<Duration>,
}

/// Compares a hook with the events and capabilities of an agent.
pub(super) fn host_compatibility(host: Host, hook: &Hook) -> HostCompatibility {
    let rows: Vec<&HostEventInfo> = host.events_for(hook.event).filter(|row| row.wired).collect();
    // The shortest limit, because any of the events may be the one that fires.
    let cut_short = rows
        .iter()
        .map(|row| Host::bridge_deadline(entry_timeout(host, row)))
        .min()
        .filter(|least| *least < hook.timeout && !hook.is_instant());
    let mut lost = if rows.is_empty() { Vec::new() } else { missing_capabilities(hook.event, &rows) };
    lost.retain(|lost| hook.can_use(lost.power));
    HostCompatibility {
        host_events: rows.iter().map(|row| row.name).collect(),
        missing: lost,
        shortened_timeout: cut_short,
    }
}

pub(super) fn run(toolbox: &LoadedProject, host: Host, only: Option<&str>, as_json: bool) -> anyhow::Result<u8> {
    let entries = toolbox.entries();
    let wanted = |hook: &Hook| only.is_none_or(|only| hook.id() == only || hook.name.as_deref() == Some(only));
    let hooks: Vec<&Hook> = entries.iter().map(|entry| entry.hook.as_ref()).filter(|hook| wanted(hook)).collect();
    if let Some(only) = only.filter(|_| hooks.is_empty()) {
        return Err(toolbox.unknown_hook_error(only));
    }
    let mut accounts: Vec<(&Hook, HostCompatibility)> =
        hooks.into_iter().map(|hook| (hook, host_compatibility(host, hook))).collect();
    if toolbox.loaded.registry.requires_enforcement() {
        accounts.iter_mut().for_each(|(hook, account)| add_unenforced_commands(hook, account));
    }
    if as_json {
        let hooks: Vec<Value> = accounts.iter().map(|(hook, account)| compatibility_json(hook, account)).collect();
        let blind: Vec<Value> =
            host.blind_spots().iter().map(|spot| json!({"what": spot.summary, "todo": spot.remedy})).collect();
        output::print_json(&json!({"agent": host.name(), "hooks": hooks, "blind_spots": blind}))?;
        return Ok(exit::OK);
    }
    toolbox.print_problems()?;
    for spot in host.blind_spots() {
        output::warn(format!("{}: {}", host.title(), spot.summary))?;
        output::hint(spot.remedy)?;
    }
    if accounts.is_empty() {
        output::note("there are no hooks here")?;
        return Ok(exit::OK);
    }
    let mut stdout = output::stdout();
    for (hook, account) in &accounts {
        let (style, word) = match account {
            account if account.host_events.is_empty() => (BAD, "never runs"),
            _ if hook.is_shadow() => (WARN, "is in shadow and decides nothing"),
            account if account.missing.iter().any(|lost| lost.disables_guards) => (BAD, "can't refuse"),
            account if !account.missing.is_empty() || account.shortened_timeout.is_some() => (WARN, "is limited"),
            _ => (GOOD, "works fully"),
        };
        let guard = if hook.is_guard() { ", guard" } else { "" };
        let name = paint(BOLD, output::truncate_columns(hook.id(), 60));
        writeln!(stdout, "{name} ({}, {}{guard}): {}", hook.event, hook.source, paint(style, word))?;
        if account.host_events.is_empty() {
            writeln!(stdout, "    {} has no event that corresponds to it", host.title())?;
            continue;
        }
        writeln!(stdout, "    {}", paint(DIM, format!("runs at {}", account.host_events.join(", "))))?;
        for lost in &account.missing {
            writeln!(stdout, "    {}", lost.consequence)?;
        }
        if let Some(longest) = account.shortened_timeout {
            let (own, longest) = (format_seconds(hook.timeout), format_seconds(longest));
            writeln!(stdout, "    may run for {own} s here, but is stopped after {longest} s there")?;
        }
    }
    Ok(exit::OK)
}

/// Says what `enforce: always` means for a guard where commands can't be confined.
fn add_unenforced_commands(hook: &Hook, account: &mut HostCompatibility) {
    let is_enforced = hook.enforced_confinement().is_some();
    for lost in account.missing.iter_mut().filter(|lost| is_enforced && lost.power == HookCapability::Confine) {
        lost.consequence =
            "confining a call becomes a question or a deny, and with `enforce: always` every command does";
    }
}

/// Formats a duration in seconds, without decimals where it has none.
pub(super) fn format_seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds.fract() == 0.0 { format!("{seconds:.0}") } else { format!("{seconds}") }
}

fn compatibility_json(hook: &Hook, account: &HostCompatibility) -> Value {
    let lost = |lost: &MissingCapability| json!({"power": format!("{:?}", lost.power), "words": lost.consequence, "grave": lost.disables_guards});
    json!({
        "name": hook.id(), "event": hook.event, "source": hook.source.to_string(), "guard": hook.is_guard(),
        "mode": if hook.is_shadow() { "shadow" } else { "active" },
        "never": account.host_events.is_empty(), "runs_at": account.host_events,
        "lost": account.missing.iter().map(lost).collect::<Vec<_>>(),
        "ended_after_ms": account.shortened_timeout.map(|longest| longest.as_millis()),
    })
}
