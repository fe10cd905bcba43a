//! Every request to the model passes the model hooks, whatever its purpose, and what they redact appears nowhere.

use super::*;
use hookwright_testkit::replay::secret_outside_of_text;

const SECRET: &str = "hunter2";

/// Redacts the secret in the texts of a request, as a hook with sed would.
const REDACT_REQUEST_SCRIPT: &str = r#"messages=$(sed 's/.*"messages":\(\[.*\]\),"config".*/\1/; s/hunter2/[gone]/g')
printf '{"hookSpecificOutput": {"llm_request": {"messages": %s}}}' "$messages""#;

/// A hook that answers only requests with this purpose.
fn answer_only_for(purpose: &str, said: &Value) -> String {
    format!("case $(cat) in *'\"purpose\":\"{purpose}\"'*) cat <<'END'\n{said}\nEND\n;; esac")
}

/// A conversation whose next prompt is compressed first.
fn project_before_compression(hooks: &[(&str, &str, &str)]) -> HeadlessProject {
    let sandbox = project_with(hooks, json!({"model": {"compressionThreshold": 0.000001}}));
    run_prompt(&sandbox, "the word is hunter2", &ReplayBuilder::new().says("the first answer"));
    sandbox
}

fn run_compressed(sandbox: &HeadlessProject, replay: &ReplayBuilder) -> HeadlessRun {
    resume_with_prompt(sandbox, "the second prompt", replay)
}

#[test]
fn a_summary_passes_the_model_hooks_and_says_what_it_is_for() {
    let sandbox = project_before_compression(&[
        ("BeforeModel", "", LOG_INPUT_SCRIPT),
        ("BeforeToolSelection", "", LOG_INPUT_SCRIPT),
        ("AfterModel", "", LOG_INPUT_SCRIPT),
    ]);
    run_compressed(&sandbox, &ReplayBuilder::new().says_unstreamed("SUMMARY").says("second"));
    let purposes = |event: &str| -> Vec<String> {
        logged_inputs_of(&sandbox, event).iter().map(|input| input["purpose"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(purposes("BeforeModel"), ["answer", "compress", "answer"]);
    assert_eq!(purposes("AfterModel"), ["answer", "compress", "answer"]);
    assert_eq!(purposes("BeforeToolSelection"), ["answer", "answer"], "no tools go along with a summary");
    assert_eq!(logged_inputs_of(&sandbox, "AfterModel")[1]["content"], "SUMMARY");
    assert!(logged_inputs_of(&sandbox, "BeforeModel")[1]["turn_id"].is_string());
    assert_eq!(request_contents(&sandbox).len(), 3, "every request is on record");
}

#[test]
fn redacted_text_is_not_sent_with_the_summary_request() {
    let sandbox = project_before_compression(&[("BeforeModel", "", REDACT_REQUEST_SCRIPT)]);
    run_compressed(&sandbox, &ReplayBuilder::new().says_unstreamed("SUMMARY").says("second"));
    for request in request_contents(&sandbox) {
        assert_lacks(&request.to_string(), SECRET);
    }
    assert_contains(&request_contents(&sandbox)[1].to_string(), "the word is [gone]");
}

#[test]
fn a_denied_summary_is_not_asked_for_and_that_is_said() {
    let deny = answer_only_for("compress", &json!({"decision": "deny", "reason": "no summaries"}));
    let sandbox = project_before_compression(&[("BeforeModel", "", &deny)]);
    let run = run_compressed(&sandbox, &ReplayBuilder::new().says("second"));
    assert_eq!(run.text, "second");
    assert_contains(&run.messages, "the history is not compressed, because a hook refused it: no summaries");
    assert_contains(&request_contents(&sandbox)[1].to_string(), SECRET);
    assert_lacks(&run.messages, "Chat history compressed");
}

#[test]
fn hooks_can_stop_replace_and_refuse_a_summary() {
    let stop = answer_only_for("compress", &json!({"continue": false, "stopReason": "enough"}));
    let sandbox = project_before_compression(&[("BeforeModel", "", &stop)]);
    assert_contains(
        &run_compressed(&sandbox, &ReplayBuilder::new()).messages,
        "Agent execution stopped by hook: enough",
    );
    let replaced =
        answer_only_for("compress", &json!({"hookSpecificOutput": {"llm_response": {"text": "[a summary]"}}}));
    let sandbox = project_before_compression(&[("AfterModel", "", &replaced)]);
    run_compressed(&sandbox, &ReplayBuilder::new().says_unstreamed("it was hunter2").says("second"));
    let last = request_contents(&sandbox).pop().unwrap().to_string();
    assert_contains(&last, "[a summary]");
    assert_lacks(&last, SECRET);
    assert_lacks(&last, "it was");
    let refused = answer_only_for("compress", &json!({"decision": "deny", "reason": "a secret"}));
    let sandbox = project_before_compression(&[("AfterModel", "", &refused)]);
    let run = run_compressed(&sandbox, &ReplayBuilder::new().says_unstreamed("it was hunter2").says("second"));
    assert_contains(&run.messages, "because a hook refused it: a secret");
    assert_lacks(&request_contents(&sandbox).pop().unwrap().to_string(), "it was");
}

fn search_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("google_web_search", json!({"query": "who is hunter2"}))
}

#[test]
fn a_search_passes_the_model_hooks() {
    let hooks = [
        ("BeforeModel", "", REDACT_REQUEST_SCRIPT),
        ("BeforeModel", "", LOG_INPUT_SCRIPT),
        ("AfterModel", "", LOG_INPUT_SCRIPT),
    ];
    let sandbox = project(&hooks);
    run_hello(&sandbox, &search_replay().says_unstreamed("nobody").says("done"));
    assert_eq!(logged_inputs_of(&sandbox, "BeforeModel")[1]["purpose"], "search");
    assert_eq!(logged_inputs_of(&sandbox, "BeforeModel")[1]["llm_request"]["messages"][0]["content"], "who is hunter2");
    assert_eq!(logged_inputs_of(&sandbox, "AfterModel")[1]["content"], "nobody");
    assert_eq!(request_contents(&sandbox)[1][0]["parts"][0]["text"], "who is [gone]");
}

#[test]
fn a_denied_search_is_an_error_with_the_reason_and_a_stop_stops() {
    let deny = answer_only_for("search", &json!({"decision": "deny", "reason": "stay offline"}));
    let sandbox = project(&[("BeforeModel", "", &deny)]);
    run_hello(&sandbox, &search_replay().says("done"));
    assert_contains(&request_contents(&sandbox)[1].to_string(), "a hook refused it: stay offline");
    let stop = answer_only_for("search", &json!({"continue": false, "stopReason": "enough"}));
    let sandbox = project(&[("AfterModel", "", &stop)]);
    let run = run_hello(&sandbox, &search_replay().says_unstreamed("nobody"));
    assert_contains(&run.messages, "Agent execution stopped by hook: ");
    assert_eq!(request_contents(&sandbox).len(), 2, "the model was not asked again");
}

#[test]
fn a_hook_can_answer_a_search_in_the_models_place() {
    let said = answer_only_for("search", &json!({"hookSpecificOutput": {"llm_response": {"text": "from the cache"}}}));
    let sandbox = project(&[("BeforeModel", "", &said)]);
    let run = run_hello(&sandbox, &search_replay().says("done"));
    assert_eq!(run.text, "done", "the user is not shown it as an answer");
    assert_contains(&request_contents(&sandbox)[1].to_string(), "from the cache");
}

#[test]
fn hooks_always_see_settings_and_the_tools_on_offer() {
    let sandbox = project_before_compression(&[("BeforeModel", "", LOG_INPUT_SCRIPT)]);
    run_compressed(&sandbox, &ReplayBuilder::new().says_unstreamed("SUMMARY").says("second"));
    let requests: Vec<Value> = logged_inputs(&sandbox).into_iter().map(|input| input["llm_request"].clone()).collect();
    assert!(requests.iter().all(|request| request["config"].is_object()));
    assert_eq!(requests[0]["toolConfig"]["mode"], "AUTO");
    let tools = requests[0]["toolConfig"]["allowedFunctionNames"].to_string();
    assert_contains(&tools, "run_shell_command");
    assert_contains(&tools, "google_web_search");
    assert_eq!(requests[1]["toolConfig"], json!({"mode": "NONE"}), "a summary has no tools");
}

#[test]
fn a_request_given_back_as_it_came_is_sent_as_it_was() {
    let echo = r#"request=$(sed 's/.*"llm_request":\(.*\),"purpose".*/\1/')
printf '{"hookSpecificOutput": {"llm_request": %s}}' "$request""#;
    let sandbox = project(&[("BeforeModel", "", echo), ("BeforeToolSelection", "", LOG_INPUT_SCRIPT)]);
    sandbox.write("a.txt", "the content");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    let run = run_hello(&sandbox, &replay);
    assert_eq!(run.text, "done");
    assert_lacks(&run.messages, "warning");
    assert_contains(&request_contents(&sandbox)[1].to_string(), "the content");
    assert_contains(&logged_inputs(&sandbox)[1]["llm_request"]["toolConfig"].to_string(), "write_file");
}

#[test]
fn dropped_messages_are_not_replaced_by_others() {
    let last = r#"case $(cat) in *'second question'*)
echo '{"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "second question"}]}}}';; esac"#;
    let sandbox = project(&[("BeforeModel", "", last)]);
    run_prompt(&sandbox, "first question", &ReplayBuilder::new().says("first answer"));
    sandbox.write("a.txt", "the content");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    resume_with_prompt(&sandbox, "second question", &replay);
    let sent = &request_contents(&sandbox)[2];
    assert_eq!(sent.as_array().unwrap().len(), 3, "{sent}");
    assert_eq!(sent[0]["parts"], json!([{"text": "second question"}]));
    assert_contains(&sent[2].to_string(), "the content");
}

#[test]
fn hooks_see_thoughts_code_and_sources_apart_from_the_text() {
    let sandbox = project(&[("AfterModel", "", LOG_INPUT_SCRIPT)]);
    run_hello(&sandbox, &ReplayBuilder::new().stream(secret_outside_of_text()).says("done"));
    let input = &logged_inputs(&sandbox)[0];
    assert_eq!((&input["content"], &input["thoughts"]), (&json!("fine"), &json!("thinking of hunter2")));
    assert_contains(input["code"].as_str().unwrap(), "print('hunter2')");
    assert_contains(input["citations"].as_str().unwrap(), "https://hunter2.test");
    assert_lacks(&input["llm_response"].to_string(), SECRET);
    assert!(logged_inputs(&sandbox)[1].get("thoughts").is_none(), "what is not there is not named");
}
