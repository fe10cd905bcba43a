//! A lane asks hooks about events one after another; several lanes work at the same time.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_bridge::{Host, ToolRecognition};
use hookwright_hooks::{
    AgentHost, AnyEvent, EventKind, HookEngine, Outcome, RunContext, RunReport, RunStatus, SubAgent,
};
use hookwright_journal::{BridgeRefusal, EventEntry, JournalLine, Reader, Verdict, merged_verdict};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::comparison::{Difference, DifferenceKind, HookRunFacts, ReplayReport, recorded_verdict, without_approval};
use super::policies::{PolicyVerdicts, call_key};
use super::target::ReplayTarget;
use crate::bridge::{ForeignCall, unknown_call_refusal};
use crate::commands::journal::{recorded_input, subject};

/// After this many timeouts a hook is not asked any more.
const MAX_TIMEOUTS: u32 = 3;

/// Who decides where the bridge refuses without the answer of a hook.
const BRIDGE: &str = "the bridge itself";

/// The targets by the project's path, or why its events can't be replayed.
pub(super) type Targets = HashMap<PathBuf, Result<Arc<ReplayTarget>, String>>;

/// A line of the journal with its text still unread.
pub(super) type LineText = Box<str>;

/// Asks hooks about a part of the events.
pub(super) struct Lane {
    reader: Reader,
    only_hook: Option<Arc<str>>,
    /// What policies decided about the recorded calls.
    policies: Arc<PolicyVerdicts>,
    engines: HashMap<PathBuf, LaneEngine>,
    pub(super) report: ReplayReport,
}

struct LaneEngine {
    engine: HookEngine,
    target: Arc<ReplayTarget>,
    /// The session and directory of the last event.
    place: Option<(String, PathBuf)>,
    timeouts: HashMap<String, u32>,
    /// The hooks that are not asked, whose recorded answers count.
    skipped: HashSet<String>,
    /// Why the bridge would refuse every call of the project now, once that was asked for.
    unguarded: OnceCell<Option<String>>,
}

/// A decision about a recorded event as it would be now.
struct DecisionNow {
    verdict: Verdict,
    by: Vec<String>,
    reason: Option<String>,
}

/// Reads the project of a line without reading the rest.
pub(super) fn project_of(line: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    #[derive(serde::Deserialize)]
    struct Place<'l> {
        #[serde(default, borrow)]
        project: Cow<'l, str>,
        #[serde(default, borrow)]
        session: Cow<'l, str>,
    }
    serde_json::from_str::<Place<'_>>(line).ok().map(|place| (place.project, place.session))
}

impl Lane {
    pub(super) fn new(reader: Reader, only_hook: Option<&str>, policies: Arc<PolicyVerdicts>) -> Lane {
        let (engines, report) = (HashMap::new(), ReplayReport::default());
        Lane { reader, only_hook: only_hook.map(Arc::from), policies, engines, report }
    }

    /// Asks hooks about these events.
    pub(super) async fn run(mut self, lines: Vec<LineText>, targets: Arc<Targets>) -> Lane {
        for text in lines {
            if let Err(why) = self.replay(&text, &targets).await {
                self.report.count_not_replayed(why);
            }
        }
        self
    }

    /// Ends the processes of the lane's hooks.
    pub(super) async fn finish(mut self) -> ReplayReport {
        for (_, lane) in self.engines.drain() {
            lane.engine.shutdown().await;
        }
        self.report
    }

    /// Asks hooks about one event.
    ///
    /// # Errors
    /// Why it is not possible.
    async fn replay(&mut self, text: &str, targets: &Targets) -> Result<(), String> {
        let mut line: JournalLine = serde_json::from_str(text).map_err(|_| "the line is damaged".to_owned())?;
        let event = line.event().ok_or("it is no event")?;
        if event.refusal == Some(BridgeRefusal::UnreadablePayload) {
            return Err("the bridge could not read what the agent sent".to_owned());
        }
        let project = event.project.clone();
        let target = match targets.get(Path::new(&project)) {
            Some(Ok(target)) => target,
            Some(Err(why)) => return Err(why.clone()),
            None => return Err("the project is not known".to_owned()),
        };
        let input = take_input(&self.reader, &mut line, text, target)?;
        let JournalLine { entry: hookwright_journal::Entry::Event(event), .. } = &line else {
            return Err("it is no event".to_owned());
        };
        let kind = EventKind::from_name(&event.event).ok_or("the event is not known here")?;
        if event.hooks.is_empty() && event.verdict >= Verdict::Ask && event.refusal.is_none() {
            return Err("it was refused before a hook was asked".to_owned());
        }
        let lane = match self.engines.get_mut(Path::new(&project)) {
            Some(lane) => lane,
            None => self.engines.entry(PathBuf::from(&project)).or_insert_with(|| LaneEngine::new(target.clone())),
        };
        if let Some(name) = self.only_hook.as_deref()
            && let Some(why) = lane.target.skipped.get(name)
        {
            return Err(format!("hook {name} is not asked: {why}"));
        }
        lane.enter(event, &input)?;
        let context = run_context(event, &input);
        let is_redacted = text.contains("***");
        let policy = match self.only_hook {
            None if kind == EventKind::BeforeTool => target.policy_decision(event, &input),
            _ => None,
        };
        let any = AnyEvent::from_fields(kind, input).map_err(|error| format!("its input is not complete ({error})"))?;
        self.report.replayed += 1;
        self.report.redacted += u64::from(is_redacted);
        let own_refusal = if self.only_hook.is_none() { lane.bridge_refusal(event, &any) } else { None };
        let now = match own_refusal {
            Some(reason) => DecisionNow { verdict: Verdict::Deny, by: vec![BRIDGE.to_owned()], reason: Some(reason) },
            None => lane.ask_hooks(event, &any, &context, self.only_hook.as_deref(), &mut self.report).await,
        };
        let now = match policy {
            Some(policy) if Verdict::from(policy.decision) > now.verdict => {
                DecisionNow { verdict: policy.decision.into(), by: vec![policy.by], reason: policy.message }
            }
            _ => now,
        };
        let before = self.recorded_verdict(event);
        if let Some(kind) = DifferenceKind::between(before, now.verdict) {
            let difference = self.difference(&line, before, kind, now);
            self.report.differences.extend(difference);
        }
        Ok(())
    }

    /// The verdict on record, with that of policies.
    fn recorded_verdict(&self, event: &EventEntry) -> Verdict {
        let by_hooks = recorded_verdict(event, self.only_hook.as_deref());
        match &self.only_hook {
            Some(_) => by_hooks,
            None if self.policies.is_empty() => by_hooks,
            None => by_hooks.max(self.policies.get(&call_key(event)).copied().unwrap_or_default()),
        }
    }

    fn difference(
        &self,
        line: &JournalLine,
        before: Verdict,
        kind: DifferenceKind,
        now: DecisionNow,
    ) -> Option<Difference> {
        let event = line.event()?;
        let by = match &self.only_hook {
            Some(only) => vec![only.to_string()],
            None if now.verdict > before => now.by,
            None if !event.decided_by.is_empty() => event.decided_by.clone(),
            None if event.refusal.is_some() => vec![BRIDGE.to_owned()],
            None => vec!["a policy".to_owned()],
        };
        Some(Difference {
            line: line.seq,
            time: line.time.clone(),
            agent: event.agent.clone(),
            project: event.project.clone(),
            session: event.session.clone(),
            event: event.event.clone(),
            about: subject(line),
            before,
            after: now.verdict,
            by,
            reason: now.reason,
            kind,
        })
    }
}

impl DecisionNow {
    fn by_hooks(verdict: Verdict, outcome: &Outcome<()>) -> DecisionNow {
        let merged = &outcome.merged;
        let shadow = outcome.runs.iter().find_map(|run| run.shadow_answer.as_deref());
        let mut answers = [Some(&merged.answer), shadow].into_iter().flatten();
        let reason = answers.find_map(|answer| answer.stop_reason.clone().or_else(|| answer.reason.clone()));
        let by = if merged.decided_by.is_empty() { &merged.approved_by } else { &merged.decided_by };
        DecisionNow { verdict, by: by.clone(), reason }
    }
}

impl LaneEngine {
    fn new(target: Arc<ReplayTarget>) -> LaneEngine {
        let skipped = target.skipped.keys().cloned().collect();
        let engine = target.engine();
        LaneEngine { engine, target, place: None, timeouts: HashMap::new(), skipped, unguarded: OnceCell::new() }
    }

    /// Asks the hooks about an event.
    async fn ask_hooks(
        &mut self,
        event: &EventEntry,
        any: &AnyEvent,
        context: &RunContext,
        only_hook: Option<&str>,
        report: &mut ReplayReport,
    ) -> DecisionNow {
        let outcome = self.engine.fire_any_in_context(any, context, &CancellationToken::new()).await;
        let runs: Vec<HookRunFacts> = outcome.runs.iter().map(replayed_run).collect();
        self.drop_hanging_hooks(&outcome.runs, report);
        let is_meant = |name: &str| only_hook.is_none_or(|only| only == name);
        let is_compared = |run: &HookRunFacts| is_meant(&run.hook) && !self.skipped.contains(&run.hook);
        let then: Vec<HookRunFacts> = event.hooks.iter().map(HookRunFacts::recorded).filter(is_compared).collect();
        report.add_runs(&then, &runs);
        let verdict = match only_hook {
            Some(_) => runs.iter().map(|run| run.decision).max().map_or(Verdict::Pass, without_approval),
            None => merged_verdict(&outcome.merged).max(self.recorded_answers(event)),
        };
        DecisionNow::by_hooks(verdict, &outcome)
    }

    /// Why the bridge itself would refuse an event of another agent now, if it would.
    ///
    /// Whether guards are armed is asked only for events that were refused for that: today's state says nothing of
    /// another day.
    fn bridge_refusal(&self, event: &EventEntry, any: &AnyEvent) -> Option<String> {
        match event.refusal {
            Some(BridgeRefusal::GuardNotArmed | BridgeRefusal::BrokenSettings) => {
                self.unguarded.get_or_init(|| self.target.unguarded_reason(&self.engine)).clone()
            }
            _ => {
                let recognition = ToolRecognition::from_word(event.known.as_deref()?)?;
                if matches!(recognition, ToolRecognition::Known | ToolRecognition::Harmless) {
                    return None;
                }
                let host = Host::from_name(&event.agent)?;
                let is_gate = host.event(event.host_event.as_deref()?)?.is_gate();
                let call = ForeignCall {
                    agent: host.title(),
                    tool: event.host_tool.as_deref()?,
                    recognition,
                    uncertainty: event.doubt.as_deref(),
                    events: vec![any],
                };
                is_gate.then(|| unknown_call_refusal(&call, &self.engine)).flatten().map(|(_, words)| words)
            }
        }
    }

    /// Switches to the session and the directory of an event.
    fn enter(&mut self, event: &EventEntry, input: &Map<String, Value>) -> Result<(), String> {
        let cwd = input.get("cwd").and_then(Value::as_str).map_or(self.target.root(), Path::new);
        if self.place.as_ref().is_some_and(|(session, place)| *session == event.session && place == cwd) {
            return Ok(());
        }
        if !cwd.is_dir() {
            return Err("its working directory is gone".to_owned());
        }
        let transcript = input.get("transcript_path").and_then(Value::as_str).unwrap_or_default();
        self.engine.set_session(self.target.session(&event.session, cwd, transcript.into()));
        self.place = Some((event.session.clone(), cwd.to_owned()));
        Ok(())
    }

    /// Stops asking hooks that time out again and again.
    fn drop_hanging_hooks(&mut self, runs: &[RunReport], report: &mut ReplayReport) {
        for run in runs {
            if run.status != RunStatus::TimedOut {
                self.timeouts.remove(&run.hook);
                continue;
            }
            let count = self.timeouts.entry(run.hook.clone()).or_default();
            *count += 1;
            if *count >= MAX_TIMEOUTS {
                self.engine.update(|registry| registry.retain(|hook| hook.id() != run.hook));
                self.skipped.insert(run.hook.clone());
                let why = format!("it timed out {MAX_TIMEOUTS} times in a row, so that it was not asked any more");
                report.skipped_hooks.insert(run.hook.clone(), why);
            }
        }
    }

    /// The strongest recorded answer of hooks that are not asked.
    fn recorded_answers(&self, event: &EventEntry) -> Verdict {
        let skipped = event.hooks.iter().filter(|hook| hook.mode.is_none() && self.skipped.contains(&hook.hook));
        skipped.map(|hook| without_approval(HookRunFacts::recorded(hook).decision)).max().unwrap_or_default()
    }
}

/// Takes the recorded input of an event out of its line.
///
/// # Errors
/// Why it is not on record, or not whole.
fn take_input(
    reader: &Reader,
    line: &mut JournalLine,
    text: &str,
    target: &ReplayTarget,
) -> Result<Map<String, Value>, String> {
    if text.contains("\"sha256:") {
        reader.resolve(line);
    }
    let input = recorded_input(line)?;
    Ok(match &target.moved {
        None => input.clone(),
        Some((from, to)) => input.iter().map(|(key, value)| (key.clone(), with_path(value, from, to))).collect(),
    })
}

/// Returns the value with another path in place of the project's.
fn with_path(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) if text.contains(from) => Value::from(text.replace(from, to)),
        Value::Array(items) => items.iter().map(|item| with_path(item, from, to)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), with_path(value, from, to))).collect(),
        other => other.clone(),
    }
}

fn run_context(event: &EventEntry, input: &Map<String, Value>) -> RunContext {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let host = input.get("host").and_then(Value::as_object).map(|host| {
        let text = |key: &str| host.get(key).and_then(Value::as_str).map(str::to_owned);
        Arc::new(AgentHost {
            name: text("name").unwrap_or_else(|| event.agent.clone()),
            version: text("version"),
            event: text("event").or_else(|| event.host_event.clone()).unwrap_or_default(),
            tool_name: text("tool_name"),
            tool_input: host.get("tool_input").and_then(Value::as_object).cloned(),
        })
    });
    let agent = event.subagent.as_ref().map(|id| {
        Arc::new(SubAgent {
            name: text("agent_name").unwrap_or_default(),
            id: id.clone(),
            transcript_path: text("agent_transcript_path").unwrap_or_default().into(),
        })
    });
    RunContext {
        turn_id: event.turn.as_deref().map(Arc::from),
        agent,
        host,
        approval_mode: text("approval_mode").map(Cow::Owned),
        ..RunContext::default()
    }
}

fn replayed_run(run: &RunReport) -> HookRunFacts {
    let answer = run.shadow_answer.as_deref().unwrap_or(&run.answer);
    let decision = match answer.decision {
        _ if answer.stop => Verdict::Stop,
        decision => decision.and_then(|decision| Verdict::from_word(decision.as_str())).unwrap_or_default(),
    };
    HookRunFacts {
        hook: run.hook.clone(),
        decision,
        error: run.error.clone(),
        failed: run.failure.is_some(),
        ms: run.duration.as_secs_f64() * 1e3,
    }
}
