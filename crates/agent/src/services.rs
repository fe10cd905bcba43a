//! The services that a turn uses: model, tools, hooks, approval rules and the event channel.

use std::sync::Arc;

use hookwright_hooks::confinement::ConfinementLauncher;
use hookwright_hooks::{
    Event, EventKind, EventReport, HookEngine, HookInput, HookMessage, Observer, Outcome, PathResolver, RunContext,
    RunReport, RunStart,
};
use hookwright_journal::Recorder;
use hookwright_model::{GenerationConfig, ToolDeclaration};
use hookwright_tools::mcp::McpServerSet;
use hookwright_tools::{ToolContext, ToolSet, Toolbox};
use tokio::sync::Mutex;

use crate::approval::Approvals;
use crate::background_hooks::BackgroundHookTasks;
use crate::checkpoint::CheckpointRecorder;
use crate::event::HookEvent;
use crate::event_channel::EventSender;
use crate::model_gateway::ModelGateway;
use crate::policy::RememberedRules;
use crate::protect::TamperWatch;
use crate::request_budget::RequestBudget;
use crate::scope::TurnScope;
use crate::subagent::SubAgentRegistry;

/// Whether a user is present who can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interaction {
    /// No user is present: calls that need approval are refused.
    #[default]
    Headless,
    /// A front end answers [`QuestionEvent::Asked`](crate::QuestionEvent::Asked).
    Interactive,
}

/// The services that a turn uses.
///
/// A sub-agent has a copy of the session's, with its own tools, limits, request budget and event sender.
#[derive(Clone)]
pub struct Services {
    /// The gateway to the model.
    pub model: Arc<ModelGateway>,
    /// The tools that the model can call at present.
    pub tools: Arc<Toolbox>,
    /// The sub-agents that the model can delegate to at present.
    pub subagents: Arc<SubAgentRegistry>,
    /// The MCP servers, which provide some of the tools.
    pub servers: Arc<McpServerSet>,
    /// The context that every tool call gets.
    pub tool_context: ToolContext,
    /// The engine that runs the hooks.
    pub hooks: HookEngine,
    /// The approval rules of the session.
    pub approvals: Arc<Approvals>,
    /// The watch over the files that hooks depend on.
    pub tamper_watch: Arc<TamperWatch>,
    /// The recorder of file states before calls change them.
    pub checkpoints: Arc<CheckpointRecorder>,
    /// The sender of events to the front end.
    pub events: EventSender,
    /// The background hooks, whose end no turn waits for.
    pub background_hooks: Arc<BackgroundHookTasks>,
    /// The lock for questions to the user: one is asked at a time, also by parallel calls.
    pub question_lock: Arc<Mutex<()>>,
    /// Whether a user is present who can be asked.
    pub interaction: Interaction,
    /// The generation settings of requests.
    pub generation: GenerationConfig,
    /// Whether a model that repeats itself is stopped.
    pub loop_detection: bool,
    /// The number of model requests that may still be made.
    pub budget: Arc<RequestBudget>,
    /// The share of the context window at which the history is compressed.
    pub compression_threshold: f64,
    /// The number of tokens at which the history is compressed, if that is lower.
    pub compression_target: Option<u32>,
    /// The record of what hooks decide, if it is kept.
    pub journal: Option<Arc<Recorder>>,
    /// The launcher of confined commands; without one, what should run confined needs approval.
    pub confiner: Option<Arc<dyn ConfinementLauncher>>,
}

impl Services {
    /// Fires an event, and forwards the messages and warnings of its hooks.
    pub(crate) async fn fire<E: Event>(&self, event: &E, scope: &TurnScope) -> Outcome<E::Verdict> {
        self.fire_with_paths(event, PathResolver::default(), scope).await
    }

    /// Fires an event of a tool call, whose paths are resolved as they are for the tool.
    pub(crate) async fn fire_with_paths<E: Event>(
        &self,
        event: &E,
        paths: PathResolver,
        scope: &TurnScope,
    ) -> Outcome<E::Verdict> {
        // Every hook run is reported, so a front end that does not keep up is waited for.
        if self.hooks.has_hooks_for(E::KIND) {
            self.events.wait_for_capacity(&scope.cancel).await;
        }
        // Without planned hooks nothing runs, so nothing needs to be watched.
        let is_planned = self.hooks.plan_with_mcp_name(E::KIND, event.subject(), event.mcp_name()).is_some();
        let window = match scope.turn_id {
            _ if !is_planned => None,
            Some(_) => self.tamper_watch.open_turn_hook_window().await,
            None => self.tamper_watch.open_hook_window().await,
        };
        let context = RunContext { path_resolver: paths, ..self.run_context(scope) };
        let outcome = self.hooks.fire_in_context(event, &context, &scope.cancel).await;
        if let Some(window) = window {
            window.close().await;
        }
        self.forward_messages::<E>(&outcome.messages, &outcome.warnings);
        outcome
    }

    /// Returns the context of a hook run, with the approval mode.
    pub(crate) fn run_context(&self, scope: &TurnScope) -> RunContext {
        RunContext { approval_mode: Some(self.approvals.mode().as_str().into()), ..scope.run_context() }
    }

    /// Forwards messages and warnings of hooks to the front end.
    pub(crate) fn forward_messages<E: Event>(&self, messages: &[HookMessage], warnings: &[HookMessage]) {
        HookEventForwarder(self.events.clone()).background_output(E::KIND, messages, warnings);
    }

    /// Runs a change of the remembered rules as the user's own: changes of the file and
    /// its folder are not attributed to the agent.
    pub(crate) fn change_remembered_rules<T>(&self, memory: &RememberedRules, change: impl FnOnce() -> T) -> T {
        let folder = memory.file.parent().unwrap_or(&memory.file);
        self.tamper_watch.with_user_changes(&[folder, &memory.file], change)
    }

    /// Returns the context of one call, with the workspace at the present working directory.
    pub(crate) fn call_context(&self) -> ToolContext {
        let mut context = self.tool_context.clone();
        if let Some(moved) = context.workspace.relocated() {
            context.workspace = Arc::new(moved);
        }
        context
    }
}

/// The tool declarations in a request.
type ToolDeclarations = Arc<[Arc<ToolDeclaration>]>;

/// Caches the declarations of a tool set as long as the set stays the same.
#[derive(Default)]
pub(crate) struct DeclarationCache(Option<(Arc<ToolSet>, ToolDeclarations)>);

impl DeclarationCache {
    /// Returns the declarations of these tools.
    pub(crate) fn declarations_for(&mut self, tools: Arc<ToolSet>) -> ToolDeclarations {
        if let Some((known, declared)) = &self.0
            && Arc::ptr_eq(known, &tools)
        {
            return declared.clone();
        }
        let declared: ToolDeclarations = tools.declarations().cloned().collect();
        self.0 = Some((tools, declared.clone()));
        declared
    }
}

/// Forwards every hook run to the front end, as the observer of the hook engine.
pub struct HookEventForwarder(pub EventSender);

impl Observer for HookEventForwarder {
    fn run_started(&self, run: &RunStart<'_>) {
        self.0.send(HookEvent::Started {
            id: run.id,
            event: run.event,
            hook: run.hook.to_owned(),
            source: run.source.clone(),
            total: run.total,
        });
    }

    fn background_output(&self, event: EventKind, messages: &[HookMessage], warnings: &[HookMessage]) {
        for HookMessage { hook, source, text } in messages.iter().cloned() {
            self.0.send(HookEvent::Message { event, hook, source, text });
        }
        for HookMessage { hook, source, text } in warnings.iter().cloned() {
            self.0.send(HookEvent::Warning { event, hook, source, text });
        }
    }

    fn event_finished(&self, event: &EventReport<'_>) {
        if let Some(verdict) = event.verdict() {
            self.0.send(HookEvent::Decided(Box::new(verdict)));
        }
    }

    fn run_finished(&self, run: &RunReport, input: &HookInput) {
        self.0.send(HookEvent::Finished { report: Box::new(run.clone()), input: input.clone() });
    }
}
