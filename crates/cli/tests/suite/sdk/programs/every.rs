//! A hook that does what its input asks for: the same in every language, so that one test covers them all.

use std::process::ExitCode;
use std::time::Duration;

use hookwright_sdk::serde_json::{Map, Value, json};
use hookwright_sdk::{
    AfterModel, BeforeAgent, BeforeTool, BeforeToolHookSpecificOutput, BeforeToolInput, BeforeToolOutput, Decision,
    Hook, ask, context, deny, message, pass, respond, rewrite,
};

fn everything(call: &BeforeToolInput) -> Result<BeforeToolOutput, String> {
    let text = |name: &str| call.tool_input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(match call.tool_name.as_str() {
        "deny" => deny(text("say")),
        "ask" => ask(text("say")),
        "rewrite" => rewrite(Map::from_iter([("path".to_owned(), json!(format!("{}!", text("path"))))])),
        "message" => message(text("say")),
        "hand-written" => BeforeToolOutput {
            decision: Some(Decision::Block),
            reason: Some("by hand".to_owned()),
            hook_specific_output: Some(BeforeToolHookSpecificOutput { redact_input: Some(true), ..Default::default() }),
            ..Default::default()
        },
        "throw" => return Err(text("say")),
        "panic" => panic!("{}", text("say")),
        "large" => message("x".repeat(2 * 1024 * 1024)),
        "wait" => {
            let time = call.tool_input["wait"].as_u64().unwrap_or_default();
            std::thread::sleep(Duration::from_millis(time));
            message(format!("waited {time}"))
        }
        _ => pass(),
    })
}

fn main() -> ExitCode {
    Hook::new()
        .threads(4)
        .try_on(BeforeTool, everything)
        .on(BeforeTool, |call| match call.tool_name.as_str() {
            "rewrite" => deny(format!("second: {}", call.tool_input["path"].as_str().unwrap_or_default())),
            "late" => deny("late"),
            _ => pass(),
        })
        .on(BeforeAgent, |input| context(format!("heard {}", input.prompt)))
        .on(AfterModel, |input| {
            if input.content == "unseen" {
                return message("unseen");
            }
            let messages = &input.llm_request.messages;
            let text = &messages[0].content;
            let full = input.full_content.as_deref().unwrap_or_default();
            respond(format!("{} {} {} {full}", messages.len(), text.len(), &text[..5]))
        })
        .run()
}
