//! AfterModel: what hooks redact is nowhere.

use super::*;
use hookwright_testkit::replay::call;

const SECRET: &str = "hunter2";

/// Replaces a piece that holds the secret, and keeps what it read out of the logs.
const REDACT: &str = r#"case $(sed 's/.*"content":"\([^"]*\)","full_content".*/\1/') in
*hunter2*) echo '{"suppressOutput": true, "hookSpecificOutput": {"llm_response": {"candidates": [{"content": {"role": "model", "parts": ["[gone] "]}}]}}}';;
*) echo '{"suppressOutput": true}';;
esac"#;

fn secret_replay() -> Replay {
    Replay::new().pieces(&["the word is ", "hunter2 ", "I think"])
}

#[test]
fn later_pieces_are_told_the_redacted_text() {
    let sandbox = project(&[("AfterModel", "", &format!("tee -a log.jsonl | {{ {REDACT}\n}}; echo >> log.jsonl"))]);
    run(&sandbox, &secret_replay());
    assert_eq!(logged(&sandbox, "AfterModel")[2]["full_content"], "the word is [gone] I think");
}

#[test]
fn older_spellings_and_plain_text_replace_a_piece_too() {
    let specific = |response: Value| json!({"hookSpecificOutput": response});
    for said in [
        specific(json!({"llm_response": {"text": "new"}})),
        specific(json!({"modifiedResponse": {"text": "new"}})),
        specific(json!({"llm_response": {"candidate": {"content": {"parts": ["new"]}}}})),
        specific(json!({"llm_response": {"candidates": [{"content": {"parts": [{"text": "new"}]}}]}})),
        json!({"content": "new"}),
    ] {
        let sandbox = project(&[("AfterModel", "", &answer(&said))]);
        assert_eq!(run(&sandbox, &Replay::new().says("old")).text, "new", "{said}");
    }
}

#[test]
fn calls_survive_a_redaction() {
    let sandbox =
        project(&[("AfterModel", "", &answer(&json!({"hookSpecificOutput": {"llm_response": {"text": "X"}}})))]);
    let parts = [json!({"text": "hunter2"}), call("write_file", json!({"file_path": "a.txt", "content": "A"}))];
    let run = run(&sandbox, &Replay::new().parts(&parts).says("hunter2"));
    assert_eq!(sandbox.read("a.txt"), "A");
    lacks(&run.text, SECRET);
    lacks(&requests(&sandbox)[1].to_string(), SECRET);
}

#[test]
fn a_stop_keeps_what_came_before() {
    let script = r#"case $(cat) in *'"content":"two'*) echo '{"continue": false, "stopReason": "enough"}';; esac"#;
    let sandbox = project(&[("AfterModel", "", script)]);
    let run = run(&sandbox, &Replay::new().pieces(&["one ", "two ", "three"]));
    assert_eq!(run.text, "one ");
    has(&run.said, "Agent execution stopped by hook: enough\n");
    has(&transcript(&sandbox), "one ");
}

#[test]
fn a_failing_hook_warns_once_and_not_per_piece() {
    let sandbox = project(&[("AfterModel", "", "echo broken >&2; exit 3")]);
    let run = run(&sandbox, &Replay::new().pieces(&["a", "b", "c"]));
    assert_eq!(run.text, "abc");
    assert_eq!(run.said.matches("broken").count(), 1, "{}", run.said);
}
