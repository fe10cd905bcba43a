//! Tests the offline model over whole conversations.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// Runs the model until it stops calling tools; each call is answered with `result`.
async fn converse(prompt: Content, result: serde_json::Value) -> Vec<Chunk> {
    let mut contents = vec![Arc::new(prompt)];
    let mut answers = Vec::new();
    for _ in 0..10 {
        let request = ModelRequest::new("offline", contents.clone());
        let answer = Offline::new().generate(&request, &Cancel::new()).await.unwrap();
        answers.push(answer.clone());
        let results: Vec<Part> = answer
            .function_calls()
            .map(|call| {
                let response = result.as_object().unwrap().clone();
                Part::function_response(call.id.clone(), call.name.clone(), response)
            })
            .collect();
        if results.is_empty() {
            break;
        }
        contents.push(Arc::new(answer.into_content()));
        contents.push(Arc::new(Content::user(results)));
    }
    answers
}

fn shape(answers: &[Chunk]) -> Vec<String> {
    let calls = |chunk: &Chunk| {
        let calls = chunk.function_calls();
        calls.map(|call| format!(" {}#{}", call.name, call.id.as_deref().unwrap_or("-"))).collect::<String>()
    };
    answers.iter().map(|chunk| format!("{}{}", chunk.text(), calls(chunk))).collect()
}

#[tokio::test]
async fn calls_come_one_after_another_and_then_the_answer() {
    let prompt = Content::user_text("say first\ncall a {\"x\":1}\ncall b\nalso c\nsay one\nsay two");
    let answers = converse(prompt, json!({"output": "ok"})).await;
    assert_eq!(shape(&answers), ["first a#call_1", " b#call_2 c#call_3", "one\ntwo"]);
}

#[tokio::test]
async fn a_prompt_that_ends_with_a_call_gets_a_report() {
    let done = converse(Content::user_text("call a"), json!({"output": "ok"})).await;
    assert_eq!(done[1].text(), "a: done");
    let failed = converse(Content::user_text("call a"), json!({"error": "no\nwhy"})).await;
    assert_eq!(failed[1].text(), "a: failed: no");
}

#[tokio::test]
async fn hook_context_and_attachments_are_not_obeyed() {
    let prompt = Content::user(vec![
        Part::text("<hook_context>say ignored\n</hook_context>"),
        Part::text("say obeyed\n\n<hook_context>\ncall rm {}\n</hook_context>\n<hook_context>say open"),
        Part::text("--- file ---\nsay from a file"),
    ]);
    assert_eq!(shape(&converse(prompt, json!({})).await), ["obeyed"]);
}

#[tokio::test]
async fn other_prompts_get_the_help_text() {
    for prompt in ["what is the meaning of life?", ""] {
        let answers = converse(Content::user_text(prompt), json!({})).await;
        let text = answers[0].text();
        assert_eq!(text, HELP_TEXT);
        assert_eq!(text.lines().count(), 1);
        assert!(
            ["offline model", "GEMINI_API_KEY", "OPENAI_BASE_URL", "call TOOL {json}"]
                .iter()
                .all(|word| text.contains(word))
        );
    }
}

#[tokio::test]
async fn a_script_error_runs_nothing_and_has_a_position() {
    let answers = converse(Content::user_text("call a {}\ncall b {\"x\":}"), json!({})).await;
    assert_eq!(
        shape(&answers),
        ["The offline model cannot read line 2, column 13 of the prompt: expected value. Nothing was done."]
    );
}

#[tokio::test]
async fn only_the_last_prompt_counts_and_ids_stay_unique() {
    let contents = [
        Content::user_text("call a"),
        Content::model(vec![Part::function_call(Some("call_1".into()), "a", Map::new())]),
        Content::user(vec![Part::function_response(None, "a", Map::new())]),
        Content::model_text("a: done"),
        Content::user_text("call b"),
    ];
    let contents: Vec<Arc<Content>> = contents.into_iter().map(Arc::new).collect();
    let parts = build_answer(&contents);
    assert_eq!(parts, [Part::function_call(Some("call_2".into()), "b", Map::new())]);
}

#[tokio::test]
async fn a_request_for_a_summary_gets_one() {
    let contents = [
        Content::user_text("call a\ncall a"),
        Content::model(vec![Part::function_call(None, "a", Map::new())]),
        Content::user(vec![Part::function_response(None, "a", Map::new())]),
        Content::user_text("say no\n<compress_history>"),
    ];
    let contents: Vec<Arc<Content>> = contents.into_iter().map(Arc::new).collect();
    let parts = build_answer(&contents);
    assert_eq!(parts[0].as_text(), Some("Summary of 3 messages. Last request: call a\nTools used: a ×1."));
}

#[tokio::test]
async fn answers_stream_in_several_chunks_with_the_end_on_the_last() {
    let text = "say The quick brown fox jümps over the lazy dog and the other dog\nthink hm\ncall a";
    let request = ModelRequest::new("offline", vec![Arc::new(Content::user_text(text))]);
    let mut stream = Offline::new().stream(&request, &Cancel::new()).await.unwrap();
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next().await {
        chunks.push(chunk.unwrap());
    }
    assert!(chunks.len() >= 5, "{}", chunks.len());
    let (last, rest) = chunks.split_last().unwrap();
    assert!(rest.iter().all(|chunk| chunk.finish_reason.is_none() && chunk.usage.is_none()));
    assert_eq!(last.finish_reason, Some(FinishReason::Stop));
    let usage = last.usage.unwrap();
    assert_eq!(usage.prompt, (text.len() as u64).div_ceil(4));
    assert_eq!(usage.total, usage.prompt + usage.candidates);
}

#[tokio::test]
async fn an_empty_say_is_an_empty_answer() {
    let answers = converse(Content::user_text("call a\nsay"), json!({})).await;
    assert_eq!(answers[1].parts, []);
    assert_eq!(answers[1].finish_reason, Some(FinishReason::Stop));
}

proptest! {
    #[test]
    fn pieces_join_to_the_text(text in "[ a-zé€𝄞\n]{0,300}") {
        prop_assert_eq!(text_pieces(&text).collect::<String>(), text);
    }
}
