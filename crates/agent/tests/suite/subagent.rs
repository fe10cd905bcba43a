//! Sub-agents: an objective is delegated, and delegation does not bypass hooks, rules and limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookwright_agent::{AgentEvent, ApprovalReply, ToolEvent, TurnEnd, TurnEvent};
use hookwright_model::Part;
use hookwright_testkit::fs;
use hookwright_tools::{Tool, ToolErrorKind, ToolKind};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::support::{
    ScriptedModel, TestAgent, TestProject, TestTool, answer_script, shared_log, tool_call, tool_call_with_id,
    within_hang_timeout,
};

fn delegate_call(agent: &str) -> Part {
    tool_call("delegate_to_agent", json!({"agent_name": agent, "objective": "look around"}))
}

/// A model that delegates once to `scout`, which has its own script, and then ends.
fn delegating_model(scout: &ScriptedModel) -> ScriptedModel {
    ScriptedModel::new()
        .answer_with_parts(vec![delegate_call("scout")])
        .answer("done")
        .override_for("You are scout.", scout)
}

/// Returns the result of the main agent's first call.
fn first_call_result(stage: &TestAgent) -> (String, String) {
    stage.call_results()[0].clone()
}

/// Returns the tools that a request offers.
fn offered_tools(script: &ScriptedModel, request: usize) -> Vec<String> {
    script.requests()[request].tools.iter().map(|tool| tool.name.clone()).collect()
}

/// A tool that changes things, with a log of its calls.
fn acting_tool() -> (Arc<dyn Tool>, Arc<std::sync::Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    let tool = TestTool::new_tool("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap_or_default());
        async { "acted".to_owned() }
    });
    (tool, log)
}

#[tokio::test]
async fn an_agent_works_by_itself_and_reports() {
    let every =
        ["BeforeAgent", "BeforeModel", "BeforeToolSelection", "AfterModel", "BeforeTool", "AfterTool", "AfterAgent"];
    let project = every.iter().fold(TestProject::new(), |project, event| project.hook(event, event, ""));
    project.write("a.txt", "the secret of a.txt");
    let scout = ScriptedModel::new()
        .answer_with_parts(vec![tool_call("read_file", json!({"file_path": "a.txt"}))])
        .answer("it says secret");
    let mut stage = project
        .agent_setup(delegating_model(&scout))
        .with_subagent("scout", "model: other-model\ntemperature: 0.3")
        .start();
    assert_eq!(stage.prompt("what is in a.txt?").await, TurnEnd::Answered);
    assert_eq!(first_call_result(&stage), ("output".to_owned(), "it says secret".to_owned()));

    // The sub-agent has its own system prompt, model and history, and nothing of it is in the main agent's.
    let asked = &scout.requests()[0];
    assert!(asked.system.as_ref().unwrap().starts_with("You are scout.\n\n## This session"));
    assert_eq!((asked.model.as_str(), asked.generation.temperature), ("other-model", Some(0.3)));
    assert_eq!(asked.contents[0].text(), "look around");
    assert!(!stage.history_json().contains("the secret of a.txt"));

    // The same hooks run, with the name of the sub-agent.
    for event in every {
        let names: Vec<Value> = project.input_fields(event, "agent_name");
        assert!(names.contains(&json!("scout")) && names.contains(&Value::Null), "{event}: {names:?}");
    }
    let inside = project.inputs("BeforeTool").into_iter().find(|input| input["tool_name"] == "read_file").unwrap();
    let outside = &project.inputs("BeforeTool")[0];
    assert_eq!((&outside["tool_name"], &outside["agent_id"]), (&json!("delegate_to_agent"), &Value::Null));
    let id = inside["agent_id"].as_str().unwrap();
    assert!(id.starts_with("scout-") && inside["tool_use_id"].as_str().unwrap().starts_with(id));
    assert_eq!((&inside["turn_id"], &inside["transcript_path"]), (&outside["turn_id"], &outside["transcript_path"]));
    let transcript = fs::read_to_string(inside["agent_transcript_path"].as_str().unwrap()).unwrap();
    assert!(transcript.contains("look around") && transcript.contains("the secret of a.txt"));
    assert!(!fs::read_to_string(inside["transcript_path"].as_str().unwrap()).unwrap().contains("of a.txt"));
    let report = project.inputs("AfterTool").into_iter().find(|input| input["tool_name"] == "delegate_to_agent");
    assert_eq!(report.unwrap()["tool_response"]["llmContent"], "it says secret");
    let prompts = project.input_fields("BeforeAgent", "prompt");
    assert_eq!(prompts, [json!("what is in a.txt?"), json!("look around")]);
    assert_eq!(project.input_fields("AfterAgent", "prompt_response")[0], "it says secret");

    // Its events carry its name, and its text is not the answer.
    assert_eq!(stage.answer_text(), "done");
    let within = stage.filter_events(|event| match event.unwrap_subagent() {
        (Some(agent), AgentEvent::Tool(ToolEvent::Finished(end))) => Some((agent.name.as_str(), end.name.as_str())),
        _ => None,
    });
    assert_eq!(within, [("scout", "read_file")]);
}

#[tokio::test]
async fn a_guard_applies_inside_a_subagent_in_every_mode() {
    let project = TestProject::new().hook_with_matcher("BeforeTool", "act", "guard", "echo 'not that' >&2; exit 2");
    let scout =
        ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({"text": "x"}))]).answer("I could not");
    let (tool, ran) = acting_tool();
    let mut stage = project.agent_setup(delegating_model(&scout)).with_tool(tool).with_subagent("scout", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert!(ran.lock().unwrap().is_empty());
    assert!(scout.messages_json(1).contains("Tool execution blocked: not that"));
    assert_eq!(project.input_fields("guard", "agent_name"), ["scout"]);
    assert_eq!(first_call_result(&stage).1, "I could not");
}

#[tokio::test]
async fn stopping_a_subagent_stops_the_whole_turn() {
    let stop = answer_script(&json!({"continue": false, "stopReason": "enough"}));
    for event in ["BeforeTool", "BeforeModel", "AfterAgent", "BeforeAgent"] {
        let only_inside = format!("case \"$input\" in *'\"agent_name\"'*) {stop}\n;; esac");
        let project = TestProject::new().hook(event, "stopper", &only_inside);
        let scout = ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({}))]).answer("on and on");
        let (tool, _) = acting_tool();
        let mut stage =
            project.agent_setup(delegating_model(&scout)).with_tool(tool).with_subagent("scout", "").start();
        assert_eq!(stage.prompt("go").await, TurnEnd::Stopped("enough".to_owned()), "{event}");
        assert_eq!(stage.script.requests().len(), 1, "{event}: the other is not asked again");
    }
}

#[tokio::test]
async fn before_agent_denials_and_after_agent_retries_apply_to_the_subagent_alone() {
    let deny = "case \"$input\" in *'\"agent_name\"'*) echo 'no scouts' >&2; exit 2;; esac";
    let project = TestProject::new().hook("BeforeAgent", "judge", deny);
    let scout = ScriptedModel::new().answer("never asked");
    let mut stage = project.agent_setup(delegating_model(&scout)).with_subagent("scout", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    let (key, words) = first_call_result(&stage);
    assert!(key == "error" && words.contains("no scouts"), "{words}");
    assert!(scout.requests().is_empty());

    let retry = "case \"$input\" in *'\"agent_name\"'*'\"stop_hook_active\":false'*) echo 'again' >&2; exit 2;; esac";
    let project = TestProject::new().hook("AfterAgent", "critic", retry);
    let scout = ScriptedModel::new().answer("first").answer("second");
    let mut stage = project.agent_setup(delegating_model(&scout)).with_subagent("scout", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(first_call_result(&stage).1, "second");
    assert!(
        stage
            .filter_events(|event| matches!(event, AgentEvent::Turn(TurnEvent::Retried { .. })).then_some(()))
            .is_empty()
    );
}

#[tokio::test]
async fn a_subagent_has_only_its_callers_tools_and_cannot_delegate() {
    let (tool, ran) = acting_tool();
    let again = vec![
        delegate_call("scout"),
        tool_call("act", json!({"text": "x"})),
        tool_call("glob", json!({"pattern": "*"})),
    ];
    let scout = ScriptedModel::new().answer_with_parts(again).answer("well");
    let project = TestProject::new();
    let mut stage =
        project.agent_setup(delegating_model(&scout)).with_tool(tool).with_subagent("scout", "tools: ['*']").start();
    stage
        .agent
        .services()
        .tools
        .select(hookwright_tools::ToolNameFilter { allowed: None, exclude: vec!["act".to_owned()] });
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    let names = offered_tools(&scout, 0);
    assert!(names.contains(&"glob".to_owned()) && names.contains(&"run_shell_command".to_owned()));
    assert!(!names.iter().any(|name| name == "act" || name == "delegate_to_agent"), "{names:?}");
    assert!(ran.lock().unwrap().is_empty());
    let told = scout.messages_json(1);
    assert!(told.contains("Tool \\\"act\\\" not found") && told.contains("Tool \\\"delegate_to_agent\\\" not found"));
    assert_eq!(scout.requests().len(), 2);

    // A list of tools narrows the offer, and accepts old names and names of other agents.
    let scout = ScriptedModel::new().answer("well");
    let mut stage =
        project.agent_setup(delegating_model(&scout)).with_subagent("scout", "tools: Read, grep_search").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(offered_tools(&scout, 0), ["read_file", "search_file_content", "read_many_files"]);
}

#[tokio::test]
async fn an_unknown_subagent_is_reported_with_the_known_ones() {
    let project = TestProject::new();
    let script = ScriptedModel::new()
        .answer_with_parts(vec![delegate_call("nobody")])
        .answer_with_parts(vec![delegate_call("../scout")])
        .answer("well");
    let mut stage = project.agent_setup(script).with_subagent("scout", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    for (key, words) in stage.call_results() {
        assert!(key == "error" && words.contains("scout"), "{words}");
    }
}

#[tokio::test]
async fn an_endless_subagent_is_bounded() {
    let project = TestProject::new();
    let look =
        |at: usize| vec![tool_call("glob", json!({"pattern": format!("{at}*")})), Part::text(format!("step {at}"))];
    let scout = (0..9).fold(ScriptedModel::new(), |script, at| script.answer_with_parts(look(at)));
    let mut stage = project.agent_setup(delegating_model(&scout)).with_subagent("scout", "max_turns: 3").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(scout.requests().len(), 3);
    let (key, words) = first_call_result(&stage);
    assert_eq!(key, "error");
    assert!(words.contains("agent scout did not finish: it has made its 3 model requests"), "{words}");
    assert!(words.ends_with("Its last words:\nstep 2"), "{words}");

    // Its requests count towards the limit of the prompt.
    let scout = (0..9).fold(ScriptedModel::new(), |script, at| script.answer_with_parts(look(at)));
    let mut setup = project.agent_setup(delegating_model(&scout)).with_subagent("scout", "max_turns: 99999999999");
    setup.max_prompt_turns = Some(4);
    let mut stage = setup.start();
    assert_eq!(stage.prompt("go").await, TurnEnd::PromptLimit(4));
    assert_eq!((scout.requests().len(), stage.script.requests().len()), (3, 1));

    // Loop detection applies to a sub-agent that repeats a call.
    let scout = (0..9).fold(ScriptedModel::new(), |script, _| {
        script.answer_with_parts(vec![tool_call("glob", json!({"pattern": "x"}))])
    });
    let mut stage = project.agent_setup(delegating_model(&scout)).with_subagent("scout", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert!(scout.requests().len() < 9 && first_call_result(&stage).0 == "error");
}

#[tokio::test]
async fn a_cancelled_subagent_leaves_nothing_running() {
    let project = TestProject::new();
    let command = "echo $$ >pid; sleep 1000";
    let scout =
        ScriptedModel::new().answer_with_parts(vec![tool_call("run_shell_command", json!({"command": command}))]);
    let mut stage = project.agent_setup(delegating_model(&scout)).with_subagent("scout", "").start();
    let pid = project.project_dir().join("pid");
    let cancel_when_there = |_: &AgentEvent, cancel: &tokio_util::sync::CancellationToken| {
        let (pid, cancel) = (pid.clone(), cancel.clone());
        tokio::spawn(async move {
            while fs::read_to_string(&pid).unwrap_or_default().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
    };
    assert_eq!(stage.prompt_observed("go", cancel_when_there).await, TurnEnd::Cancelled);
    let pid = project.read("pid").trim().to_owned();
    let gone = async {
        while std::path::Path::new("/proc").join(&pid).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if cfg!(target_os = "linux") {
        within_hang_timeout("the command to end", gone).await;
    }
    assert_eq!((scout.requests().len(), stage.script.requests().len()), (1, 1));
}

#[tokio::test]
async fn agents_work_side_by_side_and_not_too_many_at_once() {
    // Each call waits for the other, so running them in sequence would hang.
    let barrier = Arc::new(Barrier::new(2));
    let meet = TestTool::new_tool("meet", ToolKind::Other, move |_, _| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            "met".to_owned()
        }
    });
    let project = TestProject::new();
    let one =
        || ScriptedModel::new().answer_with_parts(vec![tool_call_with_id("same-id", "meet", json!({}))]).answer("met");
    let both = vec![delegate_call("scout"), delegate_call("guide")];
    let script = ScriptedModel::new()
        .answer_with_parts(both)
        .answer("done")
        .override_for("You are scout.", &one())
        .override_for("You are guide.", &one());
    let mut stage =
        project.agent_setup(script).with_tool(meet).with_subagent("scout", "").with_subagent("guide", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.call_results().iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["output", "output"]);

    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_work, seen) = (now.clone(), most.clone());
    let busy = TestTool::new_tool("busy", ToolKind::Other, move |_, _| {
        let (now, most) = (at_work.clone(), seen.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            while most.load(Ordering::SeqCst) < 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Long enough for any other agent that may run to start.
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            "ok".to_owned()
        }
    });
    let scout = (0..40).fold(ScriptedModel::new(), |script, at| match at {
        0..20 => script.answer_with_parts(vec![tool_call("busy", json!({"text": at.to_string()}))]),
        _ => script.answer("ok"),
    });
    let objective = |at: usize| json!({"agent_name": "scout", "objective": format!("look at {at}")});
    let many = (0..20).map(|at| tool_call("delegate_to_agent", objective(at))).collect();
    let script = ScriptedModel::new().answer_with_parts(many).answer("done").override_for("You are scout.", &scout);
    let mut stage = project.agent_setup(script).with_tool(busy).with_subagent("scout", "").start();
    stage.prompt("go").await;
    assert_eq!(stage.call_results().len(), 20);
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn an_approval_request_names_its_subagent_and_a_cancel_ends_the_turn() {
    let project = TestProject::new();
    let acts =
        || ScriptedModel::new().answer_with_parts(vec![tool_call("act", json!({"text": "x"}))]).answer("done so");
    let (tool, ran) = acting_tool();
    let mut stage =
        project.agent_setup(delegating_model(&acts())).interactive().with_tool(tool).with_subagent("scout", "").start();
    stage.approval_replies.push_back(ApprovalReply::Once);
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.approval_requests.len(), 1, "delegating itself needs no leave");
    assert_eq!(stage.approval_requests[0].title, "act for agent scout");
    assert_eq!(*ran.lock().unwrap(), ["x"]);

    let (tool, ran) = acting_tool();
    let mut stage =
        project.agent_setup(delegating_model(&acts())).interactive().with_tool(tool).with_subagent("scout", "").start();
    stage.approval_replies.push_back(ApprovalReply::Cancel);
    assert_eq!(stage.prompt("go").await, TurnEnd::Cancelled);
    assert!(ran.lock().unwrap().is_empty());

    // In a headless session the call is refused, and the sub-agent gets the reason.
    let scout = acts();
    let (tool, ran) = acting_tool();
    let mut setup = project.agent_setup(delegating_model(&scout)).with_tool(tool).with_subagent("scout", "");
    setup.mode = hookwright_agent::ApprovalMode::Default;
    let mut stage = setup.start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert!(ran.lock().unwrap().is_empty() && scout.messages_json(1).contains("no user is present"));
}

#[tokio::test]
async fn a_stopped_subagent_stops_its_siblings() {
    let stop = answer_script(&json!({"continue": false, "stopReason": "enough"}));
    let project =
        TestProject::new().hook("BeforeModel", "stopper", &format!("case \"$input\" in *'\"guide-'*) {stop}\n;; esac"));
    let script = ScriptedModel::new()
        .answer_with_parts(vec![delegate_call("scout"), delegate_call("guide")])
        .override_for("You are scout.", &ScriptedModel::new().never_answer())
        .override_for("You are guide.", &ScriptedModel::new());
    let mut stage = project.agent_setup(script).with_subagent("scout", "").with_subagent("guide", "").start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Stopped("enough".to_owned()));
    let kinds: Vec<_> = stage.finished_calls().iter().map(|end| end.error.as_ref().unwrap().kind).collect();
    assert!(kinds.contains(&ToolErrorKind::Cancelled) && kinds.contains(&ToolErrorKind::StopExecution), "{kinds:?}");
}
