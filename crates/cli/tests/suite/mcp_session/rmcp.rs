//! A server written with the protocol's Rust SDK, over pipes and over streamable HTTP, works here as its author
//! intends.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_testkit::fs;
use hookwright_testkit::{ReplayBuilder, Sandbox, make_executable};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};

use super::{YOLO_ARGS, run_prompt, sandbox, seen_inputs, tool_results};

/// A server with tools, resources and prompts, and one more tool after a call of `grow`.
#[derive(Clone, Default)]
struct RmcpTestServer {
    has_extra_tool: Arc<AtomicBool>,
}

fn object(value: Value) -> Arc<JsonObject> {
    Arc::new(value.as_object().unwrap().clone())
}

fn tool(name: &'static str, about: &'static str, properties: Value) -> Tool {
    Tool::new(name, about, object(json!({ "type": "object", "properties": properties })))
}

impl ServerHandler for RmcpTestServer {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .build();
        ServerConfig::new(can)
            .with_server_info(Implementation::new("shelf", "7.1"))
            .with_instructions("shout first, then add")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let numbers = json!({ "a": { "type": "integer" }, "b": { "type": "integer" } });
        let sum = json!({ "type": "object", "properties": { "sum": { "type": "integer" } } });
        let mut tools = vec![
            tool("shout", "says it louder", json!({ "text": { "type": "string" } })),
            tool("add", "adds two numbers", numbers).with_raw_output_schema(object(sum)),
            tool("picture", "a picture", json!({})),
            tool("grow", "has one tool more from now on", json!({})),
        ];
        if self.has_extra_tool.load(Ordering::SeqCst) {
            tools.push(tool("late", "came later", json!({})));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let number = |name: &str| args.get(name).and_then(Value::as_i64).unwrap_or_default();
        let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        Ok(match request.name.as_ref() {
            "shout" => match args.get("text").and_then(Value::as_str) {
                Some(words) => text(words.to_uppercase()),
                None => CallToolResult::error(vec![ContentBlock::text("nothing to shout")]),
            },
            // Structured content alone, since a server may omit the equivalent text.
            "add" => {
                let mut sum = CallToolResult::structured(json!({ "sum": number("a") + number("b") }));
                sum.content.clear();
                sum
            }
            "picture" => CallToolResult::success(vec![ContentBlock::image("AAAA", "image/png")]),
            "grow" => {
                self.has_extra_tool.store(true, Ordering::SeqCst);
                context.peer.notify_tool_list_changed().await.unwrap();
                text("grown".to_owned())
            }
            "late" => text("better late".to_owned()),
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        }
        .into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("shelf://note", "a note")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("what the note says", request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let who = PromptArgument::new("who").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("greet", Some("greets"), Some(vec![who]))]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let who = request.arguments.unwrap_or_default();
        let text = format!("Say hello to {}.", who["who"].as_str().unwrap());
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}

/// Not a test: runs this program as the server for the tests below. The test runner's output goes to stderr, so the
/// protocol has a descriptor of its own.
#[test]
#[ignore = "is the server that other tests start"]
fn serves_on_its_pipes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let out = std::fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
        let transport = (tokio::io::stdin(), tokio::fs::File::from_std(out));
        RmcpTestServer::default().serve(transport).await.unwrap().waiting().await.unwrap();
    });
}

/// Settings for this program as a server over pipes.
fn piped(sandbox: &Sandbox) -> Value {
    let program = std::env::current_exe().unwrap();
    let test = "suite::mcp_session::rmcp::serves_on_its_pipes";
    // Only a pipe can be opened by its number.
    let start =
        format!("#!/bin/sh\n{{ '{}' --exact {test} --ignored --nocapture 3>&1 1>&2; }} | cat\n", program.display());
    let script = sandbox.write("shelf.sh", start);
    make_executable(&script);
    json!({ "command": script })
}

/// Starts the server in this program over streamable HTTP, and returns its address.
fn over_http() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let sessions = Arc::new(LocalSessionManager::default());
            let config = StreamableHttpServerConfig::default();
            let service = StreamableHttpService::new(|| Ok(RmcpTestServer::default()), sessions, config);
            while let Ok((stream, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let answer = service_fn(move |request| {
                        let service = service.clone();
                        async move { Ok::<_, Infallible>(service.handle(request).await) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
    });
    address
}

fn with_shelf(make: impl FnOnce(&Sandbox) -> Value) -> Sandbox {
    let sandbox = sandbox(json!({}));
    let server = make(&sandbox);
    let settings = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    let mut settings: Value = serde_json::from_str(&settings).unwrap();
    settings["mcpServers"] = json!({ "shelf": server });
    sandbox.user_settings(&settings);
    sandbox
}

/// Has a model use everything that a server offers, past the hooks.
fn all_of_it(sandbox: &Sandbox) {
    let replay = ReplayBuilder::new()
        .calls("mcp__shelf__shout", json!({ "text": "hello there" }))
        .calls("mcp__shelf__add", json!({ "a": 2, "b": 3 }))
        .calls("mcp__shelf__picture", json!({}))
        .calls("mcp__shelf__shout", json!({}))
        .calls("read_mcp_resource", json!({ "uri": "shelf:shelf://note" }))
        .calls("mcp__shelf__late", json!({}))
        .calls("mcp__shelf__grow", json!({}))
        .calls("mcp__shelf__late", json!({}))
        .says("done");
    let run = run_prompt(sandbox, "hi", &replay, YOLO_ARGS).expect_exit_code(0);
    let results = tool_results(&run);
    let expected = ["HELLO THERE", "{", "[image: image/png]", "nothing to shout", "what the note says", "not found"];
    for (result, words) in results.iter().zip(expected.iter().chain(&["grown", "better late"])) {
        assert!(result.to_string().contains(words), "no {words} in {result}");
    }
    assert_eq!(results.len(), 8, "{}", run.stdout);
    let failed: Vec<bool> = results.iter().map(|result| result["status"] == "error").collect();
    assert_eq!(failed, [false, false, false, true, false, true, false, false], "{results:?}");
    let seen = seen_inputs(sandbox);
    assert_eq!(seen.len(), 14, "each call that there was a tool for, before and after");
    assert_eq!(seen[0]["mcp_context"]["server_name"], "shelf");
    let structure = seen[3]["tool_response"]["llmContent"].as_str().unwrap();
    assert!(structure.contains("\"sum\": 5"), "{structure}");
}

/// Checks `mcp test` and the prompt as a command.
fn looked_at(sandbox: &Sandbox) {
    let test = sandbox.run(&["mcp", "test", "shelf", "--json"]).expect_exit_code(0).json();
    assert_eq!(test["about"], "shelf 7.1", "{test}");
    let tools: Vec<&str> =
        test["tools"].as_array().unwrap().iter().map(|tool| tool["tool_name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["mcp__shelf__shout", "mcp__shelf__add", "mcp__shelf__picture", "mcp__shelf__grow"]);
    let keep = sandbox.script("prompt.sh", "cat > \"$GEMINI_PROJECT_DIR/prompt\"; echo '{}'");
    let hook = json!([{ "hooks": [{ "type": "command", "command": keep }] }]);
    sandbox.settings(&json!({ "hooks": { "BeforeAgent": hook } }));
    run_prompt(sandbox, "/greet Ada", &ReplayBuilder::new().says("ok"), &[]).expect_exit_code(0);
    let told: Value = serde_json::from_str(&sandbox.read("prompt")).unwrap();
    assert_eq!(told["prompt"], "Say hello to Ada.");
}

#[test]
fn a_server_of_the_sdk_is_used_whole_over_its_pipes() {
    let sandbox = with_shelf(piped);
    all_of_it(&sandbox);
    looked_at(&sandbox);
}

#[test]
fn a_server_of_the_sdk_is_used_whole_over_streamable_http() {
    let address = over_http();
    let sandbox = with_shelf(|_| json!({ "httpUrl": address }));
    all_of_it(&sandbox);
    assert_eq!(seen_inputs(&sandbox)[0]["mcp_context"]["url"], address);
    looked_at(&sandbox);
}

/// The transport of an address need not be given.
#[test]
fn an_address_of_the_sdk_needs_no_kind() {
    let sandbox = with_shelf(|_| json!({ "url": over_http() }));
    let test = sandbox.run(&["mcp", "test", "shelf"]).expect_exit_code(0);
    assert!(test.stdout.contains("shelf 7.1"), "{}", test.stdout);
}
