//! Cancelled turns and dropped outcomes: no process of a hook remains.

use std::time::Duration;

use hookwright_hooks::{EventKind, HookEngine, RunStatus};
use hookwright_testkit::fs;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fixture::{
    EngineFixture, RecordingObserver, assert_proceeds, command_hook, eventually, is_running, only_warning,
    short_grace_limits, tool_call, wait_until_gone, with_hang_timeout,
};

/// Returns an engine with a hook that records its own process id and its child's, and then sleeps with it.
fn sleeping_hook_engine(world: &EngineFixture) -> HookEngine {
    world.write("sleeper.sh", "sleep 300 &\necho $! >child\necho $$ >leader\nwait\n");
    world
        .engine_with_hooks(EventKind::BeforeTool, json!([command_hook("h", "sh sleeper.sh")]))
        .limits(short_grace_limits())
        .build()
}

#[tokio::test]
async fn cancelling_the_turn_ends_the_whole_group() {
    let world = EngineFixture::new();
    let engine = sleeping_hook_engine(&world);
    let cancel = CancellationToken::new();
    let (token, fired) = (cancel.clone(), engine.clone());
    let firing = tokio::spawn(async move { fired.fire_cancellable(&tool_call(), &token).await });
    let (leader, child) = (world.read_pid("leader").await, world.read_pid("child").await);
    assert!(is_running(leader) && is_running(child));
    cancel.cancel();
    let outcome = with_hang_timeout(firing).await.unwrap();
    assert_proceeds(&outcome);
    assert_eq!(outcome.runs[0].status, RunStatus::Cancelled);
    assert_eq!(only_warning(&outcome), "was ended before it was done");
    wait_until_gone(leader).await;
    wait_until_gone(child).await;
}

#[tokio::test]
async fn a_cancelled_hook_that_ignores_term_is_killed() {
    let world = EngineFixture::new();
    world.write("stubborn.sh", "trap '' TERM\necho $$ >leader\nwhile :; do sleep 1; done\n");
    let engine = world
        .engine_with_hooks(EventKind::BeforeTool, json!([command_hook("h", "sh stubborn.sh")]))
        .limits(short_grace_limits())
        .build();
    let (event, cancel) = (tool_call(), CancellationToken::new());
    let firing = engine.fire_cancellable(&event, &cancel);
    let (outcome, leader) = with_hang_timeout(async {
        tokio::join!(firing, async {
            let leader = world.read_pid("leader").await;
            cancel.cancel();
            leader
        })
    })
    .await;
    assert_eq!(outcome.runs[0].status, RunStatus::Cancelled);
    wait_until_gone(leader).await;
}

#[tokio::test]
async fn a_turn_cancelled_beforehand_starts_nothing() {
    let world = EngineFixture::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let settings = |sequential: bool| {
        json!({"hooks": {"BeforeTool": [{"sequential": sequential,
            "hooks": [command_hook("a", "touch started"), command_hook("b", "touch started")]}]}})
    };
    for sequential in [true, false] {
        let engine = world.engine_with_settings(settings(sequential)).build();
        let outcome = with_hang_timeout(engine.fire_cancellable(&tool_call(), &cancel)).await;
        assert!(outcome.runs.iter().all(|run| run.status == RunStatus::Cancelled));
    }
    assert!(!world.path("started").exists());
}

#[tokio::test]
async fn a_queued_hook_is_cancelled_too() {
    let world = EngineFixture::new();
    let hook = |name: &str| command_hook(name, "echo $$ >>leader; exec sleep 300");
    let engine = world
        .engine_with_settings(
            json!({"hooksConfig": {"maxParallel": 1}, "hooks": {"BeforeTool": [{"hooks": [hook("a"), hook("b")]}]}}),
        )
        .limits(short_grace_limits())
        .build();
    let (event, cancel) = (tool_call(), CancellationToken::new());
    let (outcome, leader) = with_hang_timeout(async {
        tokio::join!(engine.fire_cancellable(&event, &cancel), async {
            let leader = world.read_pid("leader").await;
            cancel.cancel();
            leader
        })
    })
    .await;
    assert_eq!(outcome.runs.len(), 2);
    assert!(outcome.runs.iter().all(|run| run.status == RunStatus::Cancelled));
    wait_until_gone(leader).await;
    assert_eq!(world.read_pid("leader").await, leader, "the other one has never started");
}

#[tokio::test]
async fn dropping_the_outcomes_future_kills_the_group() {
    let world = EngineFixture::new();
    let engine = sleeping_hook_engine(&world);
    let fired = engine.clone();
    let firing = tokio::spawn(async move { fired.fire(&tool_call()).await });
    let (leader, child) = (world.read_pid("leader").await, world.read_pid("child").await);
    firing.abort();
    wait_until_gone(leader).await;
    wait_until_gone(child).await;
}

#[tokio::test]
async fn dropping_the_outcomes_future_kills_parallel_hooks_too() {
    let world = EngineFixture::new();
    let hooks =
        json!([command_hook("a", "echo $$ >a; exec sleep 300"), command_hook("b", "echo $$ >b; exec sleep 300")]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).limits(short_grace_limits()).build();
    let firing = tokio::spawn(async move { engine.fire(&tool_call()).await });
    let (a, b) = (world.read_pid("a").await, world.read_pid("b").await);
    firing.abort();
    wait_until_gone(a).await;
    wait_until_gone(b).await;
}

#[tokio::test]
async fn observers_see_the_end_of_a_cancelled_run() {
    let world = EngineFixture::new();
    let notes = RecordingObserver::new();
    let hooks = json!([command_hook("h", "echo $$ >leader; exec sleep 300")]);
    let engine = world
        .engine_with_hooks(EventKind::BeforeTool, hooks)
        .limits(short_grace_limits())
        .observer(notes.clone())
        .build();
    let (event, cancel) = (tool_call(), CancellationToken::new());
    with_hang_timeout(async {
        tokio::join!(engine.fire_cancellable(&event, &cancel), async {
            world.read_pid("leader").await;
            cancel.cancel();
        })
    })
    .await;
    let expected = ["start BeforeTool h project 1/1", "end BeforeTool h project 1/1 cancelled None"];
    assert_eq!(notes.take(), expected);
}

#[tokio::test]
async fn shutdown_without_anything_left_is_quick() {
    let world = EngineFixture::new();
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([command_hook("h", "exit 0")])).build();
    with_hang_timeout(engine.fire(&tool_call())).await;
    tokio::time::timeout(Duration::from_secs(20), engine.shutdown()).await.unwrap();
}

#[tokio::test]
async fn kill_now_leaves_no_process() {
    let world = EngineFixture::new();
    world.write("stubborn.sh", "trap 'touch asked' TERM\nsleep 300 &\necho $! >child\necho $$ >leader\nwait\nwait\n");
    let hooks = json!([
        command_hook("runs", "sh stubborn.sh"),
        command_hook("left", "sleep 300 >/dev/null 2>&1 & echo $! >left")
    ]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).build();
    let fired = engine.clone();
    let firing = tokio::spawn(async move { fired.fire(&tool_call()).await });
    let pids = [world.read_pid("leader").await, world.read_pid("child").await, world.read_pid("left").await];
    engine.kill_now();
    let outcome = with_hang_timeout(firing).await.unwrap();
    assert_eq!((outcome.runs[0].status, outcome.runs[0].signal), (RunStatus::Signaled, Some(9)));
    for pid in pids {
        wait_until_gone(pid).await;
    }
    assert!(!world.path("asked").exists());
}

/// Returns the children of this process that have ended and were not reaped.
#[cfg(target_os = "linux")]
fn zombie_children() -> Vec<u32> {
    let me = std::process::id().to_string();
    let is_zombie = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().take(2).collect();
        fields == ["Z", me.as_str()]
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(is_zombie).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_zombie_is_left_however_a_hook_ends() {
    let world = EngineFixture::new();
    let hooks = json!([
        command_hook("ends", "echo $$ >>pids; exit 0"),
        command_hook("fails", "echo $$ >>pids; exit 3"),
        command_hook("dies", "echo $$ >>pids; kill -KILL $$"),
        command_hook("missing", "/no/such/program"),
        command_hook("leaves", "echo $$ >>pids; sleep 300 &"),
        {"type": "command", "command": "echo $$ >>pids; exec sleep 300", "timeout": 500},
        {"type": "command", "command": "echo $$ >>pids; trap '' TERM; while :; do sleep 1; done", "timeout": 500},
    ]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).limits(short_grace_limits()).build();
    with_hang_timeout(engine.fire(&tool_call())).await;
    let dropped = {
        let world = EngineFixture::new();
        let engine = sleeping_hook_engine(&world);
        let firing = tokio::spawn(async move { engine.fire(&tool_call()).await });
        let leader = world.read_pid("leader").await;
        firing.abort();
        leader
    };
    with_hang_timeout(engine.shutdown()).await;
    wait_until_gone(dropped).await;
    // Not those of other tests, whose runtime may end before they have reaped their children.
    let own = fs::read_to_string(world.path("pids")).unwrap();
    let own: Vec<u32> = own.lines().map(|pid| pid.parse().unwrap()).chain([dropped]).collect();
    assert!(own.len() > 4, "{own:?}");
    eventually("every ended child is asked for", || {
        let now = zombie_children();
        !own.iter().any(|pid| now.contains(pid))
    })
    .await;
}
