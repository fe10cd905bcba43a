//! Tests `write_todos`, `save_memory`, `google_web_search`, and all tools together.

use super::support::{ToolTestProject, result_text};
use hookwright_model::{SearchAnswer, SearchSource};
use hookwright_testkit::fs;
use hookwright_tools::{
    BUILTINS, BoxFuture, ToolErrorKind, ToolKind, ToolSet, WebSearch, WebSearchError, WebSearchSupport,
    validate_arguments,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn todos_are_shown_whole() {
    let project = ToolTestProject::new();
    let todos = json!([
        { "description": "first", "status": "completed" },
        { "description": "second", "status": "in_progress" },
    ]);
    let result = project.call("write_todos", json!({ "todos": todos })).await;
    assert_eq!(
        result_text(&result),
        "Successfully updated the todo list. The current list is now:\n1. [completed] first\n2. [in_progress] second"
    );
    assert_eq!(result.to_json()["returnDisplay"], json!({ "todos": todos }));
    let cleared = project.call_text("write_todos", json!({ "todos": [] })).await;
    assert_eq!(cleared, "Successfully cleared the todo list.");
}

#[tokio::test]
async fn invalid_todos_are_refused() {
    let project = ToolTestProject::new();
    let todo = |description: &str, status: &str| json!({ "description": description, "status": status });
    for todos in [
        json!([todo("a", "in_progress"), todo("b", "in_progress")]),
        json!([todo(" ", "pending")]),
        json!([todo("a", "someday")]),
        json!([{ "description": "a" }]),
        json!([{ "description": "a", "status": "pending", "more": 1 }]),
        json!("a"),
    ] {
        let (kind, _) = project.call_failure("write_todos", json!({ "todos": todos })).await;
        assert_eq!(kind, ToolErrorKind::InvalidToolParams, "{todos}");
    }
}

#[tokio::test]
async fn facts_are_remembered_outside_the_workspace() {
    let mut project = ToolTestProject::new();
    let (kind, _) = project.call_failure("save_memory", json!({ "fact": "a" })).await;
    assert_eq!(kind, ToolErrorKind::MemoryToolExecutionError, "there is no memory file yet");
    let file = project.outside.join(".gemini/GEMINI.md");
    project.ctx.memory_file = Some(file.clone());
    assert!(project.preview("save_memory", json!({ "fact": "a" })).await.is_some());
    assert!(!file.exists());
    let result = project.call("save_memory", json!({ "fact": "- likes\n tea" })).await;
    assert_eq!(result.to_json()["returnDisplay"], "Okay, I've remembered that: \"likes tea\"");
    project.call_text("save_memory", json!({ "fact": "likes rust" })).await;
    project.call_text("save_memory", json!({ "fact": "likes tea" })).await;
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "## Gemini Added Memories\n- likes tea\n- likes rust\n");
    assert_eq!(project.call_failure("save_memory", json!({ "fact": "\n" })).await.0, ToolErrorKind::InvalidToolParams);
}

#[derive(Debug)]
struct FakeWebSearch;

impl WebSearch for FakeWebSearch {
    fn search<'a>(
        &'a self,
        query: &'a str,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SearchAnswer, WebSearchError>> {
        Box::pin(async move {
            match query {
                "fail" => Err(WebSearchError { kind: ToolErrorKind::WebSearchFailed, message: "quota".into() }),
                "nothing" => Ok(SearchAnswer::default()),
                "hang" => std::future::pending().await,
                _ => Ok(SearchAnswer {
                    text: "It is.".into(),
                    sources: vec![SearchSource { title: "T".into(), uri: "https://t".into() }],
                    queries: vec![],
                }),
            }
        })
    }
}

#[tokio::test]
async fn web_search_is_offered_only_if_available() {
    let mut project = ToolTestProject::new();
    let (kind, _) = project.call_failure("google_web_search", json!({ "query": "x" })).await;
    assert_eq!(kind, ToolErrorKind::ToolNotRegistered);
    project.registry = ToolSet::builtin(WebSearchSupport::Available);
    project.ctx.search = Some(Arc::new(FakeWebSearch));
    assert_eq!(
        project.call_text("google_web_search", json!({ "query": "x" })).await,
        "Web search results for \"x\":\n\nIt is.\n\nSources:\n[1] T (https://t)"
    );
    assert!(
        project.call_text("google_web_search", json!({ "query": "nothing" })).await.starts_with("No search results")
    );
    let (kind, text) = project.call_failure("google_web_search", json!({ "query": "fail" })).await;
    assert_eq!(kind, ToolErrorKind::WebSearchFailed);
    assert!(text.ends_with(": quota"), "{text}");
    let cancel = project.ctx.cancel.clone();
    tokio::spawn(async move { cancel.cancel() });
    let (kind, _) = project.call_failure("google_web_search", json!({ "query": "hang" })).await;
    assert_eq!(kind, ToolErrorKind::Cancelled);
}

#[tokio::test]
async fn every_tool_declares_itself_and_survives_bad_arguments() {
    let mut project = ToolTestProject::new();
    project.registry = ToolSet::builtin(WebSearchSupport::Available);
    project.ctx.search = Some(Arc::new(FakeWebSearch));
    assert_eq!(project.registry.names().count(), BUILTINS.len());
    let bad = [json!({}), json!(null), json!([1]), json!("x"), json!({ "file_path": {}, "command": [], "todos": 1 })];
    for tool in project.registry.iter() {
        let info = BUILTINS.iter().find(|info| info.name == tool.name()).unwrap();
        assert_eq!((tool.kind(), tool.display_name()), (info.kind, info.display_name));
        let declaration = tool.declaration();
        let required = declaration.parameters["required"].as_array().cloned().unwrap_or_default();
        for name in required.iter().filter_map(Value::as_str) {
            assert!(declaration.parameters["properties"][name].is_object(), "{} {name}", tool.name());
        }
        for args in &bad {
            let result = tool.run(args, &project.ctx).await;
            let kind = result.error.map(|failure| failure.kind);
            assert_eq!(kind, Some(ToolErrorKind::InvalidToolParams), "{} {args}", tool.name());
            tool.describe(args);
            assert!(tool.preview(args, &project.ctx).await.is_none());
        }
        assert!(validate_arguments(&declaration.parameters, &json!([])).is_err());
    }
    let asking: Vec<&str> =
        project.registry.iter().filter(|tool| !tool.kind().is_harmless()).map(|tool| tool.name()).collect();
    assert_eq!(asking, ["replace", "write_file", "web_fetch", "run_shell_command", "save_memory"]);
    assert_eq!(project.registry.get("write_todos").unwrap().kind(), ToolKind::Think);
}
