//! One door: every request to the model passes the model hooks, whatever it is for, and what they take out is nowhere.

use super::*;
use hookwright_testkit::replay::{call, chunk};

const SECRET: &str = "hunter2";

/// Changes the secret in the texts of a request, as a hook with sed would.
const REDACT_REQUEST: &str = r#"messages=$(sed 's/.*"messages":\(\[.*\]\),"config".*/\1/; s/hunter2/[gone]/g')
printf '{"hookSpecificOutput": {"llm_request": {"messages": %s}}}' "$messages""#;

/// A hook that answers only requests of one purpose.
fn only_for(purpose: &str, said: &Value) -> String {
    format!("case $(cat) in *'\"purpose\":\"{purpose}\"'*) cat <<'END'\n{said}\nEND\n;; esac")
}

/// A conversation whose next prompt is compressed first.
fn about_to_compress(hooks: &[(&str, &str, &str)]) -> Headless {
    let sandbox = project_with(hooks, json!({"model": {"compressionThreshold": 0.000001}}));
    prompt(&sandbox, "the word is hunter2", &Replay::new().says("the first answer"));
    sandbox
}

fn compressed(sandbox: &Headless, replay: &Replay) -> Run {
    resume(sandbox, "the second prompt", replay)
}

#[test]
fn a_summary_passes_the_model_hooks_and_says_what_it_is_for() {
    let sandbox =
        about_to_compress(&[("BeforeModel", "", LOG), ("BeforeToolSelection", "", LOG), ("AfterModel", "", LOG)]);
    compressed(&sandbox, &Replay::new().whole("SUMMARY").says("second"));
    let purposes = |event: &str| -> Vec<String> {
        logged(&sandbox, event).iter().map(|input| input["purpose"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(purposes("BeforeModel"), ["answer", "compress", "answer"]);
    assert_eq!(purposes("AfterModel"), ["answer", "compress", "answer"]);
    assert_eq!(purposes("BeforeToolSelection"), ["answer", "answer"], "no tools go along with a summary");
    assert_eq!(logged(&sandbox, "AfterModel")[1]["content"], "SUMMARY");
    assert!(logged(&sandbox, "BeforeModel")[1]["turn_id"].is_string());
    assert_eq!(requests(&sandbox).len(), 3, "every request is on record");
}

#[test]
fn what_a_hook_redacts_does_not_leave_with_the_summary() {
    let sandbox = about_to_compress(&[("BeforeModel", "", REDACT_REQUEST)]);
    compressed(&sandbox, &Replay::new().whole("SUMMARY").says("second"));
    for request in requests(&sandbox) {
        lacks(&request.to_string(), SECRET);
    }
    has(&requests(&sandbox)[1].to_string(), "the word is [gone]");
}

#[test]
fn a_denied_summary_is_not_asked_for_and_that_is_said() {
    let deny = only_for("compress", &json!({"decision": "deny", "reason": "no summaries"}));
    let sandbox = about_to_compress(&[("BeforeModel", "", &deny)]);
    let run = compressed(&sandbox, &Replay::new().says("second"));
    assert_eq!(run.text, "second");
    has(&run.said, "the history is not compressed, because a hook refused it: no summaries");
    has(&requests(&sandbox)[1].to_string(), SECRET);
    lacks(&run.said, "Chat history compressed");
}

#[test]
fn hooks_can_stop_replace_and_refuse_a_summary() {
    let stop = only_for("compress", &json!({"continue": false, "stopReason": "enough"}));
    let sandbox = about_to_compress(&[("BeforeModel", "", &stop)]);
    has(&compressed(&sandbox, &Replay::new()).said, "Agent execution stopped by hook: enough");
    let replaced = only_for("compress", &json!({"hookSpecificOutput": {"llm_response": {"text": "[a summary]"}}}));
    let sandbox = about_to_compress(&[("AfterModel", "", &replaced)]);
    compressed(&sandbox, &Replay::new().whole("it was hunter2").says("second"));
    let last = requests(&sandbox).pop().unwrap().to_string();
    has(&last, "[a summary]");
    lacks(&last, SECRET);
    lacks(&last, "it was");
    let refused = only_for("compress", &json!({"decision": "deny", "reason": "a secret"}));
    let sandbox = about_to_compress(&[("AfterModel", "", &refused)]);
    let run = compressed(&sandbox, &Replay::new().whole("it was hunter2").says("second"));
    has(&run.said, "because a hook refused it: a secret");
    lacks(&requests(&sandbox).pop().unwrap().to_string(), "it was");
}

fn searches() -> Replay {
    Replay::new().calls("google_web_search", json!({"query": "who is hunter2"}))
}

#[test]
fn a_search_passes_the_model_hooks() {
    let hooks = [("BeforeModel", "", REDACT_REQUEST), ("BeforeModel", "", LOG), ("AfterModel", "", LOG)];
    let sandbox = project(&hooks);
    run(&sandbox, &searches().whole("nobody").says("done"));
    assert_eq!(logged(&sandbox, "BeforeModel")[1]["purpose"], "search");
    assert_eq!(logged(&sandbox, "BeforeModel")[1]["llm_request"]["messages"][0]["content"], "who is hunter2");
    assert_eq!(logged(&sandbox, "AfterModel")[1]["content"], "nobody");
    assert_eq!(requests(&sandbox)[1][0]["parts"][0]["text"], "who is [gone]");
}

#[test]
fn a_denied_search_is_an_error_with_the_reason_and_a_stop_stops() {
    let deny = only_for("search", &json!({"decision": "deny", "reason": "stay offline"}));
    let sandbox = project(&[("BeforeModel", "", &deny)]);
    run(&sandbox, &searches().says("done"));
    has(&requests(&sandbox)[1].to_string(), "a hook refused it: stay offline");
    let stop = only_for("search", &json!({"continue": false, "stopReason": "enough"}));
    let sandbox = project(&[("AfterModel", "", &stop)]);
    let run = run(&sandbox, &searches().whole("nobody"));
    has(&run.said, "Agent execution stopped by hook: ");
    assert_eq!(requests(&sandbox).len(), 2, "the model was not asked again");
}

#[test]
fn a_hook_can_answer_a_search_in_the_models_place() {
    let said = only_for("search", &json!({"hookSpecificOutput": {"llm_response": {"text": "from the cache"}}}));
    let sandbox = project(&[("BeforeModel", "", &said)]);
    let run = run(&sandbox, &searches().says("done"));
    assert_eq!(run.text, "done", "the user is not shown it as an answer");
    has(&requests(&sandbox)[1].to_string(), "from the cache");
}

#[test]
fn hooks_always_see_settings_and_the_tools_on_offer() {
    let sandbox = about_to_compress(&[("BeforeModel", "", LOG)]);
    compressed(&sandbox, &Replay::new().whole("SUMMARY").says("second"));
    let requests: Vec<Value> = log(&sandbox).into_iter().map(|input| input["llm_request"].clone()).collect();
    assert!(requests.iter().all(|request| request["config"].is_object()));
    assert_eq!(requests[0]["toolConfig"]["mode"], "AUTO");
    let tools = requests[0]["toolConfig"]["allowedFunctionNames"].to_string();
    has(&tools, "run_shell_command");
    has(&tools, "google_web_search");
    assert_eq!(requests[1]["toolConfig"], json!({"mode": "NONE"}), "a summary has no tools");
}

#[test]
fn a_request_given_back_as_it_came_is_sent_as_it_was() {
    let echo = r#"request=$(sed 's/.*"llm_request":\(.*\),"purpose".*/\1/')
printf '{"hookSpecificOutput": {"llm_request": %s}}' "$request""#;
    let sandbox = project(&[("BeforeModel", "", echo), ("BeforeToolSelection", "", LOG)]);
    sandbox.write("a.txt", "the content");
    let replay = Replay::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    let run = run(&sandbox, &replay);
    assert_eq!(run.text, "done");
    lacks(&run.said, "warning");
    has(&requests(&sandbox)[1].to_string(), "the content");
    has(&log(&sandbox)[1]["llm_request"]["toolConfig"].to_string(), "write_file");
}

#[test]
fn no_question_takes_anothers_place() {
    let last = r#"case $(cat) in *'second question'*)
echo '{"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "second question"}]}}}';; esac"#;
    let sandbox = project(&[("BeforeModel", "", last)]);
    prompt(&sandbox, "first question", &Replay::new().says("first answer"));
    sandbox.write("a.txt", "the content");
    let replay = Replay::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    resume(&sandbox, "second question", &replay);
    let sent = &requests(&sandbox)[2];
    assert_eq!(sent.as_array().unwrap().len(), 3, "{sent}");
    assert_eq!(sent[0]["parts"], json!([{"text": "second question"}]));
    has(&sent[2].to_string(), "the content");
}

/// A piece with the secret in everything but its text.
fn beside_the_text() -> Vec<Value> {
    let mut piece = chunk(
        &[
            json!({"text": "thinking of hunter2", "thought": true}),
            json!({"executableCode": {"language": "PYTHON", "code": "print('hunter2')"}}),
            json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "hunter2"}}),
            json!({"text": "fine"}),
            call("write_file", json!({"file_path": "a.txt", "content": "A"})),
        ],
        true,
    );
    piece["candidates"][0]["groundingMetadata"] =
        json!({"groundingChunks": [{"web": {"title": "hunter2", "uri": "https://hunter2.test"}}]});
    vec![piece]
}

#[test]
fn hooks_see_thoughts_code_and_sources_apart_from_the_text() {
    let sandbox = project(&[("AfterModel", "", LOG)]);
    run(&sandbox, &Replay::new().stream(beside_the_text()).says("done"));
    let input = &log(&sandbox)[0];
    assert_eq!((&input["content"], &input["thoughts"]), (&json!("fine"), &json!("thinking of hunter2")));
    has(input["code"].as_str().unwrap(), "print('hunter2')");
    has(input["citations"].as_str().unwrap(), "https://hunter2.test");
    lacks(&input["llm_response"].to_string(), SECRET);
    assert!(log(&sandbox)[1].get("thoughts").is_none(), "what is not there is not named");
}
