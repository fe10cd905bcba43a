//! BeforeTool: calls that are denied, asked about, rewritten, or stopped.

use super::*;

fn write_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("I see")
}

#[test]
fn a_denied_call_does_not_run_and_the_turn_goes_on() {
    for script in [
        "echo 'not here' >&2; exit 2",
        r#"echo '{"decision": "deny", "reason": "not here"}'"#,
        r#"echo '{"decision": "block", "reason": "not here"}'"#,
        r#"echo '{"reason": "not here"}' >&2; exit 2"#,
    ] {
        let sandbox = project(&[("BeforeTool", "write_file", script), ("AfterTool", "", LOG_INPUT_SCRIPT)]);
        let run = run_hello(&sandbox, &write_file_replay());
        assert_contains(&run.messages, "Error executing tool write_file: Tool execution blocked: not here\n");
        assert_eq!(run.text, "I see");
        assert!(!sandbox.exists("a.txt") && logged_inputs(&sandbox).is_empty());
        assert_eq!(first_call_result(&sandbox), json!({"error": "Tool execution blocked: not here"}));
        assert_eq!(run.error_kinds(), ["policy_violation"]);
    }
}

#[test]
fn rewritten_arguments_are_merged_and_the_model_is_told_which() {
    let script = answer_script(&json!({"hookSpecificOutput": {"tool_input": {"content": "B"}}}));
    let sandbox = project(&[("BeforeTool", "", &script), ("AfterTool", "", LOG_INPUT_SCRIPT)]);
    let run = run_hello(&sandbox, &write_file_replay());
    assert_eq!(sandbox.read("a.txt"), "B");
    assert_contains(&run.messages, "(hooks changed content)");
    assert_contains(
        &first_call_result(&sandbox)["output"].to_string(),
        "hooks changed these arguments before the tool ran: content",
    );
    let args = json!({"file_path": "a.txt", "content": "B"});
    assert_eq!(logged_inputs(&sandbox)[0]["tool_input"], args);
    let end = &run.tools[0];
    assert_eq!((json!(end.args), end.name.as_str(), run.error_kinds().len()), (args, "write_file", 0));
}

#[test]
fn rewritten_arguments_must_fit_the_tool() {
    let script = answer_script(&json!({"hookSpecificOutput": {"tool_input": {"content": 7}}}));
    let sandbox = project(&[("BeforeTool", "", &script), ("AfterTool", "", LOG_INPUT_SCRIPT)]);
    let run = run_hello(&sandbox, &write_file_replay());
    assert_contains(&run.messages, "hooks changed the arguments, which are now invalid for write_file");
    assert!(!sandbox.exists("a.txt") && logged_inputs(&sandbox).is_empty());
    assert_eq!(run.error_kinds(), ["invalid_tool_params"]);
}

#[test]
fn a_stop_ends_the_loop() {
    let sandbox = project(&[
        ("BeforeTool", "", r#"echo '{"continue": false, "stopReason": "hands off"}'"#),
        ("AfterAgent", "", LOG_INPUT_SCRIPT),
    ]);
    let run = run_hello(&sandbox, &write_file_replay());
    assert_contains(&run.messages, "Agent execution stopped by hook: hands off\n");
    assert_eq!(run.text, "");
    assert!(!sandbox.exists("a.txt") && logged_inputs(&sandbox).is_empty());
    assert_eq!(request_contents(&sandbox).len(), 1);
    assert_eq!(run.error_kinds(), ["stop_execution"]);
}

#[test]
fn hooks_do_not_run_for_unknown_tools_and_bad_arguments() {
    let sandbox = project(&[("BeforeTool", "", LOG_INPUT_SCRIPT), ("AfterTool", "", LOG_INPUT_SCRIPT)]);
    let replay =
        ReplayBuilder::new().calls("no_such_tool", json!({})).calls("write_file", json!({"file_path": 7})).says("ok");
    let run = run_hello(&sandbox, &replay);
    assert_contains(&run.messages, "Error executing tool no_such_tool: ");
    assert_contains(&run.messages, "Error executing tool write_file: ");
    assert!(logged_inputs(&sandbox).is_empty());
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
    run_hello(&sandbox, &write_file_replay());
    assert_eq!(first_call_result(&sandbox), json!({"error": "Tool execution blocked: first\nsecond"}));
}

#[test]
fn two_hooks_that_disagree_on_an_argument_are_reported() {
    let set = |text: &str| answer_script(&json!({"hookSpecificOutput": {"tool_input": {"content": text}}}));
    let sandbox = project(&[("BeforeTool", "", &set("one")), ("BeforeTool", "", &set("two"))]);
    let run = run_hello(&sandbox, &write_file_replay());
    assert_eq!(sandbox.read("a.txt"), "two");
    let said = run.messages.lines().find(|line| line.contains("warning:")).unwrap_or_default();
    for word in ["hook1", "hook2", "content"] {
        assert_contains(said, word);
    }
}

#[test]
fn in_sequence_each_sees_what_the_one_before_changed_and_a_deny_ends_it() {
    let set = answer_script(&json!({"hookSpecificOutput": {"tool_input": {"content": "one"}}}));
    let sandbox = project(&[
        ("BeforeTool", "", &set),
        ("BeforeTool", "", LOG_INPUT_SCRIPT),
        ("BeforeTool", "", "echo no >&2; exit 2"),
        ("BeforeTool", "", "touch ran-after-deny"),
    ]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"matcher\": \"\"", "\"sequential\": true", 1);
    sandbox.write(".gemini/settings.json", text);
    run_hello(&sandbox, &write_file_replay());
    assert_eq!(logged_inputs(&sandbox)[0]["tool_input"], json!({"file_path": "a.txt", "content": "one"}));
    assert!(!sandbox.exists("a.txt") && !sandbox.exists("ran-after-deny"));
}

#[test]
fn a_model_may_use_other_names_and_hooks_hear_the_canonical_one() {
    let sandbox = project(&[
        ("BeforeTool", "grep_search", LOG_INPUT_SCRIPT),
        ("BeforeTool", "search_file_content", "touch canonical"),
    ]);
    sandbox.write("a.txt", "needle");
    run_hello(&sandbox, &ReplayBuilder::new().calls("grep_search", json!({"pattern": "needle"})).says("ok"));
    assert_eq!(logged_inputs(&sandbox)[0]["tool_name"], "search_file_content");
    assert!(sandbox.exists("canonical"));
    assert_contains(&first_call_result(&sandbox).to_string(), "needle");
}

#[test]
fn command_substitution_is_for_hooks_to_judge() {
    let shell =
        || ReplayBuilder::new().calls("run_shell_command", json!({"command": "echo $(echo in)side"})).says("ok");
    let sandbox = project(&[]);
    run_hello(&sandbox, &shell());
    assert_contains(&first_call_result(&sandbox).to_string(), "inside");
    let sandbox = project(&[("BeforeTool", "", "case $(cat) in *'$('*) echo 'no substitution' >&2; exit 2;; esac")]);
    run_hello(&sandbox, &shell());
    assert_eq!(first_call_result(&sandbox), json!({"error": "Tool execution blocked: no substitution"}));
}
