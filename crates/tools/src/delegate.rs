//! The tool `delegate_to_agent`: gives an objective to a sub-agent and waits for its report. The [`Delegation`] of the
//! call's context runs the sub-agent.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::ToolContext;
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::result::ToolResult;
use crate::tool::{BoxFuture, Declaration, Tool, ToolKind, one_line};

/// The name of the tool.
pub const DELEGATE_TO_AGENT: &str = "delegate_to_agent";

/// Runs sub-agents for a tool call.
pub trait Delegation: std::fmt::Debug + Send + Sync {
    /// Runs an agent with an objective and returns its report.
    fn delegate<'a>(&'a self, agent: &'a str, objective: &'a str) -> BoxFuture<'a, ToolResult>;
}

/// A sub-agent that can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateAgent {
    pub name: String,
    /// The task that the agent is made for, as the model reads it.
    pub description: String,
}

/// The tool `delegate_to_agent` for a fixed list of agents.
pub struct DelegateToAgent {
    agents: Vec<DelegateAgent>,
}

impl DelegateToAgent {
    /// Creates the tool for these agents; `None` if there are none.
    pub fn for_agents(agents: Vec<DelegateAgent>) -> Option<Arc<dyn Tool>> {
        (!agents.is_empty()).then(|| Arc::new(DelegateToAgent { agents }) as Arc<dyn Tool>)
    }
}

#[derive(Deserialize)]
struct DelegateArgs {
    agent_name: String,
    objective: String,
}

impl Tool for DelegateToAgent {
    fn name(&self) -> &str {
        DELEGATE_TO_AGENT
    }

    fn display_name(&self) -> &str {
        "Delegate"
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Agent
    }

    fn declaration(&self) -> Declaration {
        let agents: Vec<String> =
            self.agents.iter().map(|agent| format!("- {}: {}", agent.name, agent.description)).collect();
        let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        let description = format!(
            "Gives a task to another agent, which works on it by itself with tools of its own and comes back with a report. \
             It knows nothing of this conversation, and its work takes none of your room. Use it for a task that one of \
             the agents is made for, or that would read far more than its answer needs. Tasks that do not depend on each \
             other can go to several agents in one answer; agents that change the same files must not work at once.\n\n\
             The agents:\n{}",
            agents.join("\n")
        );
        let parameters = json!({
            "type": "object",
            "properties": {
                "agent_name": { "type": "string", "enum": names, "description": "Which agent." },
                "objective": {
                    "type": "string",
                    "description": "The whole task: what is wanted, all that the agent needs to know for it, and what \
                        the report should say."
                }
            },
            "required": ["agent_name", "objective"],
        });
        Declaration { name: DELEGATE_TO_AGENT.to_owned(), description, parameters }
    }

    fn describe(&self, args: &Value) -> String {
        match DelegateArgs::deserialize(args) {
            Ok(args) => one_line(&format!("{}: {}", args.agent_name, args.objective), 200),
            Err(_) => one_line(&args.to_string(), 200),
        }
    }

    fn run<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = match DelegateArgs::deserialize(args) {
                Ok(args) => args,
                Err(error) => return ToolFailure::invalid_params(format!("params: {error}")).into(),
            };
            if args.objective.trim().is_empty() {
                return ToolFailure::invalid_params("The 'objective' parameter cannot be empty.").into();
            }
            match &ctx.delegation {
                Some(delegation) => delegation.delegate(&args.agent_name, &args.objective).await,
                None => ToolFailure::new(ToolErrorKind::ExecutionFailed, "there is nobody to delegate to").into(),
            }
        })
    }
}
