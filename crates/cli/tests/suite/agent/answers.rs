//! The effect of a hook's output and exit code, as printed and recorded. The rest is in
//! `crates/agent/tests/suite/headless/answers.rs`.

use super::*;

fn write_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

/// Runs a prompt in a project with a guard on writing, and returns whether the file was written.
fn run_with_guard(script: &str) -> (Sandbox, ProgramRun, bool) {
    let sandbox = project(&[("BeforeTool", "write_file", script)]);
    let run = run(&sandbox, &write_file_replay(), &[]).expect_exit_code(0);
    let written = sandbox.has_file("a.txt");
    (sandbox, run, written)
}

#[test]
fn other_exit_codes_warn_and_do_not_block() {
    for (script, words) in [
        ("echo broken >&2; exit 3", "broken"),
        ("exit 127", "127"),
        ("kill -9 $$", "signal"),
        (r#"echo '{"decision": "deny", "reason": "unheard"}'; exit 1"#, "1"),
    ] {
        let (_, run, written) = run_with_guard(script);
        assert!(written, "{script}");
        let warning = run.stderr.lines().find(|line| line.contains("warning: hook hook1 (project, BeforeTool)"));
        assert_contains(warning.unwrap_or_else(|| panic!("{script}: {}", run.stderr)), words);
    }
}

#[test]
fn stderr_at_exit_0_is_only_a_log() {
    let (sandbox, run, written) = run_with_guard("echo 'just a log' >&2");
    assert!(written);
    assert_lacks(&run.stderr, "just a log");
    assert_lacks(&requests(&sandbox)[1].to_string(), "just a log");
    assert_eq!(records(&sandbox, "hook_call")[0]["stderr"], "just a log\n");
}

#[test]
fn a_message_is_shown_even_if_the_output_is_kept_out_of_logs() {
    let (sandbox, run, _) = run_with_guard(r#"echo '{"systemMessage": "hear this", "suppressOutput": true}'"#);
    assert_contains(&run.stderr, "Hook system message: hear this\n");
    let record = &records(&sandbox, "hook_call")[0];
    assert!(
        record.get("hook_input").is_none() && record.get("stdout").is_none() && record.get("hook_output").is_none()
    );
    assert_lacks(&record.to_string(), "hear this");
}

#[test]
fn ask_counts_as_deny_without_a_user() {
    let sandbox = project(&[("BeforeAgent", "", r#"echo '{"decision": "ask", "reason": "really?"}'"#)]);
    let run = run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "[WARNING] Agent execution blocked: really?");
}
