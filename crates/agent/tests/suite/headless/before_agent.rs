//! BeforeAgent and SessionStart: what stands around a prompt.

use super::*;

fn parts(request: &Value) -> Vec<String> {
    let parts = request[0]["parts"].as_array().unwrap();
    parts.iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

fn context(text: &str) -> String {
    answer(&json!({"hookSpecificOutput": {"additionalContext": text}}))
}

#[test]
fn context_follows_the_prompt_and_cannot_close_its_mark() {
    let sandbox = project(&[("BeforeAgent", "", &context("the branch is <main>"))]);
    let run = run(&sandbox, &Replay::new().says("ok"));
    assert_eq!(run.text, "ok");
    let sent = parts(&requests(&sandbox)[0]);
    assert_eq!(sent, ["hello", "<hook_context>the branch is &lt;main&gt;</hook_context>"]);
}

#[test]
fn context_is_for_its_turn_unless_the_settings_keep_it() {
    let said = json!({"hookSpecificOutput": {"additionalContext": "only now"}});
    let once = format!("case $(cat) in *first*) echo '{said}';; esac");
    for (keep, times) in [(false, 0), (true, 1)] {
        let sandbox = project_with(&[("BeforeAgent", "", &once)], json!({"hooksConfig": {"keepContext": keep}}));
        sandbox.write("a.txt", "A");
        let replay = Replay::new().calls("read_file", json!({"file_path": "a.txt"})).says("one");
        prompt(&sandbox, "the first prompt", &replay);
        resume(&sandbox, "the second prompt", &Replay::new().says("two"));
        let sent = requests(&sandbox);
        has(&sent[0].to_string(), "only now");
        has(&sent[1].to_string(), "only now");
        assert_eq!(sent[2].to_string().matches("only now").count(), times, "{}", sent[2]);
        has(&transcript(&sandbox), "only now");
    }
}

#[test]
fn what_session_start_says_stays_for_the_session() {
    let sandbox = project(&[("SessionStart", "startup", &context("ship on Friday"))]);
    run(&sandbox, &Replay::new().says("one"));
    resume(&sandbox, "again", &Replay::new().says("two"));
    has(&requests(&sandbox)[1].to_string(), "ship on Friday");
}

#[test]
fn what_session_start_says_stands_before_the_prompt() {
    let sandbox = project(&[("SessionStart", "startup", &context("ship on Friday"))]);
    run(&sandbox, &Replay::new().says("ok"));
    assert_eq!(parts(&requests(&sandbox)[0]), ["<hook_context>ship on Friday</hook_context>", "hello"]);
}

#[test]
fn session_start_never_blocks() {
    for script in
        ["echo no >&2; exit 2", r#"echo '{"decision": "deny", "reason": "no"}'"#, r#"echo '{"continue": false}'"#]
    {
        let sandbox = project(&[("SessionStart", "", script)]);
        assert_eq!(run(&sandbox, &Replay::new().says("ok")).text, "ok", "{script}");
    }
}

#[test]
fn a_denied_prompt_leaves_no_trace() {
    let script = r#"case $(cat) in *'"prompt":"forbidden'*) echo 'not that' >&2; exit 2;; esac"#;
    let sandbox = project(&[("BeforeAgent", "", script), ("AfterAgent", "", LOG)]);
    prompt(&sandbox, "first", &Replay::new().says("one"));
    let run = resume(&sandbox, "forbidden words", &Replay::new());
    assert_eq!(run.text, "");
    has(&run.said, "Agent execution blocked: not that\n");
    assert_eq!(log(&sandbox).len(), 1, "AfterAgent fired for a turn that was not");
    lacks(&transcript(&sandbox), "forbidden");
    resume(&sandbox, "third", &Replay::new().says("three"));
    assert_eq!(requests(&sandbox).len(), 2);
    let last = requests(&sandbox)[1].to_string();
    lacks(&last, "forbidden");
    has(&last, "one");
}

#[test]
fn a_denied_first_prompt_is_no_session_to_go_on_with_and_no_prompt() {
    let sandbox = project(&[("BeforeAgent", "", "echo no >&2; exit 2")]);
    let run = run(&sandbox, &Replay::new());
    lacks(&transcript(&sandbox), "hello");
    assert!(requests(&sandbox).is_empty());
    assert!(run.prompts.is_empty());
}

#[test]
fn hooks_in_sequence_see_what_those_before_them_added() {
    let first = context("from the first");
    let sandbox = project(&[("BeforeAgent", "", &first), ("BeforeAgent", "", LOG)]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"matcher\": \"\"", "\"sequential\": true", 1);
    sandbox.write(".gemini/settings.json", text);
    run(&sandbox, &Replay::new().says("ok"));
    let seen = log(&sandbox)[0]["prompt"].as_str().unwrap().to_owned();
    has(&seen, "hello");
    has(&seen, "from the first");
}
