//! AfterAgent: retries and their limit, stops, and a cleared history.

use super::*;

const DENY_ONCE_SCRIPT: &str = r#"case $(tee -a log.jsonl; echo >> log.jsonl) in
*'"stop_hook_active":true'*) ;;
*) echo 'say it better' >&2; exit 2;;
esac"#;

#[test]
fn a_denied_answer_is_asked_for_again_with_the_reason() {
    let sandbox =
        project(&[("AfterAgent", "", DENY_ONCE_SCRIPT), ("BeforeAgent", "", "cat >> prompts; echo >> prompts")]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says("first").says("second"));
    assert_eq!(run.text, "first\nsecond");
    assert_contains(&run.messages, "Agent execution blocked: say it better\n");
    let ends = logged_inputs_of(&sandbox, "AfterAgent");
    assert_eq!(ends.len(), 2);
    assert_eq!((&ends[0]["stop_hook_active"], &ends[1]["stop_hook_active"]), (&json!(false), &json!(true)));
    assert_eq!(ends[1]["prompt"], "hello");
    let so_far = ends[1]["prompt_response"].as_str().unwrap();
    assert_contains(so_far, "first");
    assert_contains(so_far, "second");
    let prompts: Vec<Value> = sandbox.read("prompts").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(prompts.iter().map(|input| &input["prompt"]).collect::<Vec<_>>(), ["hello", "say it better"]);
    let request = request_contents(&sandbox)[1].to_string();
    assert_contains(&request, "first");
    assert_contains(&request, "say it better");
}

#[test]
fn retries_are_bounded_and_the_bound_is_said() {
    let script = "cat > /dev/null; echo again >> count; echo again >&2; exit 2";
    let sandbox = project_with(&[("AfterAgent", "", script)], json!({"hooksConfig": {"maxAgentRetries": 2}}));
    let run = run_hello(&sandbox, &ReplayBuilder::new().says("a").says("b").says("c"));
    assert_contains(&run.messages, "hooks rejected the answer 3 times in a row; the last answer is kept");
    assert_eq!(sandbox.read("count").lines().count(), 3);
}

#[test]
fn without_a_setting_five_retries_are_the_bound() {
    let sandbox = project(&[("AfterAgent", "", "echo again >> count; echo again >&2; exit 2")]);
    let replay = (0..6).fold(ReplayBuilder::new(), |replay, at| replay.says(&at.to_string()));
    assert_contains(&run_hello(&sandbox, &replay).messages, "6 times in a row");
    assert_eq!(sandbox.read("count").lines().count(), 6);
}

#[test]
fn a_stop_ends_the_turn_with_its_answer() {
    let sandbox = project(&[("AfterAgent", "", r#"echo '{"continue": false, "stopReason": "that will do"}'"#)]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says("answer"));
    assert_eq!(run.text, "answer");
    assert_contains(&run.messages, "Agent execution stopped by hook: that will do\n");
}

#[test]
fn a_cleared_history_holds_nothing_from_before() {
    let script = r#"case $(cat) in
*'"stop_hook_active":true'*) ;;
*'"prompt":"old'*) echo '{"decision": "deny", "reason": "start over", "hookSpecificOutput": {"clearContext": true}}';;
esac"#;
    let sandbox = project(&[("AfterAgent", "", script)]);
    let run = run_prompt(&sandbox, "old words", &ReplayBuilder::new().says("old answer").says("new answer"));
    assert_eq!(run.text, "old answer\nnew answer");
    let second = request_contents(&sandbox)[1].to_string();
    assert!(!second.contains("old") && second.contains("start over"), "{second}");
    // The transcript keeps the cleared messages, and a resumed session does not send them either.
    assert_contains(&read_transcript(&sandbox), "old answer");
    resume_with_prompt(&sandbox, "later", &ReplayBuilder::new().says("ok"));
    assert_lacks(&request_contents(&sandbox)[2].to_string(), "old");
}

#[test]
fn it_fires_once_however_many_tools_run() {
    let sandbox = project(&[("AfterAgent", "", LOG_INPUT_SCRIPT), ("BeforeAgent", "", LOG_INPUT_SCRIPT)]);
    sandbox.write("a.txt", "A");
    let read =
        |replay: ReplayBuilder, limit: u32| replay.calls("read_file", json!({"file_path": "a.txt", "limit": limit}));
    let replay = (1..=3).fold(ReplayBuilder::new(), read).says("done");
    run_hello(&sandbox, &replay);
    assert_eq!(logged_events(&sandbox), ["BeforeAgent", "AfterAgent"]);
}

#[test]
fn an_answer_without_words_is_an_answer() {
    let sandbox = project(&[("AfterAgent", "", LOG_INPUT_SCRIPT)]);
    sandbox.write("a.txt", "A");
    let replay = ReplayBuilder::new()
        .calls("read_file", json!({"file_path": "a.txt"}))
        .stream(vec![json!({"candidates": [{"finishReason": "STOP"}]})]);
    let run = run_hello(&sandbox, &replay);
    assert_eq!(run.text, "");
    assert_lacks(&run.messages, "empty answer");
    assert_eq!(logged_inputs(&sandbox)[0]["prompt_response"], "[no response text]");
}
