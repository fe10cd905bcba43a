//! What the agent can be busy with, and how it does that: a job takes the agent along and gives it back. When one is begun is
//! up to `conduct.rs`.

use hookwright_settings::commands::Command;
use tokio_util::sync::CancellationToken;

use super::{chats, open, restore, shell};
use crate::agent::{Agent, EndReason, StartSource};
use crate::checkpoint::{Since, What};
use crate::event::{Activity, AgentEvent};

/// What the agent can be busy with.
pub(super) enum Job {
    Start(StartSource),
    Prompt(String),
    Piped { piped: String, typed: String },
    Shell(String),
    Custom { command: Box<Command>, typed: String, args: String },
    ServerPrompt { server: String, name: String, args: serde_json::Map<String, serde_json::Value> },
    Late(String),
    Clear,
    Compress,
    Resume(Box<Agent>),
    Restore { number: u64, what: What, since: Since },
}

impl Job {
    pub(super) fn activity(&self) -> Activity {
        match self {
            Job::Start(_) => Activity::Starting,
            Job::Prompt(_) | Job::Piped { .. } | Job::Custom { .. } | Job::ServerPrompt { .. } | Job::Late(_) => {
                Activity::Working
            }
            Job::Shell(_) => Activity::RunningCommand,
            Job::Clear => Activity::Clearing,
            Job::Compress => Activity::Compressing,
            Job::Resume(_) => Activity::Resuming,
            Job::Restore { .. } => Activity::Restoring,
        }
    }

    pub(super) async fn run(
        self,
        mut agent: Box<Agent>,
        loaded: &hookwright_settings::Loaded,
        cancel: &CancellationToken,
    ) -> Box<Agent> {
        match self {
            Job::Start(source) => agent.start(source, cancel).await,
            Job::Prompt(prompt) => drop(agent.prompt(&prompt, cancel).await),
            Job::Piped { piped, typed } => drop(agent.prompt_piped(&piped, &typed, cancel).await),
            Job::Custom { command, typed, args } => drop(agent.run_command(&command, &typed, &args, cancel).await),
            Job::ServerPrompt { server, name, args } => {
                drop(agent.prompt_of_server(&server, &name, args, cancel).await);
            }
            Job::Late(typed) => drop(agent.prompt_late(&typed, cancel).await),
            Job::Restore { number, what, since } => restore::run(&mut agent, number, what, since),
            Job::Shell(command) => shell::run(&mut agent, command, cancel.clone()).await,
            Job::Clear => chats::clear(&mut agent, loaded, cancel).await,
            Job::Compress => {
                if let Err(end) = agent.compress(cancel).await {
                    agent.services().events.send(AgentEvent::TurnFinished(end));
                }
            }
            Job::Resume(next) => {
                agent.end(EndReason::Exit).await;
                agent.shutdown().await;
                agent = next;
                let last = open::last_messages(agent.history());
                agent.services().events.send(AgentEvent::History(last));
                agent.start(StartSource::Resume, cancel).await;
            }
        }
        agent
    }
}
