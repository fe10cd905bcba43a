//! `!command`: the user's own shell command, run as the shell tool would. The user is not asked again, but a hook or a rule
//! may say no. The model reads of it with the next prompt.

use hookwright_hooks::RequestedBy;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::call::wanted::{self, Consent, NotRun, Voice, Wanted};
use crate::context::reader::object;
use crate::event::{AgentEvent, TurnEnd};
use crate::scope::Scope;
use crate::translate::defuse;

const TOOL: &str = "run_shell_command";

pub(super) async fn run(agent: &mut Agent, command: String, cancel: CancellationToken) {
    let services = agent.services().clone();
    if services.tools.now().get(TOOL).is_none() {
        let end = TurnEnd::failed("the settings leave out the shell tool");
        return services.events.send(AgentEvent::TurnFinished(end));
    }
    let wanted = Wanted {
        id: format!("user-{}", uuid::Uuid::new_v4()),
        tool: TOOL,
        args: object(json!({ "command": command })),
        requested_by: RequestedBy::User,
        consent: Consent::Given,
        voice: Voice::As("!"),
        tools: None,
    };
    let told = match wanted::run(&services, wanted, &Scope::outside(&cancel)).await {
        Ok(given) => given.result.llm_content.to_text(),
        // What did not run is nothing to tell the model of; the user has read why.
        Err(NotRun::Refused(_) | NotRun::Denied(_)) => return,
        Err(NotRun::Stopped(reason)) => {
            return services.events.send(AgentEvent::TurnFinished(TurnEnd::Stopped(reason)));
        }
        Err(NotRun::Failed(failure)) => failure.message,
        Err(NotRun::Cancelled) => "Cancelled".to_owned(),
    };
    agent.tell(format!("I ran this command myself: {}\n\n{told}", defuse(&command)));
}
