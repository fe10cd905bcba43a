//! `!command`: the user's own shell command, run as the shell tool would. Nobody is asked: the user wrote it. The model
//! reads of it with the next prompt.

use std::time::Instant;

use hookwright_tools::{OutputSink, ToolKind};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::event::{AgentEvent, CallError, ToolEnd, ToolStart, TurnEnd};
use crate::panics::run_tool;

const TOOL: &str = "run_shell_command";

pub(super) async fn run(agent: &mut Agent, command: String, cancel: CancellationToken) {
    let services = agent.services().clone();
    let call_id = format!("user-{}", uuid::Uuid::new_v4());
    let args = Map::from_iter([("command".to_owned(), Value::String(command.clone()))]);
    let Some(tool) = services.tools.get(TOOL) else {
        let end = TurnEnd::failed("the settings leave out the shell tool");
        return services.events.send(AgentEvent::TurnFinished(end));
    };
    services.events.send(AgentEvent::ToolStarted(ToolStart {
        call_id: call_id.clone(),
        name: "!".to_owned(),
        kind: ToolKind::Execute,
        args: args.clone(),
        description: command.clone(),
        rewritten: Vec::new(),
    }));
    let mut context = services.context();
    context.cancel = cancel;
    let (events, id) = (services.events.clone(), call_id.clone());
    context.output =
        OutputSink::new(move |text| events.send(AgentEvent::ToolOutput { call_id: id.clone(), text: text.to_owned() }));
    let started = Instant::now();
    let result = run_tool(tool, &Value::Object(args.clone()), &context).await;
    agent.tell(format!("I ran this command myself: {command}\n\n{}", result.llm_content.to_text()));
    services.events.send(AgentEvent::ToolFinished(Box::new(ToolEnd {
        call_id,
        name: "!".to_owned(),
        args,
        content: result.llm_content.to_text(),
        error: result.error.map(|error| CallError { kind: error.kind, message: error.message }),
        display: result.return_display,
        duration: started.elapsed(),
        decision: None,
        command: result.command.map(|run| run.end),
        metadata: Map::new(),
        prompt_id: String::new(),
    })));
}
