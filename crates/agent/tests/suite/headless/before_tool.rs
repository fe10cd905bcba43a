//! BeforeTool: denied, asked about, rewritten, stopped.

use super::*;

fn write_a() -> Replay {
    Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("I see")
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
        let run = run(&sandbox, &write_a());
        has(&run.said, "Error executing tool write_file: Tool execution blocked: not here\n");
        assert_eq!(run.text, "I see");
        assert!(!sandbox.has("a.txt") && log(&sandbox).is_empty());
        assert_eq!(result_of_call(&sandbox), json!({"error": "Tool execution blocked: not here"}));
        assert_eq!(run.error_kinds(), ["policy_violation"]);
    }
}

#[test]
fn rewritten_arguments_are_merged_and_the_model_is_told_which() {
    let script = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": "B"}}}));
    let sandbox = project(&[("BeforeTool", "", &script), ("AfterTool", "", LOG)]);
    let run = run(&sandbox, &write_a());
    assert_eq!(sandbox.read("a.txt"), "B");
    has(&run.said, "(hooks changed content)");
    has(&result_of_call(&sandbox)["output"].to_string(), "hooks changed these arguments before the tool ran: content");
    let args = json!({"file_path": "a.txt", "content": "B"});
    assert_eq!(log(&sandbox)[0]["tool_input"], args);
    let end = &run.tools[0];
    assert_eq!((json!(end.args), end.name.as_str(), run.error_kinds().len()), (args, "write_file", 0));
}

#[test]
fn rewritten_arguments_must_fit_the_tool() {
    let script = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": 7}}}));
    let sandbox = project(&[("BeforeTool", "", &script), ("AfterTool", "", LOG)]);
    let run = run(&sandbox, &write_a());
    has(&run.said, "hooks changed the arguments, and now they do not fit write_file");
    assert!(!sandbox.has("a.txt") && log(&sandbox).is_empty());
    assert_eq!(run.error_kinds(), ["invalid_tool_params"]);
}

#[test]
fn a_stop_ends_the_loop() {
    let sandbox = project(&[
        ("BeforeTool", "", r#"echo '{"continue": false, "stopReason": "hands off"}'"#),
        ("AfterAgent", "", LOG),
    ]);
    let run = run(&sandbox, &write_a());
    has(&run.said, "Agent execution stopped by hook: hands off\n");
    assert_eq!(run.text, "");
    assert!(!sandbox.has("a.txt") && log(&sandbox).is_empty());
    assert_eq!(requests(&sandbox).len(), 1);
    assert_eq!(run.error_kinds(), ["stop_execution"]);
}

#[test]
fn unknown_tools_and_bad_arguments_are_none_of_the_hooks_business() {
    let sandbox = project(&[("BeforeTool", "", LOG), ("AfterTool", "", LOG)]);
    let replay = Replay::new().calls("no_such_tool", json!({})).calls("write_file", json!({"file_path": 7})).says("ok");
    let run = run(&sandbox, &replay);
    has(&run.said, "Error executing tool no_such_tool: ");
    has(&run.said, "Error executing tool write_file: ");
    assert!(log(&sandbox).is_empty());
    assert_eq!(run.error_kinds(), ["tool_not_registered", "invalid_tool_params"]);
}

#[test]
fn any_deny_wins_and_all_reasons_are_given() {
    let sandbox = project(&[
        ("BeforeTool", "", r#"echo '{"decision": "deny", "reason": "first"}'"#),
        ("BeforeTool", "", r#"echo '{"decision": "allow"}'"#),
        ("BeforeTool", "", r#"echo '{"decision": "ask"}'"#),
        ("BeforeTool", "", "echo second >&2; exit 2"),
    ]);
    run(&sandbox, &write_a());
    assert_eq!(result_of_call(&sandbox), json!({"error": "Tool execution blocked: first\nsecond"}));
}

#[test]
fn two_hooks_that_disagree_on_an_argument_are_reported() {
    let set = |text: &str| answer(&json!({"hookSpecificOutput": {"tool_input": {"content": text}}}));
    let sandbox = project(&[("BeforeTool", "", &set("one")), ("BeforeTool", "", &set("two"))]);
    let run = run(&sandbox, &write_a());
    assert_eq!(sandbox.read("a.txt"), "two");
    let said = run.said.lines().find(|line| line.contains("warning:")).unwrap_or_default();
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
    run(&sandbox, &write_a());
    assert_eq!(log(&sandbox)[0]["tool_input"], json!({"file_path": "a.txt", "content": "one"}));
    assert!(!sandbox.has("a.txt") && !sandbox.has("ran-after-deny"));
}

#[test]
fn a_model_may_use_other_names_and_hooks_hear_the_canonical_one() {
    let sandbox =
        project(&[("BeforeTool", "grep_search", LOG), ("BeforeTool", "search_file_content", "touch canonical")]);
    sandbox.write("a.txt", "needle");
    run(&sandbox, &Replay::new().calls("grep_search", json!({"pattern": "needle"})).says("ok"));
    assert_eq!(log(&sandbox)[0]["tool_name"], "search_file_content");
    assert!(sandbox.has("canonical"));
    has(&result_of_call(&sandbox).to_string(), "needle");
}

#[test]
fn command_substitution_is_for_hooks_to_judge() {
    let shell = || Replay::new().calls("run_shell_command", json!({"command": "echo $(echo in)side"})).says("ok");
    let sandbox = project(&[]);
    run(&sandbox, &shell());
    has(&result_of_call(&sandbox).to_string(), "inside");
    let sandbox = project(&[("BeforeTool", "", "case $(cat) in *'$('*) echo 'no substitution' >&2; exit 2;; esac")]);
    run(&sandbox, &shell());
    assert_eq!(result_of_call(&sandbox), json!({"error": "Tool execution blocked: no substitution"}));
}
