//! Hooks that must be awake: what a guard does when it fails, and what other layers can't do to it.

use hookwright_hooks::Source;
use serde_json::{Value, json};

use super::world::{World, denied, tool_call, within};

/// Settings with one BeforeTool guard that runs this command.
fn guard(command: &str, more: Value) -> Value {
    let mut hook = json!({"type": "command", "name": "guard", "command": command, "guard": true});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
}

#[tokio::test]
async fn a_guard_that_fails_says_no_whatever_on_error_says() {
    for (command, more) in [
        ("exit 1", json!({"onError": "allow"})),
        ("kill -9 $$", json!({"onError": {"exit": "ask"}})),
        ("/nowhere/guard", json!({})),
        ("sleep 30", json!({"timeout": 150})),
        (r#"echo '{"decision": 7}'"#, json!({"onError": "allow"})),
        (r#"echo 'loading… {"decision": "allow"}'"#, json!({})),
    ] {
        let world = World::new();
        let lenient = json!({"hooksConfig": {"onError": "allow"}});
        let engine = world.layers(&[(Source::Project, lenient), (Source::User, guard(command, more))]).build();
        let outcome = within(engine.fire(&tool_call())).await;
        assert!(!outcome.warnings.is_empty(), "{command}");
        denied(&outcome);
    }
}
