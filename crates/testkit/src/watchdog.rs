//! Ends a test program in which no test finishes any more, and prints which ones were running.
//!
//! It runs on a thread of its own: a test that spins without ever yielding cannot be ended from its own thread, nor by
//! a timer of its runtime. The test harness has no callback for the start and end of a test, so the helpers that tests
//! begin with call [`watch`], and the end of the test's thread counts as the test's end.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::processes;

/// The environment variable that overrides `STALL_SECONDS`.
pub const STALL_VARIABLE: &str = "HOOKWRIGHT_TEST_STALL_SECS";

/// A run in which no test has started or finished for this long has stalled.
///
/// Longer than a single wait of [`crate::deadline`], whose message says more.
const STALL_SECONDS: u64 = 120;

/// What `cargo test` takes for failed tests.
const FAILED_TESTS_EXIT_CODE: i32 = 101;

struct TestProgress {
    running: BTreeMap<String, Instant>,
    last_change: Instant,
}

static PROGRESS: LazyLock<Mutex<TestProgress>> = LazyLock::new(|| {
    std::thread::spawn(abort_stalled_run);
    Mutex::new(TestProgress { running: BTreeMap::new(), last_change: Instant::now() })
});

thread_local! {
    static RUNNING_TEST: Option<RunningTest> = RunningTest::register();
}

/// Takes part in the watch over this test program, from now until the calling test's thread ends.
///
/// Threads that are not a test's do nothing here. With `--test-threads=1` all tests share the main thread, and each
/// call counts as progress.
pub fn watch() {
    // A thread that is ending has no test any more.
    if RUNNING_TEST.try_with(|test| test.as_ref().is_some_and(|test| test.name == MAIN_THREAD)) == Ok(true) {
        report_progress();
    }
}

/// Reports that a test which takes long by design still makes progress.
pub fn report_progress() {
    lock().last_change = Instant::now();
}

const MAIN_THREAD: &str = "main";

struct RunningTest {
    name: String,
}

impl RunningTest {
    /// The harness names a test's thread after the test. Helper threads have no name, or a runtime's.
    fn register() -> Option<RunningTest> {
        let thread = std::thread::current();
        let name = thread.name().filter(|name| !name.starts_with("tokio"))?.to_owned();
        let mut progress = lock();
        progress.last_change = Instant::now();
        progress.running.insert(name.clone(), Instant::now());
        Some(RunningTest { name })
    }
}

impl Drop for RunningTest {
    fn drop(&mut self) {
        let mut progress = lock();
        progress.last_change = Instant::now();
        progress.running.remove(&self.name);
    }
}

fn lock() -> MutexGuard<'static, TestProgress> {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn abort_stalled_run() {
    let limit = crate::seconds_from_env(STALL_VARIABLE, STALL_SECONDS);
    loop {
        std::thread::sleep(Duration::from_millis(250));
        let progress = lock();
        if progress.running.is_empty() || progress.last_change.elapsed() < limit {
            continue;
        }
        let tests =
            progress.running.iter().map(|(name, since)| format!("  {name}, for {} s\n", since.elapsed().as_secs()));
        let tests: String = tests.collect();
        drop(progress);
        let family = processes::process_tree(&[std::process::id()]);
        let report = format!(
            "\nwatchdog: no test has finished for {} s; running:\n{tests}processes:\n{}",
            limit.as_secs(),
            processes::describe(&family),
        );
        crate::print_error(&report);
        processes::kill(&family[1..]);
        std::process::exit(FAILED_TESTS_EXIT_CODE);
    }
}
