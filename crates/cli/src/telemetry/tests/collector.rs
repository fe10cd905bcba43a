//! Tests with a collector that stores what it receives, one that does not exist, and one that does not answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use hookwright_settings::{OtlpProtocol, ProcessEnv};
use hookwright_testkit::deadline::*;

use super::super::{ActiveRecorder, CollectorOptions, TelemetrySink};
use super::*;

/// The requests that a collector received: path and body.
pub(super) type Received = Arc<Mutex<Vec<(String, Value)>>>;

/// Starts a collector that answers every request with 200.
pub(super) fn serve() -> (String, Received) {
    hookwright_testkit::watchdog::watch();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let received = Received::default();
    let keep = Arc::clone(&received);
    thread::spawn(move || {
        for stream in listener.connections() {
            let keep = Arc::clone(&keep);
            thread::spawn(move || while answer(&stream, &keep).is_some() {});
        }
    });
    (endpoint, received)
}

/// Reads one request from a connection and answers it.
fn answer(stream: &TcpStream, received: &Received) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let (mut length, mut kind) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().to_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().ok()?,
            Some(("content-type", value)) => kind = value.to_owned(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = match kind.as_str() {
        "application/json" => serde_json::from_slice(&body).unwrap(),
        "application/x-protobuf" => otlp_decoder::decode_request(path.strip_prefix("/v1/").unwrap(), &body),
        other => panic!("a body of type {other}"),
    };
    received.lock().unwrap().push((path, body));
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}").ok()
}

pub(super) fn config(endpoint: &str) -> Config {
    Config {
        enabled: true,
        otlp_endpoint: Some(endpoint.to_owned()),
        otlp_protocol: OtlpProtocol::HttpJson,
        ..Config::default()
    }
}

/// Returns all items of one kind that were received, and the last resource's attributes.
pub(super) fn items(received: &Received, path: &str, keys: [&str; 3]) -> (Value, Vec<Value>) {
    let (mut items, mut resource) = (Vec::new(), Value::Null);
    for (_, body) in received.lock().unwrap().iter().filter(|(to, _)| to == path) {
        for of_resource in body[keys[0]].as_array().unwrap() {
            resource = attributes(&of_resource["resource"]);
            for of_scope in of_resource[keys[1]].as_array().unwrap() {
                items.extend(of_scope[keys[2]].as_array().unwrap().clone());
            }
        }
    }
    (resource, items)
}

/// Returns OTLP's list of attributes as an object.
pub(super) fn attributes(item: &Value) -> Value {
    let value = |value: &Value| match value.as_object().and_then(|value| value.iter().next()) {
        Some((kind, number)) if kind == "intValue" => {
            number.as_str().map_or(number.clone(), |text| json!(text.parse::<i64>().unwrap()))
        }
        Some((_, value)) => value.clone(),
        None => Value::Null,
    };
    let list = item["attributes"].as_array().unwrap();
    list.iter().map(|pair| (pair["key"].as_str().unwrap().to_owned(), value(&pair["value"]))).collect()
}

pub(super) fn spans(received: &Received) -> Vec<Value> {
    items(received, "/v1/traces", ["resourceSpans", "scopeSpans", "spans"]).1
}

pub(super) fn send(config: &Config, events: &[AgentEvent]) -> Vec<String> {
    let (mut telemetry, warnings) = TelemetryRecorder::start(config, &facts());
    assert_eq!(warnings, [""; 0]);
    events.iter().for_each(|event| telemetry.record(event));
    telemetry.finish()
}

#[test]
fn a_turn_arrives_as_logs_metrics_and_spans() {
    let (endpoint, received) = serve();
    assert_eq!(send(&config(&format!("{endpoint}/")), &turn()), [""; 0]);

    let (resource, logs) = items(&received, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
    assert_eq!((&resource["service.name"], &resource["session.id"]), (&json!("hookwright"), &json!("s1")));
    let names: Vec<_> = logs.iter().map(|log| attributes(log)["event.name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), 12, "{names:?}");
    assert_eq!(names[..3], ["gemini_cli.config", "gemini_cli.user_prompt", "gemini_cli.api_request"]);
    let hook = logs.iter().find(|log| attributes(log)["event.name"] == "gemini_cli.hook_call").unwrap();
    let fields = attributes(hook);
    assert_eq!(
        (&fields["session.id"], &fields["exit_code"], &fields["success"]),
        (&json!("s1"), &json!(0), &json!(true))
    );
    assert!(fields["hook_input"].as_str().unwrap().contains(SECRET));
    assert!(hook["body"]["stringValue"].as_str().unwrap().starts_with("Hook call BeforeTool.cat"));
    let hook_span = spans(&received).into_iter().find(|span| span["name"] == "run_hook BeforeTool").unwrap();
    assert_eq!((&hook["traceId"], &hook["spanId"]), (&hook_span["traceId"], &hook_span["spanId"]));

    let (_, metrics) = items(&received, "/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"]);
    let names: Vec<_> = metrics.iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    for name in
        ["session.count", "tool.call.count", "api.request.count", "token.usage", "hook_call.count", "hook_call.latency"]
    {
        assert!(names.contains(&format!("gemini_cli.{name}").as_str()), "{name} is not in {names:?}");
    }
    let sessions = metrics.iter().find(|metric| metric["name"] == "gemini_cli.session.count").unwrap();
    assert_eq!(attributes(&sessions["sum"]["dataPoints"][0])["session.id"], "s1");
}

#[test]
fn protobuf_has_the_same_data_as_json() {
    let events = documentation::every_event();
    let [json, protobuf] = [OtlpProtocol::HttpJson, OtlpProtocol::HttpProtobuf].map(|otlp_protocol| {
        let (endpoint, received) = serve();
        assert_eq!(send(&Config { otlp_protocol, ..config(&endpoint) }, &events), [""; 0]);
        ["traces", "logs", "metrics"].map(|signal| {
            let bodies = received.lock().unwrap();
            let bodies = bodies.iter().filter(|(path, _)| *path == format!("/v1/{signal}"));
            bodies.map(|(_, body)| without_ids_and_times(body)).collect::<Vec<_>>()
        })
    });
    assert!(json.iter().all(|bodies| !bodies.is_empty()));
    assert_eq!(json, protobuf);
}

/// Returns a body with identifiers and times replaced by the number of their characters.
fn without_ids_and_times(body: &Value) -> Value {
    match body {
        Value::Array(values) => values.iter().map(without_ids_and_times).collect(),
        Value::Object(fields) if fields.get("key") == Some(&json!("event.timestamp")) => json!("event.timestamp"),
        Value::Object(fields) => {
            let masked = |name: &str, value: &Value| match name {
                "traceId" | "spanId" | "parentSpanId" => json!(value.as_str().unwrap().len()),
                name if name.ends_with("UnixNano") => json!(value.as_str().unwrap().len()),
                _ => without_ids_and_times(value),
            };
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), masked(name, value))).collect())
        }
        value => value.clone(),
    }
}

#[test]
fn every_span_has_the_parent_it_happened_in() {
    let (endpoint, received) = serve();
    let hook = |event: EventKind, fields: Value| {
        run_hooks(event, fields, json!([{"type": "command", "name": event.name(), "command": "true"}])).remove(0)
    };
    let before_tool =
        |call: &str| hook(EventKind::BeforeTool, json!({"tool_name": "run_shell_command", "tool_use_id": call}));
    let llm = json!({"llm_request": {"model": "m", "messages": []}, "llm_response": {"candidates": []}});
    let events = [
        hook(EventKind::SessionStart, json!({"source": "startup"})),
        prompt(),
        hook(EventKind::BeforeAgent, json!({"prompt": "x"})),
        hook(EventKind::BeforeModel, llm.clone()),
        request(),
        hook(EventKind::AfterModel, llm),
        response(),
        tool_requested("c1", "one"),
        tool_requested("c2", "two"),
        before_tool("c2"),
        before_tool("c1"),
        tool_finished("c2", Some(refused())),
        before_tool("c1"),
        tool_finished("c1", None),
        AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered)),
        AgentEvent::Turn(TurnEvent::Started { prompt: "again".into(), prompt_id: "p2".into() }),
        tool_requested("c3", "three"),
        AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Cancelled)),
    ];
    assert_eq!(send(&config(&endpoint), &events), [""; 0]);

    let spans = spans(&received);
    let label = |span: &Value| {
        let fields = attributes(span);
        let detail = ["hookwright.event.name", "gen_ai.tool.call.id", "hookwright.turn.id"]
            .iter()
            .find_map(|key| fields[key].as_str());
        let operation = span["name"].as_str().unwrap().split(' ').next().unwrap();
        format!("{operation} {}", detail.unwrap_or_default())
    };
    let parent = |span: &Value| {
        let id = span["parentSpanId"].as_str().filter(|id| !id.is_empty());
        id.map_or("nothing".to_owned(), |id| label(spans.iter().find(|span| span["spanId"] == id).unwrap()))
    };
    let mut tree: Vec<String> = spans.iter().map(|span| format!("{} in {}", label(span), parent(span))).collect();
    tree.sort();
    insta::assert_snapshot!(tree.join("\n"), @"
    chat p1 in invoke_agent p1
    execute_tool c1 in invoke_agent p1
    execute_tool c2 in invoke_agent p1
    execute_tool c3 in invoke_agent p2
    invoke_agent p1 in nothing
    invoke_agent p2 in nothing
    run_hook AfterModel in chat p1
    run_hook BeforeAgent in invoke_agent p1
    run_hook BeforeModel in invoke_agent p1
    run_hook BeforeTool in execute_tool c1
    run_hook BeforeTool in execute_tool c1
    run_hook BeforeTool in execute_tool c2
    run_hook SessionStart in nothing
    ");

    let traces: std::collections::HashSet<_> = spans.iter().map(|span| span["traceId"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 3, "one for each turn and one for the hook outside");
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(spans.iter().all(|span| time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano")));
    let refused = spans.iter().find(|span| label(span) == "execute_tool c2").unwrap();
    assert_eq!(
        (&attributes(refused)["error.type"], &refused["status"]["code"]),
        (&json!("policy_violation"), &json!(2))
    );
    let cancelled = spans.iter().find(|span| label(span) == "invoke_agent p2").unwrap();
    assert_eq!(attributes(cancelled)["hookwright.turn.outcome"], "cancelled");
}

#[test]
fn without_prompts_none_is_sent() {
    for log_prompts in [false, true] {
        let (endpoint, received) = serve();
        let events: Vec<_> = turn().into_iter().chain(documentation::every_event()).collect();
        send(&Config { log_prompts, ..config(&endpoint) }, &events);
        let sent = format!("{:?}", received.lock().unwrap());
        assert!(sent.contains("gemini_cli.hook_call") && sent.contains("hookwright.verdict"));
        assert_eq!(sent.contains(SECRET), log_prompts, "{sent}");
    }
}

#[test]
fn a_subagents_spans_are_within_the_call_that_delegates_to_it() {
    let (endpoint, received) = serve();
    let mut events = vec![prompt(), tool_requested("c2", "delegate"), in_subagent(prompt()), in_subagent(request())];
    events.extend([request(), in_subagent(response()), response(), in_subagent(tool_requested("c3", "x"))]);
    events.extend(judge_call("c3", Some(subagent())));
    events.extend([
        in_subagent(tool_finished("c3", None)),
        in_subagent(AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered))),
    ]);
    events.extend([tool_finished("c2", None), AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered))]);
    send(&config(&endpoint), &events);
    let spans = spans(&received);
    let by_id = |id: &Value| spans.iter().find(|span| span["spanId"] == *id);
    let name = |span: &Value| {
        let call = attributes(span)["gen_ai.tool.call.id"].as_str().map(|id| format!(" {id}"));
        format!("{}{}", span["name"].as_str().unwrap(), call.unwrap_or_default())
    };
    let path = |span: &Value| {
        let above = std::iter::successors(Some(span), |span| by_id(&span["parentSpanId"]));
        above.map(name).collect::<Vec<_>>().join(" < ")
    };
    let mut paths: Vec<String> = spans.iter().map(path).collect();
    paths.sort();
    insta::assert_snapshot!(paths.join("\n"), @"
    chat m < invoke_agent helper < execute_tool run_shell_command c2 < invoke_agent hookwright
    chat m < invoke_agent hookwright
    execute_tool run_shell_command c2 < invoke_agent hookwright
    execute_tool run_shell_command c3 < invoke_agent helper < execute_tool run_shell_command c2 < invoke_agent hookwright
    invoke_agent helper < execute_tool run_shell_command c2 < invoke_agent hookwright
    invoke_agent hookwright
    run_hook BeforeTool < execute_tool run_shell_command c3 < invoke_agent helper < execute_tool run_shell_command c2 < invoke_agent hookwright
    run_hook BeforeTool < execute_tool run_shell_command c3 < invoke_agent helper < execute_tool run_shell_command c2 < invoke_agent hookwright
    ");
    let main = attributes(spans.iter().find(|span| span["name"] == "invoke_agent hookwright").unwrap());
    assert_eq!((&main["gen_ai.usage.input_tokens"], &main["gen_ai.usage.output_tokens"]), (&json!(10), &json!(8)));
}

#[test]
fn a_verdict_is_a_record_and_an_event_of_the_call_it_is_about() {
    let (endpoint, received) = serve();
    // A call is reported after the hooks have judged it, since they may redact its arguments.
    let mut events = vec![prompt()];
    events.extend(judge_call("c1", None));
    events.extend([tool_requested("c1", "echo"), tool_finished("c1", Some(refused()))]);
    // A call of the program itself, such as `@path` in a prompt, may not be reported at all.
    events.extend(judge_call("c2", None));
    events.push(AgentEvent::Turn(TurnEvent::Finished(TurnEnd::Answered)));
    send(&config(&endpoint), &events);
    let spans = spans(&received);
    let calls = spans.iter().filter(|span| span["name"] == "execute_tool run_shell_command");
    assert_eq!(calls.count(), 2);
    for hook in spans.iter().filter(|span| span["name"] == "run_hook BeforeTool") {
        let call = spans.iter().find(|span| span["spanId"] == hook["parentSpanId"]).unwrap();
        assert_eq!(call["name"], "execute_tool run_shell_command");
        assert!(call["startTimeUnixNano"].as_str() <= hook["startTimeUnixNano"].as_str(), "{call} {hook}");
    }
    let call = spans.iter().find(|span| span["name"] == "execute_tool run_shell_command").unwrap();
    let event = &call["events"][0];
    assert_eq!(event["name"], "hookwright.verdict");
    let (_, logs) = items(&received, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
    let log = logs.iter().find(|log| log["eventName"] == "hookwright.verdict").unwrap();
    assert_eq!((&log["traceId"], &log["spanId"]), (&call["traceId"], &call["spanId"]));
    assert_eq!(log["body"]["stringValue"], "Verdict deny on BeforeTool of run_shell_command");
    for fields in [attributes(event), attributes(log)] {
        assert_eq!(fields["hookwright.verdict.decision"], "deny");
        assert_eq!(fields["hookwright.verdict.hooks"], json!({"values": [{"stringValue": "guard"}]}));
        assert_eq!(
            (&fields["hookwright.verdict.by_guard"], &fields["hookwright.verdict.guards"]),
            (&json!(true), &json!(1))
        );
        assert_eq!((&fields["gen_ai.tool.call.id"], &fields["hookwright.turn.id"]), (&json!("c1"), &json!("p1")));
        assert_eq!(fields["hookwright.verdict.reason"], format!("no {SECRET}"));
    }
}

#[test]
fn the_file_has_no_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.log");
    send(&Config { outfile: Some(path.clone()), ..config("http://127.0.0.1:9") }, &judge_call("c1", None));
    let text = hookwright_testkit::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("gemini_cli.hook_call") && !text.contains("hookwright.") && !text.contains("gen_ai"),
        "{text}"
    );
}

#[test]
fn the_traceparent_of_the_environment_is_the_parent_of_every_turn() {
    let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    for (flags, sent) in [("01", 2), ("00", 0)] {
        let (endpoint, received) = serve();
        let variable = ("TRACEPARENT".into(), format!("00-{trace}-{span}-{flags}").into());
        let world = ProcessEnv::new(vec![variable], Default::default());
        let facts = TelemetrySession { collector: CollectorOptions::new(&world, None), ..facts() };
        let (mut telemetry, _) = TelemetryRecorder::start(&config(&endpoint), &facts);
        for id in ["p1", "p2"] {
            telemetry.record(&AgentEvent::Turn(TurnEvent::Started { prompt: "x".into(), prompt_id: id.into() }));
        }
        assert_eq!(telemetry.finish(), [""; 0]);
        let spans = spans(&received);
        assert_eq!(spans.len(), sent, "the caller decides about sampling");
        assert!(spans.iter().all(|one| one["traceId"] == trace && one["parentSpanId"] == span));
        let (_, logs) = items(&received, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
        assert!(logs.iter().any(|log| log["traceId"] == trace), "records are sent in any case");
    }
}

#[test]
fn a_long_text_is_cut_and_says_so() {
    let (endpoint, received) = serve();
    let long = "é".repeat(100_000);
    send(&config(&endpoint), &[AgentEvent::Turn(TurnEvent::Started { prompt: long, prompt_id: "p1".into() })]);
    let (_, logs) = items(&received, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
    let prompt = attributes(&logs[1])["prompt"].as_str().unwrap().to_owned();
    assert!(prompt.len() < 66_000 && prompt.ends_with("é… (200000 bytes in all)"));
}

#[test]
fn a_missing_collector_is_reported_and_costs_nothing() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{free}");
    let began = Instant::now();
    let warnings = send(&config(&endpoint), &turn()[..3]);
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert!(
        matches!(warnings.as_slice(), [warning] if warning.starts_with(&format!("some telemetry could not be sent to {endpoint}: is a "))),
        "{warnings:?}"
    );
}

#[test]
fn a_silent_collector_is_given_up_after_a_second() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let check = || {
        let (mut telemetry, _) = TelemetryRecorder::start(&config(&endpoint), &facts());
        telemetry.record(&prompt());
        let began = Instant::now();
        let warnings = telemetry.finish();
        let took = began.elapsed();
        assert!(took > Duration::from_millis(900) && took < Duration::from_millis(1500), "{took:?}");
        assert_eq!(warnings, [format!("some telemetry could not be sent to {endpoint}: no answer within a second")]);
    };
    check();
    // A runtime of one thread does not deadlock either, nor is it disturbed by clients that come and go within it.
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async { check() });
}

#[test]
fn grpc_falls_back_to_http_with_a_warning_and_invalid_endpoints_are_refused() {
    let (endpoint, _) = serve();
    let start = |endpoint: &str, otlp_protocol| {
        let (telemetry, warnings) = TelemetryRecorder::start(&Config { otlp_protocol, ..config(endpoint) }, &facts());
        (telemetry.0.is_some(), warnings)
    };
    let (on, warnings) = start(&endpoint, OtlpProtocol::Grpc);
    assert!(on && warnings[0].contains("over HTTP, not gRPC"), "{warnings:?}");
    for nonsense in ["localhost:4318", "not a url", "ftp://localhost"] {
        let (on, warnings) = start(nonsense, OtlpProtocol::HttpJson);
        assert!(!on && warnings[0].starts_with(&format!("no telemetry is sent to {nonsense}: ")), "{warnings:?}");
    }
}

#[test]
fn a_file_takes_precedence_over_a_collector() {
    let (endpoint, received) = serve();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.log");
    send(&Config { outfile: Some(path.clone()), ..config(&endpoint) }, &[prompt()]);
    assert!(path.exists() && received.lock().unwrap().is_empty());
}

#[test]
fn a_refusal_is_reported_once_with_the_collectors_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.connections() {
            thread::spawn(move || head(&stream, b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"));
        }
    });
    let warnings = send(&config(&endpoint), &turn());
    assert_eq!(warnings, [format!("some telemetry could not be sent to {endpoint}: it answered 401 Unauthorized")]);
}

/// Reads and returns a request's head, and answers before the body is read.
fn head(mut stream: &TcpStream, answer: &[u8]) -> String {
    let mut head = String::new();
    let mut reader = BufReader::new(stream);
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    stream.write_all(answer).unwrap();
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    head.push_str(&String::from_utf8_lossy(&rest));
    head
}

#[test]
fn the_environment_adds_headers_and_resource_attributes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let request = thread::spawn(move || {
        let (stream, _) = listener.accept_in_time().unwrap();
        head(&stream, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    });
    let env = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, ,=c,x-other=d=e"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=red,service.name=no"),
        ("OTEL_SERVICE_NAME", "mine"),
    ];
    let world = ProcessEnv::new(env.map(|(name, value)| (name.into(), value.into())).to_vec(), Default::default());
    let facts = TelemetrySession { collector: CollectorOptions::new(&world, None), ..facts() };
    let (telemetry, warnings) = TelemetryRecorder::start(&config(&endpoint), &facts);
    assert_eq!(warnings, [""; 0]);
    drop(telemetry);
    let request = request.join_in_time().unwrap();
    assert!(request.contains("x-key: a b\r\n") && request.contains("x-other: d=e\r\n"), "{request}");
    let said =
        |name: &str, value: &str| request.contains(&json!({"key": name, "value": {"stringValue": value}}).to_string());
    assert!(said("service.name", "mine") && said("team", "red") && said("session.id", "s1"), "{request}");
    assert!(!said("service.name", "hookwright") && !said("service.name", "no"), "{request}");
}

#[test]
fn more_than_one_request_holds_arrives_whole_and_in_order() {
    let (endpoint, received) = serve();
    let prompt = |number: usize| {
        AgentEvent::Turn(TurnEvent::Started { prompt: "x".repeat(20_000), prompt_id: number.to_string() })
    };
    let events: Vec<_> = (0..300).map(prompt).collect();
    assert_eq!(send(&config(&endpoint), &events), [""; 0]);
    let (_, logs) = items(&received, "/v1/logs", ["resourceLogs", "scopeLogs", "logRecords"]);
    let ids: Vec<_> = logs[1..].iter().map(|log| attributes(log)["prompt_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, (0..300).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(spans(&received).len(), 300);
    let requests = received.lock().unwrap().iter().filter(|(path, _)| path == "/v1/logs").count();
    assert!(requests >= 3, "{requests} requests");
}

#[test]
fn the_queue_for_a_silent_collector_is_bounded() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let (mut telemetry, _) = TelemetryRecorder::start(&config(&endpoint), &facts());
    let long = AgentEvent::Turn(TurnEvent::Started { prompt: "x".repeat(60_000), prompt_id: "p1".into() });
    (0..400).for_each(|_| telemetry.record(&long));
    let Some(ActiveRecorder { sink: TelemetrySink::Collector(collector), .. }) = telemetry.0.as_deref() else {
        panic!("no collector")
    };
    let waiting = collector.queued_bytes();
    assert!((1 << 20..=16 << 20).contains(&waiting), "{waiting} bytes of 24 MB");
    assert_eq!(telemetry.finish().len(), 1);
}

#[test]
fn times_arrive_as_histograms() {
    let (endpoint, received) = serve();
    send(&config(&endpoint), &turn());
    let (_, metrics) = items(&received, "/v1/metrics", ["resourceMetrics", "scopeMetrics", "metrics"]);
    let latency = metrics.iter().find(|metric| metric["name"] == "gemini_cli.tool.call.latency").unwrap();
    assert_eq!((&latency["unit"], &latency["histogram"]["aggregationTemporality"]), (&json!("ms"), &json!(2)));
    let point = &latency["histogram"]["dataPoints"][0];
    assert_eq!(
        (&point["count"], &point["sum"], &point["min"], &point["max"]),
        (&json!("2"), &json!(164), &json!(82), &json!(82))
    );
    assert_eq!(point["explicitBounds"].as_array().unwrap().len() + 1, point["bucketCounts"].as_array().unwrap().len());
    assert_eq!(point["bucketCounts"][6], "2");
}
