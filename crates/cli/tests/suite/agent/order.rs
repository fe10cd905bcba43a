//! Which event fires when. What hooks are told is in `crates/agent/tests/suite/headless/order.rs`.

use super::*;

fn write_a() -> Value {
    json!({"file_path": "a.txt", "content": "A"})
}

#[test]
fn every_event_of_a_turn_fires_in_its_place() {
    let sandbox = project(&watched());
    let replay = Replay::new().calls("write_file", write_a()).pieces(&["one ", "two"]);
    run(&sandbox, &replay, &[]).exits(0);
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
fn nobody_is_asked_and_so_notified_without_a_screen() {
    let sandbox = project(&watched());
    let replay = Replay::new().calls("write_file", write_a()).says("done");
    let file = sandbox.replay(&replay);
    let run = sandbox.run(&["-p", "x", "--fake-responses", &file]).exits(0);
    has(&run.stderr, "Error executing tool write_file: Tool execution blocked: write_file needs approval");
    has(&run.stderr, "--approval-mode=auto_edit");
    assert!(!sandbox.has("a.txt"));
    assert!(logged(&sandbox, "Notification").is_empty() && logged(&sandbox, "AfterTool").is_empty());
    assert_eq!(logged(&sandbox, "BeforeTool").len(), 1);
}
