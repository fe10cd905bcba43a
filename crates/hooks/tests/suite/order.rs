//! Sequential plans hand changes on and end early; parallel ones merge; doubles run once.

use std::time::Duration;

use hookwright_hooks::{
    BeforeAgent, BeforeAgentVerdict, BeforeModel, BeforeModelVerdict, BeforeTool, BeforeToolVerdict, EventKind,
    LlmMessage, LlmRequest, Purpose, SessionStart, SharedJson, Source,
};
use serde_json::{Value, json};

use super::world::{World, call_of, command, denied, object, says, tool_call, within};

fn sequential(event: EventKind, hooks: Value) -> Value {
    json!({"hooks": {event.name(): [{"sequential": true, "hooks": hooks}]}})
}

#[tokio::test]
async fn before_tool_hooks_in_turn_see_the_arguments_as_changed() {
    let world = World::new();
    let first = says(json!({"hookSpecificOutput": {"tool_input": {"a": 1, "b": "first"}}}));
    let second = format!("cat >second; {}", says(json!({"hookSpecificOutput": {"tool_input": {"b": "second"}}})));
    let hooks = json!([command("1", &first), command("2", &second), command("3", "cat >third")]);
    let engine = world.settings(sequential(EventKind::BeforeTool, hooks)).build();
    let outcome = within(engine.fire(&call_of("glob", json!({"a": 0, "c": 0})))).await;
    let changes = object(json!({"a": 1, "b": "second"}));
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: Some(changes) });
    let seen = |file| serde_json::from_str::<Value>(&world.read(file)).unwrap()["tool_input"].clone();
    assert_eq!(seen("second"), json!({"a": 1, "b": "first", "c": 0}));
    assert_eq!(seen("third"), json!({"a": 1, "b": "second", "c": 0}));
}

#[tokio::test]
async fn before_agent_hooks_in_turn_see_the_prompt_with_its_context() {
    let world = World::new();
    let context = |text: &str| says(json!({"hookSpecificOutput": {"additionalContext": text}}));
    let hooks = json!([command("1", &context("one")), command("2", &format!("cat >second; {}", context("two")))]);
    let engine = world.settings(sequential(EventKind::BeforeAgent, hooks)).build();
    let outcome = within(engine.fire(&BeforeAgent { prompt: "hello".into(), attachments: Vec::new() })).await;
    assert_eq!(outcome.verdict, BeforeAgentVerdict::Proceed { context: Some("one\ntwo".into()) });
    let seen: Value = serde_json::from_str(&world.read("second")).unwrap();
    assert_eq!(seen["prompt"], "hello\n\none");
}

#[tokio::test]
async fn before_model_hooks_in_turn_see_the_request_as_changed() {
    let world = World::new();
    let first = says(json!({"hookSpecificOutput": {"llm_request": {"model": "small", "config": {"temperature": 0}}}}));
    let second =
        says(json!({"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "bye"}]}}}));
    let hooks =
        json!([command("1", &first), command("2", &format!("cat >second; {second}")), command("3", "cat >third")]);
    let engine = world.settings(sequential(EventKind::BeforeModel, hooks)).build();
    let request = LlmRequest {
        model: "large".into(),
        messages: vec![LlmMessage { role: "user".into(), content: "hi".into() }],
        config: object(json!({"temperature": 1, "topK": 4})),
        tool_config: None,
    };
    let outcome =
        within(engine.fire(&BeforeModel { llm_request: SharedJson::of(&request), purpose: Purpose::Answer })).await;
    let seen = |file| serde_json::from_str::<Value>(&world.read(file)).unwrap()["llm_request"].clone();
    let config = json!({"temperature": 0, "topK": 4});
    let user = |text: &str| json!([{"role": "user", "content": text}]);
    assert_eq!(seen("second"), json!({"model": "small", "messages": user("hi"), "config": config}));
    assert_eq!(seen("third"), json!({"model": "small", "messages": user("bye"), "config": config}));
    let BeforeModelVerdict::Proceed { changes: Some(changes) } = outcome.verdict else {
        panic!("{:?}", outcome.verdict)
    };
    let mut changed = request;
    changes.apply(&mut changed);
    assert_eq!((changed.model.as_str(), changed.messages[0].content.as_str()), ("small", "bye"));
    assert_eq!(Value::Object(changed.config), config);
}

#[tokio::test]
async fn a_deny_or_a_stop_ends_a_sequential_plan() {
    let world = World::new();
    let endings = [
        "echo no >&2; exit 2".to_owned(),
        says(json!({"decision": "deny", "reason": "no"})),
        says(json!({"continue": false, "stopReason": "no"})),
    ];
    for ending in endings {
        let hooks = json!([command("1", "touch first"), command("2", &ending), command("3", "touch third")]);
        let engine = world.settings(sequential(EventKind::BeforeTool, hooks)).build();
        let outcome = within(engine.fire(&tool_call())).await;
        assert!(!matches!(outcome.verdict, BeforeToolVerdict::Proceed { .. }));
        let ran: Vec<_> = outcome.runs.iter().map(|run| (run.hook.as_str(), run.id.position, run.total)).collect();
        assert_eq!(ran, [("1", 1, 3), ("2", 2, 3)]);
    }
    assert!(world.path("first").exists() && !world.path("third").exists());
}

#[tokio::test]
async fn a_failure_that_blocks_ends_a_sequential_plan_and_one_that_does_not_goes_on() {
    let world = World::new();
    let run = |on_error: &str| {
        let failing = json!({"type": "command", "name": "1", "command": "exit 9", "onError": on_error});
        let engine =
            world.settings(sequential(EventKind::BeforeTool, json!([failing, command("2", "exit 0")]))).build();
        async move { within(engine.fire(&tool_call())).await.runs.len() }
    };
    assert_eq!(run("block").await, 1);
    assert_eq!(run("allow").await, 2);
    assert_eq!(run("ask").await, 2);
}

#[tokio::test]
async fn an_event_without_deny_goes_on_after_an_exit_2() {
    let world = World::new();
    let hooks = json!([command("1", "exit 2"), command("2", "echo hi")]);
    let engine = world.settings(sequential(EventKind::SessionStart, hooks)).build();
    let outcome = within(engine.fire(&SessionStart { source: "startup".into() })).await;
    assert_eq!((outcome.runs.len(), outcome.messages.len(), outcome.warnings.len()), (2, 1, 1));
}

#[tokio::test]
async fn one_sequential_definition_makes_the_whole_plan_sequential() {
    let world = World::new();
    // Each would leave a mark that the other finds if they ran at once.
    let hook = "[ -e busy ] && exit 2; touch busy; sleep 0.2; rm busy";
    let settings = json!({"hooks": {"BeforeTool": [
        {"hooks": [command("1", hook), command("2", hook)]},
        {"matcher": "glob", "sequential": true, "hooks": [command("3", hook)]},
    ]}});
    let engine = world.settings(settings).build();
    assert_eq!(within(engine.fire(&call_of("glob", json!({})))).await.runs.len(), 3);
    assert!(!world.path("busy").exists());
    assert!(!engine.plan(EventKind::BeforeTool, Some("replace")).unwrap().sequential);
}

#[tokio::test]
async fn parallel_hooks_really_run_at_once_on_the_same_input() {
    let world = World::new();
    // Each waits for the other; one after another they would wait for ever.
    let meet = |me: &str, other: &str| {
        let answer = says(json!({"hookSpecificOutput": {"tool_input": {me: 1}}}));
        format!("cat >{me}; until [ -e {other} ]; do sleep 0.01; done; {answer}")
    };
    let hooks = json!([command("1", &meet("x", "y")), command("2", &meet("y", "x"))]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).build();
    let outcome = within(engine.fire(&call_of("glob", json!({"a": 0})))).await;
    let changes = object(json!({"x": 1, "y": 1}));
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: Some(changes) });
    assert_eq!(world.read("x"), world.read("y"));
}

#[tokio::test]
async fn parallel_answers_merge_in_plan_order_whoever_is_first() {
    let world = World::new();
    let slow = json!({"decision": "deny", "reason": "slow", "systemMessage": "one"});
    let quick = json!({"decision": "deny", "reason": "quick", "systemMessage": "two"});
    let hooks = json!([
        command("1", &format!("sleep 0.2; {}", says(slow))),
        command("2", &says(quick)),
        command("3", &says(json!({"decision": "allow", "reason": "fine"}))),
    ]);
    let outcome = within(world.hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert!(denied(&outcome).starts_with("slow\nquick"), "{}", denied(&outcome));
    let messages: Vec<_> = outcome.messages.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(messages, ["one", "two"]);
    assert_eq!(outcome.merged.decided_by, ["1", "2"]);
}

#[tokio::test]
async fn the_strongest_answer_wins() {
    let world = World::new();
    let allow = says(json!({"decision": "allow"}));
    let ask = says(json!({"decision": "ask", "reason": "sure?"}));
    let deny = says(json!({"decision": "deny", "reason": "no"}));
    let stop = says(json!({"continue": false, "stopReason": "over"}));
    let run = |commands: &[&String]| {
        let hooks: Vec<_> = commands.iter().enumerate().map(|(at, text)| command(&at.to_string(), text)).collect();
        let engine = world.hooks(EventKind::BeforeTool, Value::Array(hooks)).build();
        async move { within(engine.fire(&tool_call())).await.verdict }
    };
    assert_eq!(run(&[&allow, &allow]).await, BeforeToolVerdict::Proceed { changes: None });
    assert_eq!(run(&[&ask, &allow]).await, BeforeToolVerdict::Ask { reason: "sure?".into(), changes: None });
    assert!(matches!(run(&[&deny, &ask, &allow]).await, BeforeToolVerdict::Deny { .. }));
    assert_eq!(run(&[&allow, &stop, &deny]).await, BeforeToolVerdict::Stop { reason: "over".into() });
}

#[tokio::test]
async fn two_values_for_one_argument_are_reported() {
    let world = World::new();
    let set = |value: u32| says(json!({"hookSpecificOutput": {"tool_input": {"limit": value}}}));
    let hooks = json!([command("first", &set(1)), command("second", &set(2))]);
    let outcome = within(world.hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert_eq!(outcome.merged.answer.tool_input, Some(object(json!({"limit": 2}))));
    assert_eq!(outcome.warnings[0].text, "hooks first and second set `limit` to different values; second's stands");
}

#[tokio::test]
async fn the_same_hook_in_two_layers_runs_once_and_a_project_changes_nothing_by_repeating_it() {
    let world = World::new();
    let hook = |name: Option<&str>| match name {
        Some(name) => command(name, "echo ran >>log"),
        None => json!({"type": "command", "command": "echo ran >>log"}),
    };
    let settings = |hooks: Value| json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}});
    let engine = world
        .layers(&[
            (Source::User, settings(json!([hook(Some("a")), hook(None)]))),
            (Source::Project, settings(json!([hook(Some("a"))]))),
            (Source::System, settings(json!([hook(Some("b")), hook(None), hook(None)]))),
        ])
        .build();
    let outcome = within(engine.fire(&tool_call())).await;
    let ran: Vec<_> = outcome.runs.iter().map(|run| (run.hook.as_str(), run.source.to_string())).collect();
    let unnamed = "echo ran >>log";
    assert_eq!(ran, [("a", "user".into()), (unnamed, "user".into()), ("b", "system".into())]);
    assert_eq!(world.read("log").lines().count(), 3);
}

#[tokio::test]
async fn layers_run_project_user_system_extensions() {
    let world = World::new();
    let layer = |source: Source| {
        let hook = command(&source.to_string(), "exit 0");
        (source, json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    };
    let sources = [Source::Extension("x".into()), Source::System, Source::Project, Source::User];
    let engine = world.layers(&sources.map(layer)).build();
    let plan = engine.plan(EventKind::BeforeTool, Some("glob")).unwrap();
    let order: Vec<_> = plan.hooks.iter().map(|hook| hook.id()).collect();
    assert_eq!(order, ["project", "user", "system", "extension x"]);
}

#[tokio::test]
async fn only_matching_hooks_run() {
    let world = World::new();
    let settings = json!({"hooks": {"BeforeTool": [
        {"matcher": "write_file|replace", "hooks": [command("list", "exit 0")]},
        {"matcher": "^read_.*", "hooks": [command("pattern", "exit 0")]},
        {"matcher": "EditTool", "hooks": [command("older", "exit 0")]},
        {"matcher": "mcp_git_push", "hooks": [command("server", "exit 0")]},
        {"hooks": [command("all", "exit 0")]},
    ]}});
    let engine = world.settings(settings).build();
    let ran = |tool: &'static str| {
        let engine = engine.clone();
        async move {
            let event: BeforeTool<'_> = call_of(tool, json!({}));
            within(engine.fire(&event)).await.runs.into_iter().map(|run| run.hook).collect::<Vec<_>>()
        }
    };
    assert_eq!(ran("replace").await, ["list", "older", "all"]);
    assert_eq!(ran("read_file").await, ["pattern", "all"]);
    assert_eq!(ran("mcp__git__push").await, ["server", "all"]);
    assert_eq!(ran("glob").await, ["all"]);
}

#[tokio::test]
async fn a_slow_hook_does_not_hold_up_a_quick_ones_timeout() {
    let world = World::new();
    let hooks = json!([
        {"type": "command", "name": "stuck", "command": "sleep 60", "timeout": 200},
        command("fine", "sleep 0.3; echo ok"),
    ]);
    let outcome = within(world.hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert_eq!(outcome.messages[0].text, "ok");
    assert!(outcome.runs[0].duration < Duration::from_secs(30));
}
