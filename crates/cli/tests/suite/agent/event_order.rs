//! The order of events. The input of hooks is in `crates/agent/tests/suite/headless/event_order.rs`.

use super::*;

fn write_file_args() -> Value {
    json!({"file_path": "a.txt", "content": "A"})
}

#[test]
fn every_event_of_a_turn_fires_in_its_place() {
    let sandbox = project(&logging_hooks());
    let replay = ReplayBuilder::new().calls("write_file", write_file_args()).says_in_chunks(&["one ", "two"]);
    run(&sandbox, &replay, &[]).expect_exit_code(0);
    let expected = [
        "SessionStart",
        "BeforeAgent",
        "BeforeModel",
        "BeforeToolSelection",
        "AfterModel",
        "BeforeTool",
        "AfterTool",
        "BeforeModel",
        "BeforeToolSelection",
        "AfterModel",
        "AfterModel",
        "AfterAgent",
        "SessionEnd",
    ];
    assert_eq!(logged_events(&sandbox), expected);
}

#[test]
fn without_a_screen_there_are_no_approval_notifications() {
    let sandbox = project(&logging_hooks());
    let replay = ReplayBuilder::new().calls("write_file", write_file_args()).says("done");
    let file = sandbox.replay(&replay);
    let run = sandbox.run(&["-p", "x", "--fake-responses", &file]).expect_exit_code(0);
    assert_contains(&run.stderr, "Error executing tool write_file: Tool execution blocked: write_file needs approval");
    assert_contains(&run.stderr, "--approval-mode=auto_edit");
    assert!(!sandbox.has_file("a.txt"));
    assert!(
        logged_inputs_of(&sandbox, "Notification").is_empty() && logged_inputs_of(&sandbox, "AfterTool").is_empty()
    );
    assert_eq!(logged_inputs_of(&sandbox, "BeforeTool").len(), 1);
}
