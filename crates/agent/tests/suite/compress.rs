//! Compressing: when it happens, what is kept, and that nothing is lost where it does not work out.

use std::collections::HashSet;

use hookwright_agent::{AgentEvent, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_model::{Content, Part};
use hookwright_tools::ToolKind;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::support::{Project, Script, Setup, Stage, TestTool, call_as, within};

/// What takes 8192 tokens.
const SMALL: &str = "gpt-4";

/// A conversation of several prompts, each with a call in it.
fn conversation() -> Vec<Content> {
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

fn long(project: &Project, script: Script) -> Setup<'_> {
    Setup { history: conversation(), model: SMALL, ..project.setup(script) }
}

async fn compress(stage: &mut Stage) -> Result<(), TurnEnd> {
    let result = within("the summary", stage.agent.compress(&CancellationToken::new())).await;
    stage.drain();
    result
}

fn compressed(event: &AgentEvent) -> Option<&'static str> {
    match event {
        AgentEvent::Compressed { trigger, before, after } => {
            assert!(after < before, "{before} -> {after}");
            Some(trigger)
        }
        _ => None,
    }
}

/// No result without its call, and no call without its result.
fn assert_paired(stage: &Stage) {
    let parts = || stage.agent.history().iter().flat_map(|content| &content.parts);
    let calls: HashSet<_> = parts().filter_map(|part| part.as_function_call()?.id.clone()).collect();
    let results: HashSet<_> = parts().filter_map(|part| part.as_function_response()?.id.clone()).collect();
    assert_eq!(calls, results);
}

#[tokio::test]
async fn the_older_part_becomes_a_summary_and_the_newer_stays() {
    let project = Project::new().hook("PreCompress", "pre", "");
    let mut stage = long(&project, Script::new().says("we talked about x").says("ok")).open();
    assert_eq!(compress(&mut stage).await, Ok(()));
    assert_eq!(stage.pick(compressed), ["manual"]);
    assert_eq!(project.heard("pre", 1).await[0]["trigger"], "manual");
    assert!(stage.script.told(0).contains("prompt 0") && stage.script.told(0).contains("compress_history"));
    let texts = stage.texts();
    assert!(texts[0].contains("we talked about x"), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "answer 7");
    assert!(!stage.history().contains("prompt 0"));
    assert_paired(&stage);
    assert_eq!(stage.prompt("go on").await, TurnEnd::Answered);
    assert!(stage.script.told(1).contains("we talked about x") && !stage.script.told(1).contains("prompt 0"));
}

#[tokio::test]
async fn where_there_is_nothing_to_compress_nobody_is_troubled() {
    let project = Project::new().hook("PreCompress", "pre", "");
    let mut stage = project.stage(Script::new());
    assert_eq!(compress(&mut stage).await, Ok(()));
    assert!(matches!(&stage.seen[..], [AgentEvent::Note(note)] if note == "Nothing to compress."));
    assert!(stage.script.requests().is_empty() && project.inputs("pre").is_empty());
}

#[tokio::test]
async fn a_single_turn_is_compressed_when_the_user_asks() {
    let project = Project::new().hook("PreCompress", "pre", "");
    let script = Script::new().says_at("a long story", 12_600).says("a summary").says("ok");
    let mut stage = project.stage(script);
    assert_eq!(stage.prompt("tell a story").await, TurnEnd::Answered);
    assert_eq!(compress(&mut stage).await, Ok(()));
    assert_eq!(stage.pick(compressed), ["manual"]);
    assert_eq!(project.heard("pre", 1).await[0]["trigger"], "manual");
    assert_eq!(stage.prompt("and?").await, TurnEnd::Answered);
    assert!(stage.script.told(2).contains("a summary") && !stage.script.told(2).contains("a long story"));
}

#[tokio::test]
async fn a_turn_over_the_users_bound_is_compressed_at_its_end() {
    let project = Project::new().hook("PreCompress", "pre", "");
    let script = Script::new().says_at("hello", 12_600).says("a summary");
    let mut stage = Setup { compression_target: Some(10), ..project.setup(script) }.open();
    assert_eq!(stage.prompt("say hello").await, TurnEnd::Answered);
    assert_eq!(stage.pick(compressed), ["auto"]);
    assert_eq!(project.heard("pre", 1).await[0]["trigger"], "auto");
    assert!(stage.history().contains("a summary"));
}

#[tokio::test]
async fn a_history_over_its_share_is_compressed_before_the_next_request() {
    let project = Project::new().hook("PreCompress", "pre", "");
    let script = Script::new().says_at("first", 5_000).says("the summary").says_at("second", 50).says("third");
    let mut stage = long(&project, script).open();
    assert_eq!(stage.prompt("one").await, TurnEnd::Answered);
    assert!(stage.pick(compressed).is_empty(), "nobody knew how long it was");
    assert_eq!(stage.prompt("two").await, TurnEnd::Answered);
    assert_eq!(stage.pick(compressed), ["auto"]);
    assert_eq!(project.heard("pre", 1).await[0]["trigger"], "auto");
    assert!(stage.script.told(2).contains("the summary") && stage.script.told(2).contains("two"));
    assert!(!stage.script.told(2).contains("prompt 0"));
    assert_eq!(stage.prompt("three").await, TurnEnd::Answered);
    assert!(stage.pick(compressed).is_empty());
    assert_eq!(project.inputs("pre").len(), 1);
}

#[tokio::test]
async fn a_history_within_its_share_is_left_alone_and_so_is_any_without_one() {
    for (threshold, tokens) in [(0.5, 4_000), (0.0, 8_000)] {
        let project = Project::new().hook("PreCompress", "pre", "");
        let script = Script::new().says_at("first", tokens).says("second");
        let mut stage = Setup { compression_threshold: threshold, ..long(&project, script) }.open();
        stage.prompt("one").await;
        assert_eq!(stage.prompt("two").await, TurnEnd::Answered);
        assert_eq!(stage.script.requests().len(), 2, "{threshold}");
        assert!(project.inputs("pre").is_empty());
        assert!(stage.history().contains("prompt 0"));
    }
}

#[tokio::test]
async fn an_empty_summary_and_a_failed_one_change_nothing() {
    for (script, words) in [(Script::new().says("  \n"), "empty summary"), (Script::new(), "could not be compressed")] {
        let project = Project::new();
        let mut stage = long(&project, script).open();
        let before = stage.history();
        assert_eq!(compress(&mut stage).await, Ok(()));
        assert_eq!(stage.history(), before);
        assert!(stage.warnings()[0].contains(words), "{:?}", stage.warnings());
        assert!(stage.pick(compressed).is_empty());
    }
}

#[tokio::test]
async fn a_turn_goes_on_with_the_long_history_where_the_summary_fails() {
    let project = Project::new();
    let script = Script::new().says_at("first", 5_000).says(" ").says("second");
    let mut stage = long(&project, script).open();
    stage.prompt("one").await;
    assert_eq!(stage.prompt("two").await, TurnEnd::Answered);
    assert!(stage.script.told(2).contains("prompt 0"));
    assert_eq!(stage.texts().last().unwrap(), "second");
}

#[tokio::test]
async fn a_cancel_ends_it_and_the_history_stays() {
    let project = Project::new().hook("PreCompress", "slow", "sleep 1000");
    let mut stage = long(&project, Script::new().says_at("first", 5_000).hangs()).open();
    stage.prompt("one").await;
    let end = stage
        .prompt_watched("two", |event, cancel| {
            if matches!(event, AgentEvent::HookStarted { event: EventKind::PreCompress, .. }) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(stage.history().contains("prompt 0"));
    assert_eq!(stage.texts().last().unwrap(), "two");
    assert!(stage.pick(compressed).is_empty());
}

#[tokio::test]
async fn hooks_cannot_keep_a_history_from_being_compressed() {
    let project = Project::new().hook("PreCompress", "no", "echo no >&2; exit 2");
    let mut stage = long(&project, Script::new().says("the summary")).open();
    assert_eq!(compress(&mut stage).await, Ok(()));
    assert_eq!(stage.pick(compressed), ["manual"]);
}

/// A turn that takes one step after another, and the script's end.
fn steps(script: Script, numbers: std::ops::RangeInclusive<usize>, words: &dyn Fn(usize) -> String) -> Script {
    numbers.fold(script, |script, at| {
        script.parts(vec![Part::text(words(at)), call_as(&at.to_string(), "look", json!({"text": at.to_string()}))])
    })
}

#[tokio::test]
async fn one_long_turn_loses_what_its_tools_said_long_ago_and_asks_for_no_summary() {
    let project = Project::new().hook("PreCompress", "pre", "");
    let look = TestTool::make("look", ToolKind::Read, |args, _| async move {
        let at = args["text"].as_str().unwrap().to_owned();
        format!("result {at} begins {} ends", "x".repeat(5_000))
    });
    let script = steps(Script::new(), 1..=7, &|at| format!("step {at}")).says("done");
    let mut stage = Setup { model: SMALL, ..project.setup(script).tool(look) }.open();
    assert_eq!(stage.prompt("do the long thing").await, TurnEnd::Answered);
    let compressed = stage.pick(compressed);
    assert!(!compressed.is_empty() && compressed.iter().all(|trigger| *trigger == "auto"), "{compressed:?}");
    assert_eq!(project.heard("pre", compressed.len()).await.len(), compressed.len());
    let requests = stage.script.requests().len();
    assert_eq!(requests, 8);
    for at in 0..requests {
        let told = stage.script.told(at);
        assert!(told.len() < 8192 * 4, "request {at} has {} bytes", told.len());
        assert!(told.contains("do the long thing") && !told.contains("compress_history"));
    }
    let last = stage.script.told(requests - 1);
    assert!(last.contains("result 7 begins") && last.contains("step 1") && last.contains("left out"), "{last}");
    assert_paired(&stage);
}

#[tokio::test]
async fn one_long_turn_of_many_words_is_summed_up_and_its_prompt_stays() {
    let project = Project::new();
    // Six thousand characters that do not repeat: a model that does would be stopped for that.
    let numbers = |at: usize| -> String { (at * 10_000..).take(1_000).map(|number| format!("{number} ")).collect() };
    let script = steps(Script::new(), 1..=3, &|at| format!("step {at}: {}", numbers(at)));
    let script = script.says("the summary").says("done");
    let mut setup = project.setup(script).tool(TestTool::echo("look", ToolKind::Read));
    setup.model = SMALL;
    let mut stage = setup.open();
    assert_eq!(stage.prompt("do the long thing").await, TurnEnd::Answered);
    assert_eq!(stage.pick(compressed), ["auto"]);
    let last = stage.script.told(4);
    assert!(last.contains("the summary") && last.contains("do the long thing") && last.contains("heard 3"));
    assert!(!last.contains("step 1"), "{last}");
    assert_paired(&stage);
}
