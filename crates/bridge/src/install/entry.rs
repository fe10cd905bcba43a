//! One entry of a host's settings: the command that the host runs at one of its events.

use std::time::Duration;

use hookwright_hooks::{BridgeCall, NoAnswerPolicy};
use serde_json::{Map, Value, json};

use crate::host::{FailClosedSupport, Host, HostEventInfo, TimeoutUnit};

/// The form in which entries name the Hookwright program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryProgram {
    /// The absolute path: for a user's own settings, where no other program on PATH can take its place.
    Absolute(String),
    /// The bare name: for settings that a project shares with machines where the path differs.
    OnPath,
}

impl EntryProgram {
    /// Returns the program as the command's first word.
    pub fn as_command(&self) -> &str {
        match self {
            EntryProgram::Absolute(path) => path,
            EntryProgram::OnPath => "hookwright",
        }
    }

    /// Returns the form that an existing entry uses.
    pub fn from_command(program: &str) -> EntryProgram {
        if program.contains('/') { EntryProgram::Absolute(program.to_owned()) } else { EntryProgram::OnPath }
    }
}

/// The time-out of a hook that sets none, and so the least time that an entry needs.
const DEFAULT_ENTRY_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the time-out that an entry sets for an event.
pub fn entry_timeout(host: Host, event: &HostEventInfo) -> Duration {
    event.timeout.unwrap_or_else(|| host.info().timeout.max(DEFAULT_ENTRY_TIMEOUT))
}

/// Returns the events that get an entry.
pub(super) fn wired_events(host: Host) -> impl Iterator<Item = &'static HostEventInfo> {
    host.info().events.iter().filter(|event| event.wired)
}

/// Returns the command line of an entry.
pub(super) fn entry_command(host: Host, event: &HostEventInfo, caller: &EntryProgram) -> String {
    let without = if event.is_gate() { NoAnswerPolicy::Deny } else { NoAnswerPolicy::WarnOnly };
    BridgeCall::install_command(caller.as_command(), host.name(), event.name, entry_timeout(host, event), without)
}

/// Returns the entry as JSON.
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
        // Hosts are not known to accept fractions of a second. Rounding up never shortens the time that the host waits.
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
