//! The journal's lines of one event of another agent: what hooks decided, what that agent was told, and what it cannot
//! enforce.

use std::sync::{Arc, Mutex, PoisonError};

use hookwright_bridge::{Host, HostEvent, Ruling};
use hookwright_hooks::{EventKind, EventReport, HookCapability, Observer};
use hookwright_journal::{
    BridgeRefusal, Entry, EventEntry, EventSource, HostAnswer, JournalLine, JournalOpener, Loss, Verdict, event_entry,
    millis, opener,
};
use hookwright_settings::{LoadOptions, LoadPurpose, LoadedConfig, load};
use serde_json::{Map, Value, json};

use super::{BridgeReply, BridgeRequest};

/// An entry of the journal with its content.
type EntryWithContent = (EventEntry, Option<Map<String, Value>>);

/// Collects what the hook engine reports about an event.
#[derive(Default)]
pub(super) struct EventCollector {
    source: EventSource,
    events: Mutex<Vec<EntryWithContent>>,
}

impl EventCollector {
    pub(super) fn new(host_event: &HostEvent) -> Arc<EventCollector> {
        let source = EventSource { agent: host_event.host.name().to_owned(), version: host_event.version.clone() };
        Arc::new(EventCollector { source, ..EventCollector::default() })
    }

    pub(super) fn take(&self) -> Vec<EntryWithContent> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for EventCollector {
    fn event_finished(&self, report: &EventReport<'_>) {
        let entry = event_entry(report, &self.source);
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

/// What goes on record about one event.
#[derive(Default)]
pub(crate) struct BridgeRecord {
    pub(super) ruling: Ruling,
    /// What all lines of the event have in common; the one line of an event on which no hook ran.
    common: EventEntry,
    /// The input and the reason, for an event on which no hook ran.
    content: Map<String, Value>,
    /// The views of the event on which hooks ran.
    events: Vec<EntryWithContent>,
    opener: Option<JournalOpener>,
}

impl BridgeRecord {
    pub(crate) fn new(ruling: Ruling, reason: String) -> BridgeRecord {
        let mut record = BridgeRecord { ruling, ..BridgeRecord::default() };
        record.common.verdict = Verdict::from_word(ruling.as_str()).unwrap_or_default();
        if !reason.is_empty() {
            record.content.insert("reason".to_owned(), reason.into());
        }
        record
    }

    /// Builds the record of an event that the bridge refuses itself.
    pub(crate) fn refused(cause: BridgeRefusal, reason: String) -> BridgeRecord {
        let mut record = BridgeRecord::new(Ruling::Deny, reason);
        record.common.refusal = Some(cause);
        record
    }

    /// Builds the record of an event that another agent's own entry evaluates.
    pub(super) fn delegated(other: Host) -> BridgeRecord {
        let reason = format!("{} reads these settings too, and its own entry decides", other.title());
        let mut record = BridgeRecord::new(Ruling::Pass, reason);
        record.common.stood_down_for = Some(other.name().to_owned());
        record
    }

    /// Whether the record is about an event of this kind.
    pub(super) fn is_about(&self, kind: EventKind) -> bool {
        self.common.event == kind.name()
    }

    /// Has the record written to the journal as these settings say.
    pub(super) fn use_settings(&mut self, loaded: &LoadedConfig) {
        self.opener = opener(loaded);
        self.common.project = loaded.project.root.to_string_lossy().into_owned();
        // Without this, the settings would be read again to learn that there is no journal.
        if self.opener.is_none() {
            self.opener = Some(Box::new(|| Err(hookwright_journal::JournalError::Disabled)));
        }
    }

    /// Adds the event's own fields.
    pub(super) fn add_event(&mut self, host_event: &HostEvent) {
        let common = &mut self.common;
        common.agent_version = host_event.version.clone();
        common.host_event = Some(host_event.name.clone());
        common.event = host_event.kind().map(|kind| kind.name().to_owned()).unwrap_or_default();
        common.session = host_event.session.id.clone();
        common.subagent = host_event.session.agent_id.clone();
        if let Some(tool) = &host_event.tool {
            common.host_tool = Some(tool.name.clone());
            common.known = Some(tool.recognition.as_str().to_owned());
            common.doubt = tool.uncertainty.clone();
        }
        let id = |name: &str| host_event.correlation_ids.iter().find(|(key, _)| *key == name).map(|(_, id)| id.clone());
        common.call = id("tool_use_id");
        common.turn = id("turn_id").or_else(|| id("prompt_id")).or_else(|| id("generation_id"));
        common.ids = host_event.correlation_ids.iter().map(|(key, id)| ((*key).to_owned(), id.clone())).collect();
        let powers = host_event.info.map(|row| row.powers).unwrap_or_default();
        common.can_enforce = powers.iter().map(|power| power_name(*power)).collect();
        if self.events.is_empty()
            && let Some(view) = host_event.views.first()
        {
            let mut input = view.event.fields();
            common.tool = input.get("tool_name").and_then(Value::as_str).map(str::to_owned);
            common.call = common.call.take().or_else(|| input.get("tool_use_id")?.as_str().map(str::to_owned));
            if let Some(cwd) = &host_event.session.cwd {
                input.insert("cwd".to_owned(), cwd.to_string_lossy().into());
            }
            self.content.insert("input".to_owned(), input.into());
        }
    }

    /// Adds the hooks that do not run because the folder is not trusted.
    pub(super) fn add_untrusted_hooks(&mut self, words: &[String]) {
        self.common.left_out = words.to_vec();
    }

    /// Adds what a call is kept to.
    pub(super) fn add_confinement(&mut self, limits: Vec<String>) {
        self.common.confined = limits;
    }

    /// Adds what the hook engine reported.
    pub(super) fn add_engine_events(&mut self, mut events: Vec<EntryWithContent>) {
        events.append(&mut self.events);
        self.events = events;
    }

    /// Takes what the hook engine reported, for the record of another evaluation of the same event.
    pub(super) fn take_engine_events(&mut self) -> Vec<EntryWithContent> {
        std::mem::take(&mut self.events)
    }

    /// Returns the lines, with what the agent was told.
    fn into_lines(mut self, call: &BridgeRequest<'_>, reply: &HostOutcome) -> Vec<EntryWithContent> {
        let common = &mut self.common;
        common.agent = call.agent_name.to_owned();
        // An event that could not be read is that of the entry.
        if common.host_event.is_none() {
            common.host_event = call.entry_event.map(str::to_owned);
            common.event = call.entry_event_row().and_then(|row| row.kind).map_or("", EventKind::name).to_owned();
        }
        common.told = Some(HostAnswer { verdict: self.ruling.as_str().to_owned(), exit: reply.exit_code });
        common.lost = reply.losses.clone();
        common.ms = millis(call.started.elapsed());
        if self.events.is_empty() {
            return vec![(self.common, Some(self.content))];
        }
        let reason = self.content.remove("reason");
        let common = self.common;
        let line = |(part, (own, content)): (usize, EntryWithContent)| {
            let line = EventEntry {
                part: u32::try_from(part).unwrap_or(u32::MAX),
                event: own.event,
                tool: own.tool,
                call: own.call.or_else(|| common.call.clone()),
                turn: own.turn.or_else(|| common.turn.clone()),
                verdict: own.verdict,
                decided_by: own.decided_by,
                hooks: own.hooks,
                sequential: own.sequential,
                withheld: own.withheld,
                ..common.clone()
            };
            let content = content.map(|mut content| {
                if let (false, Some(reason)) = (content.contains_key("reason"), &reason) {
                    content.insert("reason".to_owned(), reason.clone());
                }
                content
            });
            (line, content)
        };
        self.events.into_iter().enumerate().map(line).collect()
    }
}

/// What the agent was told, as far as the record has it.
struct HostOutcome {
    exit_code: u8,
    losses: Vec<Loss>,
}

impl HostOutcome {
    fn new(reply: &BridgeReply) -> HostOutcome {
        let losses = reply.response.downgrades.iter();
        let loss = |loss: &hookwright_bridge::VerdictDowngrade| Loss {
            wanted: loss.requested.to_string(),
            became: loss.applied.to_string(),
        };
        HostOutcome { exit_code: reply.response.exit_code, losses: losses.map(loss).collect() }
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

/// Writes the lines of an event. Lines that can't be written are lost, because the journal decides nothing.
pub(super) fn write(call: &BridgeRequest<'_>, reply: BridgeReply) {
    let outcome = HostOutcome::new(&reply);
    let mut record = reply.record;
    let opener = record
        .opener
        .take()
        .or_else(|| opener(&load(call.world, &LoadOptions { purpose: LoadPurpose::Event, ..LoadOptions::default() })));
    let Some(Ok((mut journal, redactor))) = opener.map(|open| open()) else { return };
    for (entry, content) in record.into_lines(call, &outcome) {
        if let Err(error) = journal.append_with_content(&redactor, Entry::Event(Box::new(entry)), content) {
            tracing::warn!(%error, "can't write a line of the journal");
        }
    }
}

/// Returns the decision on an event in the form of the trace, for a trial, which is not on record.
pub(super) fn trial_line(call: &BridgeRequest<'_>, reply: BridgeReply) -> Value {
    let outcome = HostOutcome::new(&reply);
    let lines = reply.record.into_lines(call, &outcome);
    let strongest = lines.into_iter().max_by_key(|(entry, _)| entry.verdict);
    let (entry, content) = strongest.unwrap_or_default();
    let time = format!("{:.3}", jiff::Timestamp::now());
    trace_fields(&time, &entry, &content.map(Value::Object).unwrap_or_default())
}

/// Returns a line of the journal in the form of `agents trace`; `None` for lines that are not about another agent.
pub(crate) fn trace_line(line: &JournalLine) -> Option<Value> {
    let entry = line.event().filter(|entry| entry.told.is_some())?;
    let mut fields = trace_fields(&line.time, entry, line.content.as_ref().unwrap_or(&Value::Null));
    fields["id"] = line.seq.into();
    Some(fields)
}

fn trace_fields(time: &str, entry: &EventEntry, content: &Value) -> Value {
    let told = entry.told.as_ref();
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) {
            fields.insert(key.to_owned(), value);
        }
    };
    set("time", time.into());
    set("host", entry.agent.as_str().into());
    set("verdict", told.map_or(entry.verdict.as_str(), |told| told.verdict.as_str()).into());
    set("why", content["reason"].clone());
    set("stood_down_for", json!(entry.stood_down_for));
    set("left_out", json!(entry.left_out));
    set("refusal", json!(entry.refusal));
    set("confined", json!(entry.confined));
    let run = |(at, hook): (usize, &hookwright_journal::HookEntry)| {
        json!({
            "hook": hook.hook,
            "source": hook.source,
            "status": hook.status,
            "exit_code": hook.exit_code,
            "decision": hook.decision,
            "mode": hook.mode,
            "ms": hook.ms,
            "error": content["runs"][at]["error"],
        })
    };
    set("hooks", entry.hooks.iter().enumerate().map(run).collect());
    set("version", json!(entry.agent_version));
    set("event", json!(entry.host_event));
    set("as", if entry.event.is_empty() { Value::Null } else { entry.event.as_str().into() });
    set("tool", json!(entry.host_tool));
    set("known", json!(entry.known));
    set("doubt", json!(entry.doubt));
    set("session_id", entry.session.as_str().into());
    entry.ids.iter().for_each(|(key, id)| set(key, id.as_str().into()));
    set("agent_id", json!(entry.subagent));
    set("can_enforce", json!(entry.can_enforce));
    set("lost", json!(entry.lost));
    set("exit", json!(told.map(|told| told.exit)));
    set("ms", entry.ms.into());
    fields.into()
}
