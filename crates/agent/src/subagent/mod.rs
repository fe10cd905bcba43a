//! Runs a sub-agent: an [`Agent`] with its own conversation, tools and limits, under
//! the same hooks, approval rules and guards.
//!
//! Definitions are read by `settings::subagents`.

pub(crate) mod deadline;
mod report;
mod servers;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use hookwright_hooks::SubAgent;
use hookwright_model::GenerationConfig;
use hookwright_settings::subagents::{SubAgentDefinition, SubAgents};
use hookwright_tools::{
    BoxFuture, DELEGATE_TO_AGENT, DelegateAgent, DelegateToAgent, Delegation, ToolErrorKind, ToolFailure, ToolResult,
    ToolSource, Toolbox,
};
use tokio::sync::Semaphore;
use tracing::Instrument;

use crate::agent::Agent;
use crate::event::TurnEnd;
use crate::scope::TurnScope;
use crate::services::{Interaction, Services};
use crate::system_prompt::{SystemPromptFacts, system_prompt};
use crate::transcript::{Transcript, TranscriptError, TranscriptHeader, subagents_dir};
use deadline::Deadline;
use servers::SubAgentServers;

/// The maximum number of sub-agents that run in parallel; others wait.
const MAX_CONCURRENT_SUBAGENTS: usize = 4;

/// The sub-agents that can be called at present.
#[derive(Debug)]
pub struct SubAgentRegistry {
    definitions: RwLock<Arc<SubAgents>>,
    permits: Semaphore,
}

impl Default for SubAgentRegistry {
    fn default() -> Self {
        SubAgentRegistry { definitions: RwLock::default(), permits: Semaphore::new(MAX_CONCURRENT_SUBAGENTS) }
    }
}

impl SubAgentRegistry {
    /// Replaces the definitions for later requests.
    pub fn set_definitions(&self, agents: SubAgents, toolbox: &Toolbox) {
        let offer = |agent: &SubAgentDefinition| DelegateAgent {
            name: agent.name.clone(),
            description: agent.description.clone(),
        };
        let tool = DelegateToAgent::for_agents(agents.enabled().map(offer).collect());
        *self.definitions.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(agents);
        toolbox.set_source(&ToolSource::Agents, tool.into_iter().collect());
    }

    /// Returns the present definitions.
    pub fn current(&self) -> Arc<SubAgents> {
        self.definitions.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs sub-agents on behalf of one call.
pub(crate) struct SubAgentDelegate {
    pub(crate) services: Arc<Services>,
    pub(crate) scope: TurnScope,
    pub(crate) call_id: String,
}

impl fmt::Debug for SubAgentDelegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delegate")
    }
}

impl Delegation for SubAgentDelegate {
    fn delegate<'a>(&'a self, agent: &'a str, objective: &'a str) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { self.run(agent, objective).await.unwrap_or_else(ToolResult::from) })
    }
}

impl SubAgentDelegate {
    async fn run(&self, name: &str, objective: &str) -> Result<ToolResult, ToolFailure> {
        let agents = self.services.subagents.current();
        let definition = agents.get(name).ok_or_else(|| unknown_agent_error(name, &agents))?;
        if self.scope.agent.is_some() {
            let message = "an agent that was given a task does it itself: it can't delegate";
            return Err(ToolFailure::new(ToolErrorKind::PolicyViolation, message));
        }
        let _place = tokio::select! {
            place = self.services.subagents.permits.acquire() => place,
            () = self.scope.cancel.cancelled() => return Err(ToolFailure::cancelled()),
        };
        let deadline = Arc::new(Deadline::new(definition.timeout));
        let (mut agent, scope, own) = self.create_agent(definition, &deadline).await?;
        let span = tracing::info_span!("agent", id = scope.agent.as_ref().map(|agent| agent.id.as_str()));
        let end = tokio::select! {
            end = agent.run_objective(objective, &scope).instrument(span) => end,
            // Cancels the work at the deadline, and keeps waiting for it to end.
            () = async { deadline.cancel_when_expired(&scope.cancel).await; std::future::pending().await } => TurnEnd::Cancelled,
        };
        own.shut_down().await;
        let is_late = deadline.is_expired() && !self.scope.is_cancelled();
        let work = report::SubAgentReport {
            definition,
            final_text: agent.last_model_text(),
            requests: agent.services().budget.spent_requests(),
        };
        Ok(match end {
            TurnEnd::Cancelled if is_late => work.into_timeout_result(),
            end => work.into_result(&end),
        })
    }

    /// Creates the agent, its scope, and the MCP servers of its own.
    async fn create_agent(
        &self,
        definition: &SubAgentDefinition,
        deadline: &Arc<Deadline>,
    ) -> Result<(Agent, TurnScope, SubAgentServers), ToolFailure> {
        let id = format!("{}-{}", definition.name, &uuid::Uuid::new_v4().simple().to_string()[..8]);
        let model = definition.model.clone().unwrap_or_else(|| self.services.model.name());
        let transcript = self.create_transcript(&id, &model)?;
        let (name, transcript_path) = (definition.name.clone(), transcript.path().to_owned());
        let identity = Arc::new(SubAgent { name, id, transcript_path });
        let tools = definition.tools.clone();
        let services = Services {
            tools: Arc::new(self.services.tools.subset(move |tool| {
                let mcp = tool.mcp_origin().map(|of| of.mcp_name(tool.name()));
                tool.name() != DELEGATE_TO_AGENT && tools.has(tool.name(), mcp)
            })),
            generation: GenerationConfig {
                temperature: definition.temperature.or(self.services.generation.temperature),
                ..self.services.generation.clone()
            },
            events: self.services.events.for_subagent(&identity, &self.call_id),
            budget: self.services.budget.for_subagent(definition.max_turns),
            ..Services::clone(&self.services)
        };
        let scope = TurnScope { agent: Some(identity), deadline: Some(deadline.clone()), ..self.scope.child() };
        let own = SubAgentServers::start(definition, &services, &scope.cancel).await;
        let mut system = subagent_system_prompt(definition, &services);
        system.extend(own.instructions().map(|words| format!("\n{words}")));
        Ok((Agent::new(services, model, system, transcript, Vec::new()), scope, own))
    }

    /// Creates the sub-agent's transcript, beside the session's.
    ///
    /// Without hooks, a file that cannot be created is left out; with hooks it is
    /// an error, as their input names the file.
    fn create_transcript(&self, id: &str, model: &str) -> Result<Transcript, ToolFailure> {
        let session = self.services.hooks.session();
        let header = TranscriptHeader {
            branch: None,
            session_id: id.to_owned(),
            project: session.project_dir.clone(),
            model: model.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: jiff::Timestamp::now(),
        };
        let folder = subagents_dir(&session.transcript_path);
        match Transcript::create(&folder.join(format!("{id}.jsonl")), &header) {
            Err(TranscriptError::Create { .. }) if self.services.hooks.registry().hooks().is_empty() => {
                Ok(Transcript::unsaved_in(&folder, &header))
            }
            made => made.map_err(|error| ToolFailure::new(ToolErrorKind::ExecutionFailed, error.to_string())),
        }
    }
}

/// Returns the sub-agent's system prompt: its own rules, then facts about the session.
fn subagent_system_prompt(definition: &SubAgentDefinition, services: &Services) -> String {
    let workspace = services.call_context().workspace;
    let roots = workspace.roots();
    let Some(cwd) = roots.first() else { return definition.prompt.clone() };
    let facts = SystemPromptFacts {
        cwd,
        extra_directories: roots.get(1..).unwrap_or_default(),
        os: std::env::consts::OS,
        date: &jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        git_repository: cwd.ancestors().any(|folder| folder.join(".git").exists()),
        // The sub-agent cannot ask: its report goes to the agent that delegated.
        interaction: Interaction::Headless,
        approval_mode: services.approvals.mode(),
        // The `activate_skill` declaration names the skills that the sub-agent may use.
        skills: "",
        memory: "",
        override_text: Some(definition.prompt.clone()),
    };
    format!(
        "{}- Another agent gave you this task, and reads nothing but your last message: that is your report.\n",
        system_prompt(&facts)
    )
}

fn unknown_agent_error(name: &str, agents: &SubAgents) -> ToolFailure {
    let names: Vec<&str> = agents.enabled().map(|agent| agent.name.as_str()).collect();
    let failure = ToolFailure::invalid_params(format!("there is no agent {name:?}"));
    failure.hint(format!("The agents are: {}", names.join(", ")))
}
