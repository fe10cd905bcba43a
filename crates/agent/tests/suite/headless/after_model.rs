//! AfterModel: text that hooks redact appears nowhere.

use super::*;
use hookwright_testkit::replay::call;

const SECRET: &str = "hunter2";

/// Replaces a piece with the secret, and keeps its own input out of the logs.
const REDACT_SCRIPT: &str = r#"case $(sed 's/.*"content":"\([^"]*\)","full_content".*/\1/') in
*hunter2*) echo '{"suppressOutput": true, "hookSpecificOutput": {"llm_response": {"candidates": [{"content": {"role": "model", "parts": ["[gone] "]}}]}}}';;
*) echo '{"suppressOutput": true}';;
esac"#;

fn secret_replay() -> ReplayBuilder {
    ReplayBuilder::new().says_in_chunks(&["the word is ", "hunter2 ", "I think"])
}

#[test]
fn later_pieces_are_told_the_redacted_text() {
    let sandbox =
        project(&[("AfterModel", "", &format!("tee -a log.jsonl | {{ {REDACT_SCRIPT}\n}}; echo >> log.jsonl"))]);
    run_hello(&sandbox, &secret_replay());
    assert_eq!(logged_inputs_of(&sandbox, "AfterModel")[2]["full_content"], "the word is [gone] I think");
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
        let sandbox = project(&[("AfterModel", "", &answer_script(&said))]);
        assert_eq!(run_hello(&sandbox, &ReplayBuilder::new().says("old")).text, "new", "{said}");
    }
}

#[test]
fn calls_survive_a_redaction() {
    let sandbox =
        project(&[("AfterModel", "", &answer_script(&json!({"hookSpecificOutput": {"llm_response": {"text": "X"}}})))]);
    let parts = [json!({"text": "hunter2"}), call("write_file", json!({"file_path": "a.txt", "content": "A"}))];
    let run = run_hello(&sandbox, &ReplayBuilder::new().parts(&parts).says("hunter2"));
    assert_eq!(sandbox.read("a.txt"), "A");
    assert_lacks(&run.text, SECRET);
    assert_lacks(&request_contents(&sandbox)[1].to_string(), SECRET);
}

#[test]
fn a_stop_keeps_what_came_before() {
    let script = r#"case $(cat) in *'"content":"two'*) echo '{"continue": false, "stopReason": "enough"}';; esac"#;
    let sandbox = project(&[("AfterModel", "", script)]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&["one ", "two ", "three"]));
    assert_eq!(run.text, "one ");
    assert_contains(&run.messages, "Agent execution stopped by hook: enough\n");
    assert_contains(&read_transcript(&sandbox), "one ");
}

#[test]
fn a_failing_hook_warns_once_and_not_per_piece() {
    let sandbox = project(&[("AfterModel", "", "echo broken >&2; exit 3")]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says_in_chunks(&["a", "b", "c"]));
    assert_eq!(run.text, "abc");
    assert_eq!(run.messages.matches("broken").count(), 1, "{}", run.messages);
}
