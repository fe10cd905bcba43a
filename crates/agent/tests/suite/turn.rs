//! Inside a turn: which calls run beside one another, that each has its answer, and what ends a turn.

use std::sync::Arc;

use hookwright_agent::{AgentEvent, TurnEnd};
use hookwright_model::{FinishReason, Part, PartKind, Request, Role};
use hookwright_tools::{Origin, ToolKind};
use serde_json::json;
use tokio::sync::{Barrier, Notify};

use super::support::{Project, Script, Stage, TestTool, answer, call, call_as, shared_log};

/// The ids of the calls in the history, and of the answers to them.
fn ids(stage: &Stage) -> (Vec<String>, Vec<String>) {
    let parts = || stage.agent.history().iter().flat_map(|content| &content.parts);
    let calls = parts().filter_map(|part| part.as_function_call()?.id.clone());
    let answers = parts().filter_map(|part| part.as_function_response()?.id.clone());
    (calls.collect(), answers.collect())
}

#[tokio::test]
async fn calls_that_only_look_run_side_by_side_and_are_answered_in_order() {
    let project = Project::new();
    let (both, second_is_done) = (Arc::new(Barrier::new(2)), Arc::new(Notify::new()));
    let first = TestTool::make("first", ToolKind::Read, {
        let (both, second_is_done) = (both.clone(), second_is_done.clone());
        move |_, _| {
            let (both, second_is_done) = (both.clone(), second_is_done.clone());
            async move {
                both.wait().await;
                second_is_done.notified().await;
                "from the first".to_owned()
            }
        }
    });
    let second = TestTool::make("second", ToolKind::Search, move |_, _| {
        let (both, second_is_done) = (both.clone(), second_is_done.clone());
        async move {
            both.wait().await;
            second_is_done.notify_one();
            "from the second".to_owned()
        }
    });
    let script = Script::new().parts(vec![call("first", json!({})), call("second", json!({}))]).says("done");
    let mut stage = project.setup(script).tool(first).tool(second).open();
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    let expected = [("output", "from the first"), ("output", "from the second")];
    assert_eq!(stage.results(), expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
}

#[tokio::test]
async fn calls_that_change_things_run_alone_and_in_order() {
    let project = Project::new();
    let (log, note) = shared_log();
    let noting = |name: &'static str, kind: ToolKind| {
        let note = note.clone();
        TestTool::make(name, kind, move |args, _| {
            let note = note.clone();
            async move {
                let text = args["text"].as_str().unwrap().to_owned();
                note(&format!("{text} begins"));
                // Long enough for any other that may run now to begin.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                note(&format!("{text} ends"));
                text
            }
        })
    };
    let parts = [("write", "1"), ("run", "2"), ("look", "3"), ("look", "4"), ("run", "5")];
    let calls = parts.iter().map(|(tool, text)| call(tool, json!({"text": text}))).collect();
    let mut stage = project
        .setup(Script::new().parts(calls).says("done"))
        .tool(noting("write", ToolKind::Edit))
        .tool(noting("run", ToolKind::Execute))
        .tool(noting("look", ToolKind::Read))
        .open();
    assert_eq!(stage.prompt("work").await, TurnEnd::Answered);
    let log = log.lock().unwrap().clone();
    assert_eq!(log[..4], ["1 begins", "1 ends", "2 begins", "2 ends"]);
    assert_eq!(log[4..6], ["3 begins", "4 begins"]);
    assert_eq!(log[8..], ["5 begins", "5 ends"]);
}

#[tokio::test]
async fn every_call_has_an_answer_when_one_of_them_stops_the_turn() {
    let stop = answer(&json!({"continue": false, "stopReason": "enough"}));
    let project = Project::new().hook("BeforeTool", "stop", &format!("case $input in *'\"two\"'*)\n{stop}\n;; esac"));
    let calls = ["one", "two", "three"].map(|text| call_as(text, "act", json!({"text": text}))).to_vec();
    let script = Script::new().parts(calls).says("never mind");
    let (log, note) = shared_log();
    let act = TestTool::make("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap());
        async { "did it".to_owned() }
    });
    let mut stage = project.setup(script).tool(act).open();
    assert_eq!(stage.prompt("act").await, TurnEnd::Stopped("enough".into()));
    assert_eq!(*log.lock().unwrap(), ["one"]);
    let (calls, answers) = ids(&stage);
    assert_eq!(calls, ["one", "two", "three"]);
    assert_eq!(answers, calls);
    let results = stage.results();
    assert_eq!(results[0], ("output".into(), "did it".into()));
    assert_eq!(results[1], ("error".into(), "Agent execution stopped by hook: enough".into()));
    assert_eq!(results[2], ("error".into(), "this call was not run".into()));
    // The conversation can go on from there.
    assert_eq!(stage.prompt("and now?").await, TurnEnd::Answered);
}

#[tokio::test]
async fn a_stop_among_calls_side_by_side_lets_the_others_be_answered() {
    let stop = answer(&json!({"continue": false, "stopReason": "enough"}));
    let project = Project::new().hook("AfterTool", "stop", &format!("case $input in *'\"two\"'*)\n{stop}\n;; esac"));
    let calls = ["one", "two", "three"].map(|text| call_as(text, "look", json!({"text": text}))).to_vec();
    let mut stage = project.setup(Script::new().parts(calls)).tool(TestTool::echo("look", ToolKind::Read)).open();
    assert_eq!(stage.prompt("look").await, TurnEnd::Stopped("enough".into()));
    let results = stage.results();
    assert_eq!(results[0], ("output".into(), "heard one".into()));
    assert_eq!(results[2], ("output".into(), "heard three".into()));
    assert!(!results[1].1.contains("heard"));
}

#[tokio::test]
async fn the_next_request_has_the_calls_and_their_results() {
    let project = Project::new();
    project.write("a.txt", "the content of a");
    let script = Script::new()
        .parts(vec![Part::text("let me see"), call("read_file", json!({"file_path": "a.txt"}))])
        .says("ok");
    let mut stage = project.stage(script);
    assert_eq!(stage.prompt("read it").await, TurnEnd::Answered);
    let request = &stage.script.requests()[1];
    let roles: Vec<Role> = request.contents.iter().map(|content| content.role).collect();
    assert_eq!(roles, [Role::User, Role::Model, Role::User]);
    assert!(request.contents[1].parts[1].as_function_call().is_some());
    assert!(stage.script.told(1).contains("the content of a"));
    assert_eq!(request.system.as_deref(), Some("the rules"));
    assert!(request.tools.iter().any(|tool| tool.name == "read_file"));
}

#[tokio::test]
async fn a_tool_that_is_not_there_and_arguments_that_do_not_fit_are_told_to_the_model() {
    let project = Project::new().hook("BeforeTool", "guard", "");
    let calls = vec![call("fly", json!({})), call("read_file", json!({"file_path": 7}))];
    let mut stage = project.stage(Script::new().parts(calls).says("sorry"));
    assert_eq!(stage.prompt("fly").await, TurnEnd::Answered);
    let results = stage.results();
    assert!(results[0].0 == "error" && results[0].1.contains("fly"), "{results:?}");
    assert!(results[1].0 == "error" && results[1].1.contains("file_path"), "{results:?}");
    assert!(project.inputs("guard").is_empty(), "what can't run is no matter for hooks");
}

#[tokio::test]
async fn the_limit_of_requests_counts_for_the_whole_session() {
    let project = Project::new();
    let calls = |text: &str| vec![call("look", json!({"text": text}))];
    let script = Script::new().says("hello").parts(calls("1")).parts(calls("2")).says("never");
    let mut setup = project.setup(script).tool(TestTool::echo("look", ToolKind::Read));
    setup.max_turns = Some(3);
    let mut stage = setup.open();
    assert_eq!(stage.prompt("hello").await, TurnEnd::Answered);
    assert_eq!(stage.prompt("look").await, TurnEnd::TurnLimit(3));
    assert_eq!(stage.script.requests().len(), 3);
    assert_eq!(stage.results().len(), 2, "the last call has its answer");
    assert_eq!(stage.prompt("again").await, TurnEnd::TurnLimit(3));
}

#[tokio::test]
async fn the_same_call_again_and_again_is_a_loop_and_its_last_call_is_not_run() {
    let project = Project::new();
    let (log, note) = shared_log();
    let look = TestTool::make("look", ToolKind::Read, move |_, _| {
        note("ran");
        async { "nothing".to_owned() }
    });
    let script = (0..20).fold(Script::new(), |script, _| script.parts(vec![call("look", json!({"text": "x"}))]));
    let mut stage = project.setup(script).tool(look).open();
    let end = stage.prompt("look").await;
    assert!(matches!(&end, TurnEnd::Loop(reason) if reason.contains("look")), "{end:?}");
    let (ran, asked) = (log.lock().unwrap().len(), stage.script.requests().len());
    assert_eq!(ran + 1, asked);
    assert_eq!(stage.results().len(), asked, "every call has its answer");
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_and_what_it_said_is_kept() {
    let project = Project::new();
    let sentence = "I will now look at the file and then I will look at it again, carefully. ";
    let pieces: Vec<&str> = std::iter::repeat_n(sentence, 500).collect();
    let mut stage = project.stage(Script::new().pieces(&pieces));
    assert!(matches!(stage.prompt("look").await, TurnEnd::Loop(_)));
    let (said, whole) = (stage.texts()[1].len(), sentence.len() * 500);
    assert!(said > 0 && said < whole, "{said} of {whole}");
    assert_eq!(stage.text().len(), said);
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_again_unless_it_follows_a_call() {
    let project = Project::new();
    let script = Script::new().parts(vec![call("look", json!({}))]).parts(vec![]);
    let script = script.parts(vec![]).parts(vec![]).says("there");
    let mut stage = project.setup(script).tool(TestTool::echo("look", ToolKind::Read)).open();
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    assert_eq!(stage.script.requests().len(), 2);
    assert_eq!(stage.prompt("and?").await, TurnEnd::Answered);
    assert_eq!(stage.script.requests().len(), 5);
    assert_eq!(stage.texts().last().map(String::as_str), Some("there"));
    assert!(stage.warnings().is_empty(), "{:?}", stage.warnings());
}

#[tokio::test]
async fn a_turn_without_any_answer_has_failed() {
    let project = Project::new();
    let script = (0..4).fold(Script::new(), |script, _| script.parts(vec![Part::text("")]));
    let mut stage = project.stage(script);
    let end = stage.prompt("and?").await;
    let TurnEnd::Failed { message, hint } = end else { panic!("{end:?}") };
    assert_eq!(message, "the model gave an empty answer");
    assert!(hint.is_some());
    assert_eq!(stage.script.requests().len(), 4);
}

#[tokio::test]
async fn a_tool_call_that_cannot_be_read_is_asked_for_again() {
    let project = Project::new();
    let script = Script::new().finishes(FinishReason::MalformedFunctionCall).says("now");
    let mut stage = project.stage(script);
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.texts(), ["go", "now"]);
    let script = Script::new().finishes(FinishReason::Safety);
    let mut stage = project.stage(script);
    assert!(matches!(stage.prompt("go").await, TurnEnd::Failed { message, .. } if message.contains("safety filter")));
    assert_eq!(stage.script.requests().len(), 1, "the provider would hold back the next answer too");
}

#[tokio::test]
async fn an_answer_that_a_hook_emptied_was_an_answer() {
    let nothing = r#"printf '{"hookSpecificOutput": {"llm_response": {"candidates": [{"content": {"role": "model", "parts": [""]}}]}}}'"#;
    let project = Project::new().hook("AfterModel", "redact", nothing);
    let mut stage = project.stage(Script::new().says("a secret"));
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.script.requests().len(), 1);
    assert!(!stage.history().contains("a secret"));
}

#[tokio::test]
async fn of_an_answer_that_breaks_off_the_words_are_kept_and_the_calls_are_not() {
    let project = Project::new();
    let script = Script::new().breaks_off(vec![Part::text("I was about to"), call("look", json!({}))]).says("again");
    let mut stage = project.setup(script).tool(TestTool::echo("look", ToolKind::Read)).open();
    let end = stage.prompt("look").await;
    let TurnEnd::Failed { message, hint } = end else { panic!("{end:?}") };
    assert!(message.contains("the cable") && hint.is_some(), "{message}");
    assert_eq!(stage.texts(), ["look", "I was about to"]);
    let is_call = |part: &Part| matches!(part.kind, PartKind::FunctionCall(_));
    assert!(!stage.agent.history().iter().any(|content| content.parts.iter().any(is_call)));
    assert!(stage.finished().is_empty());
    stage.position(|event| matches!(event, AgentEvent::ModelFailed { error, .. } if error.contains("the cable")));
    assert_eq!(stage.prompt("go on").await, TurnEnd::Answered);
}

#[tokio::test]
async fn a_cancel_while_a_tool_runs_answers_every_call_and_asks_no_more() {
    let project = Project::new();
    let waits = TestTool::make("waits", ToolKind::Execute, |_, context| async move {
        context.cancel.cancelled().await;
        "was told to end".to_owned()
    });
    let calls = vec![call_as("1", "waits", json!({})), call_as("2", "waits", json!({}))];
    let mut stage = project.setup(Script::new().parts(calls)).tool(waits).open();
    let end = stage
        .prompt_watched("wait", |event, cancel| {
            if matches!(event, AgentEvent::ToolStarted(_)) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(ids(&stage).1, ["1", "2"]);
    assert_eq!(stage.finished().len(), 1, "the second never began");
}

#[tokio::test]
async fn each_request_offers_the_tools_of_its_moment() {
    let project = Project::new();
    let script = Script::new().says("one").says("two").says("three");
    let mut stage = project.setup(script).open();
    let server = Origin::Server("there".to_owned());
    stage.prompt("first").await;
    stage.agent.services().tools.bring(&server, vec![TestTool::echo("mcp__there__new", ToolKind::Other)]);
    stage.prompt("second").await;
    stage.agent.services().tools.take_away(&server);
    stage.prompt("third").await;
    let offered = |request: &Request| request.tools.iter().any(|tool| tool.name == "mcp__there__new");
    assert_eq!(stage.script.requests().iter().map(offered).collect::<Vec<_>>(), [false, true, false]);
}
