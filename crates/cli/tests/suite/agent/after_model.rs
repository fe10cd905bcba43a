//! AfterModel with the built binary: text that hooks redact is in no format and no record. The rest is in
//! `crates/agent/tests/suite/headless/after_model.rs`.

use super::*;
use hookwright_testkit::replay::chunk;

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
fn redacted_text_appears_nowhere() {
    let sandbox = project(&[("AfterModel", "", REDACT_SCRIPT)]);
    let run_text = run(&sandbox, &secret_replay(), &[]).expect_exit_code(0);
    assert_eq!(run_text.stdout, "the word is [gone] I think\n");
    prompt(&sandbox, "and now?", &ReplayBuilder::new().says("ok"), &["--resume"]).expect_exit_code(0);
    let later = requests(&sandbox)[1].to_string();
    assert_contains(&later, "the word is [gone] I think");
    for file in files_under(&sandbox.home()).into_iter().chain([sandbox
        .sibling_path("telemetry.log")
        .to_str()
        .unwrap()
        .to_owned()])
    {
        assert_lacks(&String::from_utf8_lossy(&fs::read(file).unwrap()), SECRET);
    }
    assert_lacks(&run_text.stderr, SECRET);
}

#[test]
fn redacted_text_is_in_no_format_and_no_later_event() {
    for format in ["json", "stream-json"] {
        let sandbox = project(&[("AfterModel", "", REDACT_SCRIPT), ("AfterAgent", "", LOG_INPUT_SCRIPT)]);
        let run = run(&sandbox, &secret_replay(), &["-o", format]).expect_exit_code(0);
        assert_lacks(&run.stdout, SECRET);
        assert_contains(&run.stdout, "[gone]");
        assert_eq!(logged_inputs(&sandbox)[0]["prompt_response"], "the word is [gone] I think");
    }
}

#[test]
fn a_denied_piece_is_not_shown_and_ends_the_turn() {
    let script = r#"case $(cat) in *'"content":"hunter2'*) echo 'a secret' >&2; exit 2;; esac"#;
    let sandbox = project(&[("AfterModel", "", script), ("AfterAgent", "", LOG_INPUT_SCRIPT)]);
    let plain =
        run(&sandbox, &ReplayBuilder::new().says_in_chunks(&["well, ", "hunter2", "never"]), &[]).expect_exit_code(0);
    assert_contains(&plain.stderr, "[WARNING] Agent execution blocked: a secret\n");
    assert_lacks(&plain.stdout, SECRET);
    assert_lacks(&plain.stdout, "never");
    assert!(logged_inputs(&sandbox).is_empty());
    let text = transcript(&sandbox);
    assert_lacks(&text, SECRET);
    // The whole answer is dropped.
    assert_lacks(&text, "well, ");
    let sandbox = project(&[("AfterModel", "", script)]);
    let answer = run(&sandbox, &ReplayBuilder::new().says_in_chunks(&["well, ", "hunter2"]), &["-o", "json"])
        .expect_exit_code(0)
        .json();
    assert_eq!(answer["response"], "");
    assert_eq!(answer["warnings"], json!(["Agent execution blocked: a secret"]));
}

#[test]
fn thoughts_are_neither_printed_nor_among_the_text() {
    let sandbox = project(&[("AfterModel", "", LOG_INPUT_SCRIPT)]);
    let chunks = vec![
        chunk(&[json!({"text": "let me think", "thought": true})], false),
        json!({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}),
        json!({"candidates": [{"content": {"role": "model"}}]}),
        json!({"candidates": []}),
        chunk(&[json!({"text": "thinking", "thought": true}), json!({"text": "ok"})], true),
    ];
    for format in ["text", "json", "stream-json"] {
        let run = run(&sandbox, &ReplayBuilder::new().stream(chunks.clone()), &["-o", format]).expect_exit_code(0);
        assert_contains(&run.stdout, "ok");
        assert_lacks(&run.stdout, "think");
        assert_lacks(&run.stderr, "think");
    }
    assert!(logged_inputs(&sandbox).iter().all(|input| !input["llm_response"].to_string().contains("think")));
}
