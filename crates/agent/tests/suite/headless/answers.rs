//! The effect of a hook's output and exit code, through the whole agent.

use super::*;

fn write_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

/// Runs a prompt in a project with a guard on writing, and returns whether the file was written.
fn run_with_guard(script: &str) -> (HeadlessProject, HeadlessRun, bool) {
    let sandbox = project(&[("BeforeTool", "write_file", script)]);
    let run = run_hello(&sandbox, &write_file_replay());
    let written = sandbox.exists("a.txt");
    (sandbox, run, written)
}

#[test]
fn a_silent_exit_2_blocks() {
    let (_, run, written) = run_with_guard("exit 2");
    assert!(!written);
    assert_contains(&run.messages, "Error executing tool write_file: Tool execution blocked: ");
}

#[test]
fn a_missing_program_warns_and_does_not_block() {
    let hook = json!({"type": "command", "name": "absent", "command": "$GEMINI_PROJECT_DIR/.gemini/hooks/absent.sh"});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let run = run_hello(&sandbox, &write_file_replay());
    assert!(sandbox.exists("a.txt"));
    assert_contains(&run.messages, "absent");
    assert_contains(&run.messages, "warning:");
}

#[test]
fn with_on_error_block_a_failing_guard_blocks() {
    for config in [json!({"onError": "block"}), json!({"onError": {"exit": "block"}})] {
        let sandbox =
            project_with(&[("BeforeTool", "write_file", "echo broken >&2; exit 3")], json!({"hooksConfig": config}));
        let run = run_hello(&sandbox, &write_file_replay());
        assert!(!sandbox.exists("a.txt"), "{}", run.messages);
        assert_contains(&run.messages, "Error executing tool write_file: Tool execution blocked: ");
    }
    let hook = json!({"type": "command", "name": "slow", "command": "sleep 60", "timeout": 100, "onError": "block"});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    run_hello(&sandbox, &write_file_replay());
    assert!(!sandbox.exists("a.txt"));
}

#[test]
fn a_timeout_ends_the_hook_with_its_children_and_does_not_block() {
    let sandbox = project(&[("BeforeTool", "", "sleep 60 & echo $! > child; wait")]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"name\"", "\"timeout\": 300, \"name\"", 1);
    sandbox.write(".gemini/settings.json", text);
    let run = run_hello(&sandbox, &write_file_replay());
    assert!(sandbox.exists("a.txt"));
    assert_contains(&run.messages, "warning: hook hook1");
    assert_process_gone(sandbox.read("child").trim());
}

#[test]
fn plain_text_is_a_message() {
    let (_, run, written) = run_with_guard("echo 'looks fine'");
    assert!(written);
    assert_contains(&run.messages, "Hook system message: looks fine\n");
}

#[test]
fn a_broken_json_answer_is_shown_and_warned_about() {
    let (_, run, written) = run_with_guard(r#"echo '{"decision": "deny"'"#);
    assert!(written);
    assert_contains(&run.messages, r#"Hook system message: {"decision": "deny""#);
    assert_contains(&run.messages, "warning: hook hook1");
}

#[test]
fn an_answer_that_is_not_alone_or_not_whole_is_a_failure_of_its_hook() {
    let answer = r#"{"decision": "deny", "reason": "no"}"#;
    for script in [format!("echo loading…; echo '{answer}'"), r#"echo '{"decision": "deny"'"#.to_owned()] {
        let (_, run, written) = run_with_guard(&script);
        assert!(written);
        assert_contains(&run.messages, "warning: hook hook1");
        let on_error = json!({"hooksConfig": {"onError": {"output": "block"}}});
        let sandbox = project_with(&[("BeforeTool", "write_file", &script)], on_error);
        let run = super::run_hello(&sandbox, &write_file_replay());
        assert!(!sandbox.exists("a.txt"), "{}", run.messages);
        assert_contains(&run.messages, "Tool execution blocked: hook hook1: its output");
    }
}

#[test]
fn an_answer_over_the_bound_denies() {
    for (start, words) in [(r#"{"decision":"deny","reason":""#, "cut off"), (r#"{"reason":""#, "before a decision")] {
        let (_, run, written) =
            run_with_guard(&format!("printf '%s' '{start}'; head -c 2097152 /dev/zero | tr '\\0' x; echo '\"}}'"));
        assert!(!written, "{}", run.messages);
        assert_contains(&run.messages, "Tool execution blocked: ");
        assert_contains(&run.messages, words);
    }
}

#[test]
fn a_field_of_the_wrong_type_is_named_and_the_rest_counts() {
    let (_, run, written) =
        run_with_guard(r#"echo '{"systemMessage": 7, "decision": "deny", "reason": "still heard"}'"#);
    assert!(!written);
    assert_contains(&run.messages, "systemMessage");
    assert_contains(&run.messages, "Tool execution blocked: still heard");
}

#[test]
fn a_hook_that_never_reads_and_one_that_floods_do_no_harm() {
    let (_, _, written) = run_with_guard("exec < /dev/null; exit 0");
    assert!(written);
    let (_, run, written) = run_with_guard("head -c 3000000 /dev/zero | tr '\\0' x >&2");
    assert!(written);
    assert!(run.messages.len() < 100_000);
}

#[test]
fn a_background_child_holding_the_pipes_holds_up_nothing() {
    let before = std::time::Instant::now();
    let (sandbox, _, written) = run_with_guard("sleep 60 & echo $! > child");
    assert!(written && before.elapsed().as_secs() < 30);
    assert_process_gone(sandbox.read("child").trim());
}
