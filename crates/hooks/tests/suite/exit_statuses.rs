//! The meaning of a hook's exit, with real exits, and the policy for failures.

use std::time::Duration;

use hookwright_hooks::{BeforeAgent, BeforeAgentVerdict, BeforeToolVerdict, EventKind, RunStatus, SessionStart};
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::fixture::{
    EngineFixture, assert_proceeds, command_hook, deny_reason, only_warning, print_command, tool_call,
    with_hang_timeout,
};

#[tokio::test]
async fn json_at_exit_0_is_obeyed() {
    let world = EngineFixture::new();
    let outcome =
        world.run_command(&print_command(json!({"decision": "deny", "reason": "no", "systemMessage": "look"}))).await;
    assert_eq!(deny_reason(&outcome), "no");
    assert_eq!(outcome.messages[0].text, "look");
    assert!(outcome.warnings.is_empty());
    let outcome = world.run_command(&print_command(json!({"decision": "block", "reason": "no"}))).await;
    assert_eq!(deny_reason(&outcome), "no");
    assert_proceeds(&world.run_command(&print_command(json!({"decision": "approve"}))).await);
}

#[tokio::test]
async fn a_json_string_that_holds_json_is_unwrapped() {
    let world = EngineFixture::new();
    let answer = json!({"decision": "deny", "reason": "twice"}).to_string();
    let outcome = world.run_printing(Value::String(answer).to_string().as_bytes()).await;
    assert_eq!(deny_reason(&outcome), "twice");
}

#[tokio::test]
async fn silence_at_exit_0_is_no_objection() {
    let outcome = EngineFixture::new().run_command("exit 0").await;
    assert_proceeds(&outcome);
    assert!(outcome.messages.is_empty() && outcome.warnings.is_empty());
    assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::Ok, Some(0)));
}

#[tokio::test]
async fn text_at_exit_0_is_a_message() {
    let outcome = EngineFixture::new().run_command("echo one; echo two").await;
    assert_proceeds(&outcome);
    assert_eq!(outcome.messages[0].text, "one\ntwo");
    assert_eq!(outcome.messages[0].hook, "h");
}

#[tokio::test]
async fn stderr_at_exit_0_is_only_a_log() {
    let outcome = EngineFixture::new().run_command(r#"echo '{"decision": "deny"}' >&2"#).await;
    assert_proceeds(&outcome);
    assert!(outcome.messages.is_empty() && outcome.warnings.is_empty());
    assert!(outcome.runs[0].stderr.text.contains("deny"));
}

#[tokio::test]
async fn exit_2_denies_with_the_best_reason() {
    let world = EngineFixture::new();
    assert_eq!(deny_reason(&world.run_command("echo because >&2; exit 2").await), "because");
    assert_eq!(deny_reason(&world.run_command(r#"echo '{"reason": "in json"}' >&2; exit 2"#).await), "in json");
    assert_eq!(deny_reason(&world.run_command(r#"echo '{"reason": "on stdout"}'; exit 2"#).await), "on stdout");
    assert_eq!(deny_reason(&world.run_command("echo plain; exit 2").await), "plain");
    let outcome = world.run_command(r#"echo '{"decision": "allow"}'; echo still >&2; exit 2"#).await;
    assert_eq!(deny_reason(&outcome), "still");
    assert_eq!(outcome.runs[0].status, RunStatus::Blocked);
    assert!(outcome.warnings.is_empty());
}

#[tokio::test]
async fn a_silent_exit_2_denies() {
    let outcome = EngineFixture::new().run_command("exit 2").await;
    assert_eq!(deny_reason(&outcome), "denied by hook h, which gave no reason");
}

#[tokio::test]
async fn other_codes_warn_and_do_not_block() {
    let world = EngineFixture::new();
    for code in [1, 3, 4, 77, 126, 127, 255] {
        let outcome = world.run_command(&format!("echo trouble >&2; exit {code}")).await;
        assert_proceeds(&outcome);
        assert_eq!(only_warning(&outcome), format!("exited with code {code}: trouble"));
        assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::Failed, Some(code)));
    }
}

#[tokio::test]
async fn a_json_deny_with_exit_1_does_not_block() {
    let outcome = EngineFixture::new().run_command(r#"echo '{"decision": "deny"}'; exit 1"#).await;
    assert_proceeds(&outcome);
    assert_eq!(only_warning(&outcome), "exited with code 1");
}

#[tokio::test]
async fn a_signal_warns_and_names_itself() {
    let outcome = EngineFixture::new().run_command("echo bye >&2; kill -KILL $$").await;
    assert_proceeds(&outcome);
    assert_eq!(only_warning(&outcome), "was ended by signal 9 (SIGKILL): bye");
    let run = &outcome.runs[0];
    assert_eq!((run.status, run.exit_code, run.signal), (RunStatus::Signaled, None, Some(9)));
}

#[tokio::test]
async fn a_missing_program_warns_and_does_not_block() {
    let world = EngineFixture::new();
    for command in ["no-such-program-anywhere --flag", "no-such-program-anywhere; exit $?"] {
        let outcome = world.run_command(command).await;
        assert_proceeds(&outcome);
        assert!(
            only_warning(&outcome).contains("no-such-program-anywhere: command not found"),
            "{:?}",
            outcome.warnings
        );
        let run = &outcome.runs[0];
        assert_eq!((run.status, run.exit_code), (RunStatus::NotStarted, Some(127)), "{command}");
    }
}

#[tokio::test]
async fn a_timeout_warns_and_does_not_block() {
    let hook = json!({"type": "command", "command": "echo stuck >&2; sleep 60", "timeout": 500});
    let outcome = EngineFixture::new().run_hook(hook).await;
    assert_proceeds(&outcome);
    assert_eq!(only_warning(&outcome), "ran longer than 500 ms and was ended: stuck");
    assert_eq!((outcome.runs[0].status, outcome.runs[0].exit_code), (RunStatus::TimedOut, None));
}

#[tokio::test]
async fn a_deny_printed_before_the_timeout_counts() {
    let world = EngineFixture::new();
    let hook = |answer: Value| json!({"type": "command", "timeout": 1000, "command": format!("{}; sleep 60", print_command(answer))});
    let outcome = world.run_hook(hook(json!({"decision": "deny", "reason": "seen it"}))).await;
    assert_eq!(deny_reason(&outcome), "seen it");
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    assert!(only_warning(&outcome).contains("the answer that it had already given counts"));
    let outcome = world.run_hook(hook(json!({"continue": false, "stopReason": "enough"}))).await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Stop { reason: "enough".into() });
    let allow = json!({"decision": "allow", "hookSpecificOutput": {"tool_input": {"command": "rm"}}});
    assert_proceeds(&world.run_hook(hook(allow)).await);
}

#[tokio::test]
async fn a_known_field_of_the_wrong_type_is_named_and_the_rest_counts() {
    let answer = json!({"decision": "deny", "reason": 7, "systemMessage": "hi", "unknown": [1]});
    let outcome = EngineFixture::new().run_command(&print_command(answer)).await;
    assert_eq!(deny_reason(&outcome), "denied by hook h, which gave no reason");
    assert_eq!(outcome.messages[0].text, "hi");
    assert_eq!(only_warning(&outcome), "`reason` should be a string, not 7; the rest of its answer counts");
}

#[tokio::test]
async fn suppress_output_hides_logs_and_not_the_message() {
    let outcome = EngineFixture::new()
        .run_command(&print_command(json!({"suppressOutput": true, "systemMessage": "shown"})))
        .await;
    assert!(outcome.merged.answer.suppress_output && outcome.runs[0].answer.suppress_output);
    assert_eq!(outcome.messages[0].text, "shown");
}

/// A command for each cause of failure.
const FAILURE_COMMANDS: [(&str, &str); 4] = [
    ("timeout", "sleep 60"),
    ("exit", "exit 5"),
    ("spawn", "/no/such/program"),
    ("output", r#"echo '{"decision": 7}'"#),
];

fn failing_hook(command: &str, on_error: Value) -> Value {
    // Only the sleeping command may reach its timeout, however busy the machine is.
    let timeout = if command.starts_with("sleep") { 200 } else { 30_000 };
    json!({"type": "command", "name": "guard", "command": command, "timeout": timeout, "onError": on_error})
}

#[tokio::test]
async fn on_error_block_denies_for_every_cause() {
    let world = EngineFixture::new();
    for (cause, command) in FAILURE_COMMANDS {
        let outcome = world.run_hook(failing_hook(command, json!("block"))).await;
        assert!(deny_reason(&outcome).starts_with("hook guard: "), "{cause}: {}", deny_reason(&outcome));
        assert_eq!(outcome.warnings.len(), 1, "{cause}");
    }
}

#[tokio::test]
async fn on_error_ask_asks_for_every_cause() {
    let world = EngineFixture::new();
    for (cause, command) in FAILURE_COMMANDS {
        let outcome = world.run_hook(failing_hook(command, json!("ask"))).await;
        assert!(matches!(outcome.verdict, BeforeToolVerdict::Ask { .. }), "{cause}: {:?}", outcome.verdict);
    }
}

#[tokio::test]
async fn on_error_by_cause_touches_no_other_cause() {
    let world = EngineFixture::new();
    for (cause, command) in FAILURE_COMMANDS {
        let outcome = world.run_hook(failing_hook(command, json!({cause: "block"}))).await;
        deny_reason(&outcome);
        let others: serde_json::Map<_, _> = FAILURE_COMMANDS
            .iter()
            .filter(|(other, _)| *other != cause)
            .map(|(other, _)| ((*other).to_owned(), json!("block")))
            .collect();
        assert_proceeds(&world.run_hook(failing_hook(command, Value::Object(others))).await);
    }
}

#[tokio::test]
async fn a_hooks_own_policy_comes_before_the_global_one() {
    let world = EngineFixture::new();
    let fire = |global: Value, own: Value| {
        let mut hook = command_hook("guard", "exit 5");
        if !own.is_null() {
            hook["onError"] = own;
        }
        let settings = json!({"hooksConfig": {"onError": global}, "hooks": {"BeforeTool": [{"hooks": [hook]}]}});
        let engine = world.engine_with_settings(settings).build();
        async move { with_hang_timeout(engine.fire(&tool_call())).await }
    };
    deny_reason(&fire(json!("block"), Value::Null).await);
    deny_reason(&fire(json!({"exit": "block"}), Value::Null).await);
    assert_proceeds(&fire(json!({"timeout": "block"}), Value::Null).await);
    assert_proceeds(&fire(json!("block"), json!("allow")).await);
    deny_reason(&fire(json!("allow"), json!("block")).await);
    // The hook sets no policy for exits, so the global one applies.
    deny_reason(&fire(json!("block"), json!({"timeout": "allow"})).await);
}

#[tokio::test]
async fn an_asking_failure_denies_where_asking_is_impossible() {
    let world = EngineFixture::new();
    let hooks = json!([{"type": "command", "command": "exit 5", "onError": "ask"}]);
    let engine = world.engine_with_hooks(EventKind::BeforeAgent, hooks).build();
    let outcome = with_hang_timeout(engine.fire(&BeforeAgent { prompt: "hi".into(), attachments: Vec::new() })).await;
    assert!(matches!(outcome.verdict, BeforeAgentVerdict::Deny { .. }), "{:?}", outcome.verdict);
}

#[tokio::test]
async fn a_failure_on_an_event_that_cannot_be_denied_only_warns() {
    let world = EngineFixture::new();
    let settings = json!({"hooksConfig": {"onError": "block"},
        "hooks": {"SessionStart": [{"hooks": [command_hook("start", "exit 5")]}]}});
    let outcome = with_hang_timeout(
        world.engine_with_settings(settings).build().fire(&SessionStart { source: "startup".into() }),
    )
    .await;
    assert_eq!(only_warning(&outcome), "exited with code 5");
    assert_eq!(outcome.merged.answer.decision, None);
}

#[tokio::test]
async fn the_clock_measures_the_run() {
    let outcome = EngineFixture::new().run_command("sleep 0.05").await;
    assert!(outcome.runs[0].duration >= Duration::from_millis(50), "{:?}", outcome.runs[0].duration);
}

/// The tests may have no terminal themselves, so the session is checked too: a new one has none.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_hook_has_no_terminal() {
    for shell in ["", ":; "] {
        let world = EngineFixture::new();
        world.write("draw.sh", "echo x > /dev/tty && touch drawn\ncat /proc/$$/stat >stat\necho $$ >pid\n");
        assert_proceeds(&world.run_command(&format!("{shell}sh draw.sh")).await);
        assert!(!world.path("drawn").exists());
        let pid = world.read_pid("pid").await.to_string();
        let stat = fs::read_to_string(world.path("stat")).unwrap();
        let fields: Vec<&str> = stat.split(") ").nth(1).unwrap().split(' ').collect();
        assert!(shell == ":; " || fields[3] == pid, "it leads its session: {stat}");
        assert_eq!(fields[4], "0", "no terminal: {stat}");
        assert_ne!(fields[3], own_session(), "not our session: {stat}");
    }
}

#[cfg(target_os = "linux")]
fn own_session() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    stat.split(") ").nth(1).unwrap().split(' ').nth(3).unwrap().to_owned()
}
