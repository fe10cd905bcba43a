//! The tasks that occupy the agent. A task takes the agent and returns it; `actor.rs` decides when one starts.

use hookwright_settings::commands::CustomCommand;
use tokio_util::sync::CancellationToken;

use super::{chats, restore, setup, user_shell};
use crate::agent::{Agent, EndReason, StartSource};
use crate::checkpoint::{ConflictPolicy, RestoreScope};
use crate::event::{SessionActivity, SessionEvent, TurnEvent};

/// A task that occupies the agent.
pub(super) enum AgentTask {
    Start(StartSource),
    Prompt(String),
    PipedPrompt { piped: String, typed: String },
    UserShell(String),
    CustomCommand { command: Box<CustomCommand>, typed: String, args: String },
    ServerPrompt { server: String, name: String, args: serde_json::Map<String, serde_json::Value> },
    MaybeServerPrompt(String),
    Clear,
    Compress,
    Resume(Box<Agent>),
    Restore { number: u64, what: RestoreScope, since: ConflictPolicy },
}

impl AgentTask {
    pub(super) fn activity(&self) -> SessionActivity {
        match self {
            AgentTask::Start(_) => SessionActivity::Starting,
            AgentTask::Prompt(_)
            | AgentTask::PipedPrompt { .. }
            | AgentTask::CustomCommand { .. }
            | AgentTask::ServerPrompt { .. }
            | AgentTask::MaybeServerPrompt(_) => SessionActivity::Working,
            AgentTask::UserShell(_) => SessionActivity::RunningCommand,
            AgentTask::Clear => SessionActivity::Clearing,
            AgentTask::Compress => SessionActivity::Compressing,
            AgentTask::Resume(_) => SessionActivity::Resuming,
            AgentTask::Restore { .. } => SessionActivity::Restoring,
        }
    }

    pub(super) async fn run(
        self,
        mut agent: Box<Agent>,
        loaded: &hookwright_settings::LoadedConfig,
        cancel: &CancellationToken,
    ) -> Box<Agent> {
        match self {
            AgentTask::Start(source) => agent.start(source, cancel).await,
            AgentTask::Prompt(prompt) => drop(agent.prompt(&prompt, cancel).await),
            AgentTask::PipedPrompt { piped, typed } => drop(agent.prompt_piped(&piped, &typed, cancel).await),
            AgentTask::CustomCommand { command, typed, args } => {
                drop(agent.run_command(&command, &typed, &args, cancel).await)
            }
            AgentTask::ServerPrompt { server, name, args } => {
                drop(agent.prompt_from_server(&server, &name, args, cancel).await);
            }
            AgentTask::MaybeServerPrompt(typed) => drop(agent.prompt_or_server_prompt(&typed, cancel).await),
            AgentTask::Restore { number, what, since } => restore::restore_checkpoint(&mut agent, number, what, since),
            AgentTask::UserShell(command) => user_shell::run_user_command(&mut agent, command, cancel.clone()).await,
            AgentTask::Clear => chats::clear_conversation(&mut agent, loaded, cancel).await,
            AgentTask::Compress => {
                if let Err(end) = agent.compress(cancel).await {
                    agent.services().events.send(TurnEvent::Finished(end));
                }
            }
            AgentTask::Resume(next) => {
                agent.end(EndReason::Exit).await;
                agent.shutdown().await;
                agent = next;
                let last = setup::last_messages(agent.history());
                agent.services().events.send(SessionEvent::History(last));
                agent.start(StartSource::Resume, cancel).await;
            }
        }
        agent
    }
}
