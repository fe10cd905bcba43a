//! The telemetry file, as dashboards and test rigs read it.

use super::*;
use hookwright_testkit::fs;

#[test]
fn hooks_prompts_requests_answers_and_calls_are_recorded() {
    let command = "echo '{\"systemMessage\": \"hey\"}'";
    let hook = json!({"type": "command", "command": command});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    sandbox.write("a.txt", "A");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    prompt(&sandbox, "look", &replay, &["--session-id", "s-1"]).expect_exit_code(0);
    let hooks = records(&sandbox, "hook_call");
    assert_eq!(hooks.len(), 1);
    let hook = &hooks[0];
    assert_eq!((&hook["hook_event_name"], &hook["hook_type"]), (&json!("BeforeTool"), &json!("command")));
    assert_eq!((&hook["hook_name"], &hook["exit_code"], &hook["success"]), (&json!(command), &json!(0), &json!(true)));
    let input: Value = serde_json::from_str(hook["hook_input"].as_str().unwrap()).unwrap();
    assert_eq!(input["tool_name"], "read_file");
    let output: Value = serde_json::from_str(hook["hook_output"].as_str().unwrap()).unwrap();
    assert_eq!(output["systemMessage"], "hey");
    assert!(hook["stdout"].is_string() && hook["stderr"].is_string() && hook["duration_ms"].is_number());
    let calls = records(&sandbox, "tool_call");
    assert_eq!(
        (&calls[0]["function_name"], &calls[0]["function_args"]),
        (&json!("read_file"), &json!(r#"{"file_path":"a.txt"}"#))
    );
    assert!(calls[0]["prompt_id"].as_str().unwrap().starts_with("s-1"));
    assert_eq!(records(&sandbox, "api_request").len(), 2);
    assert_eq!(records(&sandbox, "api_response").len(), 2);
    let prompts = records(&sandbox, "user_prompt");
    assert_eq!((prompts.len(), &prompts[0]["prompt"]), (1, &json!("look")));
    let text = fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap();
    assert_contains(&text, "scopeMetrics");
    assert_contains(&text, "gemini_cli.session.count");
}

#[test]
fn it_is_complete_on_disk_after_the_last_hook() {
    let sandbox = project(&[("SessionEnd", "", "exit 0")]);
    run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    assert_eq!(records(&sandbox, "hook_call").pop().unwrap()["hook_event_name"], "SessionEnd");
}

#[test]
fn failures_of_hooks_are_recorded() {
    let sandbox =
        project(&[("BeforeAgent", "", "echo broken >&2; exit 3"), ("BeforeAgent", "", "echo no >&2; exit 2")]);
    run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(0);
    let mut records = records(&sandbox, "hook_call");
    records.sort_by_key(|record| record["exit_code"].as_i64());
    assert_eq!((&records[0]["exit_code"], &records[1]["exit_code"]), (&json!(2), &json!(3)));
    assert_eq!(records[1]["success"], false);
    assert_contains(records[1]["error"].as_str().unwrap(), "broken");
    assert_contains(records[0]["hook_output"].as_str().unwrap(), "deny");
}

#[test]
fn without_prompts_in_logs_no_content_is_in_them() {
    let sandbox =
        project(&[("BeforeAgent", "", "cat > /dev/null; echo private")]).env("GEMINI_TELEMETRY_LOG_PROMPTS", "false");
    sandbox.write("private.txt", "private");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "private.txt"})).says("private");
    prompt(&sandbox, "private", &replay, &[]).expect_exit_code(0);
    assert_lacks(&fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap(), "private");
}
