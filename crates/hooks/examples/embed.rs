//! A complete example of embedding the engine: settings with a command hook, a hook in code, one event, one decision.

use std::borrow::Cow;

use hookwright_hooks::{
    Answer, BeforeTool, BeforeToolVerdict, EventKind, Hook, HookEngine, Layer, Outcome, Registry, RequestedBy, Session,
    Source, parse_layer,
};

const SETTINGS: &str = r#"{ "hooks": { "BeforeTool": [ { "matcher": "run_shell_command", "hooks": [
    { "name": "no-sudo", "type": "command", "command": "grep -q sudo && { echo no sudo >&2; exit 2; }; exit 0" }
] } ] } }"#;

/// Fires BeforeTool for a shell command.
pub(crate) async fn run(command: &str) -> Outcome<BeforeToolVerdict> {
    let declared = parse_layer(&Layer::new(Source::User, "settings.json".as_ref(), SETTINGS));
    let mut registry = Registry::new(vec![declared]);
    registry.add(Hook::from_function(EventKind::BeforeTool, "counter", |input| async move {
        let message = format!("a call of {} bytes", input.len());
        Ok(Answer { system_message: Some(message), ..Answer::default() })
    }));
    let engine = HookEngine::builder(registry)
        .session(Session { id: "s1".to_owned(), cwd: std::env::temp_dir(), ..Session::default() })
        .environment(std::env::vars_os())
        .build();

    let event = BeforeTool {
        tool_name: "run_shell_command".into(),
        tool_input: Cow::Owned(serde_json::Map::from_iter([("command".to_owned(), command.into())])),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let outcome = engine.fire(&event).await;
    engine.shutdown().await;
    outcome
}

#[expect(clippy::print_stdout, reason = "an example")]
#[tokio::main(flavor = "current_thread")]
async fn main() {
    for command in ["ls -l", "sudo ls -l"] {
        let outcome = run(command).await;
        outcome.messages.iter().for_each(|message| println!("{}: {}", message.hook, message.text));
        match outcome.verdict {
            BeforeToolVerdict::Deny { reason } => println!("{command}: denied: {reason}"),
            other => println!("{command}: {other:?}"),
        }
    }
}
