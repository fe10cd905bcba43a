//! What a turn works with and does not change: model, tools, hooks, rules, and where to tell of things.

use std::sync::Arc;

use hookwright_hooks::{
    Belongs, Event, EventKind, HookEngine, HookInput, Observer, Outcome, PathResolver, RunReport, RunStart, Said,
};
use hookwright_model::{GenerationConfig, ToolDeclaration};
use hookwright_tools::mcp::Servers;
use hookwright_tools::{ToolContext, ToolSet, Toolbox};
use tokio::sync::Mutex;

use crate::approval::Approvals;
use crate::aside::Aside;
use crate::budget::Budget;
use crate::checkpoint::Checkpoints;
use crate::door::Door;
use crate::event::AgentEvent;
use crate::events::Events;
use crate::policy::Memory;
use crate::protect::Guards;
use crate::scope::Scope;
use crate::subagent::Agents;

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
    pub model: Arc<Door>,
    /// What the model can call by now.
    pub tools: Arc<Toolbox>,
    /// The agents that it can delegate to by now.
    pub agents: Arc<Agents>,
    /// The MCP servers, which bring some of them.
    pub servers: Arc<Servers>,
    /// What every tool call may use.
    pub tool_context: ToolContext,
    /// The hooks.
    pub hooks: HookEngine,
    /// What runs unasked.
    pub approvals: Arc<Approvals>,
    /// What the hooks are made of, under watch.
    pub guards: Arc<Guards>,
    /// What files were before calls change them.
    pub checkpoints: Arc<Checkpoints>,
    /// Where to tell of things.
    pub events: Events,
    /// The hooks that nobody waits for.
    pub aside: Arc<Aside>,
    /// Held by whoever asks the user: one question at a time, whatever runs side by side.
    pub asking: Arc<Mutex<()>>,
    /// Whether there is somebody to ask.
    pub interaction: Interaction,
    /// How the model is to answer.
    pub generation: GenerationConfig,
    /// Whether a model that repeats itself is stopped.
    pub loop_detection: bool,
    /// How many requests may still be made.
    pub budget: Arc<Budget>,
    /// The share of the context window at which history is compressed.
    pub compression_threshold: f64,
    /// The tokens at which it is, if that comes first.
    pub compression_target: Option<u32>,
}

impl Services {
    /// Fires an event and passes on what hooks say and what went wrong with them.
    pub(crate) async fn fire<E: Event>(&self, event: &E, scope: &Scope) -> Outcome<E::Verdict> {
        self.fire_call(event, PathResolver::default(), scope).await
    }

    /// The same for an event of a tool call, whose paths lead where they lead for the tool.
    pub(crate) async fn fire_call<E: Event>(
        &self,
        event: &E,
        paths: PathResolver,
        scope: &Scope,
    ) -> Outcome<E::Verdict> {
        // Every run is told of; a front end that does not keep up is waited for.
        if self.hooks.wants(E::KIND) {
            self.events.room(&scope.cancel).await;
        }
        // Nothing runs, nothing changes.
        let is_planned = self.hooks.plan_as(E::KIND, event.subject(), event.mcp_name()).is_some();
        let window = match scope.turn_id {
            _ if !is_planned => None,
            Some(_) => self.guards.hooks_of_turn().await,
            None => self.guards.hooks().await,
        };
        let belongs = Belongs { paths, ..self.belongs(scope) };
        let outcome = self.hooks.fire_in(event, &belongs, &scope.cancel).await;
        if let Some(window) = window {
            window.close().await;
        }
        self.pass_on::<E>(&outcome.messages, &outcome.warnings);
        outcome
    }

    /// What hooks are told of where they run, and of what may be done there unasked.
    pub(crate) fn belongs(&self, scope: &Scope) -> Belongs {
        Belongs { approval_mode: Some(self.approvals.mode().as_str().into()), ..scope.belongs() }
    }

    /// Passes on words of and about hooks.
    pub(crate) fn pass_on<E: Event>(&self, messages: &[Said], warnings: &[Said]) {
        HookEvents(self.events.clone()).later(E::KIND, messages, warnings);
    }

    /// Does something for the user that changes what is allowed for good: the file, and perhaps its folder.
    pub(crate) fn change_memory<T>(&self, memory: &Memory, change: impl FnOnce() -> T) -> T {
        let folder = memory.file.parent().unwrap_or(&memory.file);
        self.guards.own_change(folder, || self.guards.own_change(&memory.file, change))
    }

    /// What one call may use: in the working directory, wherever that is by now.
    pub(crate) fn context(&self) -> ToolContext {
        let mut context = self.tool_context.clone();
        if let Some(moved) = context.workspace.moved() {
            context.workspace = Arc::new(moved);
        }
        context
    }
}

/// What the model is told of tools.
type Told = Arc<[Arc<ToolDeclaration>]>;

/// The same for a set of tools: put together once for as long as it is the same.
#[derive(Default)]
pub(crate) struct Declared(Option<(Arc<ToolSet>, Told)>);

impl Declared {
    /// These, as the model is told of them.
    pub(crate) fn of(&mut self, tools: Arc<ToolSet>) -> Told {
        if let Some((known, declared)) = &self.0
            && Arc::ptr_eq(known, &tools)
        {
            return declared.clone();
        }
        let declared: Told = tools.declarations().cloned().collect();
        self.0 = Some((tools, declared.clone()));
        declared
    }
}

/// Tells the screen of every hook run; give it to the engine's builder.
pub struct HookEvents(pub Events);

impl Observer for HookEvents {
    fn started(&self, run: &RunStart<'_>) {
        self.0.send(AgentEvent::HookStarted {
            id: run.id,
            event: run.event,
            hook: run.hook.to_owned(),
            source: run.source.clone(),
            total: run.total,
        });
    }

    fn later(&self, event: EventKind, messages: &[Said], warnings: &[Said]) {
        for Said { hook, source, text } in messages.iter().cloned() {
            self.0.send(AgentEvent::HookMessage { event, hook, source, text });
        }
        for Said { hook, source, text } in warnings.iter().cloned() {
            self.0.send(AgentEvent::HookWarning { event, hook, source, text });
        }
    }

    fn finished(&self, run: &RunReport, input: &HookInput) {
        self.0.send(AgentEvent::HookFinished { report: Box::new(run.clone()), input: input.clone() });
    }
}
