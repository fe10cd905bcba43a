//! BeforeModel and BeforeToolSelection: the request before it is sent.

use super::*;
use hookwright_testkit::replay::call;

fn change_request_script(request: Value) -> String {
    answer_script(&json!({"hookSpecificOutput": {"llm_request": request}}))
}

#[test]
fn another_model_and_other_settings() {
    let script = change_request_script(json!({"model": "gemini-2.5-flash-lite", "config": {"temperature": 0.25}}));
    let sandbox = project(&[
        ("BeforeModel", "", &script),
        ("AfterModel", "", LOG_INPUT_SCRIPT),
        ("BeforeToolSelection", "", LOG_INPUT_SCRIPT),
    ]);
    run_hello(&sandbox, &ReplayBuilder::new().says("ok"));
    assert_eq!(sandbox.requests.borrow()[0].model, "gemini-2.5-flash-lite");
    for input in logged_inputs(&sandbox) {
        assert_eq!(input["llm_request"]["model"], "gemini-2.5-flash-lite");
        assert_eq!(input["llm_request"]["config"]["temperature"], 0.25);
    }
    assert_eq!(logged_inputs(&sandbox).len(), 2);
}

#[test]
fn hooks_in_sequence_see_the_request_as_changed_so_far() {
    let one = change_request_script(json!({"config": {"temperature": 0.25}}));
    let sandbox = project(&[
        ("BeforeModel", "", &one),
        ("BeforeModel", "", LOG_INPUT_SCRIPT),
        ("AfterModel", "", LOG_INPUT_SCRIPT),
    ]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"matcher\": \"\"", "\"sequential\": true", 1);
    sandbox.write(".gemini/settings.json", text);
    run_hello(&sandbox, &ReplayBuilder::new().says("ok"));
    assert_eq!(logged_inputs_of(&sandbox, "BeforeModel")[0]["llm_request"]["config"]["temperature"], 0.25);
    assert_eq!(logged_inputs_of(&sandbox, "AfterModel")[0]["llm_request"]["config"]["temperature"], 0.25);
}

#[test]
fn messages_go_back_by_position_and_calls_and_results_survive() {
    let sandbox = project(&[(
        "BeforeModel",
        "",
        &change_request_script(json!({"messages": [{"role": "user", "content": "changed"}]})),
    )]);
    sandbox.write("a.txt", "the content");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    run_prompt(&sandbox, "original", &replay);
    let second = &request_contents(&sandbox)[1];
    assert_eq!(second[0]["parts"], json!([{"text": "changed"}]));
    assert_eq!(second[1]["parts"][0]["functionCall"]["name"], "read_file");
    assert_contains(&second[2]["parts"][0]["functionResponse"].to_string(), "the content");
    // The history keeps the user's own text.
    assert_contains(&read_transcript(&sandbox), "original");
    assert_lacks(&read_transcript(&sandbox), "changed");
}

#[test]
fn a_hook_can_answer_in_the_models_place() {
    for decision in [None, Some("allow"), Some("deny")] {
        let mut said = json!({"hookSpecificOutput": {"llm_response": {"candidates": [
            {"content": {"role": "model", "parts": ["from ", "the hook"]}, "finishReason": "STOP"}]}}});
        if let Some(decision) = decision {
            said["decision"] = json!(decision);
        }
        let sandbox = project(&[
            ("BeforeModel", "", &answer_script(&said)),
            ("AfterAgent", "", LOG_INPUT_SCRIPT),
            ("BeforeToolSelection", "", LOG_INPUT_SCRIPT),
        ]);
        let run = run_hello(&sandbox, &ReplayBuilder::new());
        assert_eq!(run.text, "from the hook", "{decision:?}");
        assert_eq!(logged_events(&sandbox), ["AfterAgent"]);
        assert_eq!(logged_inputs(&sandbox)[0]["prompt_response"], "from the hook");
        assert!(request_contents(&sandbox).is_empty(), "no request was made");
        assert_contains(&read_transcript(&sandbox), "from the hook");
    }
}

#[test]
fn a_selection_goes_along_and_a_call_outside_it_is_refused() {
    let script = answer_script(
        &json!({"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["read_file"]}}}),
    );
    let hooks = [
        ("BeforeToolSelection", "", script.as_str()),
        ("AfterModel", "", LOG_INPUT_SCRIPT),
        ("BeforeTool", "", "touch asked"),
    ];
    let sandbox = project(&hooks);
    let replay = ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done");
    let run = run_hello(&sandbox, &replay);
    assert_contains(
        &run.messages,
        "Error executing tool write_file: write_file was not called: only read_file may be called now",
    );
    assert!(!sandbox.exists("a.txt") && !sandbox.exists("asked"));
    let config = &logged_inputs(&sandbox)[0]["llm_request"]["toolConfig"];
    assert_eq!(*config, json!({"mode": "ANY", "allowedFunctionNames": ["read_file"]}));
    assert_contains(&request_contents(&sandbox)[1].to_string(), "only read_file may be called now");
}

#[test]
fn a_stray_word_selects_nothing() {
    let sandbox = project(&[("BeforeToolSelection", "", "echo ok")]);
    let replay = ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done");
    let stray = run_hello(&sandbox, &replay);
    assert!(sandbox.exists("a.txt"), "{}", stray.messages);
    assert_contains(&stray.messages, "Hook system message: ok");
    let sandbox = project(&[("BeforeToolSelection", "", "echo ok, write_file")]);
    let some = run_hello(&sandbox, &replay);
    assert!(sandbox.exists("a.txt"), "{}", some.messages);
    assert_contains(&some.messages, "selected tools that are not offered: ok");
}

#[test]
fn none_means_no_tool_and_a_plain_list_means_these() {
    let sandbox = project(&[(
        "BeforeToolSelection",
        "",
        &answer_script(&json!({"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}})),
    )]);
    sandbox.write("a.txt", "A");
    let read = || call("read_file", json!({"file_path": "a.txt"}));
    let replay = ReplayBuilder::new().parts(&[read()]).says("done");
    assert_contains(&run_hello(&sandbox, &replay).messages, "no tool may be called now");
    let sandbox =
        project(&[("BeforeToolSelection", "", "echo 'read_file, glob'"), ("AfterModel", "", LOG_INPUT_SCRIPT)]);
    sandbox.write("a.txt", "A");
    let list = call("list_directory", json!({"dir_path": "."}));
    let replay = ReplayBuilder::new().parts(&[read(), list]).says("done");
    let run = run_hello(&sandbox, &replay);
    assert_contains(&run.messages, "list_directory was not called");
    assert_lacks(&run.messages, "read_file was not called");
    assert_eq!(
        logged_inputs(&sandbox)[0]["llm_request"]["toolConfig"],
        json!({"mode": "ANY", "allowedFunctionNames": ["glob", "read_file"]})
    );
}
