//! Evaluation of a host event by hooks, under the same settings, trust and guards as in a session. An event is refused
//! when its guards can't be run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_agent::UntrustedChanges;
use hookwright_agent::session::unarmed_in;
use hookwright_bridge::{Host, HostEvent, HostEventInfo, HostSession, HostVerdict, Ruling, ToolRecognition};
use hookwright_hooks::{
    AgentHost, AnyEvent, EventKind, FailureAction, Hook, HookCapability, HookEngine, MergedAnswer, OnUnknown, Outcome,
    Registry, RunContext, RunLimits, Session, Source, SubAgent, UnarmedGuard,
};
use hookwright_journal::BridgeRefusal;
use hookwright_settings::{
    LoadOptions, LoadPurpose, LoadedConfig, RemovedGuardPolicy, SettingsFileState, claude_migration, load,
    record_guards,
};
use tokio_util::sync::CancellationToken;

use super::confinement::confine_calls;
use super::record::{BridgeRecord, EventCollector};
use crate::commands::run::launcher;

use super::own_refusals::{ForeignCall, unknown_call_refusal};
use super::{BridgeReply, BridgeRequest, project_root, refusal};

/// How long a timed-out hook may take to end: the agent does not wait longer.
const HOOK_KILL_GRACE_PERIOD: Duration = Duration::from_millis(200);

/// Which hooks of a configuration run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookSelection {
    All,
    /// Only the project's guards: the other hooks have run already.
    ProjectGuards,
}

/// Evaluates an event by the hooks of the project, and by the guards of the trusted projects above it.
pub(super) fn evaluate_event(call: &BridgeRequest<'_>, host_event: &HostEvent) -> BridgeReply {
    let project = project_root::find_project_root(call.host, &host_event.session, call.world);
    let loaded = load_project(call, project);
    let mut reply = evaluate_in_project(call, host_event, &loaded, HookSelection::All);
    if host_event.is_gate() {
        for outer in outer_projects(call, &host_event.session, &loaded) {
            if reply.record.ruling >= Ruling::Deny {
                break;
            }
            let mut judged = evaluate_in_project(call, host_event, &outer, HookSelection::ProjectGuards);
            if judged.record.ruling > reply.record.ruling {
                std::mem::swap(&mut reply, &mut judged);
            }
            reply.record.add_engine_events(judged.record.take_engine_events());
        }
    }
    reply.record.use_settings(&loaded);
    reply.record.add_event(host_event);
    reply
}

fn load_project(call: &BridgeRequest<'_>, project: PathBuf) -> LoadedConfig {
    load(call.world, &LoadOptions { project, purpose: LoadPurpose::Event, ..LoadOptions::default() })
}

/// Returns the trusted projects above the agent's directory, whose guards run as well.
fn outer_projects(call: &BridgeRequest<'_>, session: &HostSession, nearest: &LoadedConfig) -> Vec<LoadedConfig> {
    let folders = project_root::outer_projects(call.host, session, call.world).into_iter();
    let others = folders.filter(|folder| *folder != nearest.project.root);
    let loaded = others.map(|folder| load_project(call, folder));
    loaded.filter(|one| one.project.root != nearest.project.root && one.project.trust.is_trusted()).collect()
}

fn evaluate_in_project(
    call: &BridgeRequest<'_>,
    host_event: &HostEvent,
    loaded: &LoadedConfig,
    selection: HookSelection,
) -> BridgeReply {
    let deadline = call.deadline(host_event.info);
    let collector = EventCollector::new(host_event);
    let engine = build_engine(host_event, loaded, deadline, selection, collector.clone());
    if is_refusable(host_event)
        && let Some(cause) = unguarded_reason(&engine, loaded, host_event)
    {
        return refusal(call, host_event.info, cause);
    }
    let Some(row) = host_event.info else { return evaluate_unknown_event(call, host_event, &loaded.registry) };
    let mut verdict = HostVerdict::default();
    let unknown = ForeignCall::from_event(host_event).filter(|_| row.is_gate());
    let own_refusal = unknown.and_then(|call| unknown_call_refusal(&call, &engine));
    if let Some((_, words)) = &own_refusal {
        verdict.add_ruling(Ruling::Deny, words);
    }
    let outcomes = match verdict.ruling {
        Ruling::Pass => fire_views(call, host_event, loaded, &engine, deadline),
        _ => Ok(Vec::new()),
    };
    let outcomes = match outcomes {
        Ok(outcomes) => outcomes,
        Err(cause) => {
            let mut reply = refusal(call, host_event.info, cause);
            reply.record.add_engine_events(collector.take());
            return reply;
        }
    };
    let mut merged: Vec<MergedAnswer> = outcomes.iter().map(|outcome| outcome.merged.clone()).collect();
    let is_confined = confine_calls(host_event, loaded, call.world, selection, &mut merged);
    let mut merged_verdict = HostVerdict::from_merged(host_event, &merged);
    if is_confined {
        merged_verdict.approve_confined(host_event, &merged);
    }
    let mut verdict = if verdict.ruling == Ruling::Pass { merged_verdict } else { verdict };
    let left_out = untrusted_hook_notes(host_event, loaded, verdict.ruling);
    let mut record = match own_refusal {
        Some((cause, words)) => BridgeRecord::refused(cause, words),
        None => BridgeRecord::new(verdict.ruling, verdict.reason.clone()),
    };
    record.add_untrusted_hooks(&left_out);
    record.add_engine_events(collector.take());
    if is_confined {
        let profiles = merged.iter().flat_map(|one| one.confinements.iter().chain(&one.enforced));
        record.add_confinement(profiles.flat_map(|one| one.profile.limits()).collect());
    }
    let is_shown = host_event.is_gate() || host_event.kind() == Some(EventKind::SessionStart);
    for words in left_out.iter().filter(|_| is_shown) {
        let message = verdict.message.get_or_insert_default();
        *message = if message.is_empty() { words.clone() } else { format!("{message}\n{words}") };
    }
    let mut written = call.host.dialect().write_response(host_event, &verdict);
    let warnings: Vec<String> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.warnings)
        .map(|warning| format!("hookwright: {warning}"))
        .chain(left_out.iter().filter(|_| is_shown).map(|words| format!("hookwright: {words}")))
        .collect();
    if written.stderr.is_empty() {
        written.stderr = warnings.join("\n");
    }
    BridgeReply { response: written, record }
}

/// Builds an engine as a session has it, with timeouts that end before the agent stops waiting.
fn build_engine(
    host_event: &HostEvent,
    loaded: &LoadedConfig,
    deadline: Instant,
    selection: HookSelection,
    collector: Arc<EventCollector>,
) -> HookEngine {
    let mut registry = loaded.registry.clone();
    let is_asked = |hook: &Hook| match selection {
        HookSelection::All => true,
        HookSelection::ProjectGuards => hook.is_guard() && hook.source == Source::Project,
    };
    registry
        .retain(|hook| is_asked(hook) && host_event.should_run_hook(hook) && !is_run_by_host(host_event, hook, loaded));
    registry.limit_timeouts(
        deadline
            .saturating_duration_since(Instant::now())
            .saturating_sub(2 * HOOK_KILL_GRACE_PERIOD)
            .max(HOOK_KILL_GRACE_PERIOD),
    );
    let root = loaded.project.root.clone();
    let session = Session {
        id: host_event.session.id.clone(),
        transcript_path: host_event.session.transcript_path.clone().unwrap_or_default(),
        plans_dir: loaded.plans_dir(&host_event.session.id),
        cwd: project_root::hook_working_dir(&host_event.session, &root),
        project_dir: root,
    };
    let limits = RunLimits { kill_grace_period: HOOK_KILL_GRACE_PERIOD, ..RunLimits::default() };
    let builder = HookEngine::builder(registry).session(session).exec_envs(loaded.hook_exec_envs()).limits(limits);
    let builder = builder.confinement_launcher(launcher(&loaded.process_env)).observer(collector);
    match UntrustedChanges::gate_for(loaded) {
        Some(gate) => builder.trust_gate(gate).build(),
        None => builder.build(),
    }
}

/// Whether a refusal of the event has an effect. At `AfterAgent` it has none: another try would
/// not mend the configuration.
fn is_refusable(host_event: &HostEvent) -> bool {
    match host_event.info {
        Some(row) => row.can(HookCapability::Deny) && row.kind != Some(EventKind::AfterAgent),
        None => host_event.tool.is_some(),
    }
}

/// Returns why the event must be refused before any hook runs: settings that can't be read, or guards
/// that are not armed.
fn unguarded_reason(
    engine: &HookEngine,
    loaded: &LoadedConfig,
    host_event: &HostEvent,
) -> Option<(BridgeRefusal, String)> {
    let broken = loaded.files.iter().find(|file| file.state == SettingsFileState::Broken);
    if let Some(file) = broken {
        let path = file.path.display();
        let words = format!(
            "{path} can't be read and may contain guards, so every call is refused; `hookwright hooks validate` says what is wrong"
        );
        return Some((BridgeRefusal::BrokenSettings, words));
    }
    // A guard on an event that the agent can't refuse is missing at every gate.
    let can_be_refused = |kind| host_event.host.events_for(kind).any(|row| row.can(HookCapability::Deny));
    let kind = host_event.kind();
    let concerned = |guard: &&UnarmedGuard| {
        let mut named = loaded.registry.hooks().iter().filter(|hook| hook.id() == guard.name).peekable();
        let is_missed = |hook: &Arc<Hook>| host_event.has_view_of(hook.event) || !can_be_refused(hook.event);
        named.peek().is_none() || kind.is_none() || named.any(is_missed)
    };
    if !loaded.registry.has_guards() && loaded.unarmed_guards.is_empty() {
        return None;
    }
    let unarmed = unarmed_in(engine, loaded);
    let guard = unarmed.iter().find(concerned)?;
    Some((BridgeRefusal::GuardNotArmed, format!("{guard}; {}", guard.advice())))
}

/// Whether a guard exists, or could exist, that an unreadable event may concern.
pub(super) fn may_be_guarded(call: &BridgeRequest<'_>, row: Option<&HostEventInfo>) -> bool {
    if row.is_some_and(|row| !row.is_gate()) {
        return false;
    }
    let session = HostSession::default();
    let nearest = load_project(call, project_root::find_project_root(call.host, &session, call.world));
    let guards = |loaded: &LoadedConfig| {
        let is_broken = loaded.files.iter().any(|file| file.state == SettingsFileState::Broken);
        is_broken
            || !loaded.unarmed_guards.is_empty()
            || loaded.registry.has_guards()
            || has_blocking_hook(&loaded.registry)
    };
    guards(&nearest) || outer_projects(call, &session, &nearest).iter().any(guards)
}

/// Returns notes on hooks that would run on this event, and do not because the folder is not trusted; at the start of a
/// session, on all of them.
fn untrusted_hook_notes(host_event: &HostEvent, loaded: &LoadedConfig, ruling: Ruling) -> Vec<String> {
    if ruling >= Ruling::Deny || loaded.project.trust.is_trusted() {
        return Vec::new();
    }
    let is_start = host_event.kind() == Some(EventKind::SessionStart);
    let is_for = |hook: &Hook| {
        let mut views = host_event.views.iter().filter(|view| view.event.kind() == hook.event);
        views.any(|view| view.event.subject().is_none_or(|subject| hook.matcher.matches(subject)))
    };
    let left_out = loaded.untrusted_project_hooks();
    left_out.iter().filter(|hook| is_start || is_for(hook)).map(untrusted_hook_note).collect()
}

/// Says that a hook does not run because the folder is not trusted.
fn untrusted_hook_note(hook: &Hook) -> String {
    let file = hook.location.as_ref().map(|place| format!(" of {}", place.file.display())).unwrap_or_default();
    let blocks = hook.on_error.configured().any(|(_, action)| action == FailureAction::Block);
    let which = if blocks { " blocks when it fails, but" } else { "" };
    format!("hook {}{file}{which} does not run: the folder is not trusted", hook.id())
}

/// Whether the failure of some hook would block.
fn has_blocking_hook(registry: &Registry) -> bool {
    registry.hooks().iter().any(|hook| hook.on_error != Default::default() && !hook.is_shadow())
}

/// Answers an event that is not in the agent's table: it passes, unless it is about a tool call and
/// guards watch tool calls.
fn evaluate_unknown_event(call: &BridgeRequest<'_>, host_event: &HostEvent, registry: &Registry) -> BridgeReply {
    let guards = || registry.guards().any(|guard| guard.event == EventKind::BeforeTool);
    if host_event.tool.is_some() && registry.on_unknown() == OnUnknown::Deny && guards() {
        let words = format!(
            "{} sent an event `{}` that hookwright does not know, and this project has guards on tool calls; `hooksConfig.onUnknown` in your own settings can let it pass",
            call.host.title(),
            host_event.name
        );
        return refusal(call, None, (BridgeRefusal::UnknownEvent, words));
    }
    let written = call.host.dialect().write_response(host_event, &HostVerdict::default());
    BridgeReply { response: written, record: BridgeRecord::new(Ruling::Pass, "unknown event".to_owned()) }
}

/// Fires every view in turn. A refusal of one view refuses the event, so the remaining ones are skipped.
fn fire_views(
    call: &BridgeRequest<'_>,
    host_event: &HostEvent,
    loaded: &LoadedConfig,
    engine: &HookEngine,
    deadline: Instant,
) -> Result<Vec<Outcome<()>>, (BridgeRefusal, String)> {
    let planned = |event: &AnyEvent| engine.plan(event.kind(), event.subject());
    let plans: Vec<_> = host_event.views.iter().map(|view| planned(&view.event)).collect();
    if plans.iter().all(Option::is_none) {
        return Ok(Vec::new());
    }
    // The user does not see what a trial announces.
    if call.trial.is_none() {
        announce_hooks(loaded);
    }
    let runtime = crate::runtime::start_single_threaded()
        .map_err(|error| (BridgeRefusal::Failure, format!("hookwright can't run hooks: {error:#}")))?;
    let context = run_context(host_event);
    let cancel = CancellationToken::new();
    let outcomes = runtime.block_on(async {
        let late = cancel.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            late.cancel();
        });
        let mut outcomes: Vec<Outcome<()>> = Vec::new();
        for view in &host_event.views {
            let outcome = engine.fire_any_in_context(&view.event, &context, &cancel).await;
            let is_over = outcome.merged.answer.ends_plan() || cancel.is_cancelled();
            outcomes.push(outcome);
            if is_over {
                break;
            }
        }
        timer.abort();
        engine.shutdown().await;
        outcomes
    });
    // A thread that waits for the disk must not delay the answer.
    runtime.shutdown_background();
    let guarded = plans.iter().flatten().flat_map(|plan| &plan.hooks).any(|hook| hook.is_guard());
    let is_no = outcomes.iter().any(|outcome| outcome.merged.answer.ends_plan());
    if cancel.is_cancelled() && guarded && !is_no {
        let title = call.host.title();
        let words = format!("a guard did not finish before {title} stops waiting for it");
        return Err((BridgeRefusal::OutOfTime, words));
    }
    Ok(outcomes)
}

/// Builds the context of a run from the agent's ids and names.
fn run_context(host_event: &HostEvent) -> RunContext {
    let key =
        |name: &str| host_event.correlation_ids.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
    let agent = host_event.session.agent_id.as_ref().map(|id| SubAgent {
        name: host_event.session.agent_name.clone().unwrap_or_default(),
        id: id.clone(),
        transcript_path: host_event.session.transcript_path.clone().unwrap_or_default(),
    });
    let host = AgentHost {
        name: host_event.host.name().to_owned(),
        version: host_event.version.clone(),
        event: host_event.name.clone(),
        tool_name: host_event.tool.as_ref().map(|tool| tool.name.clone()),
        tool_input: host_event.tool.as_ref().map(|tool| tool.input.clone()),
    };
    RunContext {
        turn_id: key("turn_id").or(key("prompt_id")).or(key("generation_id")).map(Into::into),
        agent: agent.map(Arc::new),
        host: Some(Arc::new(host)),
        approval_mode: host_event.session.approval_mode.clone().map(Into::into),
        has_no_effects: host_event.tool.as_ref().is_some_and(|tool| tool.recognition == ToolRecognition::Harmless),
        ..RunContext::default()
    }
}

/// Announces new and changed hooks before they first run, and records which guards exist.
fn announce_hooks(loaded: &LoadedConfig) {
    // A closed stderr means that the user wants no notes.
    let _ = crate::frontend::session_options::announce_hooks(loaded);
    if loaded.registry.has_guards()
        && let Err(error) = record_guards(loaded, RemovedGuardPolicy::Keep)
    {
        tracing::warn!(%error, "can't remember which guards there are");
    }
}

/// Whether Claude Code runs the hook itself, so that a second run would repeat its work without guarding anything.
/// Hookwright reads such hooks where `hooksConfig.readClaude` is set.
///
/// Before a tool and at a prompt Claude Code overlooks a refusal that is not in the form it expects, so there all of
/// its hooks run again; at other events only guards do.
fn is_run_by_host(host_event: &HostEvent, hook: &Hook, loaded: &LoadedConfig) -> bool {
    let is_gate = matches!(hook.event, EventKind::BeforeTool | EventKind::BeforeAgent) && !hook.is_background();
    host_event.host == Host::ClaudeCode && !is_gate && !hook.is_guard() && is_declared_in_host_files(hook, loaded)
}

fn is_declared_in_host_files(hook: &Hook, loaded: &LoadedConfig) -> bool {
    let Some(place) = &hook.location else { return false };
    let files = claude_migration::settings_files(&loaded.paths, &loaded.project.root);
    files.iter().any(|file| **file == *place.file)
}
