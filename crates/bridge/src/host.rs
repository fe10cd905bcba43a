//! THE table of host agents: their names, how each is recognised, which events it has, what a hook can do there, how
//! long it may take, and what becomes of the call if it fails.
//!
//! Facts only. How a payload is read and an answer written is the dialects' work; `host/events.rs` has the rows of events.

mod events;

use std::time::Duration;

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value};

pub(crate) use events::COPILOT_EVENT_NAMES;

/// An agent whose hooks can be Hookwright's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex CLI.
    Codex,
    /// GitHub's Copilot CLI.
    Copilot,
    /// Cursor and cursor-agent.
    Cursor,
    /// Qwen Code.
    Qwen,
    /// Factory's Droid.
    Droid,
    /// xAI's Grok Build.
    Grok,
    /// Google's Gemini CLI.
    GeminiCli,
    /// Google's Antigravity.
    Antigravity,
    /// opencode, through a generated plugin.
    Opencode,
}

/// What a host's time-outs are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// It has none.
    None,
}

/// What a host does with the call when a hook's time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutPolicy {
    /// It runs.
    FailsOpen,
    /// It does not run.
    FailsClosed,
    /// It waits for as long as the hook takes.
    Waits,
}

/// A host's own way of staying closed when a hook fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailClosedSupport {
    /// There is none: a hook that fails lets the call run.
    None,
    /// A key of the hook's entry, and the value that closes.
    Key(&'static str, FailClosedValue),
    /// It is closed as it is, but for time-outs.
    ExceptTimeouts,
    /// It is always closed.
    Always,
}

/// The value of a key that closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailClosedValue {
    /// `true`.
    True,
    /// A word.
    Text(&'static str),
}

impl FailClosedValue {
    /// The value.
    pub fn to_json(self) -> Value {
        match self {
            FailClosedValue::True => Value::Bool(true),
            FailClosedValue::Text(word) => Value::from(word),
        }
    }
}

/// One of a host's events.
#[derive(Debug, PartialEq, Eq)]
pub struct HostEventInfo {
    /// Its name there.
    pub name: &'static str,
    /// What it is here; nothing if hooks of ours have no such moment.
    pub kind: Option<EventKind>,
    /// What a hook can really do there, in our words. What is not here is lowered towards no, or lost.
    pub powers: &'static [HookCapability],
    /// How long an entry may take that does not say; the host's default if nothing.
    pub timeout: Option<Duration>,
    /// Whether `agents install` writes an entry for it.
    pub wired: bool,
}

impl HostEventInfo {
    /// Whether a hook can do that there.
    pub fn can(&self, power: HookCapability) -> bool {
        self.powers.contains(&power)
    }

    /// Whether a guard's no can count there: an answer that can't be made must be a no.
    pub fn is_gate(&self) -> bool {
        let before =
            matches!(self.kind, Some(EventKind::BeforeTool | EventKind::BeforeAgent | EventKind::Notification));
        before && self.can(HookCapability::Deny)
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct HostInfo {
    /// Which agent.
    pub host: Host,
    /// Its name as typed: `hookwright bridge NAME`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The program that a user starts.
    pub program: &'static str,
    /// The npm package that has it, if one does.
    pub npm_package: Option<&'static str>,
    /// The version that this row was measured with or read in.
    pub known_version: &'static str,
    /// Environment variables that only this agent gives its hooks.
    pub marker_vars: &'static [&'static str],
    /// Environment variables that hold the project's directory.
    pub project_vars: &'static [&'static str],
    /// Environment variables that hold its version.
    pub version_vars: &'static [&'static str],
    /// What its time-outs are counted in.
    pub timeout_unit: TimeoutUnit,
    /// How long an entry may take that does not say.
    pub timeout: Duration,
    /// What happens then.
    pub on_timeout: TimeoutPolicy,
    /// Its own way of staying closed.
    pub fail_closed: FailClosedSupport,
    /// Whose settings files it reads too, so that entries there fire a second time.
    pub reads_settings_of: &'static [Host],
    /// Its events.
    pub events: &'static [HostEventInfo],
}

const SECOND: Duration = Duration::from_secs(1);

/// The table.
pub const HOSTS: [HostInfo; 10] = [
    HostInfo {
        host: Host::ClaudeCode,
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        npm_package: Some("@anthropic-ai/claude-code"),
        known_version: "2.1.325",
        marker_vars: &["CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDECODE"],
        project_vars: &["CLAUDE_PROJECT_DIR"],
        version_vars: &["AI_AGENT"],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(600),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::Key("onFailure", FailClosedValue::Text("block")),
        reads_settings_of: &[],
        events: events::CLAUDE_EVENTS,
    },
    HostInfo {
        host: Host::Codex,
        name: "codex",
        title: "Codex CLI",
        program: "codex",
        npm_package: Some("@openai/codex"),
        known_version: "0.166.0",
        marker_vars: &["CODEX_SANDBOX", "CODEX_THREAD_ID"],
        project_vars: &[],
        version_vars: &[],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(600),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::None,
        reads_settings_of: &[],
        events: events::CODEX_EVENTS,
    },
    HostInfo {
        host: Host::Copilot,
        name: "copilot",
        title: "GitHub Copilot CLI",
        program: "copilot",
        npm_package: Some("@github/copilot"),
        known_version: "1.0.102",
        marker_vars: &["COPILOT_CLI"],
        project_vars: &["COPILOT_PROJECT_DIR"],
        version_vars: &["COPILOT_CLI_BINARY_VERSION"],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(30),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::ExceptTimeouts,
        reads_settings_of: &[Host::ClaudeCode],
        events: events::COPILOT_EVENTS,
    },
    HostInfo {
        host: Host::Cursor,
        name: "cursor",
        title: "Cursor",
        program: "cursor-agent",
        npm_package: None,
        known_version: "3.9.16",
        marker_vars: &["CURSOR_VERSION", "CURSOR_PROJECT_DIR"],
        project_vars: &["CURSOR_PROJECT_DIR"],
        version_vars: &["CURSOR_VERSION"],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(60),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::Key("failClosed", FailClosedValue::True),
        reads_settings_of: &[Host::ClaudeCode],
        events: events::CURSOR_EVENTS,
    },
    HostInfo {
        host: Host::Qwen,
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        npm_package: Some("@qwen-code/qwen-code"),
        known_version: "0.24.4",
        marker_vars: &["QWEN_PROJECT_DIR", "QWEN_CODE"],
        project_vars: &["QWEN_PROJECT_DIR"],
        version_vars: &["QWEN_CODE_STARTUP_VERSION"],
        timeout_unit: TimeoutUnit::Milliseconds,
        timeout: Duration::from_secs(60),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::None,
        reads_settings_of: &[],
        events: events::QWEN_EVENTS,
    },
    HostInfo {
        host: Host::Droid,
        name: "droid",
        title: "Factory Droid",
        program: "droid",
        npm_package: Some("droid"),
        known_version: "0.215.0",
        marker_vars: &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"],
        project_vars: &["FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"],
        version_vars: &[],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(60),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::None,
        reads_settings_of: &[],
        events: events::DROID_EVENTS,
    },
    HostInfo {
        host: Host::Grok,
        name: "grok",
        title: "Grok Build",
        program: "grok",
        npm_package: Some("@xai-official/grok"),
        known_version: "1.0.41",
        marker_vars: &["GROK_WORKSPACE_ROOT", "GROK_SESSION_ID"],
        project_vars: &["GROK_WORKSPACE_ROOT"],
        version_vars: &[],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(5),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::None,
        reads_settings_of: &[Host::ClaudeCode, Host::Cursor],
        events: events::GROK_EVENTS,
    },
    HostInfo {
        host: Host::GeminiCli,
        name: "gemini-cli",
        title: "Gemini CLI",
        program: "gemini",
        npm_package: Some("@google/gemini-cli"),
        known_version: "0.61.0",
        marker_vars: &["GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR"],
        project_vars: &["GEMINI_PROJECT_DIR"],
        version_vars: &[],
        timeout_unit: TimeoutUnit::Milliseconds,
        timeout: Duration::from_secs(60),
        on_timeout: TimeoutPolicy::FailsOpen,
        fail_closed: FailClosedSupport::None,
        reads_settings_of: &[],
        events: events::GEMINI_EVENTS,
    },
    HostInfo {
        host: Host::Antigravity,
        name: "antigravity",
        title: "Antigravity",
        program: "agy",
        npm_package: None,
        known_version: "documentation of 2026-11",
        marker_vars: &[],
        project_vars: &[],
        version_vars: &[],
        timeout_unit: TimeoutUnit::Seconds,
        timeout: Duration::from_secs(30),
        on_timeout: TimeoutPolicy::FailsClosed,
        fail_closed: FailClosedSupport::Always,
        reads_settings_of: &[],
        events: events::ANTIGRAVITY_EVENTS,
    },
    HostInfo {
        host: Host::Opencode,
        name: "opencode",
        title: "opencode",
        program: "opencode",
        npm_package: Some("opencode-ai"),
        known_version: "1.18.33",
        marker_vars: &["OPENCODE"],
        project_vars: &[],
        version_vars: &[],
        timeout_unit: TimeoutUnit::None,
        timeout: Duration::from_secs(60),
        on_timeout: TimeoutPolicy::Waits,
        fail_closed: FailClosedSupport::Always,
        reads_settings_of: &[],
        events: events::OPENCODE_EVENTS,
    },
];

impl Host {
    /// Every agent, in the order of the table.
    pub fn all() -> impl Iterator<Item = Host> {
        HOSTS.iter().map(|row| row.host)
    }

    /// Its row.
    pub fn info(self) -> &'static HostInfo {
        &HOSTS[self as usize]
    }

    /// Its name as typed.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        self.info().title
    }

    /// The agent of that name, or of one that people use for it.
    pub fn from_name(name: &str) -> Option<Host> {
        let name = name.to_ascii_lowercase();
        let other = match name.as_str() {
            "claude" => "claude-code",
            "gemini" => "gemini-cli",
            "cursor-agent" => "cursor",
            "qwen-code" => "qwen",
            "agy" => "antigravity",
            other => other,
        };
        HOSTS.iter().find(|row| row.name == other).map(|row| row.host)
    }

    /// Its event of exactly that name.
    pub fn event(self, name: &str) -> Option<&'static HostEventInfo> {
        self.info().events.iter().find(|row| row.name == name)
    }

    /// Its events at which hooks of that kind run.
    pub fn events_for(self, kind: EventKind) -> impl Iterator<Item = &'static HostEventInfo> {
        self.info().events.iter().filter(move |row| row.kind == Some(kind))
    }

    /// How long the host waits for an entry of that event that does not say.
    pub fn timeout(self, event: Option<&HostEventInfo>) -> Duration {
        event.and_then(|row| row.timeout).unwrap_or(self.info().timeout)
    }

    /// How long the bridge may take where the host waits that long: what remains must do for ending a hook that does not end
    /// by itself, and for the host's own clock, which starts before ours.
    pub fn bridge_deadline(timeout: Duration) -> Duration {
        let spare = (timeout / 10).clamp(SECOND / 4, 5 * SECOND);
        timeout.saturating_sub(spare).max(timeout / 2)
    }

    /// When an answer must be given for a judgement that has not ended by its [`deadline`](Self::deadline).
    pub fn answer_deadline(timeout: Duration) -> Duration {
        (Host::bridge_deadline(timeout) + timeout) / 2
    }

    /// The agent's version, by its environment.
    pub fn version(self, var: impl Fn(&str) -> Option<String>) -> Option<String> {
        let told = self.info().version_vars.iter().find_map(|name| var(name))?;
        // `claude-code_2-1-325_harness`
        let told = match told.split_once('_') {
            Some(("claude-code", rest)) => rest.split('_').next().unwrap_or(rest).replace('-', "."),
            Some(_) => return None,
            None => told,
        };
        (told.len() <= 40 && told.starts_with(|char: char| char.is_ascii_digit())).then_some(told)
    }

    /// The agent that runs this process, as its payload and environment tell; nothing if they don't. A payload's own marks
    /// count before the environment, which one agent started by another inherits.
    pub fn detect(payload: &Map<String, Value>, has_var: impl Fn(&str) -> bool) -> Option<Host> {
        Self::detect_from_payload(payload).or_else(|| {
            // Those that read others' files set the others' variables too, so the borrowers are asked first.
            let order = [
                Host::Cursor,
                Host::Copilot,
                Host::Grok,
                Host::Qwen,
                Host::Droid,
                Host::Codex,
                Host::GeminiCli,
                Host::ClaudeCode,
            ];
            order.into_iter().find(|host| host.info().marker_vars.iter().any(|mark| has_var(mark)))
        })
    }

    /// The agent that a payload can only be from.
    fn detect_from_payload(payload: &Map<String, Value>) -> Option<Host> {
        let has = |key: &str| payload.contains_key(key);
        if has("cursor_version") || has("generation_id") && has("workspace_roots") {
            Some(Host::Cursor)
        } else if has("workspaceRoot") && (has("hookEventName") || has("toolInput")) {
            Some(Host::Grok)
        } else if has("workspacePaths") && has("conversationId") {
            Some(Host::Antigravity)
        } else if has("turn_id") && has("model") && has("permission_mode") {
            Some(Host::Codex)
        } else {
            None
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_its_own_row() {
        for host in Host::all() {
            assert_eq!(host.info().host, host);
            assert_eq!(Host::from_name(host.name()), Some(host));
            let mut names: Vec<_> = host.info().events.iter().map(|row| row.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), host.info().events.len(), "{host} has an event twice");
        }
    }

    #[test]
    fn no_host_gives_a_hook_more_than_we_know_of() {
        for row in HOSTS.iter().flat_map(|host| host.events) {
            let Some(kind) = row.kind else {
                assert!(row.powers.iter().all(|power| *power == HookCapability::Deny), "{row:?}");
                continue;
            };
            // The host's question for permission is more than a notification of ours.
            let more: &[HookCapability] =
                if kind == EventKind::Notification { &[HookCapability::Deny, HookCapability::Context] } else { &[] };
            for power in row.powers {
                assert!(kind.can(*power) || more.contains(power), "{row:?} {power:?}");
            }
        }
    }

    #[test]
    fn every_host_can_be_told_no_before_a_tool_runs() {
        for host in Host::all() {
            let gates = host.events_for(EventKind::BeforeTool);
            assert!(gates.filter(|row| row.wired).any(|row| row.can(HookCapability::Deny)), "{host}");
        }
    }

    #[test]
    fn a_deadline_ends_before_the_host_timeout() {
        for seconds in [1_u64, 2, 5, 30, 60, 600] {
            let timeout = Duration::from_secs(seconds);
            let deadline = Host::bridge_deadline(timeout);
            assert!(deadline < timeout && deadline >= timeout / 2, "{seconds} {deadline:?}");
        }
    }
}
