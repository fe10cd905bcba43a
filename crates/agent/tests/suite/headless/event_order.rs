//! The order of events, and the input fields of each.

use super::*;
use hookwright_testkit::replay::call;

fn write_file_args() -> Value {
    json!({"file_path": "a.txt", "content": "A"})
}

#[test]
fn base_fields_come_first_and_are_the_same_for_all() {
    let sandbox = project(&logging_hooks());
    let replay = ReplayBuilder::new().calls("write_file", write_file_args()).says("done");
    let options = SessionOptions { session_id: Some("s-1".to_owned()), ..yolo_options() };
    run_with_options(&sandbox, "hello", &replay, options).assert_ended_well();
    for input in logged_inputs(&sandbox) {
        let keys: Vec<&String> = input.as_object().unwrap().keys().collect();
        assert_eq!(keys[..5], ["session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"]);
        assert_eq!(input["session_id"], "s-1");
        assert_eq!(input["cwd"], sandbox.project_dir().to_str().unwrap());
        assert!(std::path::Path::new(input["transcript_path"].as_str().unwrap()).is_file());
        let time = input["timestamp"].as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
    }
}

#[test]
fn each_event_has_its_fields() {
    let sandbox = project(&logging_hooks());
    let replay = ReplayBuilder::new().calls("write_file", write_file_args()).says_in_chunks(&["one ", "two"]);
    let options = SessionOptions { model: Some("gemini-2.5-flash".to_owned()), ..yolo_options() };
    run_with_options(&sandbox, "do it", &replay, options).assert_ended_well();
    let first = |event: &str| logged_inputs_of(&sandbox, event).remove(0);
    assert_eq!(first("SessionStart")["source"], "startup");
    assert_eq!(first("BeforeAgent")["prompt"], "do it");
    let request = &first("BeforeModel")["llm_request"];
    assert_eq!(request["model"], "gemini-2.5-flash");
    assert_eq!(request["messages"], json!([{"role": "user", "content": "do it"}]));
    assert_eq!(first("BeforeToolSelection")["llm_request"]["model"], "gemini-2.5-flash");
    let before = first("BeforeTool");
    assert_eq!((&before["tool_name"], &before["tool_input"]), (&json!("write_file"), &write_file_args()));
    assert!(before.get("original_request_name").is_none());
    let after = first("AfterTool");
    assert_eq!((&after["tool_name"], &after["tool_input"]), (&json!("write_file"), &write_file_args()));
    assert!(after["tool_response"]["llmContent"].is_string() && !after["tool_response"]["returnDisplay"].is_null());
    let pieces = logged_inputs_of(&sandbox, "AfterModel");
    let told = |at: usize| (pieces[at]["content"].clone(), pieces[at]["full_content"].clone());
    assert_eq!(told(0), (json!(""), json!("")));
    assert_eq!(told(1), (json!("one "), json!("one ")));
    assert_eq!(told(2), (json!("two"), json!("one two")));
    let response = &pieces[2]["llm_response"];
    assert_eq!(response["text"], "two");
    assert_eq!(response["candidates"][0]["content"], json!({"role": "model", "parts": ["two"]}));
    assert_eq!(response["candidates"][0]["finishReason"], "STOP");
    assert_eq!(response["usageMetadata"]["totalTokenCount"], 8);
    let end = first("AfterAgent");
    assert_eq!((&end["prompt"], &end["prompt_response"]), (&json!("do it"), &json!("one two")));
    assert_eq!(end["stop_hook_active"], false);
    assert_eq!(first("SessionEnd")["reason"], "exit");
}

#[test]
fn a_matcher_decides_for_the_events_that_have_one() {
    let mark = |name: &str| format!("cat > /dev/null; echo {name} >> fired");
    let scripts: Vec<String> = (0..10).map(|at| mark(&at.to_string())).collect();
    let matchers = [
        ("SessionStart", "startup"),
        ("SessionStart", "resume"),
        ("SessionEnd", "exit"),
        ("SessionEnd", "clear"),
        ("BeforeTool", "write_file|replace"),
        ("BeforeTool", "read_file"),
        ("BeforeTool", "WriteFileTool"),
        ("AfterTool", "^write_(?!x)"),
        ("AfterTool", "write"),
        ("BeforeAgent", "anything"),
    ];
    let hooks: Vec<_> =
        matchers.iter().zip(&scripts).map(|((event, matcher), script)| (*event, *matcher, script.as_str())).collect();
    let sandbox = project(&hooks);
    run_hello(&sandbox, &ReplayBuilder::new().calls("write_file", write_file_args()).says("done"));
    let mut fired: Vec<String> = sandbox.read("fired").lines().map(str::to_owned).collect();
    fired.sort();
    // `write` is not the name of a tool, so it is a pattern.
    assert_eq!(fired, ["0", "2", "4", "6", "7", "8", "9"]);
}

#[test]
fn every_call_of_an_answer_has_its_own_events() {
    let sandbox = project(&[("BeforeTool", "", LOG_INPUT_SCRIPT), ("AfterTool", "", LOG_INPUT_SCRIPT)]);
    sandbox.write("a.txt", "A");
    sandbox.write("b.txt", "B");
    let read = |file: &str| call("read_file", json!({"file_path": file}));
    let replay = ReplayBuilder::new().parts(&[
        read("a.txt"),
        read("b.txt"),
        call("write_file", json!({"file_path": "c.txt", "content": "C"})),
    ]);
    run_hello(&sandbox, &replay.says("done"));
    let results = request_contents(&sandbox)[1][2]["parts"].to_string();
    let places =
        ["\"A\"", "\"B\"", "write_file"].map(|word| results.find(word).unwrap_or_else(|| panic!("{word}: {results}")));
    assert!(places.is_sorted(), "{results}");
    let count = |event: &str| logged_inputs_of(&sandbox, event).len();
    assert_eq!((count("BeforeTool"), count("AfterTool")), (3, 3));
}

/// Gemini CLI's limit applies if it is reached first.
#[test]
fn a_target_of_tokens_has_the_history_compressed() {
    for (target, compressed) in [(1, 1), (100_000, 0)] {
        let settings = json!({"contextCompression": {"targetTokenCount": target}});
        let sandbox = project_with(&[("PreCompress", "auto", LOG_INPUT_SCRIPT)], settings);
        run_prompt(&sandbox, "the first prompt", &ReplayBuilder::new().says("the first answer"));
        let replay = if compressed == 1 {
            ReplayBuilder::new().says_unstreamed("SUMMARY").says("second")
        } else {
            ReplayBuilder::new().says("second")
        };
        let run = resume_with_prompt(&sandbox, "the second prompt", &replay);
        assert_eq!(run.text, "second");
        assert_eq!(logged_inputs_of(&sandbox, "PreCompress").len(), compressed, "{target}");
        assert_eq!(run.messages.contains("Chat history compressed"), compressed == 1, "{}", run.messages);
    }
}

#[test]
fn a_long_history_is_compressed_and_only_then_precompress_fires() {
    let hooks = [("PreCompress", "auto", LOG_INPUT_SCRIPT), ("PreCompress", "manual", "touch wrong")];
    let sandbox = project_with(&hooks, json!({"model": {"compressionThreshold": 0.000001}}));
    run_prompt(&sandbox, "the first prompt", &ReplayBuilder::new().says("the first answer"));
    assert!(logged_inputs(&sandbox).is_empty());
    let replay = ReplayBuilder::new().says_unstreamed("SUMMARY").says("second");
    let run = resume_with_prompt(&sandbox, "the second prompt", &replay);
    assert_eq!(run.text, "second");
    assert_eq!(logged_inputs_of(&sandbox, "PreCompress")[0]["trigger"], "auto");
    assert_eq!(logged_inputs(&sandbox).len(), 1);
    assert!(!sandbox.exists("wrong"));
    let sent = request_contents(&sandbox).pop().unwrap().to_string();
    assert_contains(&sent, "SUMMARY");
    assert_contains(&sent, "the second prompt");
    assert_lacks(&sent, "the first prompt");
    assert_contains(&read_transcript(&sandbox), "the first answer");
    assert_eq!(run.messages.matches("Chat history compressed").count(), 1);
}
