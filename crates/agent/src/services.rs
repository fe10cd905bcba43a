//! What a turn works with and does not change: model, tools, hooks, rules, and where to tell of things.

use std::sync::Arc;

use hookwright_hooks::{
    Event, EventKind, HookEngine, HookInput, HookMessage, Observer, Outcome, PathResolver, RunContext, RunReport,
    RunStart,
};
use hookwright_model::{GenerationConfig, ToolDeclaration};
use hookwright_tools::mcp::McpServerSet;
use hookwright_tools::{ToolContext, ToolSet, Toolbox};
use tokio::sync::Mutex;

use crate::approval::Approvals;
use crate::background_hooks::BackgroundHookTasks;
use crate::checkpoint::CheckpointRecorder;
use crate::event::AgentEvent;
use crate::event_channel::EventSender;
use crate::model_gateway::ModelGateway;
use crate::policy::RememberedRules;
use crate::protect::TamperWatch;
use crate::request_budget::RequestBudget;
use crate::scope::TurnScope;
use crate::subagent::SubAgentRegistry;

/// Whether there is somebody to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interaction {
    /// Nobody: what would need asking is refused.
    #[default]
    Headless,
    /// The screen answers [`AgentEvent::Approval`].
    Interactive,
}

/// Everything a turn works with. A sub-agent's is the session's, but for its own tools, bounds and voice.
#[derive(Clone)]
pub struct Services {
    /// Who answers, behind the one door.
    pub model: Arc<ModelGateway>,
    /// What the model can call by now.
    pub tools: Arc<Toolbox>,
    /// The agents that it can delegate to by now.
    pub subagents: Arc<SubAgentRegistry>,
    /// The MCP servers, which bring some of them.
    pub servers: Arc<McpServerSet>,
    /// What every tool call may use.
    pub tool_context: ToolContext,
    /// The hooks.
    pub hooks: HookEngine,
    /// What runs unasked.
    pub approvals: Arc<Approvals>,
    /// What the hooks are made of, under watch.
    pub tamper_watch: Arc<TamperWatch>,
    /// What files were before calls change them.
    pub checkpoints: Arc<CheckpointRecorder>,
    /// Where to tell of things.
    pub events: EventSender,
    /// The hooks that nobody waits for.
    pub background_hooks: Arc<BackgroundHookTasks>,
    /// Held by whoever asks the user: one question at a time, whatever runs side by side.
    pub approval_lock: Arc<Mutex<()>>,
    /// Whether there is somebody to ask.
    pub interaction: Interaction,
    /// How the model is to answer.
    pub generation: GenerationConfig,
    /// Whether a model that repeats itself is stopped.
    pub loop_detection: bool,
    /// How many requests may still be made.
    pub budget: Arc<RequestBudget>,
    /// The share of the context window at which history is compressed.
    pub compression_threshold: f64,
    /// The tokens at which it is, if that comes first.
    pub compression_target: Option<u32>,
}

impl Services {
    /// Fires an event and passes on what hooks say and what went wrong with them.
    pub(crate) async fn fire<E: Event>(&self, event: &E, scope: &TurnScope) -> Outcome<E::Verdict> {
        self.fire_with_paths(event, PathResolver::default(), scope).await
    }

    /// The same for an event of a tool call, whose paths lead where they lead for the tool.
    pub(crate) async fn fire_with_paths<E: Event>(
        &self,
        event: &E,
        paths: PathResolver,
        scope: &TurnScope,
    ) -> Outcome<E::Verdict> {
        // Every run is told of; a front end that does not keep up is waited for.
        if self.hooks.has_hooks_for(E::KIND) {
            self.events.wait_for_capacity(&scope.cancel).await;
        }
        // Nothing runs, nothing changes.
        let is_planned = self.hooks.plan_with_mcp_name(E::KIND, event.subject(), event.mcp_name()).is_some();
        let window = match scope.turn_id {
            _ if !is_planned => None,
            Some(_) => self.tamper_watch.open_turn_hook_window().await,
            None => self.tamper_watch.open_hook_window().await,
        };
        let belongs = RunContext { path_resolver: paths, ..self.run_context(scope) };
        let outcome = self.hooks.fire_in_context(event, &belongs, &scope.cancel).await;
        if let Some(window) = window {
            window.close().await;
        }
        self.forward_messages::<E>(&outcome.messages, &outcome.warnings);
        outcome
    }

    /// What hooks are told of where they run, and of what may be done there unasked.
    pub(crate) fn run_context(&self, scope: &TurnScope) -> RunContext {
        RunContext { approval_mode: Some(self.approvals.mode().as_str().into()), ..scope.run_context() }
    }

    /// Passes on words of and about hooks.
    pub(crate) fn forward_messages<E: Event>(&self, messages: &[HookMessage], warnings: &[HookMessage]) {
        HookEventForwarder(self.events.clone()).background_output(E::KIND, messages, warnings);
    }

    /// Does something for the user that changes what is allowed for good: the file, and perhaps its folder.
    pub(crate) fn change_remembered_rules<T>(&self, memory: &RememberedRules, change: impl FnOnce() -> T) -> T {
        let folder = memory.file.parent().unwrap_or(&memory.file);
        self.tamper_watch.with_user_change(folder, || self.tamper_watch.with_user_change(&memory.file, change))
    }

    /// What one call may use: in the working directory, wherever that is by now.
    pub(crate) fn call_context(&self) -> ToolContext {
        let mut context = self.tool_context.clone();
        if let Some(moved) = context.workspace.relocated() {
            context.workspace = Arc::new(moved);
        }
        context
    }
}

/// What the model is told of tools.
type ToolDeclarations = Arc<[Arc<ToolDeclaration>]>;

/// The same for a set of tools: put together once for as long as it is the same.
#[derive(Default)]
pub(crate) struct DeclarationCache(Option<(Arc<ToolSet>, ToolDeclarations)>);

impl DeclarationCache {
    /// These, as the model is told of them.
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

/// Tells the screen of every hook run; give it to the engine's builder.
pub struct HookEventForwarder(pub EventSender);

impl Observer for HookEventForwarder {
    fn run_started(&self, run: &RunStart<'_>) {
        self.0.send(AgentEvent::HookStarted {
            id: run.id,
            event: run.event,
            hook: run.hook.to_owned(),
            source: run.source.clone(),
            total: run.total,
        });
    }

    fn background_output(&self, event: EventKind, messages: &[HookMessage], warnings: &[HookMessage]) {
        for HookMessage { hook, source, text } in messages.iter().cloned() {
            self.0.send(AgentEvent::HookMessage { event, hook, source, text });
        }
        for HookMessage { hook, source, text } in warnings.iter().cloned() {
            self.0.send(AgentEvent::HookWarning { event, hook, source, text });
        }
    }

    fn run_finished(&self, run: &RunReport, input: &HookInput) {
        self.0.send(AgentEvent::HookFinished { report: Box::new(run.clone()), input: input.clone() });
    }
}
