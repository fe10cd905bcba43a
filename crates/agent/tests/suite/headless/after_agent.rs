//! AfterAgent: retries and their bound, stops, and an emptied memory.

use super::*;

const ONCE: &str = r#"case $(tee -a log.jsonl; echo >> log.jsonl) in
*'"stop_hook_active":true'*) ;;
*) echo 'say it better' >&2; exit 2;;
esac"#;

#[test]
fn a_denied_answer_is_asked_for_again_with_the_reason() {
    let sandbox = project(&[("AfterAgent", "", ONCE), ("BeforeAgent", "", "cat >> prompts; echo >> prompts")]);
    let run = run(&sandbox, &Replay::new().says("first").says("second"));
    assert_eq!(run.text, "first\nsecond");
    has(&run.said, "Agent execution blocked: say it better\n");
    let ends = logged(&sandbox, "AfterAgent");
    assert_eq!(ends.len(), 2);
    assert_eq!((&ends[0]["stop_hook_active"], &ends[1]["stop_hook_active"]), (&json!(false), &json!(true)));
    assert_eq!(ends[1]["prompt"], "hello");
    let so_far = ends[1]["prompt_response"].as_str().unwrap();
    has(so_far, "first");
    has(so_far, "second");
    let prompts: Vec<Value> = sandbox.read("prompts").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(prompts.iter().map(|input| &input["prompt"]).collect::<Vec<_>>(), ["hello", "say it better"]);
    let request = requests(&sandbox)[1].to_string();
    has(&request, "first");
    has(&request, "say it better");
}

#[test]
fn retries_are_bounded_and_the_bound_is_said() {
    let script = "cat > /dev/null; echo again >> count; echo again >&2; exit 2";
    let sandbox = project_with(&[("AfterAgent", "", script)], json!({"hooksConfig": {"maxAgentRetries": 2}}));
    let run = run(&sandbox, &Replay::new().says("a").says("b").says("c"));
    has(&run.said, "hooks rejected the answer 3 times in a row; the last answer stands");
    assert_eq!(sandbox.read("count").lines().count(), 3);
}

#[test]
fn without_a_setting_five_retries_are_the_bound() {
    let sandbox = project(&[("AfterAgent", "", "echo again >> count; echo again >&2; exit 2")]);
    let replay = (0..6).fold(Replay::new(), |replay, at| replay.says(&at.to_string()));
    has(&run(&sandbox, &replay).said, "6 times in a row");
    assert_eq!(sandbox.read("count").lines().count(), 6);
}

#[test]
fn a_stop_ends_the_turn_with_its_answer() {
    let sandbox = project(&[("AfterAgent", "", r#"echo '{"continue": false, "stopReason": "that will do"}'"#)]);
    let run = run(&sandbox, &Replay::new().says("answer"));
    assert_eq!(run.text, "answer");
    has(&run.said, "Agent execution stopped by hook: that will do\n");
}

#[test]
fn an_emptied_memory_knows_nothing_of_before() {
    let script = r#"case $(cat) in
*'"stop_hook_active":true'*) ;;
*'"prompt":"old'*) echo '{"decision": "deny", "reason": "start over", "hookSpecificOutput": {"clearContext": true}}';;
esac"#;
    let sandbox = project(&[("AfterAgent", "", script)]);
    let run = prompt(&sandbox, "old words", &Replay::new().says("old answer").says("new answer"));
    assert_eq!(run.text, "old answer\nnew answer");
    let second = requests(&sandbox)[1].to_string();
    assert!(!second.contains("old") && second.contains("start over"), "{second}");
    // The transcript keeps what the model forgot, and a resumed session has forgotten it too.
    has(&transcript(&sandbox), "old answer");
    resume(&sandbox, "later", &Replay::new().says("ok"));
    lacks(&requests(&sandbox)[2].to_string(), "old");
}

#[test]
fn it_fires_once_however_many_tools_run() {
    let sandbox = project(&[("AfterAgent", "", LOG), ("BeforeAgent", "", LOG)]);
    sandbox.write("a.txt", "A");
    let read = |replay: Replay, limit: u32| replay.calls("read_file", json!({"file_path": "a.txt", "limit": limit}));
    let replay = (1..=3).fold(Replay::new(), read).says("done");
    run(&sandbox, &replay);
    assert_eq!(logged_events(&sandbox), ["BeforeAgent", "AfterAgent"]);
}

#[test]
fn an_answer_without_words_is_an_answer() {
    let sandbox = project(&[("AfterAgent", "", LOG)]);
    sandbox.write("a.txt", "A");
    let replay = Replay::new()
        .calls("read_file", json!({"file_path": "a.txt"}))
        .stream(vec![json!({"candidates": [{"finishReason": "STOP"}]})]);
    let run = run(&sandbox, &replay);
    assert_eq!(run.text, "");
    lacks(&run.said, "empty answer");
    assert_eq!(log(&sandbox)[0]["prompt_response"], "[no response text]");
}
