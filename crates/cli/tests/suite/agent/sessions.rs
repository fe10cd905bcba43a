//! Sessions: resuming, listing, deleting, and how they end.

use super::*;
use hookwright_testkit::fs;
use hookwright_testkit::{finish, wait_until};
use std::time::{Duration, Instant};

#[test]
fn a_resumed_session_knows_the_conversation_and_says_resume() {
    let sandbox = project(&[("SessionStart", "", LOG_INPUT_SCRIPT)]);
    prompt(&sandbox, "my name is Ada", &ReplayBuilder::new().says("hello Ada"), &["--session-id", "s-1"])
        .expect_exit_code(0);
    prompt(&sandbox, "who am I?", &ReplayBuilder::new().says("Ada"), &["--resume", "latest"]).expect_exit_code(0);
    let inputs = logged_inputs(&sandbox);
    assert_eq!((&inputs[0]["source"], &inputs[1]["source"]), (&json!("startup"), &json!("resume")));
    assert_eq!(
        (&inputs[1]["session_id"], &inputs[1]["transcript_path"]),
        (&json!("s-1"), &inputs[0]["transcript_path"])
    );
    let sent = &requests(&sandbox)[1];
    let texts: Vec<&str> = (0..3).map(|at| sent[at]["parts"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["my name is Ada", "hello Ada", "who am I?"]);
}

#[test]
fn sessions_are_listed_found_by_number_and_deleted() {
    let sandbox = project(&[]);
    assert_contains(&sandbox.run(&["--list-sessions"]).expect_exit_code(0).stderr, "there are no sessions");
    prompt(&sandbox, "the first topic", &ReplayBuilder::new().says("1"), &["--session-id", "one"]).expect_exit_code(0);
    prompt(&sandbox, "the second topic", &ReplayBuilder::new().says("2"), &["--session-id", "two"]).expect_exit_code(0);
    let listed = sandbox.run(&["--list-sessions"]).expect_exit_code(0).stdout;
    for words in ["one", "two", "the first topic", "the second topic"] {
        assert_contains(&listed, words);
    }
    prompt(&sandbox, "go on", &ReplayBuilder::new().says("ok"), &["--resume", "one"]).expect_exit_code(0);
    assert_contains(&requests(&sandbox)[2].to_string(), "the first topic");
    sandbox.run(&["--delete-session", "two"]).expect_exit_code(0);
    assert_lacks(&sandbox.run(&["--list-sessions"]).expect_exit_code(0).stdout, "the second topic");
    assert_contains(&sandbox.run(&["--delete-session", "two"]).expect_exit_code(1).stderr, "two");
    assert_contains(&sandbox.run(&["-p", "x", "--resume", "9"]).expect_exit_code(1).stderr, "9");
}

#[test]
fn session_end_fires_once_and_never_holds_up_the_exit() {
    let script = "cat >> log.jsonl; echo >> log.jsonl; echo $$ > pid; exec sleep 60";
    let sandbox = project(&[("SessionEnd", "", script)]);
    let before = Instant::now();
    let run = run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    assert_eq!(run.stdout, "ok\n");
    assert_eq!(logged_inputs(&sandbox).len(), 1);
    assert_eq!(logged_inputs(&sandbox)[0]["reason"], "exit");
    signals::assert_gone(sandbox.read("pid").trim());
}

#[test]
fn session_end_fires_after_errors_too() {
    let sandbox = project(&[("SessionEnd", "", LOG_INPUT_SCRIPT)]);
    run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(1);
    assert_eq!(logged_inputs(&sandbox)[0]["reason"], "exit");
}

#[cfg(unix)]
#[test]
fn a_session_that_was_killed_in_the_middle_of_a_turn_goes_on() {
    let sandbox = project(&[]);
    let command = "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 60";
    let file = sandbox.replay(&ReplayBuilder::new().calls("run_shell_command", json!({"command": command})));
    let args = ["-p", "run something", "--fake-responses", &file, "--approval-mode=yolo"];
    let mut child = sandbox.command(&args).spawn().unwrap();
    wait_until("the tool runs", || sandbox.has_file("pid"));
    child.kill().unwrap();
    // Its pipes are also held by the tool that it could no longer end.
    signals::send("-KILL", sandbox.read("pid").trim());
    finish(child);
    let after =
        prompt(&sandbox, "what happened?", &ReplayBuilder::new().says("no idea"), &["--resume"]).expect_exit_code(0);
    assert_eq!(after.stdout, "no idea\n");
    let sent = requests(&sandbox).pop().unwrap();
    assert_eq!(sent[1]["parts"][0]["functionCall"]["name"], "run_shell_command");
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["name"], "run_shell_command");
    assert_contains(&sent.to_string(), "what happened?");
}

#[test]
fn a_transcript_cut_off_in_the_middle_of_a_line_still_loads() {
    let sandbox = project(&[]);
    prompt(&sandbox, "first", &ReplayBuilder::new().says("one"), &[]).expect_exit_code(0);
    let file = files_under(&sandbox.home()).into_iter().find(|path| path.ends_with(".jsonl")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 7]).unwrap();
    prompt(&sandbox, "second", &ReplayBuilder::new().says("two"), &["--resume"]).expect_exit_code(0);
    let sent = requests(&sandbox)[1].to_string();
    assert_contains(&sent, "first");
    assert_contains(&sent, "second");
    prompt(&sandbox, "third", &ReplayBuilder::new().says("three"), &["--resume"]).expect_exit_code(0);
    assert_contains(&requests(&sandbox)[2].to_string(), "two");
}

#[test]
fn a_sessions_name_is_a_plain_word_and_taken_once() {
    let sandbox = project(&[]);
    for name in ["", "../evil", "a b", "latest", "7"] {
        assert_contains(
            &run(&sandbox, &ReplayBuilder::new(), &["--session-id", name]).expect_exit_code(42).stderr,
            "--session-id",
        );
    }
    run(&sandbox, &ReplayBuilder::new().says("ok"), &["--session-id", "mine"]).expect_exit_code(0);
    assert_contains(
        &run(&sandbox, &ReplayBuilder::new().says("ok"), &["--session-id", "mine"]).expect_exit_code(1).stderr,
        "--resume mine",
    );
}

#[test]
fn going_on_where_there_is_nothing_says_so() {
    let sandbox = project(&[]);
    assert_contains(
        &run(&sandbox, &ReplayBuilder::new(), &["--resume"]).expect_exit_code(1).stderr,
        "there are no sessions",
    );
}
