//! A turn that is cancelled, an outcome nobody waits for any more, and what remains of the hooks: nothing.

use std::time::Duration;

use hookwright_hooks::{EventKind, HookEngine, RunStatus};
use hookwright_testkit::fs;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::world::{
    Notes, World, assert_proceeds, command, eventually, gone, is_running, quick, tool_call, warning, within,
};

/// A hook that writes down its own number and its child's, and then sleeps with it.
fn sleeper(world: &World) -> HookEngine {
    world.write("sleeper.sh", "sleep 300 &\necho $! >child\necho $$ >leader\nwait\n");
    world.hooks(EventKind::BeforeTool, json!([command("h", "sh sleeper.sh")])).limits(quick()).build()
}

#[tokio::test]
async fn cancelling_the_turn_ends_the_whole_group() {
    let world = World::new();
    let engine = sleeper(&world);
    let cancel = CancellationToken::new();
    let (token, fired) = (cancel.clone(), engine.clone());
    let firing = tokio::spawn(async move { fired.fire_until(&tool_call(), &token).await });
    let (leader, child) = (world.pid("leader").await, world.pid("child").await);
    assert!(is_running(leader) && is_running(child));
    cancel.cancel();
    let outcome = within(firing).await.unwrap();
    assert_proceeds(&outcome);
    assert_eq!(outcome.runs[0].status, RunStatus::Cancelled);
    assert_eq!(warning(&outcome), "was ended before it was done");
    gone(leader).await;
    gone(child).await;
}

#[tokio::test]
async fn a_cancelled_hook_that_ignores_term_is_killed() {
    let world = World::new();
    world.write("stubborn.sh", "trap '' TERM\necho $$ >leader\nwhile :; do sleep 1; done\n");
    let engine = world.hooks(EventKind::BeforeTool, json!([command("h", "sh stubborn.sh")])).limits(quick()).build();
    let (event, cancel) = (tool_call(), CancellationToken::new());
    let firing = engine.fire_until(&event, &cancel);
    let (outcome, leader) = within(async {
        tokio::join!(firing, async {
            let leader = world.pid("leader").await;
            cancel.cancel();
            leader
        })
    })
    .await;
    assert_eq!(outcome.runs[0].status, RunStatus::Cancelled);
    gone(leader).await;
}

#[tokio::test]
async fn a_turn_cancelled_beforehand_starts_nothing() {
    let world = World::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let settings = |sequential: bool| {
        json!({"hooks": {"BeforeTool": [{"sequential": sequential,
            "hooks": [command("a", "touch started"), command("b", "touch started")]}]}})
    };
    for sequential in [true, false] {
        let engine = world.settings(settings(sequential)).build();
        let outcome = within(engine.fire_until(&tool_call(), &cancel)).await;
        assert!(outcome.runs.iter().all(|run| run.status == RunStatus::Cancelled));
    }
    assert!(!world.path("started").exists());
}

#[tokio::test]
async fn a_hook_that_waits_its_turn_is_cancelled_too() {
    let world = World::new();
    let hook = |name: &str| command(name, "echo $$ >>leader; exec sleep 300");
    let engine = world
        .settings(
            json!({"hooksConfig": {"maxParallel": 1}, "hooks": {"BeforeTool": [{"hooks": [hook("a"), hook("b")]}]}}),
        )
        .limits(quick())
        .build();
    let (event, cancel) = (tool_call(), CancellationToken::new());
    let (outcome, leader) = within(async {
        tokio::join!(engine.fire_until(&event, &cancel), async {
            let leader = world.pid("leader").await;
            cancel.cancel();
            leader
        })
    })
    .await;
    assert_eq!(outcome.runs.len(), 2);
    assert!(outcome.runs.iter().all(|run| run.status == RunStatus::Cancelled));
    gone(leader).await;
    assert_eq!(world.pid("leader").await, leader, "the other one has never started");
}

#[tokio::test]
async fn dropping_the_outcomes_future_kills_the_group() {
    let world = World::new();
    let engine = sleeper(&world);
    let fired = engine.clone();
    let firing = tokio::spawn(async move { fired.fire(&tool_call()).await });
    let (leader, child) = (world.pid("leader").await, world.pid("child").await);
    firing.abort();
    gone(leader).await;
    gone(child).await;
}

#[tokio::test]
async fn dropping_the_outcomes_future_kills_parallel_hooks_too() {
    let world = World::new();
    let hooks = json!([command("a", "echo $$ >a; exec sleep 300"), command("b", "echo $$ >b; exec sleep 300")]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).limits(quick()).build();
    let firing = tokio::spawn(async move { engine.fire(&tool_call()).await });
    let (a, b) = (world.pid("a").await, world.pid("b").await);
    firing.abort();
    gone(a).await;
    gone(b).await;
}

#[tokio::test]
async fn observers_hear_the_end_of_a_cancelled_run() {
    let world = World::new();
    let notes = Notes::new();
    let hooks = json!([command("h", "echo $$ >leader; exec sleep 300")]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).limits(quick()).observer(notes.clone()).build();
    let (event, cancel) = (tool_call(), CancellationToken::new());
    within(async {
        tokio::join!(engine.fire_until(&event, &cancel), async {
            world.pid("leader").await;
            cancel.cancel();
        })
    })
    .await;
    let expected = ["start BeforeTool h project 1/1", "end BeforeTool h project 1/1 cancelled None"];
    assert_eq!(notes.take(), expected);
}

#[tokio::test]
async fn shutdown_without_anything_left_is_quick() {
    let world = World::new();
    let engine = world.hooks(EventKind::BeforeTool, json!([command("h", "exit 0")])).build();
    within(engine.fire(&tool_call())).await;
    tokio::time::timeout(Duration::from_secs(20), engine.shutdown()).await.unwrap();
}

#[tokio::test]
async fn killing_now_asks_nobody_and_leaves_nothing() {
    let world = World::new();
    world.write("stubborn.sh", "trap 'touch asked' TERM\nsleep 300 &\necho $! >child\necho $$ >leader\nwait\nwait\n");
    let hooks =
        json!([command("runs", "sh stubborn.sh"), command("left", "sleep 300 >/dev/null 2>&1 & echo $! >left")]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).build();
    let fired = engine.clone();
    let firing = tokio::spawn(async move { fired.fire(&tool_call()).await });
    let pids = [world.pid("leader").await, world.pid("child").await, world.pid("left").await];
    engine.kill_now();
    let outcome = within(firing).await.unwrap();
    assert_eq!((outcome.runs[0].status, outcome.runs[0].signal), (RunStatus::Signaled, Some(9)));
    for pid in pids {
        gone(pid).await;
    }
    assert!(!world.path("asked").exists());
}

/// Ended children that nobody has asked for.
#[cfg(target_os = "linux")]
fn zombies() -> Vec<u32> {
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
    let world = World::new();
    let hooks = json!([
        command("ends", "echo $$ >>pids; exit 0"),
        command("fails", "echo $$ >>pids; exit 3"),
        command("dies", "echo $$ >>pids; kill -KILL $$"),
        command("missing", "/no/such/program"),
        command("leaves", "echo $$ >>pids; sleep 300 &"),
        {"type": "command", "command": "echo $$ >>pids; exec sleep 300", "timeout": 500},
        {"type": "command", "command": "echo $$ >>pids; trap '' TERM; while :; do sleep 1; done", "timeout": 500},
    ]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).limits(quick()).build();
    within(engine.fire(&tool_call())).await;
    let dropped = {
        let world = World::new();
        let engine = sleeper(&world);
        let firing = tokio::spawn(async move { engine.fire(&tool_call()).await });
        let leader = world.pid("leader").await;
        firing.abort();
        leader
    };
    within(engine.shutdown()).await;
    gone(dropped).await;
    // Not those of other tests, which may end with their runtime before they have asked for their children.
    let own = fs::read_to_string(world.path("pids")).unwrap();
    let own: Vec<u32> = own.lines().map(|pid| pid.parse().unwrap()).chain([dropped]).collect();
    assert!(own.len() > 4, "{own:?}");
    eventually("every ended child is asked for", || {
        let now = zombies();
        !own.iter().any(|pid| now.contains(pid))
    })
    .await;
}
