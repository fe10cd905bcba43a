//! BeforeModel and BeforeToolSelection: the request, before it goes out.

use super::*;
use hookwright_testkit::replay::call;

fn changes(request: Value) -> String {
    answer(&json!({"hookSpecificOutput": {"llm_request": request}}))
}

#[test]
fn another_model_and_other_settings() {
    let script = changes(json!({"model": "gemini-2.5-flash-lite", "config": {"temperature": 0.25}}));
    let sandbox = project(&[("BeforeModel", "", &script), ("AfterModel", "", LOG), ("BeforeToolSelection", "", LOG)]);
    run(&sandbox, &Replay::new().says("ok"));
    assert_eq!(sandbox.requests.borrow()[0].model, "gemini-2.5-flash-lite");
    for input in log(&sandbox) {
        assert_eq!(input["llm_request"]["model"], "gemini-2.5-flash-lite");
        assert_eq!(input["llm_request"]["config"]["temperature"], 0.25);
    }
    assert_eq!(log(&sandbox).len(), 2);
}

#[test]
fn hooks_in_sequence_see_the_request_as_changed_so_far() {
    let one = changes(json!({"config": {"temperature": 0.25}}));
    let sandbox = project(&[("BeforeModel", "", &one), ("BeforeModel", "", LOG), ("AfterModel", "", LOG)]);
    let text = sandbox.read(".gemini/settings.json").replacen("\"matcher\": \"\"", "\"sequential\": true", 1);
    sandbox.write(".gemini/settings.json", text);
    run(&sandbox, &Replay::new().says("ok"));
    assert_eq!(logged(&sandbox, "BeforeModel")[0]["llm_request"]["config"]["temperature"], 0.25);
    assert_eq!(logged(&sandbox, "AfterModel")[0]["llm_request"]["config"]["temperature"], 0.25);
}

#[test]
fn messages_go_back_by_position_and_calls_and_results_survive() {
    let sandbox =
        project(&[("BeforeModel", "", &changes(json!({"messages": [{"role": "user", "content": "changed"}]})))]);
    sandbox.write("a.txt", "the content");
    let replay = Replay::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    prompt(&sandbox, "original", &replay);
    let second = &requests(&sandbox)[1];
    assert_eq!(second[0]["parts"], json!([{"text": "changed"}]));
    assert_eq!(second[1]["parts"][0]["functionCall"]["name"], "read_file");
    has(&second[2]["parts"][0]["functionResponse"].to_string(), "the content");
    // The history is the user's own.
    has(&transcript(&sandbox), "original");
    lacks(&transcript(&sandbox), "changed");
}

#[test]
fn a_hook_can_answer_in_the_models_place() {
    for decision in [None, Some("allow"), Some("deny")] {
        let mut said = json!({"hookSpecificOutput": {"llm_response": {"candidates": [
            {"content": {"role": "model", "parts": ["from ", "the hook"]}, "finishReason": "STOP"}]}}});
        if let Some(decision) = decision {
            said["decision"] = json!(decision);
        }
        let sandbox =
            project(&[("BeforeModel", "", &answer(&said)), ("AfterAgent", "", LOG), ("BeforeToolSelection", "", LOG)]);
        let run = run(&sandbox, &Replay::new());
        assert_eq!(run.text, "from the hook", "{decision:?}");
        assert_eq!(logged_events(&sandbox), ["AfterAgent"]);
        assert_eq!(log(&sandbox)[0]["prompt_response"], "from the hook");
        assert!(requests(&sandbox).is_empty(), "no request was made");
        has(&transcript(&sandbox), "from the hook");
    }
}

#[test]
fn a_selection_goes_along_and_a_call_outside_it_is_refused() {
    let script =
        answer(&json!({"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["read_file"]}}}));
    let hooks =
        [("BeforeToolSelection", "", script.as_str()), ("AfterModel", "", LOG), ("BeforeTool", "", "touch asked")];
    let sandbox = project(&hooks);
    let replay = Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done");
    let run = run(&sandbox, &replay);
    has(&run.said, "Error executing tool write_file: write_file was not called: only read_file may be called now");
    assert!(!sandbox.has("a.txt") && !sandbox.has("asked"));
    let config = &log(&sandbox)[0]["llm_request"]["toolConfig"];
    assert_eq!(*config, json!({"mode": "ANY", "allowedFunctionNames": ["read_file"]}));
    has(&requests(&sandbox)[1].to_string(), "only read_file may be called now");
}

#[test]
fn a_stray_word_selects_nothing() {
    let sandbox = project(&[("BeforeToolSelection", "", "echo ok")]);
    let replay = Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done");
    let stray = run(&sandbox, &replay);
    assert!(sandbox.has("a.txt"), "{}", stray.said);
    has(&stray.said, "Hook system message: ok");
    let sandbox = project(&[("BeforeToolSelection", "", "echo ok, write_file")]);
    let some = run(&sandbox, &replay);
    assert!(sandbox.has("a.txt"), "{}", some.said);
    has(&some.said, "selected what is no tool on offer: ok");
}

#[test]
fn none_means_no_tool_and_a_plain_list_means_these() {
    let sandbox = project(&[(
        "BeforeToolSelection",
        "",
        &answer(&json!({"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}})),
    )]);
    sandbox.write("a.txt", "A");
    let read = || call("read_file", json!({"file_path": "a.txt"}));
    let replay = Replay::new().parts(&[read()]).says("done");
    has(&run(&sandbox, &replay).said, "no tool may be called now");
    let sandbox = project(&[("BeforeToolSelection", "", "echo 'read_file, glob'"), ("AfterModel", "", LOG)]);
    sandbox.write("a.txt", "A");
    let list = call("list_directory", json!({"dir_path": "."}));
    let replay = Replay::new().parts(&[read(), list]).says("done");
    let run = run(&sandbox, &replay);
    has(&run.said, "list_directory was not called");
    lacks(&run.said, "read_file was not called");
    assert_eq!(
        log(&sandbox)[0]["llm_request"]["toolConfig"],
        json!({"mode": "ANY", "allowedFunctionNames": ["glob", "read_file"]})
    );
}
