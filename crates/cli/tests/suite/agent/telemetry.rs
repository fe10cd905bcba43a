//! The telemetry file, as dashboards and test rigs read it.

use super::*;
use hookwright_testkit::fs;
use hookwright_testkit::http::{TestHttpResponse, TestHttpServer};

#[test]
fn hooks_prompts_requests_answers_and_calls_are_recorded() {
    let command = "echo '{\"systemMessage\": \"hey\"}'";
    let hook = json!({"type": "command", "command": command});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    sandbox.write("a.txt", "A");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    prompt(&sandbox, "look", &replay, &["--session-id", "s-1"]).expect_exit_code(0);
    let hooks = records(&sandbox, "hook_call");
    assert_eq!(hooks.len(), 1);
    let hook = &hooks[0];
    assert_eq!((&hook["hook_event_name"], &hook["hook_type"]), (&json!("BeforeTool"), &json!("command")));
    assert_eq!((&hook["hook_name"], &hook["exit_code"], &hook["success"]), (&json!(command), &json!(0), &json!(true)));
    let input: Value = serde_json::from_str(hook["hook_input"].as_str().unwrap()).unwrap();
    assert_eq!(input["tool_name"], "read_file");
    let output: Value = serde_json::from_str(hook["hook_output"].as_str().unwrap()).unwrap();
    assert_eq!(output["systemMessage"], "hey");
    assert!(hook["stdout"].is_string() && hook["stderr"].is_string() && hook["duration_ms"].is_number());
    let calls = records(&sandbox, "tool_call");
    assert_eq!(
        (&calls[0]["function_name"], &calls[0]["function_args"]),
        (&json!("read_file"), &json!(r#"{"file_path":"a.txt"}"#))
    );
    assert!(calls[0]["prompt_id"].as_str().unwrap().starts_with("s-1"));
    assert_eq!(records(&sandbox, "api_request").len(), 2);
    assert_eq!(records(&sandbox, "api_response").len(), 2);
    let prompts = records(&sandbox, "user_prompt");
    assert_eq!((prompts.len(), &prompts[0]["prompt"]), (1, &json!("look")));
    let text = fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap();
    assert_contains(&text, "scopeMetrics");
    assert_contains(&text, "gemini_cli.session.count");
}

#[test]
fn it_is_complete_on_disk_after_the_last_hook() {
    let sandbox = project(&[("SessionEnd", "", "exit 0")]);
    run(&sandbox, &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    assert_eq!(records(&sandbox, "hook_call").pop().unwrap()["hook_event_name"], "SessionEnd");
}

#[test]
fn failures_of_hooks_are_recorded() {
    let sandbox =
        project(&[("BeforeAgent", "", "echo broken >&2; exit 3"), ("BeforeAgent", "", "echo no >&2; exit 2")]);
    run(&sandbox, &ReplayBuilder::new(), &[]).expect_exit_code(0);
    let mut records = records(&sandbox, "hook_call");
    records.sort_by_key(|record| record["exit_code"].as_i64());
    assert_eq!((&records[0]["exit_code"], &records[1]["exit_code"]), (&json!(2), &json!(3)));
    assert_eq!(records[1]["success"], false);
    assert_contains(records[1]["error"].as_str().unwrap(), "broken");
    assert_contains(records[0]["hook_output"].as_str().unwrap(), "deny");
}

#[test]
fn without_prompts_in_logs_no_content_is_in_them() {
    let sandbox =
        project(&[("BeforeAgent", "", "cat > /dev/null; echo private")]).env("GEMINI_TELEMETRY_LOG_PROMPTS", "false");
    sandbox.write("private.txt", "private");
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "private.txt"})).says("private");
    prompt(&sandbox, "private", &replay, &[]).expect_exit_code(0);
    assert_lacks(&fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap(), "private");
}

/// Starts a collector, and lets a project's sessions send it JSON.
fn with_collector(sandbox: Sandbox) -> (Sandbox, TestHttpServer) {
    let collector = TestHttpServer::serve(|_| TestHttpResponse::json(&json!({})));
    let sandbox = sandbox
        .env("GEMINI_TELEMETRY_OUTFILE", "")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    (sandbox, collector)
}

/// Returns the items of one signal that a collector received.
fn received(collector: &TestHttpServer, path: &str, keys: [&str; 3]) -> Vec<Value> {
    let bodies = collector.requests_to(path).into_iter().map(|request| request.json()[keys[0]].clone());
    bodies.flat_map(|body| body[0][keys[1]][0][keys[2]].as_array().unwrap().clone()).collect()
}

fn spans(collector: &TestHttpServer) -> Vec<Value> {
    received(collector, "/v1/traces", ["resourceSpans", "scopeSpans", "spans"])
}

#[test]
fn a_collector_gets_spans_and_verdicts_within_the_trace_of_the_caller() {
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let (sandbox, collector) = with_collector(project(&[("BeforeTool", "", "echo no >&2; exit 2")]));
    let sandbox = sandbox.env("TRACEPARENT", &format!("00-{trace}-b7ad6b7169203331-01"));
    let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
    prompt(&sandbox, "look", &replay, &[]).expect_exit_code(0);
    let spans = spans(&collector);
    let mut names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let [first, second, ..] = names[..] else { panic!("{names:?}") };
    assert!(first.starts_with("chat ") && second.starts_with("chat "), "{names:?}");
    assert_eq!(names[2..], ["execute_tool read_file", "invoke_agent hookwright", "run_hook BeforeTool"]);
    assert!(spans.iter().all(|span| span["traceId"] == trace));
    let logs = received(&collector, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
    let verdict = logs.iter().find(|log| log["eventName"] == "hookwright.verdict").unwrap();
    let call = spans.iter().find(|span| span["name"] == "execute_tool read_file").unwrap();
    assert_eq!((&verdict["traceId"], &verdict["spanId"]), (&json!(trace), &call["spanId"]));
    assert_contains(&verdict["attributes"].to_string(), r#""stringValue":"deny""#);
}

#[test]
fn the_spans_of_a_sub_agent_are_within_the_call_that_delegates_to_it() {
    let allow = "echo '{\"decision\": \"allow\"}'";
    let (sandbox, collector) = with_collector(project(&[("BeforeTool", "", allow), ("BeforeAgent", "", allow)]));
    sandbox.write(".gemini/agents/scout.md", "---\nname: scout\ndescription: looks\ntools: ['*']\n---\nLook.\n");
    sandbox.write("a.txt", "A");
    let replay = ReplayBuilder::new()
        .calls("delegate_to_agent", json!({"agent_name": "scout", "objective": "look around"}))
        .calls("read_file", json!({"file_path": "a.txt"}))
        .says("my report")
        .says("done");
    prompt(&sandbox, "go", &replay, &[]).expect_exit_code(0);
    let spans = spans(&collector);
    let path = |span: &Value| {
        let parent = |span: &&Value| spans.iter().find(|one| one["spanId"] == span["parentSpanId"]);
        let above = std::iter::successors(Some(span), parent);
        let names = above.map(|span| span["name"].as_str().unwrap().split(' ').collect::<Vec<_>>());
        // The model's name is the replay's.
        names.map(|name| if name[0] == "chat" { "chat".into() } else { name.join(" ") }).collect::<Vec<_>>().join(" < ")
    };
    let mut paths: Vec<String> = spans.iter().map(path).collect();
    paths.sort();
    let call = "execute_tool delegate_to_agent < invoke_agent hookwright";
    let scout = format!("invoke_agent scout < {call}");
    let mut expected = vec![
        "chat < invoke_agent hookwright".to_owned(),
        "chat < invoke_agent hookwright".to_owned(),
        format!("chat < {scout}"),
        format!("chat < {scout}"),
        call.to_owned(),
        format!("execute_tool read_file < {scout}"),
        "invoke_agent hookwright".to_owned(),
        scout.clone(),
        "run_hook BeforeAgent < invoke_agent hookwright".to_owned(),
        format!("run_hook BeforeAgent < {scout}"),
        format!("run_hook BeforeTool < {call}"),
        format!("run_hook BeforeTool < execute_tool read_file < {scout}"),
    ];
    expected.sort();
    assert_eq!(paths, expected);
}
