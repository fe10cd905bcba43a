//! A disk that does not answer, such as a dead network mount: the session goes on, and calls that cannot be analysed
//! are uncertain.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_hooks::{BeforeToolVerdict, EventKind, Hook, TrustGate};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::fixture::{EngineFixture, assert_proceeds, deny_reason, tool_call_of, with_hang_timeout};

/// How often the runtime's thread does other work while the disk is waited for.
const TICK_INTERVAL: Duration = Duration::from_millis(20);

/// Returns a runtime whose only thread for blocking work waits until the sender is dropped.
fn runtime_with_stuck_disk() -> (Runtime, Sender<()>) {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, released) = channel::<()>();
    drop(runtime.spawn_blocking(move || released.recv_timeout(Duration::from_secs(60)).is_err()));
    (runtime, release)
}

fn guard_hooks() -> Value {
    json!([{"type": "rule", "name": "r", "guard": true, "when": {"writes": ["src/**"]}, "decision": "deny", "reason": "no"}])
}

/// Runs a future and counts how often the runtime's only thread had time for other work.
async fn count_ticks<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut ticks = 0;
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return (done, ticks),
            () = tokio::time::sleep(TICK_INTERVAL) => ticks += 1,
        }
    }
}

#[test]
fn a_guard_confines_a_call_that_a_stuck_disk_leaves_uncertain() {
    let world = EngineFixture::new();
    let (runtime, release) = runtime_with_stuck_disk();
    runtime.block_on(async {
        let engine = world.engine_with_hooks(EventKind::BeforeTool, guard_hooks()).build();
        let event = tool_call_of("run_shell_command", json!({"command": "ls"}));
        let (outcome, ticks) = count_ticks(with_hang_timeout(engine.fire(&event))).await;
        let reason = "no (not all effects of this call are known: the disk did not answer within 2 seconds)".to_owned();
        let BeforeToolVerdict::Confine { reason: told, .. } = &outcome.verdict else { panic!("{:?}", outcome.verdict) };
        assert_eq!(*told, reason);
        assert!(ticks > 10, "the session stood still: {ticks}");
        drop(release);
        assert_proceeds(&with_hang_timeout(engine.fire(&event)).await);
    });
}

/// A trust gate that does not answer until the test releases it.
struct StuckTrustGate(Mutex<std::sync::mpsc::Receiver<()>>);

impl TrustGate for StuckTrustGate {
    fn check(&self, _: &Arc<Hook>) -> Result<(), String> {
        self.0.lock().unwrap().recv_timeout(Duration::from_secs(60)).map_or(Ok(()), |()| Ok(()))
    }
}

#[tokio::test]
async fn a_guard_whose_trust_check_hangs_denies() {
    let world = EngineFixture::new();
    let (release, released) = channel();
    let sentry = Arc::new(StuckTrustGate(Mutex::new(released)));
    let engine = world.engine_with_hooks(EventKind::BeforeTool, guard_hooks()).trust_gate(sentry).build();
    let event = tool_call_of("run_shell_command", json!({"command": "touch src/x"}));
    let (outcome, ticks) = count_ticks(with_hang_timeout(engine.fire(&event))).await;
    let said = deny_reason(&outcome).to_owned();
    assert!(said.contains("the disk did not answer within 2 seconds"), "{said}");
    assert!(ticks > 10, "the session stood still: {ticks}");
    drop(release);
    assert_eq!(deny_reason(&with_hang_timeout(engine.fire(&event)).await), "no");
}
