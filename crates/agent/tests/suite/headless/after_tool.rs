//! AfterTool: hidden results, added context, and tail calls of another tool.

use super::*;

fn read_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("I see")
}

fn project_with_file(hooks: &[(&str, &str, &str)]) -> HeadlessProject {
    let sandbox = project(hooks);
    sandbox.write("a.txt", "the content");
    sandbox
}

#[test]
fn a_hidden_result_is_replaced_by_the_reason() {
    for script in ["echo 'not for you' >&2; exit 2", r#"echo '{"decision": "deny", "reason": "not for you"}'"#] {
        let sandbox = project_with_file(&[("AfterTool", "read_file", script)]);
        let run = run_hello(&sandbox, &read_file_replay());
        assert_eq!(run.text, "I see");
        assert_contains(&first_call_result(&sandbox).to_string(), "not for you");
        assert_lacks(&request_contents(&sandbox)[1].to_string(), "the content");
        assert_lacks(&read_transcript(&sandbox), "the content");
    }
}

#[test]
fn context_stands_behind_the_result() {
    let script = answer_script(&json!({"hookSpecificOutput": {"additionalContext": "it is <old>"}}));
    let sandbox = project_with_file(&[("AfterTool", "", &script)]);
    run_hello(&sandbox, &read_file_replay());
    let output = first_call_result(&sandbox)["output"].as_str().unwrap().to_owned();
    assert_contains(&output, "the content");
    assert!(output.ends_with("<hook_context>it is &lt;old&gt;</hook_context>"), "{output}");
}

#[test]
fn a_tail_call_takes_the_results_place_with_hooks_of_its_own() {
    let tail = answer_script(
        &json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "run_shell_command", "args": {"command": "echo from the tail"}}}}),
    );
    let sandbox = project_with_file(&[
        ("AfterTool", "read_file", &tail),
        ("BeforeTool", "", LOG_INPUT_SCRIPT),
        ("AfterTool", "run_shell_command", LOG_INPUT_SCRIPT),
    ]);
    let run = run_hello(&sandbox, &read_file_replay());
    let inputs = logged_inputs(&sandbox);
    let seen: Vec<_> = inputs
        .iter()
        .map(|input| {
            (
                input["hook_event_name"].as_str().unwrap(),
                input["tool_name"].as_str().unwrap(),
                &input["original_request_name"],
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("BeforeTool", "read_file", &Value::Null),
            ("BeforeTool", "run_shell_command", &json!("read_file")),
            ("AfterTool", "run_shell_command", &json!("read_file")),
        ]
    );
    let part = &request_contents(&sandbox)[1][2]["parts"][0]["functionResponse"];
    assert_eq!(part["name"], "read_file");
    assert_contains(&part.to_string(), "from the tail");
    assert_lacks(&part.to_string(), "the content");
    assert_eq!(run.tools.len(), 2);
}

#[test]
fn tail_calls_do_not_go_on_for_ever() {
    let tail = answer_script(
        &json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "read_file", "args": {"file_path": "a.txt"}}}}),
    );
    let sandbox = project_with_file(&[("AfterTool", "read_file", &format!("echo x >> count\n{tail}"))]);
    let run = run_hello(&sandbox, &read_file_replay());
    assert_contains(&run.messages, "more than 8 tail calls in a row");
    assert_eq!(sandbox.read("count").lines().count(), 9);
    assert_eq!(run.text, "I see");
}

#[test]
fn a_denied_tail_call_is_an_error_of_the_first() {
    let tail = answer_script(
        &json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "run_shell_command", "args": {"command": "touch ran"}}}}),
    );
    let sandbox = project_with_file(&[
        ("AfterTool", "read_file", &tail),
        ("BeforeTool", "run_shell_command", "echo no >&2; exit 2"),
    ]);
    run_hello(&sandbox, &read_file_replay());
    assert!(!sandbox.exists("ran"));
    assert_eq!(first_call_result(&sandbox), json!({"error": "Tool execution blocked: no"}));
}

#[test]
fn it_fires_for_failed_tools_too() {
    let sandbox = project(&[("AfterTool", "", LOG_INPUT_SCRIPT)]);
    run_hello(&sandbox, &read_file_replay());
    let response = &logged_inputs(&sandbox)[0]["tool_response"];
    assert!(!response["error"].is_null(), "{response}");
    assert!(!first_call_result(&sandbox)["error"].is_null());
}
