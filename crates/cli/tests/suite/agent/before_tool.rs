//! BeforeTool with the built binary: the output for an approval request without a user, and the flags that apply after
//! hooks. The rest is in `crates/agent/tests/suite/headless/before_tool.rs`.

use super::*;

fn write_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("I see")
}

#[test]
fn ask_without_a_user_denies() {
    let sandbox = project(&[("BeforeTool", "", r#"echo '{"decision": "ask", "reason": "are you sure?"}'"#)]);
    let run = run(&sandbox, &write_file_replay(), &[]).expect_exit_code(0);
    assert_contains(
        &run.stderr,
        "Error executing tool write_file: Tool execution blocked: are you sure? (hook hook1 asks for the user's approval, and no user is present)",
    );
    assert!(!sandbox.has_file("a.txt"));
    assert_contains(&requests(&sandbox)[1][2]["parts"][0]["functionResponse"].to_string(), "are you sure?");
}

#[test]
fn plan_mode_and_allowed_tools_apply_after_hooks() {
    let sandbox = project(&[("BeforeTool", "", r#"echo '{"decision": "allow"}'"#)]);
    let file = sandbox.replay(&write_file_replay());
    let plan = sandbox.run(&["-p", "x", "--fake-responses", &file, "--approval-mode=plan"]).expect_exit_code(0);
    assert_contains(&plan.stderr, "plan mode only reads");
    assert!(!sandbox.has_file("a.txt"));
    sandbox.run(&["-p", "x", "--fake-responses", &file, "--allowed-tools", "write_file"]).expect_exit_code(0);
    assert_eq!(sandbox.read("a.txt"), "A");
}
