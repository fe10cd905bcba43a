//! One entry: what a host is told to run at one of its events, in its own words.

use std::time::Duration;

use hookwright_hooks::{BridgeCall, NoAnswerPolicy};
use serde_json::{Map, Value, json};

use crate::host::{FailClosedSupport, Host, HostEventInfo, TimeoutUnit};

/// How the entries name this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryProgram {
    /// By its whole path: for one user's own settings, where nothing can come between.
    Absolute(String),
    /// By its name: for settings that a project shares with machines where it is elsewhere, or not at all.
    OnPath,
}

impl EntryProgram {
    /// The word for it.
    pub fn as_command(&self) -> &str {
        match self {
            EntryProgram::Absolute(path) => path,
            EntryProgram::OnPath => "hookwright",
        }
    }

    /// Whoever an entry calls.
    pub fn from_command(program: &str) -> EntryProgram {
        if program.contains('/') { EntryProgram::Absolute(program.to_owned()) } else { EntryProgram::OnPath }
    }
}

/// Hooks may take as long as their own time-outs say, which is this long where they don't.
const DEFAULT_ENTRY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the host is told to wait at an event.
pub fn entry_timeout(host: Host, event: &HostEventInfo) -> Duration {
    event.timeout.unwrap_or_else(|| host.info().timeout.max(DEFAULT_ENTRY_TIMEOUT))
}

/// The events that get an entry.
pub(super) fn wired_events(host: Host) -> impl Iterator<Item = &'static HostEventInfo> {
    host.info().events.iter().filter(|event| event.wired)
}

/// The command of an entry.
pub(super) fn entry_command(host: Host, event: &HostEventInfo, caller: &EntryProgram) -> String {
    let without = if event.is_gate() { NoAnswerPolicy::Deny } else { NoAnswerPolicy::WarnOnly };
    BridgeCall::install_command(caller.as_command(), host.name(), event.name, entry_timeout(host, event), without)
}

/// The entry itself.
pub(super) fn entry_json(host: Host, event: &HostEventInfo, caller: &EntryProgram) -> Value {
    let mut entry = Map::new();
    entry.insert("type".to_owned(), "command".into());
    if matches!(host, Host::Qwen | Host::GeminiCli) {
        entry.insert("name".to_owned(), "hookwright".into());
    }
    let (command_key, timeout_key) =
        if host == Host::Copilot { ("bash", "timeoutSec") } else { ("command", "timeout") };
    entry.insert(command_key.to_owned(), entry_command(host, event, caller).into());
    let patience = entry_timeout(host, event);
    let timeout = match host.info().timeout_unit {
        // No host is known to take a part of a second; none is told less than it would wait anyway.
        TimeoutUnit::Seconds => Some(json!(patience.as_millis().div_ceil(1000))),
        TimeoutUnit::Milliseconds => Some(json!(patience.as_millis())),
        TimeoutUnit::None => None,
    };
    entry.extend(timeout.map(|timeout| (timeout_key.to_owned(), timeout)));
    if let FailClosedSupport::Key(key, value) = host.info().fail_closed
        && event.is_gate()
    {
        entry.insert(key.to_owned(), value.to_json());
    }
    Value::Object(entry)
}
