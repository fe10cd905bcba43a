//! Approval requests: for one call, for the session, with edited arguments, refused; and only one request at a time.

use std::sync::{Arc, Mutex};

use hookwright_agent::{AgentEvent, Answer, ApprovalReply, CallDecision, HookEvent, QuestionEvent, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_tools::{ToolErrorKind, ToolKind};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::support::{
    ScriptedModel, TestAgent, TestProject, TestTool, answer_script, shared_log, specific_output_script, tool_call,
    within_hang_timeout,
};

/// An interactive agent whose model calls `act` with each of the texts, one turn each.
fn acting_agent(project: &TestProject, texts: &[&str]) -> (TestAgent, Arc<Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    let act = TestTool::new_tool("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap_or_default());
        async { "acted".to_owned() }
    });
    let turn = |script: ScriptedModel, text: &&str| {
        script.answer_with_parts(vec![tool_call("act", json!({"text": text}))]).answer("done")
    };
    let script = texts.iter().fold(ScriptedModel::new(), turn);
    (project.agent_setup(script).interactive().with_tool(act).start(), log)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn approval_lasts_for_one_call_or_for_the_session() {
    let project = TestProject::new().hook("Notification", "bell", "");
    let (mut stage, log) = acting_agent(&project, &["1", "2", "3"]);
    stage.approval_replies.extend([ApprovalReply::Once, ApprovalReply::Session]);
    for _ in 0..3 {
        assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    }
    assert_eq!(*log.lock().unwrap(), ["1", "2", "3"]);
    let asked: Vec<_> = stage.approval_requests.iter().map(|request| request.args["text"].clone()).collect();
    assert_eq!(asked, ["1", "2"]);
    assert_eq!(stage.finished_calls()[0].decision, Some(CallDecision::AutoAccept));
    let bells = project.wait_for_inputs("bell", 2).await;
    assert_eq!(bells.len(), 2);
    assert!(bells.iter().all(|bell| bell["notification_type"] == "ToolPermission"));
    assert!(bells.iter().any(|bell| bell["details"]["tool_input"] == json!({"text": "1"})));
}

#[tokio::test]
async fn the_users_arguments_run_if_they_fit() {
    let project = TestProject::new().hook("AfterTool", "after", "");
    let (mut stage, log) = acting_agent(&project, &["wrong", "right"]);
    stage.approval_replies.push_back(ApprovalReply::Edited(object(json!({"text": "better"}))));
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert_eq!(*log.lock().unwrap(), ["better"]);
    assert_eq!(stage.finished_calls()[0].decision, Some(CallDecision::Modify));
    assert_eq!(project.inputs("after")[0]["tool_input"], json!({"text": "better"}));

    stage.approval_replies.push_back(ApprovalReply::Edited(object(json!({"text": 7}))));
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert_eq!(log.lock().unwrap().len(), 1);
    assert_eq!(stage.finished_calls()[0].error.as_ref().unwrap().kind, ToolErrorKind::InvalidToolParams);
}

#[tokio::test]
async fn a_refusal_reaches_the_model_and_a_cancel_ends_the_turn() {
    let project = TestProject::new();
    let (mut stage, log) = acting_agent(&project, &["1", "2"]);
    stage.approval_replies.extend([ApprovalReply::Deny(Some("use the other one".to_owned())), ApprovalReply::Cancel]);
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert_eq!(
        stage.call_results(),
        [("error".to_owned(), "the user did not allow this: use the other one".to_owned())]
    );
    assert_eq!(stage.finished_calls()[0].decision, Some(CallDecision::Reject));
    assert_eq!(stage.prompt("act").await, TurnEnd::Cancelled);
    assert!(stage.finished_calls()[0].error.as_ref().unwrap().is_cancelled());
    assert_eq!(stage.call_results().len(), 2, "the call has its answer");
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_hook_has_the_user_asked_about_what_would_run_unasked() {
    let project = TestProject::new().hook(
        "BeforeTool",
        "unsure",
        &answer_script(&json!({"decision": "ask", "reason": "really?",
        "hookSpecificOutput": {"tool_input": {"text": "b"}}})),
    );
    let script = ScriptedModel::new().answer_with_parts(vec![tool_call("look", json!({"text": "a"}))]).answer("done");
    let mut stage = project.agent_setup(script).interactive().with_tool(TestTool::echo("look", ToolKind::Read)).start();
    stage.approval_replies.push_back(ApprovalReply::Once);
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    let request = &stage.approval_requests[0];
    let asked_by = request.approval_demand.as_ref().unwrap();
    assert_eq!((asked_by.hooks.as_slice(), asked_by.reason.as_str()), (&["unsure".to_owned()][..], "really?"));
    // The user sees the arguments that will run, not those of the model.
    assert_eq!((&request.args["text"], request.rewritten_args.as_slice()), (&json!("b"), &["text".to_owned()][..]));
    assert!(stage.call_results()[0].1.starts_with("heard b"));
}

#[tokio::test]
async fn a_denied_call_needs_no_approval() {
    let project = TestProject::new().hook("BeforeTool", "guard", "exit 2").hook("Notification", "bell", "");
    let (mut stage, log) = acting_agent(&project, &["1"]);
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert!(stage.approval_requests.is_empty() && log.lock().unwrap().is_empty());
    assert!(project.inputs("bell").is_empty());
}

#[tokio::test]
async fn the_question_does_not_wait_for_hooks_that_notify() {
    let project = TestProject::new().gate("gate").hook("Notification", "bell", "read _ <gate");
    let (mut stage, log) = acting_agent(&project, &["1"]);
    stage.approval_replies.push_back(ApprovalReply::Once);
    // The hook waits at the gate until the user has been asked.
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let mut asked = Some(asked);
    let release = async {
        was_asked.await.unwrap();
        project.open_gate("gate").await;
    };
    let turn = stage.prompt_observed("act", |event, _| {
        if matches!(event, AgentEvent::Question(QuestionEvent::Asked(_))) {
            asked.take().unwrap().send(()).unwrap();
        }
    });
    let (end, ()) = tokio::join!(turn, release);
    assert_eq!(end, TurnEnd::Answered);
    assert_eq!(*log.lock().unwrap(), ["1"]);
}

#[tokio::test]
async fn a_cancel_withdraws_the_approval_request() {
    let project = TestProject::new();
    let (mut stage, log) = acting_agent(&project, &["1"]);
    let cancel = CancellationToken::new();
    let TestAgent { agent, events, .. } = &mut stage;
    let front_end = async {
        let mut asked = None;
        loop {
            match within_hang_timeout("an event", events.recv()).await.unwrap() {
                AgentEvent::Question(QuestionEvent::Asked(question)) => {
                    asked = Some(question.id);
                    cancel.cancel();
                }
                AgentEvent::Question(QuestionEvent::Closed(id)) => return assert_eq!(Some(id), asked),
                _ => {}
            }
        }
    };
    let (end, ()) =
        within_hang_timeout("the turn's end", async { tokio::join!(agent.prompt("act", &cancel), front_end) }).await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_front_end_that_goes_away_has_not_allowed_the_call() {
    let project = TestProject::new();
    let (stage, log) = acting_agent(&project, &["1"]);
    let TestAgent { mut agent, mut events, .. } = stage;
    let cancel = CancellationToken::new();
    let front_end = async move {
        while !matches!(
            within_hang_timeout("an event", events.recv()).await.unwrap(),
            AgentEvent::Question(QuestionEvent::Asked(_))
        ) {}
    };
    let (end, ()) =
        within_hang_timeout("the turn's end", async { tokio::join!(agent.prompt("act", &cancel), front_end) }).await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn two_calls_side_by_side_are_asked_about_one_after_the_other() {
    let project = TestProject::new()
        .hook("BeforeTool", "unsure", &answer_script(&json!({"decision": "ask", "reason": "really?"})))
        .hook("Notification", "bell", "");
    let calls = ["a", "b"].map(|text| tool_call("look", json!({"text": text}))).to_vec();
    let script = ScriptedModel::new().answer_with_parts(calls).answer("done");
    let mut stage = project.agent_setup(script).interactive().with_tool(TestTool::echo("look", ToolKind::Read)).start();
    let answers = stage.agent.services().events.clone();
    let TestAgent { agent, events, .. } = &mut stage;
    let mut questions = 0;
    let front_end = async {
        let (mut judged, mut rung, mut open) = (0, 0, Vec::new());
        while questions < 2 || !open.is_empty() {
            match events.recv().await.unwrap() {
                AgentEvent::Hook(HookEvent::Finished { report, .. }) if report.event == EventKind::BeforeTool => {
                    judged += 1
                }
                AgentEvent::Hook(HookEvent::Finished { report, .. }) if report.event == EventKind::Notification => {
                    rung += 1
                }
                AgentEvent::Question(QuestionEvent::Asked(question)) => {
                    open.push(question.id);
                    questions += 1;
                    assert_eq!(open.len(), 1, "one question at a time");
                }
                _ => {}
            }
            // Both calls could ask by now: the second has waited as long as a whole hook takes.
            if judged == 2 && rung == questions {
                open.drain(..).for_each(|id| assert!(answers.answer(id, Answer::Approval(ApprovalReply::Once))));
            }
        }
    };
    let cancel = CancellationToken::new();
    let (end, ()) =
        within_hang_timeout("both answers", async { tokio::join!(agent.prompt("look", &cancel), front_end) }).await;
    assert_eq!((end, questions), (TurnEnd::Answered, 2));
    let results: Vec<String> = stage.call_results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(results, ["heard a", "heard b"]);
}

#[tokio::test]
async fn the_preview_shows_what_the_hook_made_of_the_call() {
    let project = TestProject::new().hook(
        "BeforeTool",
        "rewrite",
        &specific_output_script(json!({"tool_input": {"content": "checked\n"}})),
    );
    let script = ScriptedModel::new()
        .answer_with_parts(vec![tool_call("write_file", json!({"file_path": "a.txt", "content": "unchecked\n"}))])
        .answer("done");
    let mut stage = project.agent_setup(script).interactive().start();
    stage.approval_replies.push_back(ApprovalReply::Once);
    assert_eq!(stage.prompt("write").await, TurnEnd::Answered);
    let preview = format!("{:?}", stage.approval_requests[0].preview.as_ref().unwrap());
    assert!(preview.contains("checked") && !preview.contains("unchecked"), "{preview}");
    assert_eq!(project.read("a.txt"), "checked\n");
}

#[tokio::test]
async fn arguments_edited_by_the_user_pass_the_hooks_too() {
    let guard = "case $input in *forbidden*) echo no such thing >&2; exit 2 ;; *rough*) \
                 echo '{\"hookSpecificOutput\": {\"tool_input\": {\"text\": \"smooth\"}}}' ;; esac";
    let project = TestProject::new().hook("BeforeTool", "guard", guard);
    let (mut stage, log) = acting_agent(&project, &["fine", "fine"]);
    let edited = |text: &str| ApprovalReply::Edited(object(json!({"text": text})));
    stage.approval_replies.push_back(edited("forbidden"));
    stage.prompt("act").await;
    assert!(log.lock().unwrap().is_empty(), "an edit went around the guard");
    // The arguments that a hook rewrote are shown again before the call runs.
    stage.approval_replies.extend([edited("rough"), ApprovalReply::Once]);
    stage.prompt("act").await;
    assert_eq!(*log.lock().unwrap(), ["smooth"]);
    assert!(stage.approval_replies.is_empty());
}
