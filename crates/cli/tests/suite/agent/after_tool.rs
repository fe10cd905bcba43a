//! AfterTool with the built binary: metadata in a stream, stops. The rest is in
//! `crates/agent/tests/suite/headless/after_tool.rs`.

use super::*;

fn read_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("I see")
}

fn project_with_file(hooks: &[(&str, &str, &str)]) -> Sandbox {
    let sandbox = project(hooks);
    sandbox.write("a.txt", "the content");
    sandbox
}

#[test]
fn data_that_hooks_attach_is_in_the_results_metadata() {
    let script = answer_script(
        &json!({"systemMessage": "noted", "hookSpecificOutput": {"hookEventName": "AfterTool", "ticket": 7}}),
    );
    let sandbox = project_with_file(&[("AfterTool", "", &script)]);
    let lines = run(&sandbox, &read_file_replay(), &["-o", "stream-json"]).expect_exit_code(0).json_lines();
    let result = lines.iter().find(|line| line["type"] == "tool_result").unwrap();
    assert_eq!(result["metadata"]["hookData"]["ticket"], 7);
    assert_eq!(result["metadata"]["hookMessages"], json!(["noted"]));
}

#[test]
fn a_stop_ends_the_loop() {
    let sandbox = project_with_file(&[("AfterTool", "", r#"echo '{"continue": false, "stopReason": "seen enough"}'"#)]);
    let run = run(&sandbox, &read_file_replay(), &[]).expect_exit_code(0);
    assert_eq!(run.stdout, "");
    assert_contains(&run.stderr, "Agent execution stopped: Agent execution stopped by hook: seen enough\n");
    assert_eq!(records(&sandbox, "api_request").len(), 1);
    // The session can go on: the call has a result.
    prompt(&sandbox, "go on", &ReplayBuilder::new().says("ok"), &["--resume"]).expect_exit_code(0);
    let last = requests(&sandbox).pop().unwrap();
    assert_eq!(last[2]["parts"][0]["functionResponse"]["name"], "read_file");
}
