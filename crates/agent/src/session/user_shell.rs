//! `!command`: runs the user's own shell command as the shell tool would, without approval. A hook or a rule may deny
//! it. The model gets the output with the next prompt.

use hookwright_hooks::RequestedBy;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::call::prompt_tools::{self, PromptToolCall, PromptToolError, UserConsent, Visibility};
use crate::context::prompt_reader::into_object;
use crate::event::{TurnEnd, TurnEvent};
use crate::scope::TurnScope;
use crate::translate::escape_hook_marker;

const SHELL_TOOL_NAME: &str = "run_shell_command";

pub(super) async fn run_user_command(agent: &mut Agent, command: String, cancel: CancellationToken) {
    let services = agent.services().clone();
    if services.tools.current().get(SHELL_TOOL_NAME).is_none() {
        let end = TurnEnd::failed("the settings exclude the shell tool");
        return services.events.send(TurnEvent::Finished(end));
    }
    let wanted = PromptToolCall {
        id: format!("user-{}", uuid::Uuid::new_v4()),
        tool: SHELL_TOOL_NAME,
        args: into_object(json!({ "command": command })),
        requested_by: RequestedBy::User,
        consent: UserConsent::Given,
        visibility: Visibility::Renamed("!"),
        tools: None,
    };
    let output = match prompt_tools::run_prompt_call(&services, wanted, &TurnScope::outside_turn(&cancel)).await {
        Ok(given) => given.result.llm_content.to_text(),
        // A command that did not run is not reported to the model; the user has seen why.
        Err(PromptToolError::Refused(_) | PromptToolError::Denied(_)) => return,
        Err(PromptToolError::Stopped(reason)) => {
            return services.events.send(TurnEvent::Finished(TurnEnd::Stopped(reason)));
        }
        Err(PromptToolError::Failed(failure)) => failure.message,
        Err(PromptToolError::Cancelled) => "Cancelled".to_owned(),
    };
    agent.push_user_text(format!("I ran this command myself: {}\n\n{output}", escape_hook_marker(&command)));
}
