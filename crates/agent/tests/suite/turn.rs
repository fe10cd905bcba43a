//! Inside a turn: which calls run concurrently, that each call has its result, and what ends a turn.

use std::sync::Arc;

use hookwright_agent::{AgentEvent, ModelEvent, ToolEvent, TurnEnd};
use hookwright_model::{FinishReason, ModelRequest, Part, PartKind, Role};
use hookwright_tools::{ToolKind, ToolSource};
use serde_json::json;
use tokio::sync::{Barrier, Notify};

use super::support::{
    ScriptedModel, TestAgent, TestProject, TestTool, answer_script, shared_log, tool_call, tool_call_with_id,
};

/// Returns the ids of the calls in the history, and of their results.
fn call_and_answer_ids(stage: &TestAgent) -> (Vec<String>, Vec<String>) {
    let parts = || stage.agent.history().iter().flat_map(|content| &content.parts);
    let calls = parts().filter_map(|part| part.as_function_call()?.id.clone());
    let answers = parts().filter_map(|part| part.as_function_response()?.id.clone());
    (calls.collect(), answers.collect())
}

#[tokio::test]
async fn calls_that_only_look_run_side_by_side_and_are_answered_in_order() {
    let project = TestProject::new();
    let (both, second_is_done) = (Arc::new(Barrier::new(2)), Arc::new(Notify::new()));
    let first = TestTool::new_tool("first", ToolKind::Read, {
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
    let second = TestTool::new_tool("second", ToolKind::Search, move |_, _| {
        let (both, second_is_done) = (both.clone(), second_is_done.clone());
        async move {
            both.wait().await;
            second_is_done.notify_one();
            "from the second".to_owned()
        }
    });
    let script = ScriptedModel::new()
        .answer_with_parts(vec![tool_call("first", json!({})), tool_call("second", json!({}))])
        .answer("done");
    let mut stage = project.agent_setup(script).with_tool(first).with_tool(second).start();
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    let expected = [("output", "from the first"), ("output", "from the second")];
    assert_eq!(stage.call_results(), expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
}

#[tokio::test]
async fn calls_that_change_things_run_alone_and_in_order() {
    let project = TestProject::new();
    let (log, note) = shared_log();
    let noting = |name: &'static str, kind: ToolKind| {
        let note = note.clone();
        TestTool::new_tool(name, kind, move |args, _| {
            let note = note.clone();
            async move {
                let text = args["text"].as_str().unwrap().to_owned();
                note(&format!("{text} begins"));
                // Long enough for any other call that may run to start.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                note(&format!("{text} ends"));
                text
            }
        })
    };
    let parts = [("write", "1"), ("run", "2"), ("look", "3"), ("look", "4"), ("run", "5")];
    let calls = parts.iter().map(|(tool, text)| tool_call(tool, json!({"text": text}))).collect();
    let mut stage = project
        .agent_setup(ScriptedModel::new().answer_with_parts(calls).answer("done"))
        .with_tool(noting("write", ToolKind::Edit))
        .with_tool(noting("run", ToolKind::Execute))
        .with_tool(noting("look", ToolKind::Read))
        .start();
    assert_eq!(stage.prompt("work").await, TurnEnd::Answered);
    let log = log.lock().unwrap().clone();
    assert_eq!(log[..4], ["1 begins", "1 ends", "2 begins", "2 ends"]);
    assert_eq!(log[4..6], ["3 begins", "4 begins"]);
    assert_eq!(log[8..], ["5 begins", "5 ends"]);
}

#[tokio::test]
async fn every_call_has_an_answer_when_one_of_them_stops_the_turn() {
    let stop = answer_script(&json!({"continue": false, "stopReason": "enough"}));
    let project =
        TestProject::new().hook("BeforeTool", "stop", &format!("case $input in *'\"two\"'*)\n{stop}\n;; esac"));
    let calls = ["one", "two", "three"].map(|text| tool_call_with_id(text, "act", json!({"text": text}))).to_vec();
    let script = ScriptedModel::new().answer_with_parts(calls).answer("never mind");
    let (log, note) = shared_log();
    let act = TestTool::new_tool("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap());
        async { "did it".to_owned() }
    });
    let mut stage = project.agent_setup(script).with_tool(act).start();
    assert_eq!(stage.prompt("act").await, TurnEnd::Stopped("enough".into()));
    assert_eq!(*log.lock().unwrap(), ["one"]);
    let (calls, answers) = call_and_answer_ids(&stage);
    assert_eq!(calls, ["one", "two", "three"]);
    assert_eq!(answers, calls);
    let results = stage.call_results();
    assert_eq!(results[0], ("output".into(), "did it".into()));
    assert_eq!(results[1], ("error".into(), "Agent execution stopped by hook: enough".into()));
    assert_eq!(results[2], ("error".into(), "this call was not run".into()));
    // The conversation can go on.
    assert_eq!(stage.prompt("and now?").await, TurnEnd::Answered);
}

#[tokio::test]
async fn a_stop_among_calls_side_by_side_lets_the_others_be_answered() {
    let stop = answer_script(&json!({"continue": false, "stopReason": "enough"}));
    let project =
        TestProject::new().hook("AfterTool", "stop", &format!("case $input in *'\"two\"'*)\n{stop}\n;; esac"));
    let calls = ["one", "two", "three"].map(|text| tool_call_with_id(text, "look", json!({"text": text}))).to_vec();
    let mut stage = project
        .agent_setup(ScriptedModel::new().answer_with_parts(calls))
        .with_tool(TestTool::echo("look", ToolKind::Read))
        .start();
    assert_eq!(stage.prompt("look").await, TurnEnd::Stopped("enough".into()));
    let results = stage.call_results();
    assert_eq!(results[0], ("output".into(), "heard one".into()));
    assert_eq!(results[2], ("output".into(), "heard three".into()));
    assert!(!results[1].1.contains("heard"));
}

#[tokio::test]
async fn the_next_request_has_the_calls_and_their_results() {
    let project = TestProject::new();
    project.write("a.txt", "the content of a");
    let script = ScriptedModel::new()
        .answer_with_parts(vec![Part::text("let me see"), tool_call("read_file", json!({"file_path": "a.txt"}))])
        .answer("ok");
    let mut stage = project.start_agent(script);
    assert_eq!(stage.prompt("read it").await, TurnEnd::Answered);
    let request = &stage.script.requests()[1];
    let roles: Vec<Role> = request.contents.iter().map(|content| content.role).collect();
    assert_eq!(roles, [Role::User, Role::Model, Role::User]);
    assert!(request.contents[1].parts[1].as_function_call().is_some());
    assert!(stage.script.messages_json(1).contains("the content of a"));
    assert_eq!(request.system.as_deref(), Some("the rules"));
    assert!(request.tools.iter().any(|tool| tool.name == "read_file"));
}

#[tokio::test]
async fn a_tool_that_is_not_there_and_arguments_that_do_not_fit_are_told_to_the_model() {
    let project = TestProject::new().hook("BeforeTool", "guard", "");
    let calls = vec![tool_call("fly", json!({})), tool_call("read_file", json!({"file_path": 7}))];
    let mut stage = project.start_agent(ScriptedModel::new().answer_with_parts(calls).answer("sorry"));
    assert_eq!(stage.prompt("fly").await, TurnEnd::Answered);
    let results = stage.call_results();
    assert!(results[0].0 == "error" && results[0].1.contains("fly"), "{results:?}");
    assert!(results[1].0 == "error" && results[1].1.contains("file_path"), "{results:?}");
    assert!(project.inputs("guard").is_empty(), "what can't run is no matter for hooks");
}

#[tokio::test]
async fn the_limit_of_requests_counts_for_the_whole_session() {
    let project = TestProject::new();
    let calls = |text: &str| vec![tool_call("look", json!({"text": text}))];
    let script = ScriptedModel::new()
        .answer("hello")
        .answer_with_parts(calls("1"))
        .answer_with_parts(calls("2"))
        .answer("never");
    let mut setup = project.agent_setup(script).with_tool(TestTool::echo("look", ToolKind::Read));
    setup.max_turns = Some(3);
    let mut stage = setup.start();
    assert_eq!(stage.prompt("hello").await, TurnEnd::Answered);
    assert_eq!(stage.prompt("look").await, TurnEnd::TurnLimit(3));
    assert_eq!(stage.script.requests().len(), 3);
    assert_eq!(stage.call_results().len(), 2, "the last call has its answer");
    assert_eq!(stage.prompt("again").await, TurnEnd::TurnLimit(3));
}

#[tokio::test]
async fn the_same_call_again_and_again_is_a_loop_and_its_last_call_is_not_run() {
    let project = TestProject::new();
    let (log, note) = shared_log();
    let look = TestTool::new_tool("look", ToolKind::Read, move |_, _| {
        note("ran");
        async { "nothing".to_owned() }
    });
    let script = (0..20).fold(ScriptedModel::new(), |script, _| {
        script.answer_with_parts(vec![tool_call("look", json!({"text": "x"}))])
    });
    let mut stage = project.agent_setup(script).with_tool(look).start();
    let end = stage.prompt("look").await;
    assert!(matches!(&end, TurnEnd::Loop(reason) if reason.contains("look")), "{end:?}");
    let (ran, asked) = (log.lock().unwrap().len(), stage.script.requests().len());
    assert_eq!(ran + 1, asked);
    assert_eq!(stage.call_results().len(), asked, "every call has its answer");
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_and_what_it_said_is_kept() {
    let project = TestProject::new();
    let sentence = "I will now look at the file and then I will look at it again, carefully. ";
    let pieces: Vec<&str> = std::iter::repeat_n(sentence, 500).collect();
    let mut stage = project.start_agent(ScriptedModel::new().answer_in_pieces(&pieces));
    assert!(matches!(stage.prompt("look").await, TurnEnd::Loop(_)));
    let (said, whole) = (stage.message_texts()[1].len(), sentence.len() * 500);
    assert!(said > 0 && said < whole, "{said} of {whole}");
    assert_eq!(stage.answer_text().len(), said);
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_again_unless_it_follows_a_call() {
    let project = TestProject::new();
    let script = ScriptedModel::new().answer_with_parts(vec![tool_call("look", json!({}))]).answer_with_parts(vec![]);
    let script = script.answer_with_parts(vec![]).answer_with_parts(vec![]).answer("there");
    let mut stage = project.agent_setup(script).with_tool(TestTool::echo("look", ToolKind::Read)).start();
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    assert_eq!(stage.script.requests().len(), 2);
    assert_eq!(stage.prompt("and?").await, TurnEnd::Answered);
    assert_eq!(stage.script.requests().len(), 5);
    assert_eq!(stage.message_texts().last().map(String::as_str), Some("there"));
    assert!(stage.warnings().is_empty(), "{:?}", stage.warnings());
}

#[tokio::test]
async fn a_turn_without_any_answer_has_failed() {
    let project = TestProject::new();
    let script = (0..4).fold(ScriptedModel::new(), |script, _| script.answer_with_parts(vec![Part::text("")]));
    let mut stage = project.start_agent(script);
    let end = stage.prompt("and?").await;
    let TurnEnd::Failed { message, hint } = end else { panic!("{end:?}") };
    assert_eq!(message, "the model gave an empty answer");
    assert!(hint.is_some());
    assert_eq!(stage.script.requests().len(), 4);
}

#[tokio::test]
async fn a_tool_call_that_cannot_be_read_is_asked_for_again() {
    let project = TestProject::new();
    let script = ScriptedModel::new().finish_with(FinishReason::MalformedFunctionCall).answer("now");
    let mut stage = project.start_agent(script);
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.message_texts(), ["go", "now"]);
    let script = ScriptedModel::new().finish_with(FinishReason::Safety);
    let mut stage = project.start_agent(script);
    assert!(matches!(stage.prompt("go").await, TurnEnd::Failed { message, .. } if message.contains("safety filter")));
    assert_eq!(stage.script.requests().len(), 1, "the provider would hold back the next answer too");
}

#[tokio::test]
async fn an_answer_that_a_hook_emptied_was_an_answer() {
    let nothing = r#"printf '{"hookSpecificOutput": {"llm_response": {"candidates": [{"content": {"role": "model", "parts": [""]}}]}}}'"#;
    let project = TestProject::new().hook("AfterModel", "redact", nothing);
    let mut stage = project.start_agent(ScriptedModel::new().answer("a secret"));
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.script.requests().len(), 1);
    assert!(!stage.history_json().contains("a secret"));
}

#[tokio::test]
async fn an_answer_cut_off_keeps_its_text_and_drops_its_calls() {
    let project = TestProject::new();
    let script = ScriptedModel::new()
        .answer_cut_off(vec![Part::text("I was about to"), tool_call("look", json!({}))])
        .answer("again");
    let mut stage = project.agent_setup(script).with_tool(TestTool::echo("look", ToolKind::Read)).start();
    let end = stage.prompt("look").await;
    let TurnEnd::Failed { message, hint } = end else { panic!("{end:?}") };
    assert!(message.contains("the cable") && hint.is_some(), "{message}");
    assert_eq!(stage.message_texts(), ["look", "I was about to"]);
    let is_call = |part: &Part| matches!(part.kind, PartKind::FunctionCall(_));
    assert!(!stage.agent.history().iter().any(|content| content.parts.iter().any(is_call)));
    assert!(stage.finished_calls().is_empty());
    stage.position_of(
        |event| matches!(event, AgentEvent::Model(ModelEvent::Failed { error, .. }) if error.contains("the cable")),
    );
    assert_eq!(stage.prompt("go on").await, TurnEnd::Answered);
}

#[tokio::test]
async fn a_cancel_while_a_tool_runs_answers_every_call_and_asks_no_more() {
    let project = TestProject::new();
    let waits = TestTool::new_tool("waits", ToolKind::Execute, |_, context| async move {
        context.cancel.cancelled().await;
        "was told to end".to_owned()
    });
    let calls = vec![tool_call_with_id("1", "waits", json!({})), tool_call_with_id("2", "waits", json!({}))];
    let mut stage = project.agent_setup(ScriptedModel::new().answer_with_parts(calls)).with_tool(waits).start();
    let end = stage
        .prompt_observed("wait", |event, cancel| {
            if matches!(event, AgentEvent::Tool(ToolEvent::Started(_))) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(call_and_answer_ids(&stage).1, ["1", "2"]);
    assert_eq!(stage.finished_calls().len(), 1, "the second never began");
}

#[tokio::test]
async fn each_request_offers_the_tools_of_its_moment() {
    let project = TestProject::new();
    let script = ScriptedModel::new().answer("one").answer("two").answer("three");
    let mut stage = project.agent_setup(script).start();
    let server = ToolSource::Server("there".to_owned());
    stage.prompt("first").await;
    stage.agent.services().tools.set_source(&server, vec![TestTool::echo("mcp__there__new", ToolKind::Other)]);
    stage.prompt("second").await;
    stage.agent.services().tools.remove_source(&server);
    stage.prompt("third").await;
    let offered = |request: &ModelRequest| request.tools.iter().any(|tool| tool.name == "mcp__there__new");
    assert_eq!(stage.script.requests().iter().map(offered).collect::<Vec<_>>(), [false, true, false]);
}
