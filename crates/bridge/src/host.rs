//! The table of host agents: their names, how each is detected, its events, a hook's capabilities at each event, its
//! time-outs, and whether it runs a call whose hook failed.
//!
//! The table holds data only: the dialects read payloads and write answers, and `host/events.rs` has the rows of
//! events.

mod events;

use std::time::Duration;

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value};

pub(crate) use events::COPILOT_EVENT_NAMES;

/// An agent whose hooks can call Hookwright.
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
    /// Alibaba's Qwen Code.
    Qwen,
    /// Droid, the agent of Factory.
    Droid,
    /// xAI's Grok Build.
    Grok,
    /// Google's Gemini CLI.
    GeminiCli,
    /// Antigravity, an editor of Google.
    Antigravity,
    /// opencode, through a generated plugin.
    Opencode,
    /// Any agent in an editor, behind `hookwright acp guard`. It has no settings that call Hookwright.
    Acp,
}

/// The unit of time-outs in a host's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutUnit {
    /// Time-outs are numbers of seconds.
    Seconds,
    /// Time-outs are numbers of milliseconds.
    Milliseconds,
    /// The host has no setting for time-outs.
    None,
}

/// The way a host treats a call whose hook times out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutPolicy {
    /// The call runs.
    FailsOpen,
    /// The call does not run.
    FailsClosed,
    /// The host waits for as long as the hook takes.
    Waits,
}

/// The way a host treats a call whose hook fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailClosedSupport {
    /// The call runs.
    None,
    /// The call does not run if the hook's entry has this key with this value.
    Key(&'static str, FailClosedValue),
    /// The call does not run, except after a time-out.
    ExceptTimeouts,
    /// The call never runs.
    Always,
}

/// The value of the entry's key that makes the host fail closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailClosedValue {
    /// The JSON value `true`.
    True,
    /// A JSON string.
    Text(&'static str),
}

impl FailClosedValue {
    /// Returns the value as JSON.
    pub fn to_json(self) -> Value {
        match self {
            FailClosedValue::True => Value::Bool(true),
            FailClosedValue::Text(word) => Value::from(word),
        }
    }
}

/// One event of a host.
#[derive(Debug, PartialEq, Eq)]
pub struct HostEventInfo {
    /// The event's name at the host.
    pub name: &'static str,
    /// The corresponding event of Hookwright; `None` if there is none.
    pub kind: Option<EventKind>,
    /// The capabilities that the host is known to obey. Others become a stronger ruling or are dropped.
    pub powers: &'static [HookCapability],
    /// The host's time-out for an entry of this event that sets none; `None` for the host's general default.
    pub timeout: Option<Duration>,
    /// Whether `agents install` writes an entry for this event.
    pub wired: bool,
}

impl HostEventInfo {
    /// Returns whether the host obeys a hook's answer of this kind.
    pub fn can(&self, power: HookCapability) -> bool {
        self.powers.contains(&power)
    }

    /// Returns whether a guard's denial takes effect at this event, so that the bridge must deny when it has no answer.
    pub fn is_gate(&self) -> bool {
        let before =
            matches!(self.kind, Some(EventKind::BeforeTool | EventKind::BeforeAgent | EventKind::Notification));
        before && self.can(HookCapability::Deny)
    }
}

/// A way in which an agent acts without asking its hooks.
#[derive(Debug, PartialEq, Eq)]
pub struct BlindSpot {
    /// The tool or situation, and what is not seen.
    pub summary: &'static str,
    /// What narrows it.
    pub remedy: &'static str,
}

/// One row of the host table.
#[derive(Debug)]
pub struct HostInfo {
    /// The agent that the row describes.
    pub host: Host,
    /// The agent's name on the command line: `hookwright bridge NAME`.
    pub name: &'static str,
    /// The agent's name in messages.
    pub title: &'static str,
    /// The program that a user starts.
    pub program: &'static str,
    /// The npm package that contains the agent, if there is one.
    pub npm_package: Option<&'static str>,
    /// The version that this row was measured with, or whose sources or documentation it follows.
    pub known_version: &'static str,
    /// Environment variables that the agent sets for its hooks and by which it is detected.
    pub marker_vars: &'static [&'static str],
    /// Environment variables that hold the project's directory.
    pub project_vars: &'static [&'static str],
    /// Environment variables that hold the agent's version.
    pub version_vars: &'static [&'static str],
    /// The unit of time-outs in the agent's settings.
    pub timeout_unit: TimeoutUnit,
    /// The agent's time-out for an entry that sets none.
    pub timeout: Duration,
    /// The way the agent treats a call whose hook times out.
    pub on_timeout: TimeoutPolicy,
    /// The way the agent treats a call whose hook fails.
    pub fail_closed: FailClosedSupport,
    /// The agents whose settings files this agent loads too, so that their entries run here as well.
    pub reads_settings_of: &'static [Host],
    /// The agent's events.
    pub events: &'static [HostEventInfo],
}

const SECOND: Duration = Duration::from_secs(1);

/// The host agents, in the order of the variants of [`Host`].
pub const HOSTS: [HostInfo; 11] = [
    HostInfo {
        host: Host::ClaudeCode,
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        npm_package: Some("@anthropic-ai/claude-code"),
        known_version: "2.1.327",
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
        known_version: "0.169.0",
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
    HostInfo {
        host: Host::Acp,
        name: "acp",
        title: "the agent in the editor",
        program: "",
        npm_package: None,
        known_version: "protocol version 1",
        marker_vars: &[],
        project_vars: &[],
        version_vars: &[],
        timeout_unit: TimeoutUnit::None,
        timeout: Duration::from_secs(60),
        on_timeout: TimeoutPolicy::FailsClosed,
        fail_closed: FailClosedSupport::Always,
        reads_settings_of: &[],
        events: events::ACP_EVENTS,
    },
];

impl Host {
    /// Returns all agents whose own settings can call Hookwright, in the order of the table.
    pub fn all() -> impl Iterator<Item = Host> {
        HOSTS.iter().map(|row| row.host).filter(|host| *host != Host::Acp)
    }

    /// Returns the agent that a text names, such as an agent's name in the Agent Client Protocol or a command line:
    /// one of its words is the agent's program.
    pub fn named_in(text: &str) -> Option<Host> {
        let text = text.to_ascii_lowercase();
        let words: Vec<&str> = text.split(|char: char| !char.is_ascii_alphanumeric()).collect();
        Host::all().find(|host| host.info().program.split('-').next().is_some_and(|word| words.contains(&word)))
    }

    /// Returns the agent's row of the table.
    pub fn info(self) -> &'static HostInfo {
        &HOSTS[self as usize]
    }

    /// Returns the agent's name on the command line.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the agent's name in messages.
    pub fn title(self) -> &'static str {
        self.info().title
    }

    /// Returns the agent with that name or common alias.
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
        Host::all().find(|host| host.name() == other)
    }

    /// Returns the agent's event with exactly that name.
    pub fn event(self, name: &str) -> Option<&'static HostEventInfo> {
        self.info().events.iter().find(|row| row.name == name)
    }

    /// Returns the agent's events that correspond to an event of Hookwright.
    pub fn events_for(self, kind: EventKind) -> impl Iterator<Item = &'static HostEventInfo> {
        self.info().events.iter().filter(move |row| row.kind == Some(kind))
    }

    /// Returns how long the host waits for an entry of that event that sets no time-out.
    pub fn timeout(self, event: Option<&HostEventInfo>) -> Duration {
        event.and_then(|row| row.timeout).unwrap_or(self.info().timeout)
    }

    /// Returns how long hooks may run where the host waits `timeout`.
    ///
    /// The rest of the time is for ending a hook that does not end by itself, and for the host's clock, which starts
    /// earlier.
    pub fn bridge_deadline(timeout: Duration) -> Duration {
        let spare = (timeout / 10).clamp(SECOND / 4, 5 * SECOND);
        timeout.saturating_sub(spare).max(timeout / 2)
    }

    /// Returns when the bridge must answer without a verdict, if hooks still run after
    /// [`bridge_deadline`](Self::bridge_deadline).
    pub fn answer_deadline(timeout: Duration) -> Duration {
        (Host::bridge_deadline(timeout) + timeout) / 2
    }

    /// Returns the agent's version from its environment variables.
    pub fn version(self, var: impl Fn(&str) -> Option<String>) -> Option<String> {
        let version = self.info().version_vars.iter().find_map(|name| var(name))?;
        // Claude Code's variable has the form `claude-code_2-1-325_harness`.
        let version = match version.split_once('_') {
            Some(("claude-code", rest)) => rest.split('_').next().unwrap_or(rest).replace('-', "."),
            Some(_) => return None,
            None => version,
        };
        (version.len() <= 40 && version.starts_with(|char: char| char.is_ascii_digit())).then_some(version)
    }

    /// Returns the ways in which the agent acts without asking its hooks, and what can be done about each.
    pub fn blind_spots(self) -> &'static [BlindSpot] {
        match self {
            Host::Codex => &[BlindSpot {
                summary: "`write_stdin` passes no hook: what Codex types into a running program, such as an interactive `bash` or `python3`, is not seen",
                remedy: "`hookwright hooks add rule-no-interactive-interpreters` adds a rule that refuses to start those",
            }],
            _ => &[],
        }
    }

    /// Returns why no deny is known to hold in this version of the agent; `None` if nothing speaks against it.
    pub fn unguarded_version(self, version: &str) -> Option<&'static str> {
        let major: u64 = version.split('.').next()?.parse().ok()?;
        let is_second = major >= 2 || major == 0 && version.contains("beta");
        (self == Host::Opencode && is_second).then_some(
            "opencode 2 has another plugin interface, and the plugin for it has not been tried with a real opencode 2",
        )
    }

    /// Returns the agent that started this process, judging by the payload and the environment.
    ///
    /// The payload counts first, because an agent that another agent started inherits that agent's variables.
    pub fn detect(payload: &Map<String, Value>, has_var: impl Fn(&str) -> bool) -> Option<Host> {
        Self::detect_from_payload(payload).or_else(|| {
            // Agents that load another agent's settings set its variables too, so they are checked first.
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

    /// Returns the agent that alone sends such a payload.
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
    fn host_events_have_only_known_capabilities() {
        for row in HOSTS.iter().flat_map(|host| host.events) {
            let Some(kind) = row.kind else {
                assert!(row.powers.iter().all(|power| *power == HookCapability::Deny), "{row:?}");
                continue;
            };
            // The host's permission request can do more than Hookwright's notification event.
            let more: &[HookCapability] =
                if kind == EventKind::Notification { &[HookCapability::Deny, HookCapability::Context] } else { &[] };
            for power in row.powers {
                assert!(kind.can(*power) || more.contains(power), "{row:?} {power:?}");
            }
        }
    }

    #[test]
    fn every_host_obeys_a_denial_before_a_tool_runs() {
        for host in Host::all() {
            let gates = host.events_for(EventKind::BeforeTool);
            assert!(gates.filter(|row| row.wired).any(|row| row.can(HookCapability::Deny)), "{host}");
        }
    }

    #[test]
    fn agents_are_recognised_by_the_names_that_they_have_in_editors() {
        for (text, host) in [
            ("@agentclientprotocol/claude-agent-acp", Some(Host::ClaudeCode)),
            ("@zed-industries/codex-acp", Some(Host::Codex)),
            ("gemini-cli", Some(Host::GeminiCli)),
            ("npx -y @google/gemini-cli --acp", Some(Host::GeminiCli)),
            ("OpenCode", Some(Host::Opencode)),
            ("cursor-agent acp", Some(Host::Cursor)),
            ("claudette", None),
            ("", None),
        ] {
            assert_eq!(Host::named_in(text), host, "{text}");
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
