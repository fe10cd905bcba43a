//! Tests of the records' fields and bodies.

use super::super::record::{self, ContentPolicy, TelemetryRecord, program};
use super::*;

/// Returns a record's fields as JSON, without the hook's input.
fn fields(record: &TelemetryRecord<'_>) -> Value {
    let fields = record.fields.iter().map(|(name, field)| ((*name).to_owned(), json!(field)));
    Value::Object(fields.filter(|(name, _)| name != "hook_input").collect())
}

fn record_of(event: &AgentEvent, content: ContentPolicy) -> TelemetryRecord<'_> {
    record::record_for(event, content).expect("a record")
}

/// Returns the record of a hook run whose duration is set to a fixed value.
fn hook(command: &str, content: ContentPolicy) -> Value {
    let AgentEvent::Hook(HookEvent::Finished { mut report, input }) = run_hook(command) else { panic!("no hook ran") };
    report.duration = Duration::from_millis(6);
    let event = AgentEvent::Hook(HookEvent::Finished { report, input });
    let record = record_of(&event, content);
    assert_eq!(record.name, "gemini_cli.hook_call");
    fields(&record)
}

#[test]
fn a_hook_is_recorded_with_what_it_read_and_printed() {
    let command = "cat >/dev/null; echo '{\"decision\": \"allow\"}'; echo careful >&2";
    let event = run_hook(command);
    let record = record_of(&event, ContentPolicy::Included);
    let input = record.fields.iter().find(|(name, _)| *name == "hook_input").map(|(_, field)| json!(field)).unwrap();
    let input: Value = serde_json::from_str(input.as_str().unwrap()).unwrap();
    assert_eq!(input["session_id"], "s1");
    assert_eq!(input["tool_input"], json!({"command": "echo hunter2"}));
    assert_eq!(
        hook(command, ContentPolicy::Included),
        json!({
            "hook_event_name": "BeforeTool", "hook_type": "command", "hook_name": command,
            "duration_ms": 6, "success": true, "event_id": "1", "run_id": "1.1", "exit_code": 0,
            "hook_output": "{\"decision\": \"allow\"}", "stdout": "{\"decision\": \"allow\"}\n", "stderr": "careful\n",
        })
    );
}

#[test]
fn a_hook_that_blocks_fails_or_prints_text_is_recorded_with_its_outcome() {
    let blocked = hook("echo no way >&2; exit 2", ContentPolicy::Included);
    assert_eq!(
        (&blocked["success"], &blocked["exit_code"], &blocked["error"]),
        (&json!(false), &json!(2), &Value::Null)
    );
    assert_eq!(blocked["hook_output"], r#"{"decision":"deny","reason":"no way"}"#);
    let text = hook("echo plain text", ContentPolicy::Included);
    assert_eq!(text["hook_output"], r#"{"decision":"allow","systemMessage":"plain text"}"#);
    let failed = hook("echo oh >&2; exit 3", ContentPolicy::Included);
    assert_eq!((&failed["success"], &failed["exit_code"]), (&json!(false), &json!(3)));
    assert_eq!((&failed["error"], &failed["hook_output"]), (&json!("exited with code 3: oh"), &Value::Null));
    let silent = hook("true", ContentPolicy::Included);
    assert_eq!((&silent["hook_output"], &silent["stdout"]), (&Value::Null, &json!("")));
    let fields = json!({"llm_request": {"model": "m", "messages": []}});
    let events =
        run_hooks(EventKind::BeforeToolSelection, fields, json!([{"type": "command", "command": "echo glob"}]));
    let record = self::fields(&record_of(&events[0], ContentPolicy::Included));
    assert!(record["hook_output"].as_str().unwrap().contains("glob"), "{record}");
}

#[test]
fn a_hook_that_suppresses_its_output_leaves_its_name_and_times_only() {
    let command = "echo hunter2 >&2; echo '{\"suppressOutput\": true, \"systemMessage\": \"hunter3\"}'";
    let expected = json!({
        "hook_event_name": "BeforeTool", "hook_type": "command", "hook_name": command,
        "duration_ms": 6, "success": true, "event_id": "1", "run_id": "1.1", "exit_code": 0, "output_suppressed": true,
    });
    assert_eq!(hook(command, ContentPolicy::Included), expected);
    let event = run_hook(command);
    assert!(record_of(&event, ContentPolicy::Included).fields.iter().all(|(name, _)| *name != "hook_input"));
}

#[test]
fn without_content_a_hook_is_known_by_its_program() {
    assert_eq!(
        hook("/bin/sh -c 'echo hunter2 >&2; exit 3'", ContentPolicy::Omitted),
        json!({
            "hook_event_name": "BeforeTool", "hook_type": "command", "hook_name": "sh",
            "duration_ms": 6, "success": false, "event_id": "1", "run_id": "1.1", "exit_code": 3, "error": "exited with code 3",
        })
    );
}

#[test]
fn without_content_nothing_of_it_is_in_any_record() {
    for event in turn() {
        if let Some(record) = record::record_for(&event, ContentPolicy::Omitted) {
            let (body, fields) =
                (&record.body, json!(record.fields.iter().map(|(_, field)| field).collect::<Vec<_>>()));
            assert!(!body.contains(SECRET) && !fields.to_string().contains(SECRET), "{body}: {fields}");
        }
        if let Some(record) = record::record_for(&event, ContentPolicy::Included)
            .filter(|record| record.name != "gemini_cli.chat_compression")
        {
            let fields = json!(record.fields.iter().map(|(_, field)| field).collect::<Vec<_>>());
            assert!(fields.to_string().contains(SECRET), "{}: {fields}", record.body);
        }
    }
}

#[test]
fn a_tool_call_is_recorded_with_the_arguments_it_ran_with() {
    let event = tool_finished("c1", None);
    let record = record_of(&event, ContentPolicy::Included);
    assert_eq!(record.body, "Tool call: run_shell_command. Decision: auto_accept. Success: true. Duration: 82ms.");
    assert_eq!(
        fields(&record),
        json!({
            "function_name": "run_shell_command", "tool_use_id": "c1", "duration_ms": 82, "success": true, "decision": "auto_accept",
            "prompt_id": "p1", "tool_type": "native", "content_length": 15,
            "function_args": "{\"command\":\"echo hunter2\"}",
        })
    );
}

#[test]
fn a_refused_tool_call_says_why() {
    let event = tool_finished("c1", Some(refused()));
    let record = record_of(&event, ContentPolicy::Included);
    assert_eq!(record.body, "Tool call: run_shell_command. Success: false. Duration: 82ms.");
    let with = fields(&record);
    assert_eq!((&with["success"], &with["error_type"]), (&json!(false), &json!("policy_violation")));
    assert_eq!(with["error"], "Tool execution blocked: hunter2");
    let without = fields(&record_of(&event, ContentPolicy::Omitted));
    assert_eq!((&without["error"], &without["function_args"]), (&json!("policy_violation"), &Value::Null));
}

#[test]
fn prompts_requests_and_answers_are_recorded() {
    let record = |event: &AgentEvent| {
        let record = record_of(event, ContentPolicy::Included);
        (record.name, record.body.clone(), fields(&record))
    };
    assert_eq!(
        record(&prompt()),
        (
            "gemini_cli.user_prompt",
            "User prompt. Length: 14.".to_owned(),
            json!({"prompt_length": 14, "prompt_id": "p1", "prompt": "say hunter2 🦀"})
        )
    );
    let request_text = r#"[{"role":"user","parts":[{"text":"say hunter2"}]}]"#;
    assert_eq!(
        record(&request()),
        (
            "gemini_cli.api_request",
            "API request to m.".to_owned(),
            json!({"model": "m", "prompt_id": "p1", "request_text": request_text, "role": "main"})
        )
    );
    let (name, body, mut fields) = record(&response());
    assert_eq!((name, body.as_str()), ("gemini_cli.api_response", "API response from m. Status: 200. Duration: 41ms."));
    let text = fields.as_object_mut().unwrap().shift_remove("response_text").unwrap();
    let text: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(text[0]["candidates"][0]["content"]["parts"][0]["text"], SECRET);
    assert_eq!(
        fields,
        json!({
            "model": "m", "duration_ms": 41, "input_token_count": 10, "output_token_count": 5,
            "cached_content_token_count": 2, "thoughts_token_count": 3, "tool_token_count": 0, "total_token_count": 18,
            "prompt_id": "p1", "status_code": 200, "finish_reasons": ["stop"], "role": "main", "http.status_code": 200,
        })
    );
    let (name, _, fields) = record(&compressed());
    let expected = json!({"tokens_before": 900, "tokens_after": 100, "trigger": "auto"});
    assert_eq!((name, fields), ("gemini_cli.chat_compression", expected));
}

#[test]
fn a_failed_request_is_recorded_and_its_quotes_only_with_content() {
    let event = failure();
    let error = |content| fields(&record_of(&event, content))["error"].clone();
    assert_eq!(error(ContentPolicy::Included), "No more mock responses, got request:\nhunter2");
    assert_eq!(error(ContentPolicy::Omitted), "No more mock responses, got request:");
}

#[test]
fn a_command_is_reduced_to_its_program() {
    for (command, name) in [
        ("/a/b/check.sh --key=abc", "check.sh"),
        ("python /home/user/x.py", "python"),
        ("C:\\Windows\\cmd.exe /c x", "cmd.exe"),
        ("gate", "gate"),
        ("  ", "unknown-command"),
        ("dir/", "unknown-command"),
    ] {
        assert_eq!(program(command), name);
    }
}
