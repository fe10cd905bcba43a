//! One tool call: what hooks and rules make of it before it runs, and of its result after.

use std::sync::{Arc, Mutex};

use hookwright_agent::{AgentEvent, ApprovalMode, CallDecision, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_tools::{Tool, ToolErrorKind, ToolKind};
use serde_json::{Value, json};

use super::support::{Project, Script, Stage, TestTool, answer, call, call_as, shared_log, specific};

/// A tool that changes things, and what it was called with.
fn act() -> (Arc<dyn Tool>, Arc<Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    let tool = TestTool::make("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap_or_default());
        async { "acted".to_owned() }
    });
    (tool, log)
}

/// A turn with one call of `act`.
async fn turn(project: &Project, text: &str) -> (Stage, Vec<String>) {
    let (tool, log) = act();
    let script = Script::new().parts(vec![call("act", json!({"text": text}))]).says("done");
    let mut stage = project.setup(script).tool(tool).open();
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    let ran = log.lock().unwrap().clone();
    (stage, ran)
}

fn failure(stage: &Stage) -> (ToolErrorKind, Option<CallDecision>) {
    let end = stage.finished()[0];
    (end.error.as_ref().unwrap().kind, end.decision)
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_reads_why() {
    let project =
        Project::new().hook("BeforeTool", "guard", "echo 'not that' >&2; exit 2").hook("AfterTool", "after", "");
    let (stage, ran) = turn(&project, "x").await;
    assert!(ran.is_empty());
    assert_eq!(stage.results(), [("error".to_owned(), "Tool execution blocked: not that".to_owned())]);
    assert_eq!(failure(&stage), (ToolErrorKind::PolicyViolation, Some(CallDecision::Reject)));
    assert!(!stage.seen.iter().any(|event| matches!(event, AgentEvent::ToolStarted(_))));
    assert!(project.inputs("after").is_empty());
}

#[tokio::test]
async fn a_rewritten_call_runs_with_the_hooks_arguments_and_says_so() {
    let project = Project::new()
        .hook("BeforeTool", "rewrite", &specific(json!({"tool_input": {"text": "harmless"}})))
        .hook("AfterTool", "after", "");
    let (stage, ran) = turn(&project, "dangerous").await;
    assert_eq!(ran, ["harmless"]);
    let end = stage.finished()[0];
    assert_eq!((end.decision, &end.args["text"]), (Some(CallDecision::Modify), &json!("harmless")));
    let (key, told) = &stage.results()[0];
    assert!(
        key == "output"
            && told.starts_with("acted")
            && told.contains("changed these arguments")
            && told.contains("text")
    );
    assert_eq!(project.inputs("after")[0]["tool_input"], json!({"text": "harmless"}));
    let rewritten = stage.pick(|event| match event {
        AgentEvent::ToolStarted(start) => Some(start.rewritten.clone()),
        _ => None,
    });
    assert_eq!(rewritten, [["text"]]);
}

#[tokio::test]
async fn a_rewrite_that_does_not_fit_the_tool_runs_nothing() {
    let project = Project::new().hook("BeforeTool", "rewrite", &specific(json!({"tool_input": {"text": 7}})));
    let (stage, ran) = turn(&project, "x").await;
    assert!(ran.is_empty());
    assert_eq!(failure(&stage).0, ToolErrorKind::InvalidToolParams);
    assert!(stage.results()[0].1.contains("hooks changed the arguments"), "{:?}", stage.results());
}

#[tokio::test]
async fn without_anybody_to_ask_a_question_is_a_no() {
    let project = Project::new().hook("BeforeTool", "unsure", &answer(&json!({"decision": "ask", "reason": "hm"})));
    let (stage, ran) = turn(&project, "x").await;
    assert!(ran.is_empty());
    let told = &stage.results()[0].1;
    assert!(told.contains("hm") && told.contains("unsure") && told.contains("nobody is there"), "{told}");
    assert_eq!(failure(&stage), (ToolErrorKind::PolicyViolation, Some(CallDecision::Reject)));

    let project = Project::new();
    for (mode, words) in [(ApprovalMode::Default, "needs approval"), (ApprovalMode::Plan, "plan mode")] {
        let (tool, log) = act();
        let script = Script::new().parts(vec![call("act", json!({}))]).says("done");
        let mut setup = project.setup(script).tool(tool);
        setup.mode = mode;
        let mut stage = setup.open();
        assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
        assert!(log.lock().unwrap().is_empty());
        assert!(stage.results()[0].1.contains(words), "{:?}", stage.results());
    }
}

#[tokio::test]
async fn a_hidden_result_is_shown_to_nobody() {
    let hide = answer(&json!({"decision": "deny", "reason": "too much",
        "hookSpecificOutput": {"additionalContext": "ask for <less>"}}));
    let project = Project::new().hook("AfterTool", "hide", &hide);
    let (stage, ran) = turn(&project, "x").await;
    assert_eq!(ran, ["x"]);
    let told = "too much\n\n<hook_context>ask for &lt;less&gt;</hook_context>";
    assert_eq!(stage.results(), [("error".to_owned(), told.to_owned())]);
    assert!(!stage.history().contains("acted"));
    let end = stage.finished()[0];
    assert!(!end.content.contains("acted") && !end.display.summary().contains("acted"), "{end:?}");
}

#[tokio::test]
async fn a_hook_adds_to_a_result() {
    let add = answer(&json!({"systemMessage": "noted",
        "hookSpecificOutput": {"additionalContext": "it is <old>", "ticket": 7}}));
    let project = Project::new().hook("AfterTool", "add", &add);
    let (stage, _) = turn(&project, "x").await;
    assert_eq!(stage.results()[0].1, "acted\n\n<hook_context>it is &lt;old&gt;</hook_context>");
    let metadata = &stage.finished()[0].metadata;
    assert_eq!((&metadata["hookData"]["ticket"], &metadata["hookMessages"]), (&json!(7), &json!(["noted"])));
    assert_eq!(project.inputs("add")[0]["tool_response"]["llmContent"], "acted");
}

#[tokio::test]
async fn another_tool_takes_a_calls_place_under_its_name() {
    let tail = specific(json!({"tailToolCallRequest": {"name": "look", "args": {"text": "instead"}}}));
    let project = Project::new().hook_on("AfterTool", "act", "tail", &tail).hook("BeforeTool", "before", "");
    let (tool, _) = act();
    let script = Script::new().parts(vec![call_as("7", "act", json!({"text": "x"}))]).says("done");
    let mut stage = project.setup(script).tool(tool).tool(TestTool::echo("look", ToolKind::Read)).open();
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    let responses: Vec<_> = stage
        .agent
        .history()
        .iter()
        .flat_map(|content| &content.parts)
        .filter_map(|part| part.as_function_response())
        .collect();
    let [response] = responses.as_slice() else { panic!("{responses:?}") };
    assert_eq!((response.name.as_str(), response.id.as_deref()), ("act", Some("7")));
    assert_eq!(response.response["output"], "heard instead");
    let names: Vec<_> = stage.finished().iter().map(|end| (end.name.as_str(), end.call_id.as_str())).collect();
    assert_eq!(names, [("act", "7"), ("look", "7-tail1")]);
    assert_eq!(project.inputs_of("before", "tool_name"), ["act", "look"]);
    assert_eq!(project.inputs_of("before", "original_request_name"), [Value::Null, json!("act")]);
    assert_eq!(project.inputs_of("before", "tool_use_id"), ["7", "7-tail1"]);
}

#[tokio::test]
async fn tools_that_take_one_anothers_place_forever_are_ended() {
    let tail = specific(json!({"tailToolCallRequest": {"name": "act", "args": {"text": "again"}}}));
    let project = Project::new().hook("AfterTool", "tail", &tail);
    let (stage, ran) = turn(&project, "first").await;
    assert_eq!(ran.len(), 9, "the call and eight in its place");
    let (key, told) = &stage.results()[0];
    assert!(key == "error" && told.contains("more than 8 tools in a row"), "{told}");
}

#[tokio::test]
async fn what_takes_a_calls_place_is_guarded_like_any_call() {
    let tail = specific(json!({"tailToolCallRequest": {"name": "act", "args": {"text": "x"}}}));
    let project =
        Project::new().hook_on("AfterTool", "look", "tail", &tail).hook_on("BeforeTool", "act", "guard", "exit 2");
    let (tool, log) = act();
    let script = Script::new().parts(vec![call("look", json!({}))]).says("done");
    let mut stage = project.setup(script).tool(tool).tool(TestTool::echo("look", ToolKind::Read)).open();
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    assert!(log.lock().unwrap().is_empty());
    assert_eq!(stage.results()[0].0, "error");
}

#[tokio::test]
async fn a_call_has_one_name_everywhere() {
    let project = Project::new().hook("BeforeTool", "before", "").hook("AfterTool", "after", "");
    let calls = |text| vec![call_as(text, "look", json!({"text": text})), call("look", json!({"text": "unnamed"}))];
    let script = Script::new().parts(calls("1")).says("done").parts(calls("2")).says("done");
    let mut stage = project.setup(script).tool(TestTool::echo("look", ToolKind::Read)).open();
    let mut told = Vec::new();
    for prompt in ["first", "second"] {
        stage.prompt(prompt).await;
        let of = |pick: fn(&AgentEvent) -> Option<&String>| {
            let mut ids: Vec<String> = stage.pick(pick).into_iter().cloned().collect();
            ids.sort();
            ids
        };
        let requested = of(|event| match event {
            AgentEvent::ToolRequested { call_id, .. } => Some(call_id),
            _ => None,
        });
        let started = of(|event| match event {
            AgentEvent::ToolStarted(start) => Some(&start.call_id),
            _ => None,
        });
        let finished = of(|event| match event {
            AgentEvent::ToolFinished(end) => Some(&end.call_id),
            _ => None,
        });
        assert_eq!((&started, &finished), (&requested, &requested));
        told.extend(requested);
    }
    let of = |hook: &str| {
        let mut ids: Vec<String> =
            project.inputs_of(hook, "tool_use_id").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    told.sort();
    assert_eq!((of("before"), of("after")), (told.clone(), told.clone()));
    told.dedup();
    assert_eq!(told.len(), 4, "no two calls share a name: {told:?}");
    let turns = project.inputs_of("before", "turn_id");
    assert_eq!((&turns[0], &turns[2]), (&turns[1], &turns[3]));
    assert_ne!(turns[0], turns[2]);
    assert_eq!(project.inputs_of("after", "turn_id"), turns);
}

#[tokio::test]
async fn a_cancel_while_a_hook_judges_a_result_leaves_it_out() {
    let project = Project::new().hook("AfterTool", "slow", "sleep 1000");
    let (tool, _) = act();
    let mut stage = project.setup(Script::new().parts(vec![call("act", json!({}))])).tool(tool).open();
    let end = stage
        .prompt_watched("act", |event, cancel| {
            if matches!(event, AgentEvent::HookStarted { event: EventKind::AfterTool, .. }) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(!stage.history().contains("acted"));
    assert!(stage.finished()[0].error.as_ref().unwrap().is_cancelled());
}

#[tokio::test]
async fn a_cancel_while_a_guard_judges_runs_nothing() {
    let project = Project::new().hook("BeforeTool", "slow", "sleep 1000");
    let (tool, log) = act();
    let mut stage = project.setup(Script::new().parts(vec![call("act", json!({}))])).tool(tool).open();
    let end = stage
        .prompt_watched("act", |event, cancel| {
            if matches!(event, AgentEvent::HookStarted { event: EventKind::BeforeTool, .. }) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(log.lock().unwrap().is_empty());
    assert_eq!(stage.results().len(), 1, "the call has its answer");
}
