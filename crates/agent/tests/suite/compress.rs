//! Compression: when it happens, what it keeps, and that nothing is lost when it fails.

use std::collections::HashSet;

use hookwright_agent::{AgentEvent, AgentNotice, HookEvent, SessionEvent, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_model::{Content, Part};
use hookwright_tools::ToolKind;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::support::{
    AgentSetup, ScriptedModel, TestAgent, TestProject, TestTool, tool_call_with_id, within_hang_timeout,
};

/// A model with a context of 8192 tokens.
const SMALL_CONTEXT_MODEL: &str = "gpt-4";

/// A conversation of several prompts, each with a call in it.
fn long_conversation() -> Vec<Content> {
    (0..8)
        .flat_map(|at| {
            let id = Some(format!("call-{at}"));
            let result = Map::from_iter([("output".to_owned(), json!(format!("result {at} {}", "x".repeat(400))))]);
            [
                Content::user_text(format!("prompt {at}")),
                Content::model(vec![Part::function_call(id.clone(), "look", Map::new())]),
                Content::user(vec![Part::function_response(id, "look", result)]),
                Content::model_text(format!("answer {at}")),
            ]
        })
        .collect()
}

fn setup_with_long_history(project: &TestProject, script: ScriptedModel) -> AgentSetup<'_> {
    AgentSetup { history: long_conversation(), model: SMALL_CONTEXT_MODEL, ..project.agent_setup(script) }
}

async fn compress_and_drain(stage: &mut TestAgent) -> Result<(), TurnEnd> {
    let result = within_hang_timeout("the summary", stage.agent.compress(&CancellationToken::new())).await;
    stage.drain();
    result
}

fn compression_trigger(event: &AgentEvent) -> Option<&'static str> {
    match event {
        AgentEvent::Session(SessionEvent::Compressed { trigger, before, after }) => {
            assert!(after < before, "{before} -> {after}");
            Some(trigger)
        }
        _ => None,
    }
}

/// Asserts that every call has a result and every result a call.
fn assert_paired(stage: &TestAgent) {
    let parts = || stage.agent.history().iter().flat_map(|content| &content.parts);
    let calls: HashSet<_> = parts().filter_map(|part| part.as_function_call()?.id.clone()).collect();
    let results: HashSet<_> = parts().filter_map(|part| part.as_function_response()?.id.clone()).collect();
    assert_eq!(calls, results);
}

#[tokio::test]
async fn the_older_part_becomes_a_summary_and_the_newer_stays() {
    let project = TestProject::new().hook("PreCompress", "pre", "");
    let mut stage =
        setup_with_long_history(&project, ScriptedModel::new().answer("we talked about x").answer("ok")).start();
    assert_eq!(compress_and_drain(&mut stage).await, Ok(()));
    assert_eq!(stage.filter_events(compression_trigger), ["manual"]);
    assert_eq!(project.wait_for_inputs("pre", 1).await[0]["trigger"], "manual");
    assert!(
        stage.script.messages_json(0).contains("prompt 0")
            && stage.script.messages_json(0).contains("compress_history")
    );
    let texts = stage.message_texts();
    assert!(texts[0].contains("we talked about x"), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "answer 7");
    assert!(!stage.history_json().contains("prompt 0"));
    assert_paired(&stage);
    assert_eq!(stage.prompt("go on").await, TurnEnd::Answered);
    assert!(
        stage.script.messages_json(1).contains("we talked about x")
            && !stage.script.messages_json(1).contains("prompt 0")
    );
}

#[tokio::test]
async fn nothing_to_compress_sends_no_request() {
    let project = TestProject::new().hook("PreCompress", "pre", "");
    let mut stage = project.start_agent(ScriptedModel::new());
    assert_eq!(compress_and_drain(&mut stage).await, Ok(()));
    assert!(
        matches!(&stage.events_seen[..], [AgentEvent::Notice(AgentNotice::Note(note))] if note == "Nothing to compress.")
    );
    assert!(stage.script.requests().is_empty() && project.inputs("pre").is_empty());
}

#[tokio::test]
async fn a_single_turn_is_compressed_when_the_user_asks() {
    let project = TestProject::new().hook("PreCompress", "pre", "");
    let script = ScriptedModel::new().answer_with_tokens("a long story", 12_600).answer("a summary").answer("ok");
    let mut stage = project.start_agent(script);
    assert_eq!(stage.prompt("tell a story").await, TurnEnd::Answered);
    assert_eq!(compress_and_drain(&mut stage).await, Ok(()));
    assert_eq!(stage.filter_events(compression_trigger), ["manual"]);
    assert_eq!(project.wait_for_inputs("pre", 1).await[0]["trigger"], "manual");
    assert_eq!(stage.prompt("and?").await, TurnEnd::Answered);
    assert!(
        stage.script.messages_json(2).contains("a summary") && !stage.script.messages_json(2).contains("a long story")
    );
}

#[tokio::test]
async fn a_turn_over_the_users_bound_is_compressed_at_its_end() {
    let project = TestProject::new().hook("PreCompress", "pre", "");
    let script = ScriptedModel::new().answer_with_tokens("hello", 12_600).answer("a summary");
    let mut stage = AgentSetup { compression_target: Some(10), ..project.agent_setup(script) }.start();
    assert_eq!(stage.prompt("say hello").await, TurnEnd::Answered);
    assert_eq!(stage.filter_events(compression_trigger), ["auto"]);
    assert_eq!(project.wait_for_inputs("pre", 1).await[0]["trigger"], "auto");
    assert!(stage.history_json().contains("a summary"));
}

#[tokio::test]
async fn a_history_over_its_share_is_compressed_before_the_next_request() {
    let project = TestProject::new().hook("PreCompress", "pre", "");
    let script = ScriptedModel::new()
        .answer_with_tokens("first", 5_000)
        .answer("the summary")
        .answer_with_tokens("second", 50)
        .answer("third");
    let mut stage = setup_with_long_history(&project, script).start();
    assert_eq!(stage.prompt("one").await, TurnEnd::Answered);
    assert!(stage.filter_events(compression_trigger).is_empty(), "nobody knew how long it was");
    assert_eq!(stage.prompt("two").await, TurnEnd::Answered);
    assert_eq!(stage.filter_events(compression_trigger), ["auto"]);
    assert_eq!(project.wait_for_inputs("pre", 1).await[0]["trigger"], "auto");
    assert!(stage.script.messages_json(2).contains("the summary") && stage.script.messages_json(2).contains("two"));
    assert!(!stage.script.messages_json(2).contains("prompt 0"));
    assert_eq!(stage.prompt("three").await, TurnEnd::Answered);
    assert!(stage.filter_events(compression_trigger).is_empty());
    assert_eq!(project.inputs("pre").len(), 1);
}

#[tokio::test]
async fn a_history_within_its_share_is_left_alone_and_so_is_any_without_one() {
    for (threshold, tokens) in [(0.5, 4_000), (0.0, 8_000)] {
        let project = TestProject::new().hook("PreCompress", "pre", "");
        let script = ScriptedModel::new().answer_with_tokens("first", tokens).answer("second");
        let mut stage =
            AgentSetup { compression_threshold: threshold, ..setup_with_long_history(&project, script) }.start();
        stage.prompt("one").await;
        assert_eq!(stage.prompt("two").await, TurnEnd::Answered);
        assert_eq!(stage.script.requests().len(), 2, "{threshold}");
        assert!(project.inputs("pre").is_empty());
        assert!(stage.history_json().contains("prompt 0"));
    }
}

#[tokio::test]
async fn an_empty_summary_and_a_failed_one_change_nothing() {
    for (script, words) in
        [(ScriptedModel::new().answer("  \n"), "empty summary"), (ScriptedModel::new(), "could not be compressed")]
    {
        let project = TestProject::new();
        let mut stage = setup_with_long_history(&project, script).start();
        let before = stage.history_json();
        assert_eq!(compress_and_drain(&mut stage).await, Ok(()));
        assert_eq!(stage.history_json(), before);
        assert!(stage.warnings()[0].contains(words), "{:?}", stage.warnings());
        assert!(stage.filter_events(compression_trigger).is_empty());
    }
}

#[tokio::test]
async fn a_turn_goes_on_with_the_long_history_where_the_summary_fails() {
    let project = TestProject::new();
    let script = ScriptedModel::new().answer_with_tokens("first", 5_000).answer(" ").answer("second");
    let mut stage = setup_with_long_history(&project, script).start();
    stage.prompt("one").await;
    assert_eq!(stage.prompt("two").await, TurnEnd::Answered);
    assert!(stage.script.messages_json(2).contains("prompt 0"));
    assert_eq!(stage.message_texts().last().unwrap(), "second");
}

#[tokio::test]
async fn a_cancel_ends_it_and_the_history_stays() {
    let project = TestProject::new().hook("PreCompress", "slow", "sleep 1000");
    let mut stage =
        setup_with_long_history(&project, ScriptedModel::new().answer_with_tokens("first", 5_000).never_answer())
            .start();
    stage.prompt("one").await;
    let end = stage
        .prompt_observed("two", |event, cancel| {
            if matches!(event, AgentEvent::Hook(HookEvent::Started { event: EventKind::PreCompress, .. })) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(stage.history_json().contains("prompt 0"));
    assert_eq!(stage.message_texts().last().unwrap(), "two");
    assert!(stage.filter_events(compression_trigger).is_empty());
}

#[tokio::test]
async fn hooks_cannot_keep_a_history_from_being_compressed() {
    let project = TestProject::new().hook("PreCompress", "no", "echo no >&2; exit 2");
    let mut stage = setup_with_long_history(&project, ScriptedModel::new().answer("the summary")).start();
    assert_eq!(compress_and_drain(&mut stage).await, Ok(()));
    assert_eq!(stage.filter_events(compression_trigger), ["manual"]);
}

/// Adds answers with one call each to a script.
fn add_call_steps(
    script: ScriptedModel,
    numbers: std::ops::RangeInclusive<usize>,
    words: &dyn Fn(usize) -> String,
) -> ScriptedModel {
    numbers.fold(script, |script, at| {
        script.answer_with_parts(vec![
            Part::text(words(at)),
            tool_call_with_id(&at.to_string(), "look", json!({"text": at.to_string()})),
        ])
    })
}

#[tokio::test]
async fn one_long_turn_drops_old_tool_results_without_a_summary() {
    let project = TestProject::new().hook("PreCompress", "pre", "");
    let look = TestTool::new_tool("look", ToolKind::Read, |args, _| async move {
        let at = args["text"].as_str().unwrap().to_owned();
        format!("result {at} begins {} ends", "x".repeat(5_000))
    });
    let script = add_call_steps(ScriptedModel::new(), 1..=7, &|at| format!("step {at}")).answer("done");
    let mut stage = AgentSetup { model: SMALL_CONTEXT_MODEL, ..project.agent_setup(script).with_tool(look) }.start();
    assert_eq!(stage.prompt("do the long thing").await, TurnEnd::Answered);
    let compressed = stage.filter_events(compression_trigger);
    assert!(!compressed.is_empty() && compressed.iter().all(|trigger| *trigger == "auto"), "{compressed:?}");
    assert_eq!(project.wait_for_inputs("pre", compressed.len()).await.len(), compressed.len());
    let requests = stage.script.requests().len();
    assert_eq!(requests, 8);
    for at in 0..requests {
        let told = stage.script.messages_json(at);
        assert!(told.len() < 8192 * 4, "request {at} has {} bytes", told.len());
        assert!(told.contains("do the long thing") && !told.contains("compress_history"));
    }
    let last = stage.script.messages_json(requests - 1);
    assert!(last.contains("result 7 begins") && last.contains("step 1") && last.contains("left out"), "{last}");
    assert_paired(&stage);
}

#[tokio::test]
async fn one_long_turn_of_many_words_is_summed_up_and_its_prompt_stays() {
    let project = TestProject::new();
    // Six thousand characters without repetition, since loop detection stops a model that repeats itself.
    let numbers = |at: usize| -> String { (at * 10_000..).take(1_000).map(|number| format!("{number} ")).collect() };
    let script = add_call_steps(ScriptedModel::new(), 1..=3, &|at| format!("step {at}: {}", numbers(at)));
    let script = script.answer("the summary").answer("done");
    let mut setup = project.agent_setup(script).with_tool(TestTool::echo("look", ToolKind::Read));
    setup.model = SMALL_CONTEXT_MODEL;
    let mut stage = setup.start();
    assert_eq!(stage.prompt("do the long thing").await, TurnEnd::Answered);
    assert_eq!(stage.filter_events(compression_trigger), ["auto"]);
    let last = stage.script.messages_json(4);
    assert!(last.contains("the summary") && last.contains("do the long thing") && last.contains("heard 3"));
    assert!(!last.contains("step 1"), "{last}");
    assert_paired(&stage);
}
