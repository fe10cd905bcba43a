//! One door: every request to the model passes the model hooks, whatever it is for, and what they take out is nowhere.

use super::*;
use hookwright_testkit::fs;
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
fn about_to_compress(hooks: &[(&str, &str, &str)]) -> Sandbox {
    let sandbox = project_with(hooks, json!({"model": {"compressionThreshold": 0.000001}}));
    prompt(&sandbox, "the word is hunter2", &Replay::new().says("the first answer"), &[]).exits(0);
    sandbox
}

fn compressed(sandbox: &Sandbox, replay: &Replay) -> Run {
    prompt(sandbox, "the second prompt", replay, &["--resume", "latest"]).exits(0)
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
    assert_eq!(records(&sandbox, "api_request").len(), 3, "every request is on record");
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
    assert_eq!(run.stdout, "second\n");
    has(&run.stderr, "the history is not compressed, because a hook refused it: no summaries");
    has(&requests(&sandbox)[1].to_string(), SECRET);
    assert_eq!(records(&sandbox, "chat_compression").len(), 0);
}

#[test]
fn hooks_can_stop_replace_and_refuse_a_summary() {
    let stop = only_for("compress", &json!({"continue": false, "stopReason": "enough"}));
    let sandbox = about_to_compress(&[("BeforeModel", "", &stop)]);
    has(&compressed(&sandbox, &Replay::new()).stderr, "Agent execution stopped by hook: enough");
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
    has(&run.stderr, "because a hook refused it: a secret");
    lacks(&requests(&sandbox).pop().unwrap().to_string(), "it was");
}

fn searches() -> Replay {
    Replay::new().calls("google_web_search", json!({"query": "who is hunter2"}))
}

#[test]
fn a_search_passes_the_model_hooks() {
    let hooks = [("BeforeModel", "", REDACT_REQUEST), ("BeforeModel", "", LOG), ("AfterModel", "", LOG)];
    let sandbox = project(&hooks);
    run(&sandbox, &searches().whole("nobody").says("done"), &[]).exits(0);
    assert_eq!(logged(&sandbox, "BeforeModel")[1]["purpose"], "search");
    assert_eq!(logged(&sandbox, "BeforeModel")[1]["llm_request"]["messages"][0]["content"], "who is hunter2");
    assert_eq!(logged(&sandbox, "AfterModel")[1]["content"], "nobody");
    assert_eq!(requests(&sandbox)[1][0]["parts"][0]["text"], "who is [gone]");
}

#[test]
fn a_denied_search_is_an_error_with_the_reason_and_a_stop_stops() {
    let deny = only_for("search", &json!({"decision": "deny", "reason": "stay offline"}));
    let sandbox = project(&[("BeforeModel", "", &deny)]);
    run(&sandbox, &searches().says("done"), &[]).exits(0);
    has(&requests(&sandbox)[1].to_string(), "a hook refused it: stay offline");
    let stop = only_for("search", &json!({"continue": false, "stopReason": "enough"}));
    let sandbox = project(&[("AfterModel", "", &stop)]);
    let run = run(&sandbox, &searches().whole("nobody"), &[]).exits(0);
    has(&run.stderr, "Agent execution stopped by hook: ");
    assert_eq!(requests(&sandbox).len(), 2, "the model was not asked again");
}

#[test]
fn a_hook_can_answer_a_search_in_the_models_place() {
    let said = only_for("search", &json!({"hookSpecificOutput": {"llm_response": {"text": "from the cache"}}}));
    let sandbox = project(&[("BeforeModel", "", &said)]);
    let run = run(&sandbox, &searches().says("done"), &[]).exits(0);
    assert_eq!(run.stdout, "done\n", "the user is not shown it as an answer");
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
    let run = run(&sandbox, &replay, &[]).exits(0);
    assert_eq!(run.stdout, "done\n");
    lacks(&run.stderr, "warning");
    has(&requests(&sandbox)[1].to_string(), "the content");
    has(&log(&sandbox)[1]["llm_request"]["toolConfig"].to_string(), "write_file");
}

#[test]
fn no_question_takes_anothers_place() {
    let last = r#"case $(cat) in *'second question'*)
echo '{"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "second question"}]}}}';; esac"#;
    let sandbox = project(&[("BeforeModel", "", last)]);
    prompt(&sandbox, "first question", &Replay::new().says("first answer"), &[]).exits(0);
    sandbox.write("a.txt", "the content");
    let replay = Replay::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    prompt(&sandbox, "second question", &replay, &["--resume", "latest"]).exits(0);
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
fn redaction_reaches_thoughts_code_and_sources() {
    let redact = r#"case $(cat) in *hunter2*) echo '{"suppressOutput": true, "content": "[gone]"}';; esac"#;
    for format in ["text", "json", "stream-json"] {
        let sandbox = project(&[("AfterModel", "", redact)]);
        let run = run(&sandbox, &Replay::new().stream(beside_the_text()).says("done"), &["-o", format]).exits(0);
        assert_eq!(sandbox.read("a.txt"), "A", "the call stays");
        lacks(&run.stdout, SECRET);
        lacks(&transcript(&sandbox), SECRET);
        lacks(&fs::read_to_string(sandbox.beside("telemetry.log")).unwrap(), SECRET);
        has(&requests(&sandbox)[1].to_string(), "[gone]");
    }
}

#[test]
fn hooks_see_thoughts_code_and_sources_apart_from_the_text() {
    let sandbox = project(&[("AfterModel", "", LOG)]);
    run(&sandbox, &Replay::new().stream(beside_the_text()).says("done"), &[]).exits(0);
    let input = &log(&sandbox)[0];
    assert_eq!((&input["content"], &input["thoughts"]), (&json!("fine"), &json!("thinking of hunter2")));
    has(input["code"].as_str().unwrap(), "print('hunter2')");
    has(input["citations"].as_str().unwrap(), "https://hunter2.test");
    lacks(&input["llm_response"].to_string(), SECRET);
    assert!(log(&sandbox)[1].get("thoughts").is_none(), "what is not there is not named");
}

/// Puts other arguments in the place of the model's, and has those kept nowhere.
const REDACT_INPUT: &str = r#"case $(cat) in *hunter2*)
echo '{"hookSpecificOutput": {"tool_input": {"command": "echo [gone]"}, "redact_input": true}}';; esac"#;

/// Whether the secret is in anything that was printed, kept or sent.
fn is_anywhere(sandbox: &Sandbox, run: &Run) -> Vec<String> {
    let files = files_under(&sandbox.home()).into_iter().chain([sandbox.beside("telemetry.log").display().to_string()]);
    let read = |file: &String| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let printed = [("stdout".to_owned(), run.stdout.clone()), ("stderr".to_owned(), run.stderr.clone())];
    let all = files.map(|file| (file.clone(), read(&file))).chain(printed);
    all.filter(|(_, text)| text.contains(SECRET)).map(|(name, _)| name).collect()
}

#[test]
fn arguments_that_a_hook_redacts_are_nowhere() {
    for format in ["text", "json", "stream-json"] {
        // Another hook is told them too, and its record must not tell either.
        let sandbox = project(&[("BeforeTool", "", REDACT_INPUT), ("BeforeTool", "", "cat > /dev/null")]);
        let replay = Replay::new().calls("run_shell_command", json!({"command": "login hunter2"})).says("done");
        let run = run(&sandbox, &replay, &["-o", format, "--debug"]).exits(0);
        assert_eq!(is_anywhere(&sandbox, &run), Vec::<String>::new(), "{format}");
        let sent = requests(&sandbox).pop().unwrap();
        assert_eq!(sent[1]["parts"][0]["functionCall"]["args"], json!({"command": "echo [gone]"}));
        has(&transcript(&sandbox), "echo [gone]");
        has(records(&sandbox, "tool_call")[0]["function_args"].as_str().unwrap(), "echo [gone]");
    }
}

#[test]
fn redacted_arguments_of_a_denied_call_are_nowhere_either() {
    let with = json!({"decision": "deny", "reason": "no", "hookSpecificOutput": {"tool_input": {"command": "[gone]"}, "redact_input": true}});
    let without = json!({"decision": "deny", "reason": "no", "hookSpecificOutput": {"redact_input": true}});
    let alone = json!({"hookSpecificOutput": {"redact_input": true}});
    for (said, kept) in [(with, "[gone]"), (without, "[redacted]"), (alone, "[redacted]")] {
        let sandbox = project(&[("BeforeTool", "", &answer(&said))]);
        let replay = Replay::new().calls("run_shell_command", json!({"command": "touch ran # hunter2"})).says("done");
        let run = run(&sandbox, &replay, &["-o", "stream-json"]).exits(0);
        assert_eq!(is_anywhere(&sandbox, &run), Vec::<String>::new(), "{said}");
        assert!(!sandbox.has("ran"));
        let sent = requests(&sandbox).pop().unwrap();
        assert_eq!(sent[1]["parts"][0]["functionCall"]["args"], json!({"command": kept}), "{said}");
    }
}

#[test]
fn only_the_call_that_is_redacted_is() {
    let sandbox = project(&[("BeforeTool", "run_shell_command", REDACT_INPUT)]);
    sandbox.write("a.txt", "A");
    let parts = [
        call("read_file", json!({"file_path": "a.txt"})),
        call("run_shell_command", json!({"command": "login hunter2"})),
        call("run_shell_command", json!({"command": "echo fine"})),
    ];
    let run = run(&sandbox, &Replay::new().parts(&parts).says("done"), &[]).exits(0);
    assert_eq!(is_anywhere(&sandbox, &run), Vec::<String>::new());
    let sent = requests(&sandbox).pop().unwrap();
    let args = |at: usize| sent[1]["parts"][at]["functionCall"]["args"].clone();
    assert_eq!(args(0), json!({"file_path": "a.txt"}));
    assert_eq!((args(1), args(2)), (json!({"command": "echo [gone]"}), json!({"command": "echo fine"})));
}

#[cfg(unix)]
#[test]
fn arguments_that_no_hook_could_judge_in_time_are_nowhere() {
    use super::signals::send;
    use hookwright_testkit::{finish, wait_until};
    let waits = "touch waits; sleep 60";
    for hooks in
        [vec![("BeforeTool", "", waits)], vec![("BeforeTool", "", waits), ("BeforeTool", "", "cat > /dev/null")]]
    {
        let sandbox = project(&hooks);
        let two = ["touch ran # hunter2", "touch ran too # hunter2"];
        let calls = two.map(|command| call("run_shell_command", json!({"command": command})));
        let file = sandbox.replay(&Replay::new().parts(&calls));
        let args = ["-p", "go", "--fake-responses", &file, "--approval-mode=yolo", "-o", "stream-json", "--debug"];
        let child = sandbox.command(&args).spawn().unwrap();
        wait_until("the hook runs", || sandbox.has("waits"));
        send("-INT", &child.id().to_string());
        let run = finish(child).exits(130);
        assert_eq!(is_anywhere(&sandbox, &run), Vec::<String>::new());
        assert!(!sandbox.has("ran"));
        assert_eq!(transcript(&sandbox).matches("[redacted]").count(), 2);
    }
}

#[test]
fn arguments_that_a_guard_failed_to_judge_are_nowhere() {
    for (script, more) in [("exit 1", json!({})), ("sleep 60", json!({"timeout": 50})), ("echo '{'", json!({}))] {
        let sandbox = project(&[("BeforeTool", "", script), ("BeforeTool", "", REDACT_INPUT)]);
        let mut settings: Value = serde_json::from_str(&sandbox.read(".gemini/settings.json")).unwrap();
        let hook = settings["hooks"]["BeforeTool"][0]["hooks"][0].as_object_mut().unwrap();
        hook.insert("guard".to_owned(), true.into());
        hook.extend(more.as_object().unwrap().clone());
        sandbox.write(".gemini/settings.json", settings.to_string());
        let args = json!({"command": "touch ran", "description": "as hunter2"});
        let replay = Replay::new().calls("run_shell_command", args).says("done");
        let run = run(&sandbox, &replay, &["-o", "stream-json", "--debug"]).exits(0);
        assert_eq!(is_anywhere(&sandbox, &run), Vec::<String>::new(), "{script}");
        assert!(!sandbox.has("ran"));
        let kept = &requests(&sandbox).pop().unwrap()[1]["parts"][0]["functionCall"]["args"];
        assert_eq!(*kept, json!({"command": "[redacted]", "description": "[redacted]"}), "{script}");
    }
}
