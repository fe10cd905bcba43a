//! BeforeTool: denied, asked about, rewritten, stopped.

use super::*;

fn write_a() -> Replay {
    Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("I see")
}

/// What the model was told of its call.
fn told(sandbox: &Sandbox) -> Value {
    requests(sandbox)[1][2]["parts"][0]["functionResponse"]["response"].clone()
}

#[test]
fn a_denied_call_does_not_run_and_the_turn_goes_on() {
    for script in [
        "echo 'not here' >&2; exit 2",
        r#"echo '{"decision": "deny", "reason": "not here"}'"#,
        r#"echo '{"decision": "block", "reason": "not here"}'"#,
        r#"echo '{"reason": "not here"}' >&2; exit 2"#,
    ] {
        let sandbox = project(&[("BeforeTool", "write_file", script), ("AfterTool", "", LOG)]);
        let run = run(&sandbox, &write_a(), &[]).exits(0);
        has(&run.stderr, "Error executing tool write_file: Tool execution blocked: not here\n");
        assert_eq!(run.stdout, "I see\n");
        assert!(!sandbox.has("a.txt") && log(&sandbox).is_empty());
        assert_eq!(told(&sandbox), json!({"error": "Tool execution blocked: not here"}));
        let record = &records(&sandbox, "tool_call")[0];
        assert_eq!((&record["success"], &record["error_type"]), (&json!(false), &json!("policy_violation")));
    }
}

#[test]
fn asking_nobody_is_a_no() {
    let sandbox = project(&[("BeforeTool", "", r#"echo '{"decision": "ask", "reason": "are you sure?"}'"#)]);
    let run = run(&sandbox, &write_a(), &[]).exits(0);
    has(
        &run.stderr,
        "Error executing tool write_file: Tool execution blocked: are you sure? (hook hook1 wants the user asked, and nobody is there)",
    );
    assert!(!sandbox.has("a.txt"));
    has(&told(&sandbox).to_string(), "are you sure?");
}

#[test]
fn rewritten_arguments_are_merged_and_the_model_is_told_which() {
    let script = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": "B"}}}));
    let sandbox = project(&[("BeforeTool", "", &script), ("AfterTool", "", LOG)]);
    let run = run(&sandbox, &write_a(), &[]).exits(0);
    assert_eq!(sandbox.read("a.txt"), "B");
    has(&run.stderr, "(hooks changed content)");
    has(&told(&sandbox)["output"].to_string(), "hooks changed these arguments before the tool ran: content");
    let args = json!({"file_path": "a.txt", "content": "B"});
    assert_eq!(log(&sandbox)[0]["tool_input"], args);
    let record = &records(&sandbox, "tool_call")[0];
    let recorded: Value = serde_json::from_str(record["function_args"].as_str().unwrap()).unwrap();
    assert_eq!((recorded, &record["function_name"], &record["success"]), (args, &json!("write_file"), &json!(true)));
}

#[test]
fn rewritten_arguments_must_fit_the_tool() {
    let script = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": 7}}}));
    let sandbox = project(&[("BeforeTool", "", &script), ("AfterTool", "", LOG)]);
    let run = run(&sandbox, &write_a(), &[]).exits(0);
    has(&run.stderr, "hooks changed the arguments, and now they do not fit write_file");
    assert!(!sandbox.has("a.txt") && log(&sandbox).is_empty());
    assert_eq!(records(&sandbox, "tool_call")[0]["error_type"], "invalid_tool_params");
}

#[test]
fn a_stop_ends_the_loop() {
    let sandbox = project(&[
        ("BeforeTool", "", r#"echo '{"continue": false, "stopReason": "hands off"}'"#),
        ("AfterAgent", "", LOG),
    ]);
    let run = run(&sandbox, &write_a(), &[]).exits(0);
    has(&run.stderr, "Agent execution stopped: Agent execution stopped by hook: hands off\n");
    assert_eq!(run.stdout, "");
    assert!(!sandbox.has("a.txt") && log(&sandbox).is_empty());
    assert_eq!(records(&sandbox, "api_request").len(), 1);
    assert_eq!(records(&sandbox, "tool_call")[0]["error_type"], "stop_execution");
}

#[test]
fn unknown_tools_and_bad_arguments_are_none_of_the_hooks_business() {
    let sandbox = project(&[("BeforeTool", "", LOG), ("AfterTool", "", LOG)]);
    let replay = Replay::new().calls("no_such_tool", json!({})).calls("write_file", json!({"file_path": 7})).says("ok");
    let run = run(&sandbox, &replay, &[]).exits(0);
    has(&run.stderr, "Error executing tool no_such_tool: ");
    has(&run.stderr, "Error executing tool write_file: ");
    assert!(log(&sandbox).is_empty());
    let kinds: Vec<Value> = records(&sandbox, "tool_call").iter().map(|record| record["error_type"].clone()).collect();
    assert_eq!(kinds, ["tool_not_registered", "invalid_tool_params"]);
}

#[test]
fn any_deny_wins_and_all_reasons_are_given() {
    let sandbox = project(&[
        ("BeforeTool", "", r#"echo '{"decision": "deny", "reason": "first"}'"#),
        ("BeforeTool", "", r#"echo '{"decision": "allow"}'"#),
        ("BeforeTool", "", r#"echo '{"decision": "ask"}'"#),
        ("BeforeTool", "", "echo second >&2; exit 2"),
    ]);
    run(&sandbox, &write_a(), &[]).exits(0);
    assert_eq!(told(&sandbox), json!({"error": "Tool execution blocked: first\nsecond"}));
}

#[test]
fn two_hooks_that_disagree_on_an_argument_are_reported() {
    let set = |text: &str| answer(&json!({"hookSpecificOutput": {"tool_input": {"content": text}}}));
    let sandbox = project(&[("BeforeTool", "", &set("one")), ("BeforeTool", "", &set("two"))]);
    let run = run(&sandbox, &write_a(), &[]).exits(0);
    assert_eq!(sandbox.read("a.txt"), "two");
    let said = run.stderr.lines().find(|line| line.contains("warning:")).unwrap_or_default();
    for word in ["hook1", "hook2", "content"] {
        has(said, word);
    }
}

#[test]
fn in_sequence_each_sees_what_the_one_before_changed_and_a_deny_ends_it() {
    let set = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": "one"}}}));
    let sandbox = project(&[
        ("BeforeTool", "", &set),
        ("BeforeTool", "", LOG),
        ("BeforeTool", "", "echo no >&2; exit 2"),
        ("BeforeTool", "", "touch ran-after-deny"),
    ]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"matcher\": \"\"", "\"sequential\": true", 1);
    sandbox.write(".gemini/settings.json", text);
    run(&sandbox, &write_a(), &[]).exits(0);
    assert_eq!(log(&sandbox)[0]["tool_input"], json!({"file_path": "a.txt", "content": "one"}));
    assert!(!sandbox.has("a.txt") && !sandbox.has("ran-after-deny"));
}

#[test]
fn plan_mode_and_the_lists_of_allowed_tools_have_the_last_word() {
    let sandbox = project(&[("BeforeTool", "", r#"echo '{"decision": "allow"}'"#)]);
    let file = sandbox.replay(&write_a());
    let plan = sandbox.run(&["-p", "x", "--fake-responses", &file, "--approval-mode=plan"]).exits(0);
    has(&plan.stderr, "plan mode only looks");
    assert!(!sandbox.has("a.txt"));
    sandbox.run(&["-p", "x", "--fake-responses", &file, "--allowed-tools", "write_file"]).exits(0);
    assert_eq!(sandbox.read("a.txt"), "A");
}

#[test]
fn a_model_may_use_other_names_and_hooks_hear_the_canonical_one() {
    let sandbox =
        project(&[("BeforeTool", "grep_search", LOG), ("BeforeTool", "search_file_content", "touch canonical")]);
    sandbox.write("a.txt", "needle");
    run(&sandbox, &Replay::new().calls("grep_search", json!({"pattern": "needle"})).says("ok"), &[]).exits(0);
    assert_eq!(log(&sandbox)[0]["tool_name"], "search_file_content");
    assert!(sandbox.has("canonical"));
    has(&told(&sandbox).to_string(), "needle");
}

#[test]
fn command_substitution_is_for_hooks_to_judge() {
    let shell = || Replay::new().calls("run_shell_command", json!({"command": "echo $(echo in)side"})).says("ok");
    let sandbox = project(&[]);
    run(&sandbox, &shell(), &[]).exits(0);
    has(&told(&sandbox).to_string(), "inside");
    let sandbox = project(&[("BeforeTool", "", "case $(cat) in *'$('*) echo 'no substitution' >&2; exit 2;; esac")]);
    run(&sandbox, &shell(), &[]).exits(0);
    assert_eq!(told(&sandbox), json!({"error": "Tool execution blocked: no substitution"}));
}
