//! AfterAgent with the built binary. The rest is in `crates/agent/tests/suite/headless/after_agent.rs`.

use super::*;

const DENY_ONCE_SCRIPT: &str = r#"case $(tee -a log.jsonl; echo >> log.jsonl) in
*'"stop_hook_active":true'*) ;;
*) echo 'say it better' >&2; exit 2;;
esac"#;

#[test]
fn the_json_response_is_the_last_answer() {
    let sandbox = project(&[("AfterAgent", "", DENY_ONCE_SCRIPT)]);
    let answer =
        run(&sandbox, &ReplayBuilder::new().says("first").says("second"), &["-o", "json"]).expect_exit_code(0).json();
    assert_eq!(answer["response"], "second");
    assert_eq!(answer["warnings"], json!(["Agent execution blocked: say it better"]));
    assert!(answer.get("error").is_none());
}
