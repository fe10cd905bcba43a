//! One entry: what a host is told to run at one of its events, in its own words.

use std::time::Duration;

use hookwright_hooks::{BridgeCall, WithoutAnswer};
use serde_json::{Map, Value, json};

use crate::host::{FailClosed, Host, HostEvent, Unit};

/// How the entries name this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// By its whole path: for one user's own settings, where nothing can come between.
    At(String),
    /// By its name: for settings that a project shares with machines where it is elsewhere, or not at all.
    OnPath,
}

impl Caller {
    /// The word for it.
    pub fn program(&self) -> &str {
        match self {
            Caller::At(path) => path,
            Caller::OnPath => "hookwright",
        }
    }

    /// Whoever an entry calls.
    pub fn of(program: &str) -> Caller {
        if program.contains('/') { Caller::At(program.to_owned()) } else { Caller::OnPath }
    }
}

/// Hooks may take as long as their own time-outs say, which is this long where they don't.
const USUAL: Duration = Duration::from_secs(60);

/// How long the host is told to wait at an event.
pub fn patience(host: Host, event: &HostEvent) -> Duration {
    event.timeout.unwrap_or_else(|| host.info().timeout.max(USUAL))
}

/// The events that get an entry.
pub(super) fn wired(host: Host) -> impl Iterator<Item = &'static HostEvent> {
    host.info().events.iter().filter(|event| event.wired)
}

/// The command of an entry.
pub(super) fn command(host: Host, event: &HostEvent, caller: &Caller) -> String {
    let without = if event.is_gate() { WithoutAnswer::Refused } else { WithoutAnswer::Said };
    BridgeCall::command(caller.program(), host.name(), event.name, patience(host, event), without)
}

/// The entry itself.
pub(super) fn handler(host: Host, event: &HostEvent, caller: &Caller) -> Value {
    let mut entry = Map::new();
    entry.insert("type".to_owned(), "command".into());
    if matches!(host, Host::Qwen | Host::GeminiCli) {
        entry.insert("name".to_owned(), "hookwright".into());
    }
    let (command_key, timeout_key) =
        if host == Host::Copilot { ("bash", "timeoutSec") } else { ("command", "timeout") };
    entry.insert(command_key.to_owned(), command(host, event, caller).into());
    let patience = patience(host, event);
    let timeout = match host.info().unit {
        // No host is known to take a part of a second; none is told less than it would wait anyway.
        Unit::Seconds => Some(json!(patience.as_millis().div_ceil(1000))),
        Unit::Milliseconds => Some(json!(patience.as_millis())),
        Unit::None => None,
    };
    entry.extend(timeout.map(|timeout| (timeout_key.to_owned(), timeout)));
    if let FailClosed::Key(key, value) = host.info().fail_closed
        && event.is_gate()
    {
        entry.insert(key.to_owned(), value.to_json());
    }
    Value::Object(entry)
}
