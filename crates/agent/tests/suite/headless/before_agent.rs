//! BeforeAgent and SessionStart: context around a prompt.

use super::*;

fn part_texts(request: &Value) -> Vec<String> {
    let parts = request[0]["parts"].as_array().unwrap();
    parts.iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

fn context_script(text: &str) -> String {
    answer_script(&json!({"hookSpecificOutput": {"additionalContext": text}}))
}

#[test]
fn context_follows_the_prompt_and_cannot_close_its_mark() {
    let sandbox = project(&[("BeforeAgent", "", &context_script("the branch is <main>"))]);
    let run = run_hello(&sandbox, &ReplayBuilder::new().says("ok"));
    assert_eq!(run.text, "ok");
    let sent = part_texts(&request_contents(&sandbox)[0]);
    assert_eq!(sent, ["hello", "<hook_context>the branch is &lt;main&gt;</hook_context>"]);
}

#[test]
fn context_is_for_its_turn_unless_the_settings_keep_it() {
    let said = json!({"hookSpecificOutput": {"additionalContext": "only now"}});
    let once = format!("case $(cat) in *first*) echo '{said}';; esac");
    for (keep, times) in [(false, 0), (true, 1)] {
        let sandbox = project_with(&[("BeforeAgent", "", &once)], json!({"hooksConfig": {"keepContext": keep}}));
        sandbox.write("a.txt", "A");
        let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("one");
        run_prompt(&sandbox, "the first prompt", &replay);
        resume_with_prompt(&sandbox, "the second prompt", &ReplayBuilder::new().says("two"));
        let sent = request_contents(&sandbox);
        assert_contains(&sent[0].to_string(), "only now");
        assert_contains(&sent[1].to_string(), "only now");
        assert_eq!(sent[2].to_string().matches("only now").count(), times, "{}", sent[2]);
        assert_contains(&read_transcript(&sandbox), "only now");
    }
}

#[test]
fn session_start_context_stays_for_the_session() {
    let sandbox = project(&[("SessionStart", "startup", &context_script("ship on Friday"))]);
    run_hello(&sandbox, &ReplayBuilder::new().says("one"));
    resume_with_prompt(&sandbox, "again", &ReplayBuilder::new().says("two"));
    assert_contains(&request_contents(&sandbox)[1].to_string(), "ship on Friday");
}

#[test]
fn session_start_context_precedes_the_prompt() {
    let sandbox = project(&[("SessionStart", "startup", &context_script("ship on Friday"))]);
    run_hello(&sandbox, &ReplayBuilder::new().says("ok"));
    assert_eq!(part_texts(&request_contents(&sandbox)[0]), ["<hook_context>ship on Friday</hook_context>", "hello"]);
}

#[test]
fn session_start_never_blocks() {
    for script in
        ["echo no >&2; exit 2", r#"echo '{"decision": "deny", "reason": "no"}'"#, r#"echo '{"continue": false}'"#]
    {
        let sandbox = project(&[("SessionStart", "", script)]);
        assert_eq!(run_hello(&sandbox, &ReplayBuilder::new().says("ok")).text, "ok", "{script}");
    }
}

#[test]
fn a_denied_prompt_leaves_no_trace() {
    let script = r#"case $(cat) in *'"prompt":"forbidden'*) echo 'not that' >&2; exit 2;; esac"#;
    let sandbox = project(&[("BeforeAgent", "", script), ("AfterAgent", "", LOG_INPUT_SCRIPT)]);
    run_prompt(&sandbox, "first", &ReplayBuilder::new().says("one"));
    let run = resume_with_prompt(&sandbox, "forbidden words", &ReplayBuilder::new());
    assert_eq!(run.text, "");
    assert_contains(&run.messages, "Agent execution blocked: not that\n");
    assert_eq!(logged_inputs(&sandbox).len(), 1, "AfterAgent fired for a turn that was not");
    assert_lacks(&read_transcript(&sandbox), "forbidden");
    resume_with_prompt(&sandbox, "third", &ReplayBuilder::new().says("three"));
    assert_eq!(request_contents(&sandbox).len(), 2);
    let last = request_contents(&sandbox)[1].to_string();
    assert_lacks(&last, "forbidden");
    assert_contains(&last, "one");
}

#[test]
fn a_denied_first_prompt_is_no_session_to_go_on_with_and_no_prompt() {
    let sandbox = project(&[("BeforeAgent", "", "echo no >&2; exit 2")]);
    let run = run_hello(&sandbox, &ReplayBuilder::new());
    assert_lacks(&read_transcript(&sandbox), "hello");
    assert!(request_contents(&sandbox).is_empty());
    assert!(run.prompts.is_empty());
}

#[test]
fn hooks_in_sequence_see_what_those_before_them_added() {
    let first = context_script("from the first");
    let sandbox = project(&[("BeforeAgent", "", &first), ("BeforeAgent", "", LOG_INPUT_SCRIPT)]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"matcher\": \"\"", "\"sequential\": true", 1);
    sandbox.write(".gemini/settings.json", text);
    run_hello(&sandbox, &ReplayBuilder::new().says("ok"));
    let seen = logged_inputs(&sandbox)[0]["prompt"].as_str().unwrap().to_owned();
    assert_contains(&seen, "hello");
    assert_contains(&seen, "from the first");
}
