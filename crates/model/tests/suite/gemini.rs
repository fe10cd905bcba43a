//! Requests to the Gemini API and its answers.

use std::sync::Arc;

use hookwright_model::{
    AnyModel, Cancel, Content, FinishReason, Model, ModelError, Part, PartKind, Provider, RecordingModel, Replay,
    ReplayOrder, ToolChoice, ToolDeclaration, ToolMode, parse_search, search_request,
};
use serde_json::{Map, json};

use crate::support::{ScriptedReply, ScriptedServer, chunks, failure, gemini, prompt_request, text};

#[tokio::test]
async fn models_are_listed_by_request_name() {
    let list = r#"{"models": [{"name": "models/a", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/embeds", "supportedGenerationMethods": ["embedContent"]}, {"name": "tunedModels/t"}]}"#;
    let refused = r#"{"error": {"message": "API key not valid", "details": [{"reason": "API_KEY_INVALID"}]}}"#;
    let replies =
        [ScriptedReply::body(200, list), ScriptedReply::body(400, refused), ScriptedReply::body(200, "<html>")];
    let server = ScriptedServer::start(replies).await;
    let model = AnyModel::from(gemini(&server));
    assert_eq!(model.list_models(&Cancel::new()).await.unwrap(), ["a", "tunedModels/t"]);
    let seen = &server.requests()[0];
    assert_eq!(
        (seen.target.as_str(), seen.header("x-goog-api-key")),
        ("/v1beta/models?pageSize=1000", Some("secret-key"))
    );
    let error = model.list_models(&Cancel::new()).await.unwrap_err();
    assert!(matches!(error, ModelError::Api(error) if error.is_auth()));
    assert!(matches!(model.list_models(&Cancel::new()).await, Err(ModelError::Malformed { .. })));
}

#[tokio::test]
async fn the_request_has_the_form_of_the_api() {
    let server = ScriptedServer::start([ScriptedReply::events([r#"{"candidates":[{"finishReason":"STOP"}]}"#])]).await;
    let model = gemini(&server);
    let mut request = prompt_request(&model, "hi");
    let mut call = Part::function_call(Some("c1".into()), "glob", Map::new());
    call.thought_signature = Some("c2ln".into());
    request.contents.extend([
        Arc::new(Content::model(vec![call])),
        Arc::new(Content::user(vec![
            Part::function_response(Some("c1".into()), "glob", json!({"output": "x"}).as_object().unwrap().clone()),
            Part::inline_data("image/png", "AAAA"),
        ])),
    ]);
    request.system = Some("be brief".into());
    request.generation.temperature = Some(0.5);
    request.generation.extra.insert("responseMimeType".into(), json!("text/plain"));
    request.tools = Arc::from([Arc::new(ToolDeclaration {
        name: "glob".into(),
        description: "finds".into(),
        parameters: json!({"type": "object"}),
    })]);
    request.tool_choice = Some(ToolChoice { mode: ToolMode::Any, allowed: vec!["glob".into()] });
    model.stream(&request, &Cancel::new()).await.unwrap().collect().await.unwrap();

    let seen = &server.requests()[0];
    assert_eq!(seen.target, "/v1beta/models/gemini-test:streamGenerateContent?alt=sse");
    assert_eq!(seen.header("x-goog-api-key"), Some("secret-key"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(
        seen.body,
        json!({
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "glob", "args": {}}, "thoughtSignature": "c2ln"}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "glob", "response": {"output": "x"}}},
                    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}
            ],
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "tools": [{"functionDeclarations": [{"name": "glob", "description": "finds", "parametersJsonSchema": {"type": "object"}}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["glob"]}},
            "generationConfig": {"temperature": 0.5, "responseMimeType": "text/plain"}
        })
    );
}

#[tokio::test]
async fn thoughts_calls_and_usage_come_back() {
    let server = ScriptedServer::start([ScriptedReply::events([
        r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"},"index":0}],"modelVersion":"v","responseId":"r"}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls","args":{"path":"."}},"thoughtSignature":"s"}]}}]}"#,
        r#"{"usageMetadata":{"promptTokenCount":1}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"totalTokenCount":9,"thoughtsTokenCount":2}}"#,
    ])])
    .await;
    let (chunks, error) = chunks(&gemini(&server)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(chunks.len(), 4);
    assert_eq!(chunks[0].parts[0].kind, PartKind::Thought("hm".into()));
    assert_eq!(chunks[0].model_version.as_deref(), Some("v"));
    assert_eq!(chunks[1].parts[0].thought_signature.as_deref(), Some("s"));
    assert_eq!(chunks[1].function_calls().next().unwrap().id, None);
    assert_eq!(chunks[3].usage.unwrap().thoughts, 2);
}

#[tokio::test]
async fn withheld_answers_say_why() {
    for (name, reason) in [
        ("SAFETY", FinishReason::Safety),
        ("RECITATION", FinishReason::Recitation),
        ("PROHIBITED_CONTENT", FinishReason::ProhibitedContent),
    ] {
        let server = ScriptedServer::start([ScriptedReply::events([format!(
            r#"{{"candidates":[{{"finishReason":"{name}"}}]}}"#
        )])])
        .await;
        let (chunks, error) = chunks(&gemini(&server)).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(chunks[0].finish_reason, Some(reason.clone()));
        assert!(reason.user_message().is_some());
    }
    let refused = ScriptedReply::events([r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#]);
    let server = ScriptedServer::start([refused]).await;
    let error = failure(&gemini(&server)).await;
    assert!(matches!(&error, ModelError::Blocked { reason, .. } if reason == "PROHIBITED_CONTENT"), "{error:?}");
}

#[tokio::test]
async fn whole_answers_and_counts_have_separate_urls() {
    let server = ScriptedServer::start([
        ScriptedReply::body(200, r#"{"candidates":[{"content":{"parts":[{"text":"whole"}]},"finishReason":"STOP"}]}"#),
        ScriptedReply::body(200, r#"{"totalTokens":42}"#),
        ScriptedReply::body(200, "<html>"),
    ])
    .await;
    let model = gemini(&server);
    let (request, cancel) = (prompt_request(&model, "hi"), Cancel::new());
    assert_eq!(model.generate(&request, &cancel).await.unwrap().text(), "whole");
    assert_eq!(model.count_tokens(&request, &cancel).await.unwrap(), 42);
    let error = model.generate(&request, &cancel).await.unwrap_err();
    assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
    let seen = server.requests();
    assert_eq!(seen[0].target, "/v1beta/models/gemini-test:generateContent");
    assert_eq!(seen[1].target, "/v1beta/models/gemini-test:countTokens");
    assert_eq!(seen[1].body["generateContentRequest"]["model"], "models/gemini-test");
    assert_eq!(server.connections(), 1, "one connection serves all requests");
}

#[tokio::test]
async fn a_search_names_its_sources_and_can_be_replayed() {
    let server = ScriptedServer::start([ScriptedReply::body(
        200,
        r#"{"candidates":[{"content":{"parts":[{"text":"Blue."}]},"finishReason":"STOP","groundingMetadata":{
            "groundingChunks":[{"web":{"title":"T","uri":"https://t.test"}}],
            "groundingSupports":[{"segment":{"endIndex":5},"groundingChunkIndices":[0]}]}}]}"#,
    )])
    .await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.jsonl");
    let model = AnyModel::from(RecordingModel::new(AnyModel::from(gemini(&server)), &path).unwrap());
    assert_eq!((model.name(), model.provider()), ("gemini-test", Provider::Gemini));
    let found = parse_search(&model.generate(&search_request("gemini-test", "sky?"), &Cancel::new()).await.unwrap());
    assert_eq!(found.text, "Blue.[1]");
    assert_eq!(found.sources[0].uri, "https://t.test");
    assert_eq!(server.requests()[0].body["tools"], json!([{"googleSearch": {}}]));

    let replay = Replay::load(&path, ReplayOrder::Strict).unwrap();
    let again = replay.generate(&search_request("gemini-test", "sky?"), &Cancel::new()).await.unwrap();
    assert_eq!(parse_search(&again), found);
}

#[tokio::test]
async fn an_answer_as_json_array_is_read() {
    let body = r#" [{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
        {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]"#;
    let server = ScriptedServer::start([ScriptedReply::body(200, body)]).await;
    assert_eq!(text(&gemini(&server)).await, "ab");
}
