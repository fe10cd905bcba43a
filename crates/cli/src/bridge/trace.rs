//! One line of JSON for each event of another agent: the event, the decision, what that agent can enforce, the hooks
//! that ran and how long it took. The file is private to the user and limited in size.
//!
//! Arguments, prompts and results are not in it.

use std::time::Duration;

use hookwright_bridge::{Host, HostEvent, Ruling, VerdictDowngrade};
use hookwright_hooks::{EventKind, HookCapability, RunReport};
use hookwright_settings::{ConfigPaths, Secrets};
use serde_json::{Map, Value, json};

use super::{BridgeReply, BridgeRequest};
use crate::log::file::LogFile;

/// The length that a reason or error is cut to.
const MAX_REASON_CHARS: usize = 400;

/// The trace line of one event.
#[derive(Default)]
pub(crate) struct BridgeTraceLine {
    pub(super) ruling: Ruling,
    fields: Map<String, Value>,
}

impl BridgeTraceLine {
    pub(crate) fn new(ruling: Ruling, why: String) -> BridgeTraceLine {
        let mut line = BridgeTraceLine { ruling, fields: Map::new() };
        line.set("verdict", ruling.as_str());
        if !why.is_empty() {
            line.set("why", why);
        }
        line
    }

    /// Builds the line of an event that another agent's own entry evaluates.
    pub(super) fn delegated(other: Host) -> BridgeTraceLine {
        let why = format!("{} reads these settings too, and its own entry decides", other.title());
        let mut line = BridgeTraceLine::new(Ruling::Pass, why);
        line.set("stood_down_for", other.name());
        line
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    /// Whether the line is about an event of this kind.
    pub(super) fn is_about(&self, kind: EventKind) -> bool {
        self.fields.get("as").and_then(Value::as_str) == Some(kind.name())
    }

    /// Adds the event's own fields.
    pub(super) fn add_event(&mut self, host_event: &HostEvent) {
        self.set("version", host_event.version.clone());
        self.set("event", host_event.name.as_str());
        self.set("as", host_event.kind().map(|kind| kind.name()));
        if let Some(tool) = &host_event.tool {
            self.set("tool", tool.name.as_str());
            self.set("known", tool.recognition.as_str());
            if let Some(doubt) = &tool.uncertainty {
                self.set("doubt", doubt.as_str());
            }
        }
        self.set("session_id", host_event.session.id.as_str());
        self.fields
            .extend(host_event.correlation_ids.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())));
        if let Some(agent) = &host_event.session.agent_id {
            self.set("agent_id", agent.as_str());
        }
        let powers = host_event.info.map(|row| row.powers).unwrap_or_default();
        self.set("can_enforce", powers.iter().map(|power| power_name(*power).into()).collect::<Vec<Value>>());
        if host_event.views.len() > 1 {
            self.set("views", host_event.views.len());
        }
    }

    /// Adds the hooks that do not run because the folder is not trusted.
    pub(super) fn add_untrusted_hooks(&mut self, words: &[String]) {
        if !words.is_empty() {
            self.set("left_out", words);
        }
    }

    /// Adds what a call is kept to.
    pub(super) fn add_confinement(&mut self, limits: &[String]) {
        self.set("confined", limits);
    }

    /// Adds the runs of hooks.
    pub(super) fn add_runs(&mut self, runs: &[&RunReport]) {
        let run = |run: &&RunReport| {
            json!({
                "hook": run.hook,
                "source": run.source.to_string(),
                "status": run.status,
                "exit_code": run.exit_code,
                "decision": run.decision(),
                "ms": millis(run.duration),
                "error": run.error.as_ref().filter(|_| !run.answer.suppress_output),
            })
        };
        self.set("hooks", runs.iter().map(run).collect::<Vec<_>>());
        if runs.iter().any(|run| run.answer.suppress_output) {
            self.fields.shift_remove("why");
        }
    }

    fn add_losses(&mut self, lost: &[VerdictDowngrade]) {
        if !lost.is_empty() {
            let lost = lost.iter().map(|loss| json!({"wanted": loss.requested, "became": loss.applied}));
            self.set("lost", lost.collect::<Vec<_>>());
        }
    }
}

fn power_name(power: HookCapability) -> String {
    format!("{power:?}").chars().fold(String::new(), |mut word, char| {
        if char.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(char.to_lowercase());
        word
    })
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// Appends a line to the trace file. A line that can't be written is lost, because the trace decides nothing.
pub(super) fn append_line(paths: &ConfigPaths, call: &BridgeRequest<'_>, reply: BridgeReply) {
    let line = build_line(paths, call, reply);
    if let Ok(file) = LogFile::open(&paths.bridge_trace) {
        file.write(&format!("{line}\n"));
    }
}

/// Returns the whole line, without secrets.
pub(super) fn build_line(paths: &ConfigPaths, call: &BridgeRequest<'_>, reply: BridgeReply) -> Value {
    let mut line = reply.trace_line;
    line.add_losses(&reply.response.downgrades);
    // Most lines have no text that could contain a secret; then the keys are not loaded.
    let secrets = std::cell::LazyCell::new(|| Secrets::with_model_keys(call.world, paths));
    for key in ["why", "doubt"] {
        if let Some(Value::String(text)) = line.fields.get_mut(key) {
            let short: String = text.chars().take(MAX_REASON_CHARS).collect();
            *text = secrets.hide(&short);
        }
    }
    if let Some(Value::Array(hooks)) = line.fields.get_mut("hooks") {
        for hook in hooks {
            if let Some(Value::String(error)) = hook.get_mut("error") {
                *error = secrets.hide(&error.chars().take(MAX_REASON_CHARS).collect::<String>());
            }
        }
    }
    let mut whole = Map::new();
    whole.insert("time".to_owned(), format!("{:.3}", jiff::Timestamp::now()).into());
    whole.insert("host".to_owned(), call.host.name().into());
    whole.extend(line.fields);
    whole.insert("exit".to_owned(), reply.response.exit_code.into());
    whole.insert("ms".to_owned(), millis(call.started.elapsed()).into());
    Value::Object(whole)
}
