//! Hooks in code, together with command hooks.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hookwright_hooks::{
    Answer, BeforeTool, BeforeToolVerdict, EventKind, FailureAction, Hook, HookInput, Matcher, MatcherSubject, OnError,
    RunStatus, SessionStart, Source,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{
    EngineFixture, RecordingObserver, assert_proceeds, command_hook, deny_reason, eventually, into_object,
    only_warning, short_grace_limits, tool_call, tool_call_of, with_hang_timeout,
};

fn function_hook<F, Fut>(name: &str, function: F) -> Hook
where
    F: Fn(HookInput) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, String>> + Send + 'static,
{
    Hook::from_function(EventKind::BeforeTool, name, function)
}

fn engine_with_functions(world: &EngineFixture, hooks: Vec<Hook>) -> hookwright_hooks::HookEngine {
    let engine = world.engine_with_settings(json!({})).limits(short_grace_limits()).build();
    hooks.into_iter().for_each(|hook| engine.update(|registry| registry.add(hook)));
    engine
}

#[tokio::test]
async fn a_function_gets_the_json_a_command_would_get() {
    let world = EngineFixture::new();
    let hook = function_hook("code", |input| async move {
        let value: Value = serde_json::from_str(&input.to_json()).map_err(|error| error.to_string())?;
        Ok(Answer::deny(format!("{} {} {}", value["hook_event_name"], value["tool_name"], value["tool_input"])))
    });
    let outcome = with_hang_timeout(engine_with_functions(&world, vec![hook]).fire(&tool_call())).await;
    assert_eq!(deny_reason(&outcome), r#""BeforeTool" "run_shell_command" {"command":"ls"}"#);
    assert_eq!((outcome.runs[0].status, outcome.runs[0].source.clone()), (RunStatus::Ok, Source::Runtime));
}

#[tokio::test]
async fn functions_run_ahead_of_commands_in_the_order_of_their_adding() {
    let world = EngineFixture::new();
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([command_hook("command", "exit 0")])).build();
    for name in ["first", "second"] {
        engine.update(|registry| registry.add(function_hook(name, |_| async { Ok(Answer::allow()) })));
    }
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    let order: Vec<_> = outcome.runs.iter().map(|run| run.hook.as_str()).collect();
    assert_eq!(order, ["first", "second", "command"]);
}

#[tokio::test]
async fn a_functions_changes_reach_the_next_hook_of_a_sequential_plan() {
    let world = EngineFixture::new();
    let settings =
        json!({"hooks": {"BeforeTool": [{"sequential": true, "hooks": [command_hook("command", "cat >seen")]}]}});
    let engine = world.engine_with_settings(settings).build();
    let change = || Answer { tool_input: Some(into_object(json!({"a": 1}))), ..Answer::default() };
    engine.update(|registry| registry.add(function_hook("code", move |_| async move { Ok(change()) })));
    let outcome = with_hang_timeout(engine.fire(&tool_call_of("glob", json!({"b": 2})))).await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: Some(into_object(json!({"a": 1}))) });
    let seen: Value = serde_json::from_str(&world.read("seen")).unwrap();
    assert_eq!(seen["tool_input"], json!({"b": 2, "a": 1}));
}

#[tokio::test]
async fn an_error_is_a_failure_like_an_exit_code() {
    let world = EngineFixture::new();
    let mut hook = function_hook("code", |_| async { Err("the database is away".to_owned()) });
    let outcome = with_hang_timeout(engine_with_functions(&world, vec![hook.clone()]).fire(&tool_call())).await;
    assert_proceeds(&outcome);
    assert_eq!(only_warning(&outcome), "exited with code 1: the database is away");
    hook.on_error = OnError::for_all_causes(FailureAction::Block);
    let outcome = with_hang_timeout(engine_with_functions(&world, vec![hook]).fire(&tool_call())).await;
    assert!(deny_reason(&outcome).contains("the database is away"));
}

#[tokio::test]
async fn a_panic_is_a_failure_and_nothing_more() {
    let world = EngineFixture::new();
    let hook = function_hook("code", |input| async move {
        assert!(input.is_empty(), "never mind");
        Ok(Answer::allow())
    });
    let outcome = with_hang_timeout(
        engine_with_functions(&world, vec![hook, function_hook("other", |_| async { Ok(Answer::deny("no")) })])
            .fire(&tool_call()),
    )
    .await;
    assert_eq!(deny_reason(&outcome), "no");
    assert_eq!(outcome.runs[0].status, RunStatus::Failed);
    assert!(only_warning(&outcome).contains("panic"), "{:?}", outcome.warnings);
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_a_failure_too() {
    let world = EngineFixture::new();
    let hook = function_hook("code", |input: HookInput| {
        assert!(input.is_empty(), "never mind");
        async { Ok(Answer::allow()) }
    });
    let outcome = with_hang_timeout(engine_with_functions(&world, vec![hook]).fire(&tool_call())).await;
    assert_proceeds(&outcome);
    assert!(only_warning(&outcome).contains("panic"), "{:?}", outcome.warnings);
}

/// Whether a function was called, and whether its future was dropped.
#[derive(Default)]
struct CallFlags {
    called: AtomicBool,
    dropped: AtomicBool,
}

/// Sets a flag when it is dropped.
struct DropFlag(Arc<CallFlags>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.dropped.store(true, Ordering::SeqCst);
    }
}

fn endless_hook(life: &Arc<CallFlags>) -> Hook {
    let life = life.clone();
    function_hook("code", move |_| {
        let flag = DropFlag(life.clone());
        life.called.store(true, Ordering::SeqCst);
        async move {
            let _flag = flag;
            std::future::pending().await
        }
    })
}

#[tokio::test]
async fn a_function_that_takes_too_long_is_dropped() {
    let (world, life) = (EngineFixture::new(), Arc::new(CallFlags::default()));
    let hook = Hook { timeout: Duration::from_millis(50), ..endless_hook(&life) };
    let outcome = with_hang_timeout(engine_with_functions(&world, vec![hook]).fire(&tool_call())).await;
    assert_proceeds(&outcome);
    assert_eq!(only_warning(&outcome), "ran longer than 50 ms and was ended");
    eventually("the function is dropped", || life.dropped.load(Ordering::SeqCst)).await;
}

#[tokio::test]
async fn a_cancelled_function_is_dropped() {
    let (world, life) = (EngineFixture::new(), Arc::new(CallFlags::default()));
    let (event, cancel) = (tool_call(), CancellationToken::new());
    let engine = engine_with_functions(&world, vec![endless_hook(&life)]);
    let cancel_once_called = async {
        eventually("the function is called", || life.called.load(Ordering::SeqCst)).await;
        cancel.cancel();
    };
    let (outcome, ()) =
        with_hang_timeout(async { tokio::join!(engine.fire_cancellable(&event, &cancel), cancel_once_called) }).await;
    assert_eq!(outcome.runs[0].status, RunStatus::Cancelled);
    eventually("the function is dropped", || life.dropped.load(Ordering::SeqCst)).await;
}

#[tokio::test]
async fn a_function_may_have_a_matcher() {
    let world = EngineFixture::new();
    let (matcher, problem) = Matcher::compile(MatcherSubject::ToolName, Some("write_.*"));
    assert_eq!(problem, None);
    let hook = Hook { matcher, ..function_hook("code", |_| async { Ok(Answer::deny("no")) }) };
    let engine = engine_with_functions(&world, vec![hook]);
    deny_reason(&with_hang_timeout(engine.fire(&tool_call_of("write_file", json!({})))).await);
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call_of("read_file", json!({})))).await);
}

#[tokio::test]
async fn a_function_cannot_deny_an_event_without_deny() {
    let world = EngineFixture::new();
    let hook = Hook { event: EventKind::SessionStart, ..function_hook("code", |_| async { Ok(Answer::deny("no")) }) };
    let outcome =
        with_hang_timeout(engine_with_functions(&world, vec![hook]).fire(&SessionStart { source: "startup".into() }))
            .await;
    assert_eq!(outcome.merged.answer.decision, None);
    assert!(only_warning(&outcome).contains("has no effect on SessionStart"), "{:?}", outcome.warnings);
}

#[tokio::test]
async fn observers_see_the_start_and_the_end_of_every_run() {
    let world = EngineFixture::new();
    let notes = RecordingObserver::new();
    let settings = json!({"hooks": {"BeforeTool": [{"sequential": true, "hooks": [
        command_hook("ok", "exit 0"), command_hook("fails", "exit 4"), command_hook("missing", "/no/such/program"),
        {"type": "command", "name": "slow", "command": "sleep 60", "timeout": 100},
        command_hook("dies", "kill -9 $$"), command_hook("blocks", "exit 2"), command_hook("never", "exit 0"),
    ]}]}});
    let engine = world.engine_with_settings(settings).limits(short_grace_limits()).observer(notes.clone()).build();
    engine.update(|registry| registry.add(function_hook("code", |_| async { Ok(Answer::allow()) })));
    let event: BeforeTool<'_> = tool_call();
    with_hang_timeout(engine.fire(&event)).await;
    let expected = [
        "start BeforeTool code runtime 1/8",
        "end BeforeTool code runtime 1/8 ok Some(0)",
        "start BeforeTool ok project 2/8",
        "end BeforeTool ok project 2/8 ok Some(0)",
        "start BeforeTool fails project 3/8",
        "end BeforeTool fails project 3/8 failed Some(4)",
        "start BeforeTool missing project 4/8",
        "end BeforeTool missing project 4/8 not_started Some(127)",
        "start BeforeTool slow project 5/8",
        "end BeforeTool slow project 5/8 timed_out None",
        "start BeforeTool dies project 6/8",
        "end BeforeTool dies project 6/8 signaled None",
        "start BeforeTool blocks project 7/8",
        "end BeforeTool blocks project 7/8 blocked Some(2)",
    ];
    // Observers get the ends of several BeforeTool hooks together, because the last hook may withhold the input from
    // records.
    let seen = notes.take();
    let of = |word: &str, all: &[&str]| -> Vec<String> {
        all.iter().filter(|line| line.starts_with(word)).map(|line| (*line).to_owned()).collect()
    };
    assert_eq!(seen, [of("start", &expected), of("end", &expected)].concat());
}

#[tokio::test]
async fn observers_see_parallel_runs_too() {
    let world = EngineFixture::new();
    let notes = RecordingObserver::new();
    let hooks = json!([command_hook("a", "exit 0"), command_hook("b", "exit 0"), command_hook("c", "exit 0")]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).observer(notes.clone()).build();
    with_hang_timeout(engine.fire(&tool_call())).await;
    let mut seen = notes.take();
    seen.sort();
    let mut expected: Vec<_> = ["a 1", "b 2", "c 3"]
        .iter()
        .flat_map(|run| {
            let (hook, at) = run.split_once(' ').unwrap();
            [
                format!("start BeforeTool {hook} project {at}/3"),
                format!("end BeforeTool {hook} project {at}/3 ok Some(0)"),
            ]
        })
        .collect();
    expected.sort();
    assert_eq!(seen, expected);
}
