//! Asking the user: once, for the session, with other arguments, not at all; and one question at a time.

use std::sync::{Arc, Mutex};

use hookwright_agent::{AgentEvent, ApprovalReply, CallDecision, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_tools::{ToolErrorKind, ToolKind};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::support::{Project, Script, Stage, TestTool, answer, call, shared_log, specific, within};

/// An interactive agent whose model calls `act` with each of the texts, one turn each.
fn acting(project: &Project, texts: &[&str]) -> (Stage, Arc<Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    let act = TestTool::make("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap_or_default());
        async { "acted".to_owned() }
    });
    let turn = |script: Script, text: &&str| script.parts(vec![call("act", json!({"text": text}))]).says("done");
    let script = texts.iter().fold(Script::new(), turn);
    (project.setup(script).interactive().tool(act).open(), log)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn once_is_once_and_for_the_session_is_for_the_session() {
    let project = Project::new().hook("Notification", "bell", "");
    let (mut stage, log) = acting(&project, &["1", "2", "3"]);
    stage.replies.extend([ApprovalReply::Once, ApprovalReply::Session]);
    for _ in 0..3 {
        assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    }
    assert_eq!(*log.lock().unwrap(), ["1", "2", "3"]);
    let asked: Vec<_> = stage.asked.iter().map(|request| request.args["text"].clone()).collect();
    assert_eq!(asked, ["1", "2"]);
    assert_eq!(stage.finished()[0].decision, Some(CallDecision::AutoAccept));
    let bells = project.heard("bell", 2).await;
    assert_eq!(bells.len(), 2);
    assert!(bells.iter().all(|bell| bell["notification_type"] == "ToolPermission"));
    assert!(bells.iter().any(|bell| bell["details"]["tool_input"] == json!({"text": "1"})));
}

#[tokio::test]
async fn the_users_arguments_run_if_they_fit() {
    let project = Project::new().hook("AfterTool", "after", "");
    let (mut stage, log) = acting(&project, &["wrong", "right"]);
    stage.replies.push_back(ApprovalReply::Edited(object(json!({"text": "better"}))));
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert_eq!(*log.lock().unwrap(), ["better"]);
    assert_eq!(stage.finished()[0].decision, Some(CallDecision::Modify));
    assert_eq!(project.inputs("after")[0]["tool_input"], json!({"text": "better"}));

    stage.replies.push_back(ApprovalReply::Edited(object(json!({"text": 7}))));
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert_eq!(log.lock().unwrap().len(), 1);
    assert_eq!(stage.finished()[0].error.as_ref().unwrap().kind, ToolErrorKind::InvalidToolParams);
}

#[tokio::test]
async fn a_no_is_told_to_the_model_and_a_cancel_ends_the_turn() {
    let project = Project::new();
    let (mut stage, log) = acting(&project, &["1", "2"]);
    stage.replies.extend([ApprovalReply::Deny(Some("use the other one".to_owned())), ApprovalReply::Cancel]);
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert_eq!(stage.results(), [("error".to_owned(), "the user did not allow this: use the other one".to_owned())]);
    assert_eq!(stage.finished()[0].decision, Some(CallDecision::Reject));
    assert_eq!(stage.prompt("act").await, TurnEnd::Cancelled);
    assert!(stage.finished()[0].error.as_ref().unwrap().is_cancelled());
    assert_eq!(stage.results().len(), 2, "the call has its answer");
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_hook_has_the_user_asked_about_what_would_run_unasked() {
    let project = Project::new().hook(
        "BeforeTool",
        "unsure",
        &answer(&json!({"decision": "ask", "reason": "really?",
        "hookSpecificOutput": {"tool_input": {"text": "b"}}})),
    );
    let script = Script::new().parts(vec![call("look", json!({"text": "a"}))]).says("done");
    let mut stage = project.setup(script).interactive().tool(TestTool::echo("look", ToolKind::Read)).open();
    stage.replies.push_back(ApprovalReply::Once);
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    let request = &stage.asked[0];
    let asked_by = request.asked_by.as_ref().unwrap();
    assert_eq!((asked_by.hooks.as_slice(), asked_by.reason.as_str()), (&["unsure".to_owned()][..], "really?"));
    // The user judges what will run, not what the model wanted.
    assert_eq!((&request.args["text"], request.rewritten.as_slice()), (&json!("b"), &["text".to_owned()][..]));
    assert!(stage.results()[0].1.starts_with("heard b"));
}

#[tokio::test]
async fn a_denied_call_asks_nobody() {
    let project = Project::new().hook("BeforeTool", "guard", "exit 2").hook("Notification", "bell", "");
    let (mut stage, log) = acting(&project, &["1"]);
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    assert!(stage.asked.is_empty() && log.lock().unwrap().is_empty());
    assert!(project.inputs("bell").is_empty());
}

#[tokio::test]
async fn the_question_does_not_wait_for_hooks_that_notify() {
    let project = Project::new().pipe("gate").hook("Notification", "bell", "read _ <gate");
    let (mut stage, log) = acting(&project, &["1"]);
    stage.replies.push_back(ApprovalReply::Once);
    // The hook is held until the user has been asked.
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let mut asked = Some(asked);
    let release = async {
        was_asked.await.unwrap();
        project.let_go("gate").await;
    };
    let turn = stage.prompt_watched("act", |event, _| {
        if matches!(event, AgentEvent::Approval(..)) {
            asked.take().unwrap().send(()).unwrap();
        }
    });
    let (end, ()) = tokio::join!(turn, release);
    assert_eq!(end, TurnEnd::Answered);
    assert_eq!(*log.lock().unwrap(), ["1"]);
}

#[tokio::test]
async fn a_cancel_takes_the_question_back() {
    let project = Project::new();
    let (mut stage, log) = acting(&project, &["1"]);
    let cancel = CancellationToken::new();
    let Stage { agent, events, .. } = &mut stage;
    let front_end = async {
        let (_request, reply) = loop {
            if let AgentEvent::Approval(request, reply) = events.recv().await.unwrap() {
                break (request, reply);
            }
        };
        cancel.cancel();
        // The front end still holds its end.
        reply
    };
    let (end, mut reply) =
        within("the turn's end", async { tokio::join!(agent.prompt("act", &cancel), front_end) }).await;
    assert_eq!(end, TurnEnd::Cancelled);
    within("the question's end", reply.closed()).await;
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_front_end_that_drops_the_question_has_not_allowed_it() {
    let project = Project::new();
    let (mut stage, log) = acting(&project, &["1"]);
    let Stage { agent, events, .. } = &mut stage;
    let cancel = CancellationToken::new();
    let front_end = async { while !matches!(events.recv().await.unwrap(), AgentEvent::Approval(..)) {} };
    let (end, ()) = within("the turn's end", async { tokio::join!(agent.prompt("act", &cancel), front_end) }).await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn two_calls_side_by_side_are_asked_about_one_after_the_other() {
    let project = Project::new()
        .hook("BeforeTool", "unsure", &answer(&json!({"decision": "ask", "reason": "really?"})))
        .hook("Notification", "bell", "");
    let calls = ["a", "b"].map(|text| call("look", json!({"text": text}))).to_vec();
    let script = Script::new().parts(calls).says("done");
    let mut stage = project.setup(script).interactive().tool(TestTool::echo("look", ToolKind::Read)).open();
    let Stage { agent, events, .. } = &mut stage;
    let mut questions = 0;
    let front_end = async {
        let (mut judged, mut rung, mut open) = (0, 0, Vec::new());
        while questions < 2 || !open.is_empty() {
            match events.recv().await.unwrap() {
                AgentEvent::HookFinished { report, .. } if report.event == EventKind::BeforeTool => judged += 1,
                AgentEvent::HookFinished { report, .. } if report.event == EventKind::Notification => rung += 1,
                AgentEvent::Approval(_, reply) => {
                    open.push(reply);
                    questions += 1;
                    assert_eq!(open.len(), 1, "one question at a time");
                }
                _ => {}
            }
            // Both calls could ask by now, and the second has had a whole hook's time to do so.
            if judged == 2 && rung == questions {
                open.drain(..).for_each(|reply| reply.send(ApprovalReply::Once).unwrap());
            }
        }
    };
    let cancel = CancellationToken::new();
    let (end, ()) = within("both answers", async { tokio::join!(agent.prompt("look", &cancel), front_end) }).await;
    assert_eq!((end, questions), (TurnEnd::Answered, 2));
    let results: Vec<String> = stage.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(results, ["heard a", "heard b"]);
}

#[tokio::test]
async fn the_preview_shows_what_the_hook_made_of_the_call() {
    let project =
        Project::new().hook("BeforeTool", "rewrite", &specific(json!({"tool_input": {"content": "checked\n"}})));
    let script = Script::new()
        .parts(vec![call("write_file", json!({"file_path": "a.txt", "content": "unchecked\n"}))])
        .says("done");
    let mut stage = project.setup(script).interactive().open();
    stage.replies.push_back(ApprovalReply::Once);
    assert_eq!(stage.prompt("write").await, TurnEnd::Answered);
    let preview = format!("{:?}", stage.asked[0].preview.as_ref().unwrap());
    assert!(preview.contains("checked") && !preview.contains("unchecked"), "{preview}");
    assert_eq!(project.read("a.txt"), "checked\n");
}

#[tokio::test]
async fn what_the_user_writes_instead_is_judged_by_hooks_too() {
    let guard = "case $input in *forbidden*) echo no such thing >&2; exit 2 ;; *rough*) \
                 echo '{\"hookSpecificOutput\": {\"tool_input\": {\"text\": \"smooth\"}}}' ;; esac";
    let project = Project::new().hook("BeforeTool", "guard", guard);
    let (mut stage, log) = acting(&project, &["fine", "fine"]);
    let edited = |text: &str| ApprovalReply::Edited(object(json!({"text": text})));
    stage.replies.push_back(edited("forbidden"));
    stage.prompt("act").await;
    assert!(log.lock().unwrap().is_empty(), "an edit went around the guard");
    // What a hook makes of it is shown before it runs.
    stage.replies.extend([edited("rough"), ApprovalReply::Once]);
    stage.prompt("act").await;
    assert_eq!(*log.lock().unwrap(), ["smooth"]);
    assert!(stage.replies.is_empty());
}
