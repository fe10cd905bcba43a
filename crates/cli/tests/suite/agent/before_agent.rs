//! BeforeAgent with the built binary: a denied prompt is in no format and no record. The rest is in
//! `crates/agent/tests/suite/headless/before_agent.rs`.

use super::*;
use hookwright_testkit::fs;

#[test]
fn a_stopped_prompt_stays() {
    let script = r#"case $(cat) in *'"prompt":"stop'*) echo '{"continue": false, "stopReason": "enough"}';; esac"#;
    let sandbox = project(&[("BeforeAgent", "", script)]);
    let run = prompt(&sandbox, "stop here", &ReplayBuilder::new(), &[]).expect_exit_code(0);
    assert_eq!(run.stdout, "");
    assert_contains(&run.stderr, "Agent execution stopped: Agent execution stopped by hook: enough\n");
    prompt(&sandbox, "go on", &ReplayBuilder::new().says("ok"), &["--resume", "latest"]).expect_exit_code(0);
    assert_contains(&requests(&sandbox)[0].to_string(), "stop here");
}

#[test]
fn a_denied_prompt_is_nowhere() {
    // Another hook gets the prompt too, and its record must not contain it either.
    let hooks = [("BeforeAgent", "", "echo no >&2; exit 2"), ("BeforeAgent", "", "cat > /dev/null")];
    for format in ["text", "json", "stream-json"] {
        let sandbox = project(&hooks);
        let run = prompt(&sandbox, "the word is hunter2", &ReplayBuilder::new(), &["-o", format, "--debug"])
            .expect_exit_code(0);
        assert_lacks(&run.stdout, "hunter2");
        assert_lacks(&run.stderr, "hunter2");
        assert_lacks(&transcript(&sandbox), "hunter2");
        assert_lacks(&fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap(), "hunter2");
        assert_eq!(records(&sandbox, "hook_call").len(), 2);
    }
    let sandbox = project(&[("BeforeAgent", "", LOG_INPUT_SCRIPT)]);
    let replay = ReplayBuilder::new().says("ok");
    assert_contains(
        &prompt(&sandbox, "fine", &replay, &["-o", "stream-json"]).expect_exit_code(0).stdout,
        r#""content":"fine""#,
    );
    assert_eq!(records(&sandbox, "user_prompt")[0]["prompt"], "fine");
    assert_contains(&records(&sandbox, "hook_call")[0]["hook_input"].to_string(), "fine");
}
