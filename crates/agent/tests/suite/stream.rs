//! One request: changes by BeforeModel and BeforeToolSelection, and that no part of the answer bypasses AfterModel.

use hookwright_agent::{AgentEvent, HookEvent, ModelEvent, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_model::{Chunk, Part};
use hookwright_testkit::fs;
use hookwright_tools::ToolKind;
use serde_json::{Value, json};

use super::support::{
    ScriptedModel, TestAgent, TestProject, TestTool, answer_script, shared_log, specific_output_script, tool_call,
};

const SECRET: &str = "hunter2";

/// Returns a script that replaces pieces with the secret.
fn redact_script() -> String {
    let replaced =
        specific_output_script(json!({"llm_response": {"candidates": [{"content": {"parts": ["[gone] "]}}]}}));
    format!("case $input in *'\"content\":\"hunter2'*)\n{replaced}\n;; esac")
}

/// Returns all events except those with the hooks' own inputs.
fn events_without_hook_inputs(stage: &TestAgent) -> String {
    let others =
        stage.events_seen.iter().filter(|event| !matches!(event, AgentEvent::Hook(HookEvent::Finished { .. })));
    others.map(|event| format!("{event:?}\n")).collect()
}

fn change_request_script(request: Value) -> String {
    specific_output_script(json!({"llm_request": request}))
}

#[tokio::test]
async fn a_hook_changes_the_request_and_not_the_history() {
    let change = change_request_script(json!({
        "model": "another", "config": {"temperature": 0.25}, "messages": [{"role": "user", "content": "changed"}],
    }));
    let project = TestProject::new().hook("BeforeModel", "patch", &change).hook("AfterModel", "after", "");
    let mut stage = project.start_agent(ScriptedModel::new().answer("ok"));
    assert_eq!(stage.prompt("original").await, TurnEnd::Answered);
    let request = &stage.script.requests()[0];
    assert_eq!((request.model.as_str(), request.generation.temperature), ("another", Some(0.25)));
    assert_eq!(request.contents[0].text(), "changed");
    assert_eq!(stage.message_texts(), ["original", "ok"]);
    assert_eq!(project.inputs("after")[0]["llm_request"]["model"], "another");
}

#[tokio::test]
async fn an_invalid_request_change_is_reported() {
    let project = TestProject::new().hook(
        "BeforeModel",
        "patch",
        &change_request_script(json!({"config": {"temperature": "warm"}})),
    );
    let mut stage = project.start_agent(ScriptedModel::new().answer("ok"));
    assert_eq!(stage.prompt("hello").await, TurnEnd::Answered);
    let told = events_without_hook_inputs(&stage);
    assert!(told.contains("temperature") || told.contains("generation settings"), "{told}");
    assert_eq!(stage.script.requests()[0].generation.temperature, None);
}

#[tokio::test]
async fn a_hook_answers_in_the_models_place() {
    let said =
        specific_output_script(json!({"llm_response": {"candidates": [{"content": {"parts": ["from the hook"]}}]}}));
    let project = TestProject::new().hook("BeforeModel", "instead", &said).hook("AfterAgent", "after", "");
    let mut stage = project.start_agent(ScriptedModel::new());
    assert_eq!(stage.prompt("hello").await, TurnEnd::Answered);
    assert!(stage.script.requests().is_empty());
    assert_eq!(
        (stage.answer_text().as_str(), stage.message_texts()),
        ("from the hook", vec!["hello".into(), "from the hook".into()])
    );
    assert_eq!(project.input_fields("after", "prompt_response"), ["from the hook"]);
}

#[tokio::test]
async fn a_denied_and_a_stopped_request_are_not_made() {
    let project = TestProject::new().hook("BeforeModel", "deny", "echo 'over budget' >&2; exit 2");
    let mut stage = project.start_agent(ScriptedModel::new());
    assert_eq!(stage.prompt("hello").await, TurnEnd::Blocked("over budget".into()));
    assert!(stage.script.requests().is_empty());
    assert_eq!(stage.message_texts(), ["hello"]);

    let stop = answer_script(&json!({"continue": false, "stopReason": "closed"}));
    let project = TestProject::new().hook("BeforeModel", "stop", &stop);
    let mut stage = project.start_agent(ScriptedModel::new());
    assert_eq!(stage.prompt("hello").await, TurnEnd::Stopped("closed".into()));
    assert!(stage.script.requests().is_empty());
}

#[tokio::test]
async fn a_stop_with_an_answer_ends_the_turn_with_that_answer() {
    let response = json!({"candidates": [{"content": {"parts": ["from the hook"]}}]});
    let stop = answer_script(
        &json!({"continue": false, "stopReason": "closed", "hookSpecificOutput": {"llm_response": response}}),
    );
    let project = TestProject::new().hook("BeforeModel", "stop", &stop);
    let mut stage = project.start_agent(ScriptedModel::new());
    assert_eq!(stage.prompt("hello").await, TurnEnd::Stopped("closed".into()));
    assert!(stage.script.requests().is_empty());
    assert_eq!(
        (stage.answer_text().as_str(), stage.message_texts()),
        ("from the hook", vec!["hello".into(), "from the hook".into()])
    );
}

#[tokio::test]
async fn every_event_of_a_turn_tells_the_approval_mode() {
    let events =
        ["BeforeAgent", "BeforeModel", "BeforeToolSelection", "AfterModel", "BeforeTool", "AfterTool", "AfterAgent"];
    let project = events.iter().fold(TestProject::new(), |project, event| project.hook(event, event, ""));
    let script = ScriptedModel::new().answer_with_parts(vec![tool_call("look", json!({"text": "x"}))]).answer("ok");
    let mut stage = project.agent_setup(script).with_tool(TestTool::echo("look", ToolKind::Read)).start();
    assert_eq!(stage.prompt("hello").await, TurnEnd::Answered);
    for event in events {
        let inputs = project.inputs(event);
        assert!(
            !inputs.is_empty() && inputs.iter().all(|input| input["approval_mode"].is_string()),
            "{event}: {inputs:?}"
        );
    }
}

/// Returns what may be recorded of the hook runs on an event.
fn hook_records(stage: &TestAgent, event: EventKind) -> String {
    let record = |seen: &AgentEvent| match seen {
        AgentEvent::Hook(HookEvent::Finished { report, input }) if report.event == event => {
            let shown = !report.answer.suppress_output;
            let said = shown.then(|| format!("{:?} {:?} {:?}", report.stdout, report.stderr, report.answer));
            Some(format!("{}: {input:?} {}\n", report.hook, said.unwrap_or_default()))
        }
        _ => None,
    };
    stage.events_seen.iter().filter_map(record).collect()
}

#[tokio::test]
async fn text_withheld_by_one_hook_is_in_no_other_hooks_record() {
    for (event, withholds) in [
        (EventKind::AfterModel, redact_script()),
        (EventKind::AfterModel, "case $input in *'\"content\":\"hunter2'*) echo no >&2; exit 2 ;; esac".to_owned()),
        (EventKind::AfterTool, "echo no >&2; exit 2".to_owned()),
    ] {
        let repeats = "echo \"$input\" >&2";
        let project =
            TestProject::new().hook(event.name(), "withholds", &withholds).hook(event.name(), "repeats", repeats);
        let script = ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({}))]).answer_in_pieces(&[
            "the word is ",
            "hunter2 ",
            "I think",
        ]);
        let result = if event == EventKind::AfterTool { SECRET } else { "fine" };
        let act = TestTool::new_tool("act", ToolKind::Read, move |_, _| async move { result.to_owned() });
        let mut stage = project.agent_setup(script).with_tool(act).start();
        stage.prompt("which word?").await;
        let records = hook_records(&stage, event);
        assert!(records.contains("withholds") && !records.contains(SECRET), "{event} {withholds}: {records}");
    }
}

#[tokio::test]
async fn text_shown_to_no_hook_is_in_no_record() {
    let finish = Chunk { finish_message: Some(SECRET.to_owned()), ..Chunk::default() };
    let media = Part::inline_data("image/png", SECRET);
    let calls = Chunk { parts: vec![tool_call(SECRET, json!({"a": SECRET})), media], ..Chunk::default() };
    let script = ScriptedModel::new().answer_in_chunks(vec![calls, finish]).answer("ok");
    let mut stage = TestProject::new().start_agent(script);
    stage.prompt("hello").await;
    let told = stage.events_seen.iter().filter(|event| {
        matches!(
            event,
            AgentEvent::Model(ModelEvent::Requested { .. }) | AgentEvent::Model(ModelEvent::Answered { .. })
        )
    });
    let told: String = told.map(|event| format!("{event:?}\n")).collect();
    assert!(told.contains("unknown_tool") && !told.contains(SECRET), "{told}");
}

#[tokio::test]
async fn a_call_outside_of_the_selection_is_refused() {
    let only = specific_output_script(json!({"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}));
    let project = TestProject::new().hook("BeforeToolSelection", "only", &only).hook("BeforeTool", "guard", "");
    let (log, note) = shared_log();
    let act = TestTool::new_tool("act", ToolKind::Read, move |_, _| {
        note("acted");
        async { String::new() }
    });
    let script = ScriptedModel::new()
        .answer_with_parts(vec![tool_call("act", json!({})), tool_call("look", json!({"text": "x"}))])
        .answer("ok");
    let mut stage =
        project.agent_setup(script).with_tool(act).with_tool(TestTool::echo("look", ToolKind::Read)).start();
    assert_eq!(stage.prompt("hello").await, TurnEnd::Answered);
    assert!(log.lock().unwrap().is_empty());
    let results = stage.call_results();
    assert_eq!(results[0], ("error".into(), "act was not called: only look may be called now".into()));
    assert_eq!(results[1], ("output".into(), "heard x".into()));
    assert_eq!(project.input_fields("guard", "tool_name"), ["look"]);
    let choice = stage.script.requests()[0].tool_choice.clone().unwrap();
    assert!(choice.allows("look") && !choice.allows("act"));
}

#[tokio::test]
async fn replaced_text_appears_nowhere() {
    let project = TestProject::new().hook("AfterModel", "redact", &redact_script()).hook("AfterAgent", "after", "");
    let script = ScriptedModel::new().answer_in_pieces(&["the word is ", "hunter2 ", "I think"]).answer("again");
    let mut stage = project.start_agent(script);
    assert_eq!(stage.prompt("which word?").await, TurnEnd::Answered);
    assert_eq!(stage.answer_text(), "the word is [gone] I think");
    assert_eq!(stage.message_texts()[1], "the word is [gone] I think");
    assert!(!events_without_hook_inputs(&stage).contains(SECRET), "{}", events_without_hook_inputs(&stage));
    assert_eq!(project.input_fields("after", "prompt_response"), ["the word is [gone] I think"]);
    let transcript = project.inputs("after")[0]["transcript_path"].as_str().unwrap().to_owned();
    assert!(!fs::read_to_string(transcript).unwrap().contains(SECRET));
    stage.prompt("again?").await;
    assert!(!stage.script.messages_json(1).contains(SECRET));
    assert!(stage.script.messages_json(1).contains("[gone]"));
}

#[tokio::test]
async fn a_hook_sees_piece_by_piece_what_was_left_of_those_before() {
    let project = TestProject::new().hook("AfterModel", "redact", &redact_script());
    let mut stage = project.start_agent(ScriptedModel::new().answer_in_pieces(&["one ", "hunter2 ", "three"]));
    stage.prompt("count").await;
    assert_eq!(project.input_fields("redact", "content"), ["one ", "hunter2 ", "three"]);
    assert_eq!(project.input_fields("redact", "full_content"), ["one ", "one hunter2 ", "one [gone] three"]);
}

#[tokio::test]
async fn no_piece_is_shown_before_the_hook_has_let_it_pass() {
    let project = TestProject::new().hook("AfterModel", "look", "");
    let mut stage = project.start_agent(ScriptedModel::new().answer_in_pieces(&["one ", "two ", "three"]));
    stage.prompt("count").await;
    let mut judged = 0;
    let mut shown = 0;
    for event in &stage.events_seen {
        match event {
            AgentEvent::Hook(HookEvent::Finished { report, .. }) if report.event == EventKind::AfterModel => {
                judged += 1
            }
            AgentEvent::Model(ModelEvent::Text(_)) => {
                shown += 1;
                assert_eq!(judged, shown, "each piece right after its hook");
            }
            _ => {}
        }
    }
    assert_eq!(shown, 3);
}

#[tokio::test]
async fn held_text_is_shown_only_when_its_unit_is_complete() {
    let project = TestProject::new().hook_with("AfterModel", "look", json!({"chunks": "sentence"}), "");
    let (script, sender) = ScriptedModel::new().answer_from_channel();
    sender.try_send(Ok(Chunk::from_text("One. Tw"))).unwrap();
    let (mut stage, mut sender, mut shown) = (project.start_agent(script), Some(sender), Vec::new());
    // The next sentence releases the one before it, and the end releases the last.
    let end = stage
        .prompt_observed("count", |event, _| {
            let AgentEvent::Model(ModelEvent::Text(text)) = event else { return };
            shown.push(text.clone());
            match (text.as_str(), &sender) {
                ("One. ", Some(sender)) => {
                    for text in ["o", ". ", "Three"] {
                        sender.try_send(Ok(Chunk::from_text(text))).unwrap();
                    }
                }
                ("Two. ", _) => sender = None,
                _ => {}
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Answered);
    assert_eq!(shown, ["One. ", "Two. ", "Three"]);
    assert_eq!(project.input_fields("look", "content"), ["One. ", "Two. ", "Three"]);
}

#[tokio::test]
async fn a_denied_answer_is_dropped_whole_and_said_to_be() {
    let project = TestProject::new().hook(
        "AfterModel",
        "deny",
        "case $input in *'\"content\":\"hunter2'*) echo 'a secret' >&2; exit 2;; esac",
    );
    let mut stage =
        project.start_agent(ScriptedModel::new().answer_in_pieces(&["well, ", "hunter2", "never"]).answer("ok"));
    assert_eq!(stage.prompt("which word?").await, TurnEnd::Blocked("a secret".into()));
    assert_eq!(stage.answer_text(), "well, ");
    stage.position_of(
        |event| matches!(event, AgentEvent::Model(ModelEvent::AnswerDropped { reason }) if reason == "a secret"),
    );
    assert_eq!(stage.message_texts(), ["which word?"]);
    stage.prompt("and now?").await;
    assert!(!stage.script.messages_json(1).contains("well"));
}

#[tokio::test]
async fn a_stopped_answer_keeps_what_came_before() {
    let stop = answer_script(&json!({"continue": false, "stopReason": "enough"}));
    let project = TestProject::new().hook(
        "AfterModel",
        "stop",
        &format!("case $input in *'\"content\":\"two'*)\n{stop}\n;; esac"),
    );
    let mut stage = project.start_agent(ScriptedModel::new().answer_in_pieces(&["one ", "two ", "three"]));
    assert_eq!(stage.prompt("count").await, TurnEnd::Stopped("enough".into()));
    assert_eq!((stage.answer_text().as_str(), stage.message_texts()[1].as_str()), ("one ", "one "));
}

#[tokio::test]
async fn thoughts_are_shown_as_such_and_are_no_content() {
    let project = TestProject::new().hook("AfterModel", "look", "");
    let mut stage =
        project.start_agent(ScriptedModel::new().answer_with_parts(vec![Part::thought("hm"), Part::text("ok")]));
    stage.prompt("think").await;
    stage.position_of(|event| matches!(event, AgentEvent::Model(ModelEvent::Thought(thought)) if thought == "hm"));
    assert_eq!((stage.answer_text().as_str(), project.input_fields("look", "content")), ("ok", vec![json!("ok")]));
}

#[tokio::test]
async fn a_hook_that_fails_on_every_piece_is_said_once() {
    let project = TestProject::new().hook("AfterModel", "broken", "echo 'no luck' >&2; exit 1");
    let mut stage = project.start_agent(ScriptedModel::new().answer_in_pieces(&["one ", "two ", "three"]));
    assert_eq!(stage.prompt("count").await, TurnEnd::Answered);
    let warned = stage.filter_events(|event| match event {
        AgentEvent::Hook(HookEvent::Warning { hook, .. }) => Some(hook.as_str()),
        _ => None,
    });
    assert_eq!(warned, ["broken"]);
    assert_eq!(project.inputs("broken").len(), 3);
}

#[tokio::test]
async fn a_cancel_in_the_middle_keeps_what_was_shown() {
    let project = TestProject::new();
    let (script, sender) = ScriptedModel::new().answer_from_channel();
    sender.try_send(Ok(Chunk::from_text("the first half "))).unwrap();
    let mut stage = project.start_agent(script);
    let end = stage
        .prompt_observed("tell", |event, cancel| {
            if matches!(event, AgentEvent::Model(ModelEvent::Text(_))) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!(stage.message_texts(), ["tell", "the first half "]);
    assert!(sender.is_closed(), "nobody listens to the model any more");
}

#[tokio::test]
async fn a_cancel_while_a_hook_judges_shows_and_keeps_nothing_of_the_piece() {
    let project =
        TestProject::new().hook("AfterModel", "slow", "case $input in *'\"content\":\"hunter2'*) sleep 1000;; esac");
    let mut stage = project.start_agent(ScriptedModel::new().answer_in_pieces(&["so far ", "hunter2"]));
    let mut started = 0;
    let end = stage
        .prompt_observed("tell", |event, cancel| {
            started += usize::from(matches!(event, AgentEvent::Hook(HookEvent::Started { .. })));
            if started == 2 {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert_eq!((stage.answer_text().as_str(), stage.message_texts()[1].as_str()), ("so far ", "so far "));
    assert!(!events_without_hook_inputs(&stage).contains(SECRET));
}

#[tokio::test]
async fn a_cancel_ends_the_wait_for_a_model_that_does_not_begin() {
    let project = TestProject::new();
    let mut stage = project.start_agent(ScriptedModel::new().never_answer());
    let end = stage
        .prompt_observed("hello", |event, cancel| {
            if matches!(event, AgentEvent::Model(ModelEvent::Requested { .. })) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!((end, stage.message_texts()), (TurnEnd::Cancelled, vec!["hello".to_owned()]));
}
