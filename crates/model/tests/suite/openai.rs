//! Requests to an OpenAI-compatible server and its answers.

use std::sync::Arc;

use hookwright_model::{
    ApiErrorKind, Cancel, FinishReason, HttpOptions, Model, ModelError, OpenAi, Part, ToolDeclaration, search_request,
};
use serde_json::{Value, json};

use crate::support::{ScriptedReply, ScriptedServer, chunks, failure, openai, prompt_request, text};

const STOP_EVENT: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

#[tokio::test]
async fn the_request_is_a_chat_completion() {
    let server = ScriptedServer::start([ScriptedReply::events([STOP_EVENT, "[DONE]"])]).await;
    let model = openai(&server);
    let mut request = prompt_request(&model, "hi");
    request.system = Some("be brief".into());
    request.tools = Arc::from([Arc::new(ToolDeclaration {
        name: "glob".into(),
        description: "finds".into(),
        parameters: json!({"type": "object"}),
    })]);
    model.stream(&request, &Cancel::new()).await.unwrap().collect().await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.target, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some("Bearer secret-key"));
    assert_eq!(
        seen.body,
        json!({
            "model": "local-test",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {"name": "glob", "description": "finds", "parameters": {"type": "object"}}}]
        })
    );
}

#[tokio::test]
async fn a_bare_host_without_a_key_works() {
    let server = ScriptedServer::start([ScriptedReply::events([STOP_EVENT, "[DONE]"])]).await;
    let model = OpenAi::new(&server.base, "", "m", HttpOptions::default()).unwrap();
    assert_eq!(text(&model).await, "");
    let seen = &server.requests()[0];
    assert_eq!((seen.target.as_str(), seen.header("authorization")), ("/v1/chat/completions", None));
}

#[tokio::test]
async fn text_reasoning_and_calls_in_pieces() {
    let piece = |arguments: &str| {
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}}]})
            .to_string()
    };
    let server = ScriptedServer::start([ScriptedReply::events([
        r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#.to_owned(),
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#.to_owned(),
        r#"{"choices":[{"delta":{"content":"I look"}}]}"#.to_owned(),
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c9","type":"function","function":{"name":"ls","arguments":""}}]}}]}"#.to_owned(),
        piece("{\"path\""),
        piece(": \"ü"),
        piece("\"}"),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#.to_owned(),
        "[DONE]".to_owned(),
    ])])
    .await;
    let (chunks, error) = chunks(&openai(&server)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(chunks.len(), 3);
    assert_eq!(chunks[0].parts, [Part::thought("hm")]);
    assert_eq!(chunks[1].text(), "I look");
    let last = &chunks[2];
    let args = json!({"path": "ü"}).as_object().unwrap().clone();
    assert_eq!(last.parts, [Part::function_call(Some("c9".into()), "ls", args)]);
    assert_eq!((last.finish_reason.clone(), last.usage.unwrap().total), (Some(FinishReason::Stop), 10));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = r#"{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"whole","tool_calls":[
        {"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let server =
        ScriptedServer::start([ScriptedReply::body(200, body).header("content-type", "application/json")]).await;
    let (chunks, error) = chunks(&openai(&server)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].text(), "whole");
    assert_eq!(chunks[0].function_calls().count(), 1);
    assert_eq!(chunks[0].usage.unwrap().total, 2);
}

#[tokio::test]
async fn json_that_is_no_answer_is_reported() {
    let server = ScriptedServer::start([ScriptedReply::body(200, r#"{"status":"ok"}"#)]).await;
    let error = failure(&openai(&server)).await;
    assert!(
        matches!(&error, ModelError::Malformed { detail, .. } if detail.contains(r#"{"status":"ok"}"#)),
        "{error:?}"
    );
}

#[tokio::test]
async fn errors_before_and_inside_the_stream() {
    let not_found = json!({"error": {"message": "model \"x\" not found", "type": "not_found_error"}});
    let inside = r#"{"error":{"message":"out of memory","code":500}}"#;
    let server = ScriptedServer::start([
        ScriptedReply::body(404, not_found.to_string()),
        ScriptedReply::events([r#"{"choices":[{"delta":{"content":"a"}}]}"#, inside]),
    ])
    .await;
    let model = openai(&server);
    let error = failure(&model).await;
    assert_eq!(error.to_string(), "openai API: not found (404): model \"x\" not found");
    assert!(error.hint().unwrap().contains("/v1"));
    let (chunks, error) = chunks(&model).await;
    assert_eq!(chunks.len(), 1);
    assert!(
        matches!(error, Some(ModelError::Api(api)) if api.kind == ApiErrorKind::Server && api.message == "out of memory")
    );
}

#[tokio::test]
async fn an_answer_without_done_or_without_reason_still_ends() {
    let word = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    let server =
        ScriptedServer::start([ScriptedReply::events([word, STOP_EVENT]), ScriptedReply::events([word, "[DONE]"])])
            .await;
    let model = openai(&server);
    assert_eq!(text(&model).await, "a");
    let (chunks, error) = chunks(&model).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(chunks.last().unwrap().finish_reason, Some(FinishReason::Stop));
}

#[tokio::test]
async fn openai_estimates_tokens_and_cannot_search() {
    let server = ScriptedServer::start([]).await;
    let model = openai(&server);
    assert_eq!(model.count_tokens(&prompt_request(&model, "12345678"), &Cancel::new()).await.unwrap(), 2);
    let error = model.generate(&search_request("m", "x"), &Cancel::new()).await.unwrap_err();
    assert!(matches!(error, ModelError::Unsupported { .. }));
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn the_connection_is_used_again() {
    let word = |text: &str| json!({"choices": [{"delta": {"content": text}}]}).to_string();
    let reply = |text: &str| ScriptedReply::events([word(text), STOP_EVENT.to_owned(), "[DONE]".to_owned()]);
    let server = ScriptedServer::start([reply("a"), reply("b")]).await;
    let model = openai(&server);
    assert_eq!((text(&model).await, text(&model).await), ("a".to_owned(), "b".to_owned()));
    assert_eq!(server.connections(), 1);
    assert_eq!(server.requests()[1].body["messages"][0]["role"], Value::from("user"));
}
