//! A single tool call: how hooks and rules change it before it runs, and its result afterwards.

use std::sync::{Arc, Mutex};

use hookwright_agent::{AgentEvent, ApprovalMode, CallDecision, HookEvent, ToolEvent, TurnEnd};
use hookwright_hooks::EventKind;
use hookwright_tools::{Tool, ToolErrorKind, ToolKind};
use serde_json::{Value, json};

use super::support::{
    ScriptedModel, TestAgent, TestProject, TestTool, answer_script, shared_log, specific_output_script, tool_call,
    tool_call_with_id,
};

/// A tool that changes things, with a log of its arguments.
fn acting_tool() -> (Arc<dyn Tool>, Arc<Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    let tool = TestTool::new_tool("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap_or_default());
        async { "acted".to_owned() }
    });
    (tool, log)
}

/// Runs a turn with one call of `act`.
async fn run_acting_turn(project: &TestProject, text: &str) -> (TestAgent, Vec<String>) {
    let (tool, log) = acting_tool();
    let script = ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({"text": text}))]).answer("done");
    let mut stage = project.agent_setup(script).with_tool(tool).start();
    assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
    let ran = log.lock().unwrap().clone();
    (stage, ran)
}

fn first_failure(stage: &TestAgent) -> (ToolErrorKind, Option<CallDecision>) {
    let end = stage.finished_calls()[0];
    (end.error.as_ref().unwrap().kind, end.decision)
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_reads_why() {
    let project =
        TestProject::new().hook("BeforeTool", "guard", "echo 'not that' >&2; exit 2").hook("AfterTool", "after", "");
    let (stage, ran) = run_acting_turn(&project, "x").await;
    assert!(ran.is_empty());
    assert_eq!(stage.call_results(), [("error".to_owned(), "Tool execution blocked: not that".to_owned())]);
    assert_eq!(first_failure(&stage), (ToolErrorKind::PolicyViolation, Some(CallDecision::Reject)));
    assert!(!stage.events_seen.iter().any(|event| matches!(event, AgentEvent::Tool(ToolEvent::Started(_)))));
    assert!(project.inputs("after").is_empty());
}

#[tokio::test]
async fn a_rewritten_call_runs_with_the_hooks_arguments_and_says_so() {
    let project = TestProject::new()
        .hook("BeforeTool", "rewrite", &specific_output_script(json!({"tool_input": {"text": "harmless"}})))
        .hook("AfterTool", "after", "");
    let (stage, ran) = run_acting_turn(&project, "dangerous").await;
    assert_eq!(ran, ["harmless"]);
    let end = stage.finished_calls()[0];
    assert_eq!((end.decision, &end.args["text"]), (Some(CallDecision::Modify), &json!("harmless")));
    let (key, told) = &stage.call_results()[0];
    assert!(
        key == "output"
            && told.starts_with("acted")
            && told.contains("changed these arguments")
            && told.contains("text")
    );
    assert_eq!(project.inputs("after")[0]["tool_input"], json!({"text": "harmless"}));
    let rewritten = stage.filter_events(|event| match event {
        AgentEvent::Tool(ToolEvent::Started(start)) => Some(start.rewritten_args.clone()),
        _ => None,
    });
    assert_eq!(rewritten, [["text"]]);
}

#[tokio::test]
async fn a_rewrite_that_does_not_fit_the_tool_runs_nothing() {
    let project =
        TestProject::new().hook("BeforeTool", "rewrite", &specific_output_script(json!({"tool_input": {"text": 7}})));
    let (stage, ran) = run_acting_turn(&project, "x").await;
    assert!(ran.is_empty());
    assert_eq!(first_failure(&stage).0, ToolErrorKind::InvalidToolParams);
    assert!(stage.call_results()[0].1.contains("hooks changed the arguments"), "{:?}", stage.call_results());
}

#[tokio::test]
async fn headless_approval_requests_are_denied() {
    let project =
        TestProject::new().hook("BeforeTool", "unsure", &answer_script(&json!({"decision": "ask", "reason": "hm"})));
    let (stage, ran) = run_acting_turn(&project, "x").await;
    assert!(ran.is_empty());
    let told = &stage.call_results()[0].1;
    assert!(told.contains("hm") && told.contains("unsure") && told.contains("no user is present"), "{told}");
    assert_eq!(first_failure(&stage), (ToolErrorKind::PolicyViolation, Some(CallDecision::Reject)));

    let project = TestProject::new();
    for (mode, words) in [(ApprovalMode::Default, "needs approval"), (ApprovalMode::Plan, "plan mode")] {
        let (tool, log) = acting_tool();
        let script = ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({}))]).answer("done");
        let mut setup = project.agent_setup(script).with_tool(tool);
        setup.mode = mode;
        let mut stage = setup.start();
        assert_eq!(stage.prompt("act").await, TurnEnd::Answered);
        assert!(log.lock().unwrap().is_empty());
        assert!(stage.call_results()[0].1.contains(words), "{:?}", stage.call_results());
    }
}

#[tokio::test]
async fn a_hidden_result_is_not_shown() {
    let hide = answer_script(&json!({"decision": "deny", "reason": "too much",
        "hookSpecificOutput": {"additionalContext": "ask for <less>"}}));
    let project = TestProject::new().hook("AfterTool", "hide", &hide);
    let (stage, ran) = run_acting_turn(&project, "x").await;
    assert_eq!(ran, ["x"]);
    let told = "too much\n\n<hook_context>ask for &lt;less&gt;</hook_context>";
    assert_eq!(stage.call_results(), [("error".to_owned(), told.to_owned())]);
    assert!(!stage.history_json().contains("acted"));
    let end = stage.finished_calls()[0];
    assert!(!end.content.contains("acted") && !end.display.summary().contains("acted"), "{end:?}");
}

#[tokio::test]
async fn a_hook_adds_to_a_result() {
    let add = answer_script(&json!({"systemMessage": "noted",
        "hookSpecificOutput": {"additionalContext": "it is <old>", "ticket": 7}}));
    let project = TestProject::new().hook("AfterTool", "add", &add);
    let (stage, _) = run_acting_turn(&project, "x").await;
    assert_eq!(stage.call_results()[0].1, "acted\n\n<hook_context>it is &lt;old&gt;</hook_context>");
    let metadata = &stage.finished_calls()[0].metadata;
    assert_eq!((&metadata["hookData"]["ticket"], &metadata["hookMessages"]), (&json!(7), &json!(["noted"])));
    assert_eq!(project.inputs("add")[0]["tool_response"]["llmContent"], "acted");
}

#[tokio::test]
async fn a_tail_call_runs_under_its_own_tool_name() {
    let tail = specific_output_script(json!({"tailToolCallRequest": {"name": "look", "args": {"text": "instead"}}}));
    let project =
        TestProject::new().hook_with_matcher("AfterTool", "act", "tail", &tail).hook("BeforeTool", "before", "");
    let (tool, _) = acting_tool();
    let script = ScriptedModel::new()
        .answer_with_parts(vec![tool_call_with_id("7", "act", json!({"text": "x"}))])
        .answer("done");
    let mut stage =
        project.agent_setup(script).with_tool(tool).with_tool(TestTool::echo("look", ToolKind::Read)).start();
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
    let names: Vec<_> = stage.finished_calls().iter().map(|end| (end.name.as_str(), end.call_id.as_str())).collect();
    assert_eq!(names, [("act", "7"), ("look", "7-tail1")]);
    assert_eq!(project.input_fields("before", "tool_name"), ["act", "look"]);
    assert_eq!(project.input_fields("before", "original_request_name"), [Value::Null, json!("act")]);
    assert_eq!(project.input_fields("before", "tool_use_id"), ["7", "7-tail1"]);
}

#[tokio::test]
async fn endless_tail_calls_are_ended() {
    let tail = specific_output_script(json!({"tailToolCallRequest": {"name": "act", "args": {"text": "again"}}}));
    let project = TestProject::new().hook("AfterTool", "tail", &tail);
    let (stage, ran) = run_acting_turn(&project, "first").await;
    assert_eq!(ran.len(), 9, "the call and eight in its place");
    let (key, told) = &stage.call_results()[0];
    assert!(key == "error" && told.contains("more than 8 tail calls in a row"), "{told}");
}

#[tokio::test]
async fn a_tail_call_passes_the_guards() {
    let tail = specific_output_script(json!({"tailToolCallRequest": {"name": "act", "args": {"text": "x"}}}));
    let project = TestProject::new().hook_with_matcher("AfterTool", "look", "tail", &tail).hook_with_matcher(
        "BeforeTool",
        "act",
        "guard",
        "exit 2",
    );
    let (tool, log) = acting_tool();
    let script = ScriptedModel::new().answer_with_parts(vec![tool_call("look", json!({}))]).answer("done");
    let mut stage =
        project.agent_setup(script).with_tool(tool).with_tool(TestTool::echo("look", ToolKind::Read)).start();
    assert_eq!(stage.prompt("look").await, TurnEnd::Answered);
    assert!(log.lock().unwrap().is_empty());
    assert_eq!(stage.call_results()[0].0, "error");
}

#[tokio::test]
async fn a_call_has_one_name_everywhere() {
    let project = TestProject::new().hook("BeforeTool", "before", "").hook("AfterTool", "after", "");
    let calls = |text| {
        vec![tool_call_with_id(text, "look", json!({"text": text})), tool_call("look", json!({"text": "unnamed"}))]
    };
    let script =
        ScriptedModel::new().answer_with_parts(calls("1")).answer("done").answer_with_parts(calls("2")).answer("done");
    let mut stage = project.agent_setup(script).with_tool(TestTool::echo("look", ToolKind::Read)).start();
    let mut told = Vec::new();
    for prompt in ["first", "second"] {
        stage.prompt(prompt).await;
        let of = |pick: fn(&AgentEvent) -> Option<&String>| {
            let mut ids: Vec<String> = stage.filter_events(pick).into_iter().cloned().collect();
            ids.sort();
            ids
        };
        let requested = of(|event| match event {
            AgentEvent::Tool(ToolEvent::Requested { call_id, .. }) => Some(call_id),
            _ => None,
        });
        let started = of(|event| match event {
            AgentEvent::Tool(ToolEvent::Started(start)) => Some(&start.call_id),
            _ => None,
        });
        let finished = of(|event| match event {
            AgentEvent::Tool(ToolEvent::Finished(end)) => Some(&end.call_id),
            _ => None,
        });
        assert_eq!((&started, &finished), (&requested, &requested));
        told.extend(requested);
    }
    let of = |hook: &str| {
        let mut ids: Vec<String> =
            project.input_fields(hook, "tool_use_id").iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    told.sort();
    assert_eq!((of("before"), of("after")), (told.clone(), told.clone()));
    told.dedup();
    assert_eq!(told.len(), 4, "no two calls share a name: {told:?}");
    let turns = project.input_fields("before", "turn_id");
    assert_eq!((&turns[0], &turns[2]), (&turns[1], &turns[3]));
    assert_ne!(turns[0], turns[2]);
    assert_eq!(project.input_fields("after", "turn_id"), turns);
}

#[tokio::test]
async fn a_cancel_while_a_hook_judges_a_result_leaves_it_out() {
    let project = TestProject::new().hook("AfterTool", "slow", "sleep 1000");
    let (tool, _) = acting_tool();
    let mut stage = project
        .agent_setup(ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({}))]))
        .with_tool(tool)
        .start();
    let end = stage
        .prompt_observed("act", |event, cancel| {
            if matches!(event, AgentEvent::Hook(HookEvent::Started { event: EventKind::AfterTool, .. })) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(!stage.history_json().contains("acted"));
    assert!(stage.finished_calls()[0].error.as_ref().unwrap().is_cancelled());
}

#[tokio::test]
async fn a_cancel_while_a_guard_judges_runs_nothing() {
    let project = TestProject::new().hook("BeforeTool", "slow", "sleep 1000");
    let (tool, log) = acting_tool();
    let mut stage = project
        .agent_setup(ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({}))]))
        .with_tool(tool)
        .start();
    let end = stage
        .prompt_observed("act", |event, cancel| {
            if matches!(event, AgentEvent::Hook(HookEvent::Started { event: EventKind::BeforeTool, .. })) {
                cancel.cancel();
            }
        })
        .await;
    assert_eq!(end, TurnEnd::Cancelled);
    assert!(log.lock().unwrap().is_empty());
    assert_eq!(stage.call_results().len(), 1, "the call has its answer");
}
