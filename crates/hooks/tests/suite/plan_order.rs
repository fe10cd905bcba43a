//! Sequential plans pass changes on and end early; parallel plans merge; duplicates run once.

use std::time::Duration;

use hookwright_hooks::{
    BeforeAgent, BeforeAgentVerdict, BeforeModel, BeforeModelVerdict, BeforeTool, BeforeToolVerdict, EventKind,
    LlmMessage, LlmRequest, Purpose, SessionStart, SharedJson, Source,
};
use serde_json::{Value, json};

use super::fixture::{
    EngineFixture, command_hook, deny_reason, into_object, print_command, tool_call, tool_call_of, with_hang_timeout,
};

fn sequential_settings(event: EventKind, hooks: Value) -> Value {
    json!({"hooks": {event.name(): [{"sequential": true, "hooks": hooks}]}})
}

#[tokio::test]
async fn before_tool_hooks_in_turn_see_the_arguments_as_changed() {
    let world = EngineFixture::new();
    let first = print_command(json!({"hookSpecificOutput": {"tool_input": {"a": 1, "b": "first"}}}));
    let second =
        format!("cat >second; {}", print_command(json!({"hookSpecificOutput": {"tool_input": {"b": "second"}}})));
    let hooks = json!([command_hook("1", &first), command_hook("2", &second), command_hook("3", "cat >third")]);
    let engine = world.engine_with_settings(sequential_settings(EventKind::BeforeTool, hooks)).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call_of("glob", json!({"a": 0, "c": 0})))).await;
    let changes = into_object(json!({"a": 1, "b": "second"}));
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: Some(changes) });
    let seen = |file| serde_json::from_str::<Value>(&world.read(file)).unwrap()["tool_input"].clone();
    assert_eq!(seen("second"), json!({"a": 1, "b": "first", "c": 0}));
    assert_eq!(seen("third"), json!({"a": 1, "b": "second", "c": 0}));
}

#[tokio::test]
async fn before_agent_hooks_in_turn_see_the_prompt_with_its_context() {
    let world = EngineFixture::new();
    let context = |text: &str| print_command(json!({"hookSpecificOutput": {"additionalContext": text}}));
    let hooks =
        json!([command_hook("1", &context("one")), command_hook("2", &format!("cat >second; {}", context("two")))]);
    let engine = world.engine_with_settings(sequential_settings(EventKind::BeforeAgent, hooks)).build();
    let outcome =
        with_hang_timeout(engine.fire(&BeforeAgent { prompt: "hello".into(), attachments: Vec::new() })).await;
    assert_eq!(outcome.verdict, BeforeAgentVerdict::Proceed { context: Some("one\ntwo".into()) });
    let seen: Value = serde_json::from_str(&world.read("second")).unwrap();
    assert_eq!(seen["prompt"], "hello\n\none");
}

#[tokio::test]
async fn before_model_hooks_in_turn_see_the_request_as_changed() {
    let world = EngineFixture::new();
    let first =
        print_command(json!({"hookSpecificOutput": {"llm_request": {"model": "small", "config": {"temperature": 0}}}}));
    let second = print_command(
        json!({"hookSpecificOutput": {"llm_request": {"messages": [{"role": "user", "content": "bye"}]}}}),
    );
    let hooks = json!([
        command_hook("1", &first),
        command_hook("2", &format!("cat >second; {second}")),
        command_hook("3", "cat >third")
    ]);
    let engine = world.engine_with_settings(sequential_settings(EventKind::BeforeModel, hooks)).build();
    let request = LlmRequest {
        model: "large".into(),
        messages: vec![LlmMessage { role: "user".into(), content: "hi".into() }],
        config: into_object(json!({"temperature": 1, "topK": 4})),
        tool_config: None,
    };
    let outcome = with_hang_timeout(
        engine.fire(&BeforeModel { llm_request: SharedJson::from_request(&request), purpose: Purpose::Answer }),
    )
    .await;
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
    let world = EngineFixture::new();
    let endings = [
        "echo no >&2; exit 2".to_owned(),
        print_command(json!({"decision": "deny", "reason": "no"})),
        print_command(json!({"continue": false, "stopReason": "no"})),
    ];
    for ending in endings {
        let hooks =
            json!([command_hook("1", "touch first"), command_hook("2", &ending), command_hook("3", "touch third")]);
        let engine = world.engine_with_settings(sequential_settings(EventKind::BeforeTool, hooks)).build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert!(!matches!(outcome.verdict, BeforeToolVerdict::Proceed { .. }));
        let ran: Vec<_> = outcome.runs.iter().map(|run| (run.hook.as_str(), run.id.position, run.total)).collect();
        assert_eq!(ran, [("1", 1, 3), ("2", 2, 3)]);
    }
    assert!(world.path("first").exists() && !world.path("third").exists());
}

#[tokio::test]
async fn a_failure_that_blocks_ends_a_sequential_plan_and_one_that_does_not_goes_on() {
    let world = EngineFixture::new();
    let run = |on_error: &str| {
        let failing = json!({"type": "command", "name": "1", "command": "exit 9", "onError": on_error});
        let engine = world
            .engine_with_settings(sequential_settings(
                EventKind::BeforeTool,
                json!([failing, command_hook("2", "exit 0")]),
            ))
            .build();
        async move { with_hang_timeout(engine.fire(&tool_call())).await.runs.len() }
    };
    assert_eq!(run("block").await, 1);
    assert_eq!(run("allow").await, 2);
    assert_eq!(run("ask").await, 2);
}

#[tokio::test]
async fn an_event_without_deny_goes_on_after_an_exit_2() {
    let world = EngineFixture::new();
    let hooks = json!([command_hook("1", "exit 2"), command_hook("2", "echo hi")]);
    let engine = world.engine_with_settings(sequential_settings(EventKind::SessionStart, hooks)).build();
    let outcome = with_hang_timeout(engine.fire(&SessionStart { source: "startup".into() })).await;
    assert_eq!((outcome.runs.len(), outcome.messages.len(), outcome.warnings.len()), (2, 1, 1));
}

#[tokio::test]
async fn one_sequential_definition_makes_the_whole_plan_sequential() {
    let world = EngineFixture::new();
    // If the hooks ran at once, one would find the other's marker file.
    let hook = "[ -e busy ] && exit 2; touch busy; sleep 0.2; rm busy";
    let settings = json!({"hooks": {"BeforeTool": [
        {"hooks": [command_hook("1", hook), command_hook("2", hook)]},
        {"matcher": "glob", "sequential": true, "hooks": [command_hook("3", hook)]},
    ]}});
    let engine = world.engine_with_settings(settings).build();
    assert_eq!(with_hang_timeout(engine.fire(&tool_call_of("glob", json!({})))).await.runs.len(), 3);
    assert!(!world.path("busy").exists());
    assert!(!engine.plan(EventKind::BeforeTool, Some("replace")).unwrap().sequential);
}

#[tokio::test]
async fn parallel_hooks_really_run_at_once_on_the_same_input() {
    let world = EngineFixture::new();
    // Each waits for the other; in sequence they would wait for ever.
    let meet = |me: &str, other: &str| {
        let answer = print_command(json!({"hookSpecificOutput": {"tool_input": {me: 1}}}));
        format!("cat >{me}; until [ -e {other} ]; do sleep 0.01; done; {answer}")
    };
    let hooks = json!([command_hook("1", &meet("x", "y")), command_hook("2", &meet("y", "x"))]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call_of("glob", json!({"a": 0})))).await;
    let changes = into_object(json!({"x": 1, "y": 1}));
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: Some(changes) });
    assert_eq!(world.read("x"), world.read("y"));
}

#[tokio::test]
async fn parallel_answers_merge_in_plan_order() {
    let world = EngineFixture::new();
    let slow = json!({"decision": "deny", "reason": "slow", "systemMessage": "one"});
    let quick = json!({"decision": "deny", "reason": "quick", "systemMessage": "two"});
    let hooks = json!([
        command_hook("1", &format!("sleep 0.2; {}", print_command(slow))),
        command_hook("2", &print_command(quick)),
        command_hook("3", &print_command(json!({"decision": "allow", "reason": "fine"}))),
    ]);
    let outcome =
        with_hang_timeout(world.engine_with_hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert!(deny_reason(&outcome).starts_with("slow\nquick"), "{}", deny_reason(&outcome));
    let messages: Vec<_> = outcome.messages.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(messages, ["one", "two"]);
    assert_eq!(outcome.merged.decided_by, ["1", "2"]);
}

#[tokio::test]
async fn the_strongest_answer_wins() {
    let world = EngineFixture::new();
    let allow = print_command(json!({"decision": "allow"}));
    let ask = print_command(json!({"decision": "ask", "reason": "sure?"}));
    let deny = print_command(json!({"decision": "deny", "reason": "no"}));
    let stop = print_command(json!({"continue": false, "stopReason": "over"}));
    let run = |commands: &[&String]| {
        let hooks: Vec<_> = commands.iter().enumerate().map(|(at, text)| command_hook(&at.to_string(), text)).collect();
        let engine = world.engine_with_hooks(EventKind::BeforeTool, Value::Array(hooks)).build();
        async move { with_hang_timeout(engine.fire(&tool_call())).await.verdict }
    };
    assert_eq!(run(&[&allow, &allow]).await, BeforeToolVerdict::Proceed { changes: None });
    assert_eq!(
        run(&[&ask, &allow]).await,
        BeforeToolVerdict::Ask { reason: "sure?".into(), confinements: Vec::new(), changes: None }
    );
    assert!(matches!(run(&[&deny, &ask, &allow]).await, BeforeToolVerdict::Deny { .. }));
    assert_eq!(run(&[&allow, &stop, &deny]).await, BeforeToolVerdict::Stop { reason: "over".into() });
}

#[tokio::test]
async fn two_values_for_one_argument_are_reported() {
    let world = EngineFixture::new();
    let set = |value: u32| print_command(json!({"hookSpecificOutput": {"tool_input": {"limit": value}}}));
    let hooks = json!([command_hook("first", &set(1)), command_hook("second", &set(2))]);
    let outcome =
        with_hang_timeout(world.engine_with_hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert_eq!(outcome.merged.answer.tool_input, Some(into_object(json!({"limit": 2}))));
    assert_eq!(
        outcome.warnings[0].text,
        "hooks first and second set `limit` to different values; the one of second counts"
    );
}

#[tokio::test]
async fn the_same_hook_in_two_layers_runs_once_and_a_project_changes_nothing_by_repeating_it() {
    let world = EngineFixture::new();
    let hook = |name: Option<&str>| match name {
        Some(name) => command_hook(name, "echo ran >>log"),
        None => json!({"type": "command", "command": "echo ran >>log"}),
    };
    let settings = |hooks: Value| json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}});
    let engine = world
        .engine_with_layers(&[
            (Source::User, settings(json!([hook(Some("a")), hook(None)]))),
            (Source::Project, settings(json!([hook(Some("a"))]))),
            (Source::System, settings(json!([hook(Some("b")), hook(None), hook(None)]))),
        ])
        .build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    let ran: Vec<_> = outcome.runs.iter().map(|run| (run.hook.as_str(), run.source.to_string())).collect();
    let unnamed = "echo ran >>log";
    assert_eq!(ran, [("a", "user".into()), (unnamed, "user".into()), ("b", "system".into())]);
    assert_eq!(world.read("log").lines().count(), 3);
}

#[tokio::test]
async fn layers_run_project_user_system_extensions() {
    let world = EngineFixture::new();
    let layer = |source: Source| {
        let hook = command_hook(&source.to_string(), "exit 0");
        (source, json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    };
    let sources = [Source::Extension("x".into()), Source::System, Source::Project, Source::User];
    let engine = world.engine_with_layers(&sources.map(layer)).build();
    let plan = engine.plan(EventKind::BeforeTool, Some("glob")).unwrap();
    let order: Vec<_> = plan.hooks.iter().map(|hook| hook.id()).collect();
    assert_eq!(order, ["project", "user", "system", "extension x"]);
}

#[tokio::test]
async fn only_matching_hooks_run() {
    let world = EngineFixture::new();
    let settings = json!({"hooks": {"BeforeTool": [
        {"matcher": "write_file|replace", "hooks": [command_hook("list", "exit 0")]},
        {"matcher": "^read_.*", "hooks": [command_hook("pattern", "exit 0")]},
        {"matcher": "EditTool", "hooks": [command_hook("older", "exit 0")]},
        {"matcher": "mcp_git_push", "hooks": [command_hook("server", "exit 0")]},
        {"hooks": [command_hook("all", "exit 0")]},
    ]}});
    let engine = world.engine_with_settings(settings).build();
    let ran = |tool: &'static str| {
        let engine = engine.clone();
        async move {
            let event: BeforeTool<'_> = tool_call_of(tool, json!({}));
            with_hang_timeout(engine.fire(&event)).await.runs.into_iter().map(|run| run.hook).collect::<Vec<_>>()
        }
    };
    assert_eq!(ran("replace").await, ["list", "older", "all"]);
    assert_eq!(ran("read_file").await, ["pattern", "all"]);
    assert_eq!(ran("mcp__git__push").await, ["server", "all"]);
    assert_eq!(ran("glob").await, ["all"]);
}

#[tokio::test]
async fn a_slow_hook_does_not_hold_up_a_quick_ones_timeout() {
    let world = EngineFixture::new();
    let hooks = json!([
        {"type": "command", "name": "stuck", "command": "sleep 60", "timeout": 200},
        command_hook("fine", "sleep 0.3; echo ok"),
    ]);
    let outcome =
        with_hang_timeout(world.engine_with_hooks(EventKind::BeforeTool, hooks).build().fire(&tool_call())).await;
    assert_eq!(outcome.messages[0].text, "ok");
    assert!(outcome.runs[0].duration < Duration::from_secs(30));
}
