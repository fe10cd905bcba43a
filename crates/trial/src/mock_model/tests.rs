//! The mock model server, asked over each wire format by plain sockets: it calls offered tools, and ends once it is
//! answered.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

fn shell_action() -> Vec<ScriptedAction> {
    vec![ScriptedAction::Shell("touch RAN".to_owned())]
}

async fn send_request(server: &MockModelServer, head: &str, body: &[u8]) -> String {
    hookwright_testkit::watchdog::watch();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    tokio::time::timeout(hookwright_testkit::deadline::wait_limit(), read).await.unwrap().unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

async fn post_json(server: &MockModelServer, target: &str, body: &Value) -> String {
    let body = body.to_string();
    let head = format!("POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    send_request(server, &head, body.as_bytes()).await
}

/// Returns the data of a stream's events.
fn read_events(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[tokio::test]
async fn messages_streamed_and_whole() {
    let server = MockModelServer::start(shell_action()).await.unwrap();
    let schema = json!({"properties": {"command": {"type": "string"}, "why": {"type": "string"}}, "required": ["command", "why"]});
    let mut body = json!({"model": "m", "stream": true, "tools": [{"name": "Bash", "input_schema": schema}],
        "messages": [{"role": "user", "content": "x"}]});
    let answer = read_events(&post_json(&server, "/v1/messages?beta=true", &body).await);
    assert_eq!(answer[1]["content_block"]["name"], "Bash");
    let input: Value = serde_json::from_str(answer[2]["delta"]["partial_json"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({"command": "touch RAN", "why": "a trial"}));
    assert_eq!(answer[4]["delta"]["stop_reason"], "tool_use");
    body["stream"] = json!(false);
    body["messages"] =
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]}]);
    let answer: Value = serde_json::from_str(&post_json(&server, "/v1/messages", &body).await).unwrap();
    assert_eq!(answer["content"], json!([{"type": "text", "text": "done"}]));
    assert_eq!((server.tool_call_count(), server.requests().len()), (1, 2));
    server.wait_answered(1).await;
}

#[tokio::test]
async fn responses_with_arguments_and_with_text() {
    let write = ScriptedAction::Write { path: "a".to_owned(), content: "b\n".to_owned() };
    let server = MockModelServer::start(vec![shell_action().remove(0), write]).await.unwrap();
    let schema = json!({"properties": {"cmd": {"type": "string"}}, "required": ["cmd"]});
    let tools = json!([{"type": "web_search"}, {"type": "function", "name": "exec_command", "parameters": schema},
        {"type": "custom", "name": "apply_patch"}]);
    let mut body = json!({"model": "m", "stream": true, "tools": tools, "input": []});
    let answer = read_events(&post_json(&server, "/v1/responses", &body).await);
    assert_eq!(answer[2]["item"]["arguments"], r#"{"cmd":"touch RAN"}"#);
    assert_eq!(answer[3]["type"], "response.completed");
    body["input"] = json!([{"type": "function_call_output", "call_id": "call_1", "output": ""}]);
    let answer = read_events(&post_json(&server, "/v1/responses", &body).await);
    assert_eq!(answer[2]["item"]["type"], "custom_tool_call");
    assert_eq!(answer[2]["item"]["input"], "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n");
    let more = json!({"type": "custom_tool_call_output", "call_id": "call_2", "output": ""});
    body["input"].as_array_mut().unwrap().push(more);
    let answer = read_events(&post_json(&server, "/v1/responses", &body).await);
    assert_eq!(answer[2]["item"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn completions_streamed_and_whole() {
    let server = MockModelServer::start(shell_action()).await.unwrap();
    let schema = json!({"properties": {"command": {"type": "array"}}, "required": ["command"]});
    let tools = json!([{"type": "function", "function": {"name": "shell", "parameters": schema}}]);
    let mut body = json!({"model": "m", "stream": true, "tools": tools, "messages": []});
    let call = |answer: &Value| answer["tool_calls"][0]["function"].clone();
    let wanted = json!({"name": "shell", "arguments": r#"{"command":["sh","-c","touch RAN"]}"#});
    let answer = read_events(&post_json(&server, "/v1/chat/completions", &body).await);
    assert_eq!(call(&answer[0]["choices"][0]["delta"]), wanted);
    assert_eq!(answer[1]["choices"][0]["finish_reason"], "tool_calls");
    body["stream"] = json!(false);
    let answer: Value = serde_json::from_str(&post_json(&server, "/chat/completions", &body).await).unwrap();
    assert_eq!(call(&answer["choices"][0]["message"]), wanted);
    body["messages"] = json!([{"role": "tool", "tool_call_id": "x", "content": "y"}]);
    let answer: Value = serde_json::from_str(&post_json(&server, "/chat/completions", &body).await).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "done");
}

#[tokio::test]
async fn gemini_streamed_and_whole() {
    let server = MockModelServer::start(shell_action()).await.unwrap();
    let tools = json!([{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": {"properties": {"command": {}}}}]}]);
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}], "tools": tools});
    let answer = read_events(&post_json(&server, "/v1beta/models/m:streamGenerateContent?alt=sse", &body).await);
    let call = &answer[0]["candidates"][0]["content"]["parts"][0]["functionCall"];
    assert_eq!(*call, json!({"name": "run_shell_command", "args": {"command": "touch RAN"}}));
    let answered = json!({"contents": [{"parts": [{"functionResponse": {"name": "x"}}]}], "tools": body["tools"]});
    let answer: Value =
        serde_json::from_str(&post_json(&server, "/v1beta/models/m:generateContent", &answered).await).unwrap();
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "done");
    let count = post_json(&server, "/v1beta/models/m:countTokens", &body).await;
    assert_eq!(count, r#"{"totalTokens":100}"#);
}

/// Helper requests of an agent offer no tools, or others: they get a text.
#[tokio::test]
async fn an_agent_without_a_matching_tool_gets_no_call() {
    let server = MockModelServer::start(shell_action()).await.unwrap();
    for tools in [json!([]), json!([{"name": "Glob", "input_schema": {}}])] {
        let body = json!({"tools": tools, "messages": []});
        let answer = post_json(&server, "/v1/messages", &body).await;
        assert!(answer.contains("done"), "{answer}");
    }
    assert_eq!(server.tool_call_count(), 0);
    assert!(post_json(&server, "/telemetry", &json!({})).await.contains("no such address"));
}

#[tokio::test]
async fn bodies_in_chunks_are_read_and_broken_ones_are_not_answered() {
    let server = MockModelServer::start(shell_action()).await.unwrap();
    let head = "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
    let answer = send_request(&server, head, b"4;x=y\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n").await;
    assert!(answer.contains("200 OK"), "the rest is behind the word to go on: {answer}");
    assert_eq!(server.requests()[0].body, r#"{"a":1}"#);
    for broken in ["", "GET\r\n\r\n", "POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(broken.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        assert_eq!(answer, "", "{broken}");
    }
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn edits_and_reads_use_any_available_tool() {
    let offer = |name: &str, names: &[&str]| {
        let properties: serde_json::Map<_, _> = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        OfferedTool { name: name.to_owned(), parameters: Some(json!({"properties": properties})) }
    };
    let edit = ScriptedAction::Edit { path: "f".to_owned(), old: "a".to_owned(), new: "b".to_owned() };
    let input = |action: &ScriptedAction, offers: &[OfferedTool]| match action.as_call(offers) {
        Some(MockReply::ToolCall { name, input: scripted_action::MockCallInput::Arguments(arguments) }) => {
            format!("{name} {arguments}")
        }
        other => panic!("{other:?}"),
    };
    let opencode = [offer("edit", &["filePath", "oldString", "newString"])];
    assert_eq!(input(&edit, &opencode), r#"edit {"filePath":"f","oldString":"a","newString":"b"}"#);
    let shell = [offer("exec_command", &["cmd"])];
    let patch = r#"exec_command {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\nEOF"}"#;
    assert_eq!(input(&edit, &shell), patch);
    let read = ScriptedAction::Read { path: "f".to_owned() };
    assert_eq!(input(&read, &shell), r#"exec_command {"cmd":"cat 'f'"}"#);
    assert_eq!(input(&read, &[offer("view", &["path"])]), r#"view {"path":"f"}"#);
    assert_eq!(read.as_call(&[]), None);
}
