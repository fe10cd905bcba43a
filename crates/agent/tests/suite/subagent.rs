//! Sub-agents: an objective handed on, and that nothing gets around hooks, rules and bounds by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookwright_agent::{AgentEvent, ApprovalReply, TurnEnd};
use hookwright_model::Part;
use hookwright_testkit::fs;
use hookwright_tools::{Tool, ToolErrorKind, ToolKind};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::support::{Project, Script, Stage, TestTool, answer, call, call_as, shared_log, within};

fn delegate(agent: &str) -> Part {
    call("delegate_to_agent", json!({"agent_name": agent, "objective": "look around"}))
}

/// A script that delegates once to `scout`, who answers by another, and is then done.
fn script(scout: &Script) -> Script {
    Script::new().parts(vec![delegate("scout")]).says("done").other("You are scout.", scout)
}

/// What was told of the first call of the agent that the user talks to.
fn result(stage: &Stage) -> (String, String) {
    stage.results()[0].clone()
}

/// Tools on offer with a request.
fn offered(script: &Script, request: usize) -> Vec<String> {
    script.requests()[request].tools.iter().map(|tool| tool.name.clone()).collect()
}

/// A tool that changes things, and how often it ran.
fn act() -> (Arc<dyn Tool>, Arc<std::sync::Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    let tool = TestTool::make("act", ToolKind::Execute, move |args, _| {
        note(args["text"].as_str().unwrap_or_default());
        async { "acted".to_owned() }
    });
    (tool, log)
}

#[tokio::test]
async fn an_agent_works_by_itself_and_reports() {
    let every =
        ["BeforeAgent", "BeforeModel", "BeforeToolSelection", "AfterModel", "BeforeTool", "AfterTool", "AfterAgent"];
    let project = every.iter().fold(Project::new(), |project, event| project.hook(event, event, ""));
    project.write("a.txt", "the secret of a.txt");
    let scout = Script::new().parts(vec![call("read_file", json!({"file_path": "a.txt"}))]).says("it says secret");
    let mut stage = project.setup(script(&scout)).agent("scout", "model: other-model\ntemperature: 0.3").open();
    assert_eq!(stage.prompt("what is in a.txt?").await, TurnEnd::Answered);
    assert_eq!(result(&stage), ("output".to_owned(), "it says secret".to_owned()));

    // Its conversation is its own: another system prompt, model and history, and nothing of it in the other's.
    let asked = &scout.requests()[0];
    assert!(asked.system.as_ref().unwrap().starts_with("You are scout.\n\n## This session"));
    assert_eq!((asked.model.as_str(), asked.generation.temperature), ("other-model", Some(0.3)));
    assert_eq!(asked.contents[0].text(), "look around");
    assert!(!stage.history().contains("the secret of a.txt"));

    // The same hooks, told who is at work.
    for event in every {
        let names: Vec<Value> = project.inputs_of(event, "agent_name");
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
    let prompts = project.inputs_of("BeforeAgent", "prompt");
    assert_eq!(prompts, [json!("what is in a.txt?"), json!("look around")]);
    assert_eq!(project.inputs_of("AfterAgent", "prompt_response")[0], "it says secret");

    // What it does is told as its own; its words are not the answer.
    assert_eq!(stage.text(), "done");
    let within = stage.pick(|event| match event.unwrapped() {
        (Some(agent), AgentEvent::ToolFinished(end)) => Some((agent.name.as_str(), end.name.as_str())),
        _ => None,
    });
    assert_eq!(within, [("scout", "read_file")]);
}

#[tokio::test]
async fn a_guard_holds_inside_whatever_the_mode() {
    let project = Project::new().hook_on("BeforeTool", "act", "guard", "echo 'not that' >&2; exit 2");
    let scout = Script::new().parts(vec![call("act", json!({"text": "x"}))]).says("I could not");
    let (tool, ran) = act();
    let mut stage = project.setup(script(&scout)).tool(tool).agent("scout", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert!(ran.lock().unwrap().is_empty());
    assert!(scout.told(1).contains("Tool execution blocked: not that"));
    assert_eq!(project.inputs_of("guard", "agent_name"), ["scout"]);
    assert_eq!(result(&stage).1, "I could not");
}

#[tokio::test]
async fn who_stops_the_agent_inside_stops_all_of_it() {
    let stop = answer(&json!({"continue": false, "stopReason": "enough"}));
    for event in ["BeforeTool", "BeforeModel", "AfterAgent", "BeforeAgent"] {
        let only_inside = format!("case \"$input\" in *'\"agent_name\"'*) {stop}\n;; esac");
        let project = Project::new().hook(event, "stopper", &only_inside);
        let scout = Script::new().parts(vec![call("act", json!({}))]).says("on and on");
        let (tool, _) = act();
        let mut stage = project.setup(script(&scout)).tool(tool).agent("scout", "").open();
        assert_eq!(stage.prompt("go").await, TurnEnd::Stopped("enough".to_owned()), "{event}");
        assert_eq!(stage.script.requests().len(), 1, "{event}: the other is not asked again");
    }
}

#[tokio::test]
async fn a_no_of_before_agent_and_a_retry_of_after_agent_are_the_agents_own() {
    let deny = "case \"$input\" in *'\"agent_name\"'*) echo 'no scouts' >&2; exit 2;; esac";
    let project = Project::new().hook("BeforeAgent", "judge", deny);
    let scout = Script::new().says("never asked");
    let mut stage = project.setup(script(&scout)).agent("scout", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    let (key, words) = result(&stage);
    assert!(key == "error" && words.contains("no scouts"), "{words}");
    assert!(scout.requests().is_empty());

    let retry = "case \"$input\" in *'\"agent_name\"'*'\"stop_hook_active\":false'*) echo 'again' >&2; exit 2;; esac";
    let project = Project::new().hook("AfterAgent", "critic", retry);
    let scout = Script::new().says("first").says("second");
    let mut stage = project.setup(script(&scout)).agent("scout", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(result(&stage).1, "second");
    assert!(stage.pick(|event| matches!(event, AgentEvent::AgentRetry { .. }).then_some(())).is_empty());
}

#[tokio::test]
async fn an_agent_has_no_tool_that_the_other_has_not_and_none_to_delegate_with() {
    let (tool, ran) = act();
    let again = vec![delegate("scout"), call("act", json!({"text": "x"})), call("glob", json!({"pattern": "*"}))];
    let scout = Script::new().parts(again).says("well");
    let project = Project::new();
    let mut stage = project.setup(script(&scout)).tool(tool).agent("scout", "tools: ['*']").open();
    stage.agent.services().tools.select(hookwright_tools::Selection { allowed: None, exclude: vec!["act".to_owned()] });
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    let names = offered(&scout, 0);
    assert!(names.contains(&"glob".to_owned()) && names.contains(&"run_shell_command".to_owned()));
    assert!(!names.iter().any(|name| name == "act" || name == "delegate_to_agent"), "{names:?}");
    assert!(ran.lock().unwrap().is_empty());
    let told = scout.told(1);
    assert!(told.contains("Tool \\\"act\\\" not found") && told.contains("Tool \\\"delegate_to_agent\\\" not found"));
    assert_eq!(scout.requests().len(), 2);

    // A list narrows, old and foreign names included.
    let scout = Script::new().says("well");
    let mut stage = project.setup(script(&scout)).agent("scout", "tools: Read, grep_search").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(offered(&scout, 0), ["read_file", "search_file_content", "read_many_files"]);
}

#[tokio::test]
async fn who_is_not_there_is_said_with_who_is() {
    let project = Project::new();
    let script = Script::new().parts(vec![delegate("nobody")]).parts(vec![delegate("../scout")]).says("well");
    let mut stage = project.setup(script).agent("scout", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    for (key, words) in stage.results() {
        assert!(key == "error" && words.contains("scout"), "{words}");
    }
}

#[tokio::test]
async fn an_agent_that_goes_on_and_on_is_bounded() {
    let project = Project::new();
    let look = |at: usize| vec![call("glob", json!({"pattern": format!("{at}*")})), Part::text(format!("step {at}"))];
    let scout = (0..9).fold(Script::new(), |script, at| script.parts(look(at)));
    let mut stage = project.setup(script(&scout)).agent("scout", "max_turns: 3").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(scout.requests().len(), 3);
    let (key, words) = result(&stage);
    assert_eq!(key, "error");
    assert!(words.contains("agent scout did not finish: it has made its 3 model requests"), "{words}");
    assert!(words.ends_with("Its last words:\nstep 2"), "{words}");

    // Its requests are the prompt's, too.
    let scout = (0..9).fold(Script::new(), |script, at| script.parts(look(at)));
    let mut setup = project.setup(script(&scout)).agent("scout", "max_turns: 99999999999");
    setup.max_prompt_turns = Some(4);
    let mut stage = setup.open();
    assert_eq!(stage.prompt("go").await, TurnEnd::PromptLimit(4));
    assert_eq!((scout.requests().len(), stage.script.requests().len()), (3, 1));

    // And one that does the same again and again is told from one that works.
    let scout = (0..9).fold(Script::new(), |script, _| script.parts(vec![call("glob", json!({"pattern": "x"}))]));
    let mut stage = project.setup(script(&scout)).agent("scout", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert!(scout.requests().len() < 9 && result(&stage).0 == "error");
}

#[tokio::test]
async fn when_the_user_cancels_nothing_of_it_is_left_running() {
    let project = Project::new();
    let command = "echo $$ >pid; sleep 1000";
    let scout = Script::new().parts(vec![call("run_shell_command", json!({"command": command}))]);
    let mut stage = project.setup(script(&scout)).agent("scout", "").open();
    let pid = project.dir().join("pid");
    let cancel_when_there = |_: &AgentEvent, cancel: &tokio_util::sync::CancellationToken| {
        let (pid, cancel) = (pid.clone(), cancel.clone());
        tokio::spawn(async move {
            while fs::read_to_string(&pid).unwrap_or_default().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
    };
    assert_eq!(stage.prompt_watched("go", cancel_when_there).await, TurnEnd::Cancelled);
    let pid = project.read("pid").trim().to_owned();
    let gone = async {
        while std::path::Path::new("/proc").join(&pid).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if cfg!(target_os = "linux") {
        within("the command to end", gone).await;
    }
    assert_eq!((scout.requests().len(), stage.script.requests().len()), (1, 1));
}

#[tokio::test]
async fn agents_work_side_by_side_and_not_too_many_at_once() {
    // Each waits for the other: one after another they would wait for ever.
    let barrier = Arc::new(Barrier::new(2));
    let meet = TestTool::make("meet", ToolKind::Other, move |_, _| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            "met".to_owned()
        }
    });
    let project = Project::new();
    let one = || Script::new().parts(vec![call_as("same-id", "meet", json!({}))]).says("met");
    let both = vec![delegate("scout"), delegate("guide")];
    let script = Script::new().parts(both).says("done").other("You are scout.", &one()).other("You are guide.", &one());
    let mut stage = project.setup(script).tool(meet).agent("scout", "").agent("guide", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.results().iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["output", "output"]);

    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_work, seen) = (now.clone(), most.clone());
    let busy = TestTool::make("busy", ToolKind::Other, move |_, _| {
        let (now, most) = (at_work.clone(), seen.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            while most.load(Ordering::SeqCst) < 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Long enough for any other that may run now to begin.
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            "ok".to_owned()
        }
    });
    let scout = (0..40).fold(Script::new(), |script, at| match at {
        0..20 => script.parts(vec![call("busy", json!({"text": at.to_string()}))]),
        _ => script.says("ok"),
    });
    let objective = |at: usize| json!({"agent_name": "scout", "objective": format!("look at {at}")});
    let many = (0..20).map(|at| call("delegate_to_agent", objective(at))).collect();
    let script = Script::new().parts(many).says("done").other("You are scout.", &scout);
    let mut stage = project.setup(script).tool(busy).agent("scout", "").open();
    stage.prompt("go").await;
    assert_eq!(stage.results().len(), 20);
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_question_says_who_asks_and_a_cancel_ends_the_turn() {
    let project = Project::new();
    let acts = || Script::new().parts(vec![call("act", json!({"text": "x"}))]).says("done so");
    let (tool, ran) = act();
    let mut stage = project.setup(script(&acts())).interactive().tool(tool).agent("scout", "").open();
    stage.replies.push_back(ApprovalReply::Once);
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert_eq!(stage.asked.len(), 1, "delegating itself needs no leave");
    assert_eq!(stage.asked[0].title, "act for agent scout");
    assert_eq!(*ran.lock().unwrap(), ["x"]);

    let (tool, ran) = act();
    let mut stage = project.setup(script(&acts())).interactive().tool(tool).agent("scout", "").open();
    stage.replies.push_back(ApprovalReply::Cancel);
    assert_eq!(stage.prompt("go").await, TurnEnd::Cancelled);
    assert!(ran.lock().unwrap().is_empty());

    // With nobody to ask, the call is refused, and the agent reads why.
    let scout = acts();
    let (tool, ran) = act();
    let mut setup = project.setup(script(&scout)).tool(tool).agent("scout", "");
    setup.mode = hookwright_agent::ApprovalMode::Default;
    let mut stage = setup.open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    assert!(ran.lock().unwrap().is_empty() && scout.told(1).contains("nobody is there"));
}

#[tokio::test]
async fn one_that_is_stopped_stops_those_beside_it() {
    let stop = answer(&json!({"continue": false, "stopReason": "enough"}));
    let project =
        Project::new().hook("BeforeModel", "stopper", &format!("case \"$input\" in *'\"guide-'*) {stop}\n;; esac"));
    let script = Script::new()
        .parts(vec![delegate("scout"), delegate("guide")])
        .other("You are scout.", &Script::new().hangs())
        .other("You are guide.", &Script::new());
    let mut stage = project.setup(script).agent("scout", "").agent("guide", "").open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Stopped("enough".to_owned()));
    let kinds: Vec<_> = stage.finished().iter().map(|end| end.error.as_ref().unwrap().kind).collect();
    assert!(kinds.contains(&ToolErrorKind::Cancelled) && kinds.contains(&ToolErrorKind::StopExecution), "{kinds:?}");
}
