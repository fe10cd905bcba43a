//! Sessions: going on, listing, deleting, and how they end.

use super::*;
use hookwright_testkit::fs;
use hookwright_testkit::{finish, wait_until};
use std::time::{Duration, Instant};

#[test]
fn a_resumed_session_knows_the_conversation_and_says_resume() {
    let sandbox = project(&[("SessionStart", "", LOG)]);
    prompt(&sandbox, "my name is Ada", &Replay::new().says("hello Ada"), &["--session-id", "s-1"]).exits(0);
    prompt(&sandbox, "who am I?", &Replay::new().says("Ada"), &["--resume", "latest"]).exits(0);
    let inputs = log(&sandbox);
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
    has(&sandbox.run(&["--list-sessions"]).exits(0).stderr, "there are no sessions");
    prompt(&sandbox, "the first topic", &Replay::new().says("1"), &["--session-id", "one"]).exits(0);
    prompt(&sandbox, "the second topic", &Replay::new().says("2"), &["--session-id", "two"]).exits(0);
    let listed = sandbox.run(&["--list-sessions"]).exits(0).stdout;
    for words in ["one", "two", "the first topic", "the second topic"] {
        has(&listed, words);
    }
    prompt(&sandbox, "go on", &Replay::new().says("ok"), &["--resume", "one"]).exits(0);
    has(&requests(&sandbox)[2].to_string(), "the first topic");
    sandbox.run(&["--delete-session", "two"]).exits(0);
    lacks(&sandbox.run(&["--list-sessions"]).exits(0).stdout, "the second topic");
    has(&sandbox.run(&["--delete-session", "two"]).exits(1).stderr, "two");
    has(&sandbox.run(&["-p", "x", "--resume", "9"]).exits(1).stderr, "9");
}

#[test]
fn session_end_fires_once_and_never_holds_up_the_exit() {
    let script = "cat >> log.jsonl; echo >> log.jsonl; echo $$ > pid; exec sleep 60";
    let sandbox = project(&[("SessionEnd", "", script)]);
    let before = Instant::now();
    let run = run(&sandbox, &Replay::new().says("ok"), &[]).exits(0);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    assert_eq!(run.stdout, "ok\n");
    assert_eq!(log(&sandbox).len(), 1);
    assert_eq!(log(&sandbox)[0]["reason"], "exit");
    signals::assert_gone(sandbox.read("pid").trim());
}

#[test]
fn session_end_fires_after_errors_too() {
    let sandbox = project(&[("SessionEnd", "", LOG)]);
    run(&sandbox, &Replay::new(), &[]).exits(1);
    assert_eq!(log(&sandbox)[0]["reason"], "exit");
}

#[cfg(unix)]
#[test]
fn a_session_that_was_killed_in_the_middle_of_a_turn_goes_on() {
    let sandbox = project(&[]);
    let command = "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 60";
    let file = sandbox.replay(&Replay::new().calls("run_shell_command", json!({"command": command})));
    let args = ["-p", "run something", "--fake-responses", &file, "--approval-mode=yolo"];
    let mut child = sandbox.command(&args).spawn().unwrap();
    wait_until("the tool runs", || sandbox.has("pid"));
    child.kill().unwrap();
    // Its pipes are also held by the tool that it could not end any more.
    signals::send("-KILL", sandbox.read("pid").trim());
    finish(child);
    let after = prompt(&sandbox, "what happened?", &Replay::new().says("no idea"), &["--resume"]).exits(0);
    assert_eq!(after.stdout, "no idea\n");
    let sent = requests(&sandbox).pop().unwrap();
    assert_eq!(sent[1]["parts"][0]["functionCall"]["name"], "run_shell_command");
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["name"], "run_shell_command");
    has(&sent.to_string(), "what happened?");
}

#[test]
fn a_transcript_cut_off_in_the_middle_of_a_line_still_loads() {
    let sandbox = project(&[]);
    prompt(&sandbox, "first", &Replay::new().says("one"), &[]).exits(0);
    let file = files_under(&sandbox.home()).into_iter().find(|path| path.ends_with(".jsonl")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 7]).unwrap();
    prompt(&sandbox, "second", &Replay::new().says("two"), &["--resume"]).exits(0);
    let sent = requests(&sandbox)[1].to_string();
    has(&sent, "first");
    has(&sent, "second");
    prompt(&sandbox, "third", &Replay::new().says("three"), &["--resume"]).exits(0);
    has(&requests(&sandbox)[2].to_string(), "two");
}

#[test]
fn a_sessions_name_is_a_plain_word_and_taken_once() {
    let sandbox = project(&[]);
    for name in ["", "../evil", "a b", "latest", "7"] {
        has(&run(&sandbox, &Replay::new(), &["--session-id", name]).exits(42).stderr, "--session-id");
    }
    run(&sandbox, &Replay::new().says("ok"), &["--session-id", "mine"]).exits(0);
    has(&run(&sandbox, &Replay::new().says("ok"), &["--session-id", "mine"]).exits(1).stderr, "--resume mine");
}

#[test]
fn going_on_where_there_is_nothing_says_so() {
    let sandbox = project(&[]);
    has(&run(&sandbox, &Replay::new(), &["--resume"]).exits(1).stderr, "there are no sessions");
}
