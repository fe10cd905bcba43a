//! Turns events of the hook engine into lines, and writes them from a thread of its own, so that a disk that does not
//! respond holds up no event for long.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookwright_hooks::{
    Answer, Decision, EventKind, EventReport, Hook, MatchReason, MergedAnswer, Observer, RunReport,
};
use hookwright_settings::{LoadedConfig, Secrets};
use serde_json::{Map, Value};

use crate::chain::Digest;
use crate::content::{ContentLevel, Redactor, truncate};
use crate::entry::{CallEntry, Entry, EventEntry, HookEntry, Verdict};
use crate::segment::JournalError;
use crate::writer::{Journal, JournalOptions};

/// How long an event waits until its line is on the disk.
const WRITE_TIMEOUT: Duration = Duration::from_millis(50);
/// The number of lines that may wait for the disk; more are lost, and counted.
const MAX_WAITING_LINES: usize = 4096;
/// With more lines than this before it, an event does not wait for its own.
const MAX_LINES_WAITED_FOR: usize = 8;
/// How long the end of a session waits for the last lines.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The size of a model request from which it is not recorded.
const MAX_REQUEST_BYTES: usize = 256 << 10;
/// The size of an input from which it is not recorded.
const MAX_INPUT_BYTES: usize = 1 << 20;
/// The characters of a hook's output that are kept.
const MAX_OUTPUT_CHARS: usize = 16 << 10;

/// The agent whose events are recorded.
#[derive(Clone, Debug, Default)]
pub struct EventSource {
    /// The agent's name: `hookwright`, or another agent's.
    pub agent: String,
    /// The agent's version.
    pub version: Option<String>,
}

/// Returns the verdict of a merged answer.
pub fn merged_verdict(merged: &MergedAnswer) -> Verdict {
    match merged.answer.decision {
        _ if merged.answer.stop => Verdict::Stop,
        Some(Decision::Deny) => Verdict::Deny,
        Some(Decision::Ask) => Verdict::Ask,
        Some(Decision::Confine) => Verdict::Confine,
        // An allow that approves nothing means no objection.
        Some(Decision::Allow) if !merged.approved_by.is_empty() => Verdict::Allow,
        Some(Decision::Allow) | None => Verdict::Pass,
    }
}

/// Builds the entry and the content of an event.
pub fn event_entry(report: &EventReport<'_>, source: &EventSource) -> (EventEntry, Option<Map<String, Value>>) {
    let (input, is_too_large) = recorded_input(report);
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let merged = &report.merged;
    let verdict = merged_verdict(merged);
    let profiles = merged.confinements.iter().chain(&merged.enforced);
    let decided_by = if merged.decided_by.is_empty() { &merged.approved_by } else { &merged.decided_by };
    let withheld = withheld_reason(report).or(is_too_large.then_some("the input is too large"));
    let entry = EventEntry {
        agent: source.agent.clone(),
        agent_version: source.version.clone(),
        project: report.session.project_dir.to_string_lossy().into_owned(),
        session: report.session.id.clone(),
        turn: report.context.turn_id.as_deref().map(str::to_owned),
        call: report.context.tool_use_id.as_deref().map(str::to_owned),
        subagent: report.context.agent.as_ref().map(|agent| agent.id.clone()),
        event: report.kind.name().to_owned(),
        host_event: report.context.host.as_ref().map(|host| host.event.clone()),
        host_tool: report.context.host.as_ref().and_then(|host| host.tool_name.clone()),
        tool: text("tool_name").or_else(|| report.subject.map(str::to_owned).filter(|_| withheld.is_some())),
        verdict,
        decided_by: decided_by.clone(),
        hooks: report.runs.iter().map(hook_entry).collect(),
        sequential: report.sequential,
        unarmed: report.unarmed.iter().map(ToString::to_string).collect(),
        confined: if verdict >= Verdict::Deny {
            Vec::new()
        } else {
            profiles.flat_map(|one| one.profile.limits()).collect()
        },
        ms: millis(report.duration),
        withheld: withheld.map(str::to_owned),
        ..EventEntry::default()
    };
    (entry, withheld.is_none().then(|| event_content(input, &report.merged.answer, report.runs)))
}

/// Returns the input as far as it is recorded, and whether it is too large for a record.
fn recorded_input(report: &EventReport<'_>) -> (Map<String, Value>, bool) {
    // Every piece of an answer comes with the whole request, which is on record with the event before it.
    let max_shared_bytes = if report.kind == EventKind::AfterModel { 0 } else { MAX_REQUEST_BYTES };
    let text = report.input.to_record_json(max_shared_bytes);
    match text.len() > MAX_INPUT_BYTES {
        true => (Map::new(), true),
        false => (serde_json::from_str(&text).unwrap_or_default(), false),
    }
}

fn withheld_reason(report: &EventReport<'_>) -> Option<&'static str> {
    if report.merged.answer.redact_input || report.is_withheld {
        return Some("a hook withholds it");
    }
    report.runs.iter().any(|run| run.answer.suppress_output).then_some("suppressOutput")
}

fn event_content(mut input: Map<String, Value>, merged: &Answer, runs: &[RunReport]) -> Map<String, Value> {
    // These are fields of the line, or are the same for every chunk of an answer.
    for key in ["session_id", "hook_event_name", "timestamp", "turn_id", "agent_id", "full_content"] {
        input.shift_remove(key);
    }
    let effects = input.shift_remove("effects");
    let mut content = Map::from_iter([("input".to_owned(), Value::Object(input))]);
    let mut set = |key: &str, value: Option<Value>| {
        content.extend(value.map(|value| (key.to_owned(), value)));
    };
    set("effects", effects);
    set("reason", merged.stop_reason.clone().or_else(|| merged.reason.clone()).map(Value::from));
    set("message", merged.system_message.clone().map(Value::from));
    set("context", merged.additional_context.clone().map(Value::from));
    set("changes", merged.tool_input.clone().map(Value::Object));
    set("response", merged.llm_response.as_ref().and_then(|response| serde_json::to_value(response).ok()));
    set("runs", Some(runs.iter().map(run_content).collect()));
    content
}

fn run_content(run: &RunReport) -> Value {
    let output = |text: &str| (!text.is_empty()).then(|| truncate(text, MAX_OUTPUT_CHARS).into_owned());
    let answer = run.shadow_answer.as_deref().unwrap_or(&run.answer);
    let matched = match &run.match_reason {
        MatchReason::Effect { aspect, what } => Some(format!("{}: {what}", aspect.as_str())),
        MatchReason::Uncertain { reason } => reason.clone(),
        MatchReason::Always => None,
    };
    let fields = [
        ("matched", matched),
        ("reason", answer.stop_reason.clone().or_else(|| answer.reason.clone())),
        ("stdout", output(&run.stdout.text)),
        ("stderr", output(&run.stderr.text)),
        ("error", run.error.clone()),
    ];
    fields
        .into_iter()
        .filter_map(|(key, text)| Some((key.to_owned(), Value::from(text?))))
        .collect::<Map<_, _>>()
        .into()
}

fn hook_entry(run: &RunReport) -> HookEntry {
    let answer = run.shadow_answer.as_deref().unwrap_or(&run.answer);
    let decision = if answer.stop { Some("stop") } else { answer.decision.map(|decision| decision.as_str()) };
    HookEntry {
        hook: run.hook.clone(),
        source: run.source.to_string(),
        hook_type: run.hook_type.to_owned(),
        fingerprint: declaration_digest(&run.declaration),
        guard: run.declaration.is_guard(),
        mode: run.shadow_answer.as_ref().map(|_| "shadow".to_owned()),
        background: run.in_background,
        status: run.status.as_str().to_owned(),
        failure: run.failure.map(|cause| cause.as_str().to_owned()),
        exit_code: run.exit_code,
        signal: run.signal,
        decision: decision.map(str::to_owned),
        matched: match_text(&run.match_reason),
        ms: millis(run.duration),
    }
}

/// Returns a short digest of a hook's declaration, to tell whether two lines are about the same one.
fn declaration_digest(hook: &Hook) -> String {
    let fields: Vec<String> =
        hook.fingerprint_fields().into_iter().map(|(key, value)| format!("{key}={}:{value}", value.len())).collect();
    let digest = Digest::compute(fields.join("\n").as_bytes()).to_string();
    digest[..16].to_owned()
}

/// Says what kind of effect a hook's `when` matched. The effect itself is content.
fn match_text(reason: &MatchReason) -> Option<String> {
    match reason {
        MatchReason::Always => None,
        MatchReason::Effect { aspect, .. } => Some(aspect.as_str().to_owned()),
        MatchReason::Uncertain { .. } => Some("uncertain".to_owned()),
    }
}

/// Returns a duration in milliseconds with three decimals, as lines have it.
pub fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

struct Job {
    entry: Entry,
    content: Option<Map<String, Value>>,
    written: SyncSender<()>,
}

/// Opens the journal, once there is something to write.
pub type JournalOpener = Box<dyn FnOnce() -> Result<(Journal, Redactor), JournalError> + Send>;

/// Writes the lines of a session. The journal is opened with the first one.
pub struct Recorder {
    source: EventSource,
    state: Mutex<RecorderState>,
    lost: Arc<AtomicU64>,
    /// The number of lines that the thread has not written yet.
    waiting: Arc<AtomicUsize>,
    /// The calls that have a line, so that what becomes of them is recorded too.
    open_calls: Mutex<HashMap<String, CallContent>>,
}

/// Whether a line about a call may have content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallContent {
    Recorded,
    Withheld,
}

enum RecorderState {
    Unopened(JournalOpener),
    Writing { jobs: SyncSender<Job>, finished: Receiver<()> },
    Closed,
}

impl Recorder {
    /// A recorder that opens the journal with its first line.
    pub fn new(source: EventSource, opener: JournalOpener) -> Recorder {
        Recorder {
            source,
            state: Mutex::new(RecorderState::Unopened(opener)),
            lost: Arc::default(),
            waiting: Arc::default(),
            open_calls: Mutex::default(),
        }
    }

    /// Writes a line, and waits until it is on the disk, for a short time at most. In a burst of events it does not wait.
    pub fn record(&self, entry: Entry, content: Option<Map<String, Value>>) {
        let (written, is_written) = sync_channel(1);
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let is_sent = self.jobs().is_some_and(|jobs| jobs.try_send(Job { entry, content, written }).is_ok());
        if !is_sent {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        } else if before <= MAX_LINES_WAITED_FOR {
            // The writer drops its end once the line is written.
            let _ = is_written.recv_timeout(WRITE_TIMEOUT);
        }
    }

    /// Returns the queue of the writing thread, which is started first if need be.
    fn jobs(&self) -> Option<SyncSender<Job>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, RecorderState::Unopened(_))
            && let RecorderState::Unopened(opener) = std::mem::replace(&mut *state, RecorderState::Closed)
        {
            let (jobs, queue) = sync_channel(MAX_WAITING_LINES);
            let (done, finished) = sync_channel(1);
            let (lost, waiting) = (self.lost.clone(), self.waiting.clone());
            let write = move || {
                write_jobs(opener, &queue, &lost, &waiting);
                drop(done);
            };
            let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(write);
            *state = thread.map_or(RecorderState::Closed, |_| RecorderState::Writing { jobs, finished });
        }
        match &*state {
            RecorderState::Writing { jobs, .. } => Some(jobs.clone()),
            RecorderState::Unopened(_) | RecorderState::Closed => None,
        }
    }

    /// Whether an event of a call is on record, and what became of the call is not yet.
    pub fn has_call(&self, call: &str) -> bool {
        self.open_calls.lock().unwrap_or_else(PoisonError::into_inner).contains_key(call)
    }

    /// Writes an event. What becomes of the call that it is about is recorded from then on.
    pub fn record_event(&self, entry: EventEntry, content: Option<Map<String, Value>>) {
        if let Some(call) = entry.call.clone() {
            let mut calls = self.open_calls.lock().unwrap_or_else(PoisonError::into_inner);
            // What one event of a call withholds, a later one must not bring back.
            let known = calls.entry(call).or_insert(CallContent::Recorded);
            if content.is_none() {
                *known = CallContent::Withheld;
            }
        }
        self.record(Entry::Event(Box::new(entry)), content);
    }

    /// Writes what became of a call, if an event of it is on record.
    pub fn record_call(&self, call: CallEntry, error: Option<&str>) {
        let before = self.open_calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&call.call);
        let Some(content) = before else { return };
        let error = error.filter(|_| content == CallContent::Recorded);
        let content = error.map(|error| Map::from_iter([("error".to_owned(), Value::from(error))]));
        self.record(Entry::Call(call), content);
    }

    /// Whether a line has been written.
    pub fn has_lines(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*state, RecorderState::Writing { .. })
    }

    /// The agent whose events are recorded.
    pub fn source(&self) -> &EventSource {
        &self.source
    }

    /// The number of lines that could not be written.
    pub fn lost_lines(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until all lines are written, for a bounded time. Later lines are lost.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let RecorderState::Writing { jobs, finished } = std::mem::replace(&mut *state, RecorderState::Closed) {
            drop(jobs);
            // The thread drops its end when it is done.
            let _ = finished.recv_timeout(CLOSE_TIMEOUT);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

impl Observer for Recorder {
    fn event_finished(&self, report: &EventReport<'_>) {
        let (entry, content) = event_entry(report, &self.source);
        self.record_event(entry, content);
    }
}

fn write_jobs(opener: JournalOpener, queue: &Receiver<Job>, lost: &AtomicU64, waiting: &AtomicUsize) {
    let mut opened = opener();
    if let Err(error) = &opened {
        tracing::warn!(%error, "can't open the journal");
    }
    // Iteration ends when the recorder drops its end.
    for Job { entry, content, written } in queue {
        let done = match &mut opened {
            Ok((journal, redactor)) => {
                journal.append_with_content(redactor, entry, content).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = done {
            lost.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(error, "can't write a line of the journal");
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
        drop(written);
    }
}

/// Returns what opens the user's journal as the settings say; `None` if the user wants none.
pub fn opener(loaded: &LoadedConfig) -> Option<JournalOpener> {
    let settings = loaded.settings.journal.clone();
    if !settings.enabled {
        return None;
    }
    let (env, paths) = (loaded.process_env.clone(), loaded.paths.clone());
    let blocked = loaded.redaction.as_ref().map(|rules| rules.blocked.clone()).unwrap_or_default();
    Some(Box::new(move || {
        let journal = Journal::open(&paths.journal, JournalOptions::from_settings(&settings))?;
        let secrets = Secrets::with_model_keys(&env, &paths);
        secrets.learn_env(&env.env, &blocked);
        let level = ContentLevel::from_word(&settings.content).unwrap_or_default();
        Ok((journal, Redactor { level, secrets: Arc::new(secrets) }))
    }))
}
