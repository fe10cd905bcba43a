//! The fields of a hook's declaration that make up its fingerprint, by which a caller detects changes since the user
//! trusted it. `files.rs` follows the files that its command uses.

use crate::dialect::Dialect;
use crate::dialect::claude::{AgentScope, CallStatus};
use crate::hook::{Action, Hook, HookRole, RunCondition, WorkerAction, WorkerConfig};
use crate::on_error::OnError;

/// One field of a declaration: its key in the settings, and its value as text.
pub type FingerprintField = (&'static str, String);

impl Hook {
    /// Everything about the hook that decides what runs, when, and what its answer means; [`env`](Hook::env) has its
    /// variables.
    ///
    /// The function destructures the hook, so that a new field does not compile until it is included or left out here.
    pub fn fingerprint_fields(&self) -> Vec<FingerprintField> {
        let Hook {
            event,
            // The trust record is kept per source.
            source: _,
            name,
            description,
            // `matcher_text` determines it.
            matcher: _,
            matcher_text,
            when: _,
            run_condition: RunCondition { if_rule: only_if, once, agent_scope: scope, after_call: after },
            sequential,
            chunks,
            action,
            timeout,
            on_error,
            on_doubt,
            locked,
            role,
            // Other settings determine it.
            required: _,
            enabled,
            // The location changes whenever text above the hook is edited.
            location: _,
        } = self;
        let command = action.command().map(|command| command.command.clone()).unwrap_or_default();
        let rule = if let Action::Rule(rule) = action { Some(rule) } else { None };
        let dialect = match self.dialect() {
            Dialect::Gemini => String::new(),
            other => other.as_str().to_owned(),
        };
        let scope = match scope {
            None => "",
            Some(AgentScope::Session) => "session",
            Some(AgentScope::SubAgent) => "sub-agent",
        };
        let mut fields = vec![
            ("name", name.clone().unwrap_or_default()),
            ("command", command),
            ("event", event.to_string()),
            ("matcher", matcher_text.clone().unwrap_or_default()),
            ("when", self.when_text().unwrap_or_default()),
            ("decision", rule.map(|rule| rule.decision_word().to_owned()).unwrap_or_default()),
            ("reason", rule.map(|rule| rule.reason.clone()).unwrap_or_default()),
            ("description", description.clone().unwrap_or_default()),
            ("sequential", flag_text(*sequential)),
            ("timeout", format!("{} ms", timeout.as_millis())),
            ("onError", on_error_text(on_error)),
            ("locked", flag_text(*locked)),
            ("guard", flag_text(*role == HookRole::Guard)),
            ("async", flag_text(*role == HookRole::Background)),
            ("enabled", if *enabled { String::new() } else { "false".to_owned() }),
        ];
        // Fields that were added later are left out where they are unset, so that older records stay valid.
        let later = [
            ("dialect", dialect),
            ("only", self.approval_bounds().map_or_else(String::new, |only| only.text().to_owned())),
            ("if", only_if.as_ref().map_or_else(String::new, |rule| rule.text().to_owned())),
            ("once", flag_text(*once)),
            ("whose", scope.to_owned()),
            ("result", if *after == Some(CallStatus::Failed) { "failed".to_owned() } else { String::new() }),
            ("onDoubt", on_doubt.map(|on_doubt| on_doubt.as_str().to_owned()).unwrap_or_default()),
            ("confine", self.declared_confinement().map(|profile| profile.to_json().to_string()).unwrap_or_default()),
            ("chunks", chunks.map(|chunks| chunks.to_string()).unwrap_or_default()),
            ("mode", if *role == HookRole::Shadow { "shadow".to_owned() } else { String::new() }),
        ];
        let own = match action {
            Action::Worker(worker) => worker_fields(worker).to_vec(),
            Action::Http(http) => vec![
                ("type", "http".to_owned()),
                ("url", http.url.clone()),
                ("headers", http.redacted_header_lines().collect::<Vec<_>>().join(", ")),
            ],
            Action::Command(_) | Action::Rule(_) | Action::Function(_) => Vec::new(),
        };
        fields.extend(later.into_iter().chain(own).filter(|(_, value)| !value.is_empty()));
        fields
    }
}

/// The fields of a worker.
fn worker_fields(worker: &WorkerAction) -> [FingerprintField; 6] {
    let WorkerAction { command: _, package, config } = worker;
    let WorkerConfig { start_with_session: early, concurrency, idle_timeout, max_memory_bytes: max_memory } = config;
    let kind = if package.is_some() { "plugin" } else { "worker" };
    [
        ("type", kind.to_owned()),
        ("package", package.clone().unwrap_or_default()),
        ("start", if *early { "session".to_owned() } else { String::new() }),
        ("concurrency", if concurrency.get() > 1 { concurrency.to_string() } else { String::new() }),
        ("idleTimeout", idle_timeout.map(|longest| format!("{} ms", longest.as_millis())).unwrap_or_default()),
        ("maxMemoryMb", max_memory.map(|most| (most >> 20).to_string()).unwrap_or_default()),
    ]
}

fn flag_text(set: bool) -> String {
    if set { "true".to_owned() } else { String::new() }
}

fn on_error_text(on_error: &OnError) -> String {
    on_error.configured().map(|(cause, action)| format!("{cause}: {}", action.as_str())).collect::<Vec<_>>().join(", ")
}
