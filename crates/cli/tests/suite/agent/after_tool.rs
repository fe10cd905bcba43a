//! AfterTool with the built binary: metadata in a stream, stops. The rest is in
//! `crates/agent/tests/suite/headless/after_tool.rs`.

use super::*;

fn read_a() -> Replay {
    Replay::new().calls("read_file", json!({"file_path": "a.txt"})).says("I see")
}

fn with_hooks(hooks: &[(&str, &str, &str)]) -> Sandbox {
    let sandbox = project(hooks);
    sandbox.write("a.txt", "the content");
    sandbox
}

#[test]
fn what_hooks_attach_is_in_the_results_metadata() {
    let script =
        answer(&json!({"systemMessage": "noted", "hookSpecificOutput": {"hookEventName": "AfterTool", "ticket": 7}}));
    let sandbox = with_hooks(&[("AfterTool", "", &script)]);
    let lines = run(&sandbox, &read_a(), &["-o", "stream-json"]).exits(0).json_lines();
    let result = lines.iter().find(|line| line["type"] == "tool_result").unwrap();
    assert_eq!(result["metadata"]["hookData"]["ticket"], 7);
    assert_eq!(result["metadata"]["hookMessages"], json!(["noted"]));
}

#[test]
fn a_stop_ends_the_loop() {
    let sandbox = with_hooks(&[("AfterTool", "", r#"echo '{"continue": false, "stopReason": "seen enough"}'"#)]);
    let run = run(&sandbox, &read_a(), &[]).exits(0);
    assert_eq!(run.stdout, "");
    has(&run.stderr, "Agent execution stopped: Agent execution stopped by hook: seen enough\n");
    assert_eq!(records(&sandbox, "api_request").len(), 1);
    // The session can go on: the call has a result.
    prompt(&sandbox, "go on", &Replay::new().says("ok"), &["--resume"]).exits(0);
    let last = requests(&sandbox).pop().unwrap();
    assert_eq!(last[2]["parts"][0]["functionResponse"]["name"], "read_file");
}
