//! BeforeModel with the built binary: the output for a request that is not made. The rest is in
//! `crates/agent/tests/suite/headless/before_model.rs`.

use super::*;

#[test]
fn a_denied_request_is_not_made() {
    let sandbox =
        project(&[("BeforeModel", "", "echo 'over budget' >&2; exit 2"), ("AfterAgent", "", LOG_INPUT_SCRIPT)]);
    let run = run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(0);
    assert_eq!(run.stdout, "");
    assert_contains(&run.stderr, "[WARNING] Agent execution blocked: over budget\n");
    assert!(logged_inputs(&sandbox).is_empty(), "there is no answer, so AfterAgent has nothing to judge");
    assert!(records(&sandbox, "api_request").is_empty());
}

#[test]
fn a_stopped_request_is_not_made() {
    let sandbox = project(&[("BeforeModel", "", r#"echo '{"continue": false, "stopReason": "quota"}'"#)]);
    let run = run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "Agent execution stopped: Agent execution stopped by hook: quota\n");
    assert!(records(&sandbox, "api_request").is_empty());
}
