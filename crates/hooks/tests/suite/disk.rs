//! A disk that does not answer, such as a dead network mount: the session goes on, and what can't be told is in doubt.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_hooks::{BeforeToolVerdict, EventKind, Hook, Sentry};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::world::{World, assert_proceeds, call_of, denied, within};

/// How often something else happens while the disk is waited for.
const TICK: Duration = Duration::from_millis(20);

/// A runtime whose only thread for blocking work waits until the sender is gone.
fn stuck() -> (Runtime, Sender<()>) {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, released) = channel::<()>();
    drop(runtime.spawn_blocking(move || released.recv_timeout(Duration::from_secs(60)).is_err()));
    (runtime, release)
}

fn guard() -> Value {
    json!([{"type": "rule", "name": "r", "guard": true, "when": {"writes": ["src/**"]}, "decision": "deny", "reason": "no"}])
}

/// Runs something and counts how often the runtime's one thread had time for something else.
async fn with_ticks<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut ticks = 0;
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return (done, ticks),
            () = tokio::time::sleep(TICK) => ticks += 1,
        }
    }
}

#[test]
fn a_call_that_cannot_be_looked_at_is_in_doubt_for_guards_and_says_why() {
    let world = World::new();
    let (runtime, release) = stuck();
    runtime.block_on(async {
        let engine = world.hooks(EventKind::BeforeTool, guard()).build();
        let event = call_of("run_shell_command", json!({"command": "ls"}));
        let (outcome, ticks) = with_ticks(within(engine.fire(&event))).await;
        let reason = "no (the disk did not answer within 2 seconds)".to_owned();
        assert_eq!(outcome.verdict, BeforeToolVerdict::Ask { reason, changes: None });
        assert!(ticks > 10, "the session stood still: {ticks}");
        drop(release);
        assert_proceeds(&within(engine.fire(&event)).await);
    });
}

/// Does not know whether a hook is trusted until somebody says so.
struct StuckSentry(Mutex<std::sync::mpsc::Receiver<()>>);

impl Sentry for StuckSentry {
    fn challenge(&self, _: &Arc<Hook>) -> Result<(), String> {
        self.0.lock().unwrap().recv_timeout(Duration::from_secs(60)).map_or(Ok(()), |()| Ok(()))
    }
}

#[tokio::test]
async fn a_guard_that_cannot_be_reviewed_is_closed() {
    let world = World::new();
    let (release, released) = channel();
    let sentry = Arc::new(StuckSentry(Mutex::new(released)));
    let engine = world.hooks(EventKind::BeforeTool, guard()).sentry(sentry).build();
    let event = call_of("run_shell_command", json!({"command": "touch src/x"}));
    let (outcome, ticks) = with_ticks(within(engine.fire(&event))).await;
    let said = denied(&outcome).to_owned();
    assert!(said.contains("the disk did not answer within 2 seconds"), "{said}");
    assert!(ticks > 10, "the session stood still: {ticks}");
    drop(release);
    assert_eq!(denied(&within(engine.fire(&event)).await), "no");
}
