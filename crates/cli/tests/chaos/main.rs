//! Chaos tests: rounds of the real program while its processes are killed and stopped, its limits are lowered, its disk
//! is full and its settings are broken. Afterwards nothing is lost, nothing has run unguarded, and the next session
//! works.
//!
//! `CHAOS_ROUNDS=10000 CHAOS_SEED=7 cargo test -p hookwright --test chaos` runs more; docs/reliability.md has the
//! figures.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod cgroup;
mod check;
mod plot;
mod processes;
mod program_runs;
mod round;
mod round_plan;
mod seeded_rng;
mod soak;
mod workspace;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use check::RoundFigures;
use hookwright_testkit::deadline::*;
use hookwright_testkit::watchdog;

/// Set in a process with a private mount namespace.
const PRIVATE_MOUNTS_VARIABLE: &str = "CHAOS_PRIVATE";

#[test]
fn sessions_survive_chaos() {
    if std::env::var_os(PRIVATE_MOUNTS_VARIABLE).is_none() && can_unshare_mounts() {
        return rerun_with_private_mounts();
    }
    watchdog::watch();
    let disks = std::env::var_os(PRIVATE_MOUNTS_VARIABLE).is_some();
    if !disks {
        hookwright_testkit::report_skipped("chaos", "no disks can be mounted here; limits on files do instead");
    }
    let (seed, rounds, jobs) = (number("CHAOS_SEED", 1), number("CHAOS_ROUNDS", 20), number("CHAOS_JOBS", 8));
    if rounds == 1 {
        print_to_stderr(&format!("{:#?}", round_plan::RoundPlan::new(seed)));
    }
    let (next, tally, start) = (AtomicU64::new(0), Mutex::new(RoundTotals::default()), Instant::now());
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && at < rounds
        {
            let outcome = round::run_round(seed + at, disks);
            watchdog::report_progress();
            tally.lock().unwrap().add(seed + at, outcome);
        }
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let RoundTotals { figures, failed, .. } = tally.into_inner().unwrap();
    print_to_stderr(&format!("chaos: {rounds} rounds from seed {seed} in {:.0?}: {figures:?}", start.elapsed()));
    assert!(failed.is_empty(), "{} of {rounds} rounds failed: seeds {failed:?}", failed.len());
}

#[test]
fn a_seed_repeats_its_plan() {
    let plan = |seed| format!("{:?}", round_plan::RoundPlan::new(seed));
    assert!((0..100).all(|seed| plan(seed) == plan(seed) && plan(seed) != plan(seed + 1)));
}

/// The totals of all rounds so far.
#[derive(Default)]
struct RoundTotals {
    rounds: u64,
    figures: RoundFigures,
    failed: Vec<u64>,
}

impl RoundTotals {
    fn add(&mut self, seed: u64, outcome: round::RoundOutcome) {
        self.rounds += 1;
        self.figures += outcome.figures;
        if let Some(kept) = outcome.kept_dir {
            let (kept, why) = (kept.display(), outcome.problems.iter().map(|problem| shorten(problem)));
            let why = why.collect::<Vec<_>>().join("\n  ");
            print_to_stderr(&format!("chaos: failed; again: CHAOS_SEED={seed} CHAOS_ROUNDS=1; kept: {kept}\n  {why}"));
            self.failed.push(seed);
        }
        if self.rounds.is_multiple_of(500) {
            print_to_stderr(&format!("chaos: {} rounds: {:?}", self.rounds, self.figures));
        }
    }
}

/// Returns the beginning and the end of a long text, without escape characters.
fn shorten(text: &str) -> String {
    let text: Vec<char> = text.chars().map(|char| if char == '\x1b' { '^' } else { char }).collect();
    match text.len() {
        0..=2000 => text.into_iter().collect(),
        long => text[..1000].iter().chain(&['…']).chain(&text[long - 1000..]).collect(),
    }
}

/// The program under test: this build's, or the one that a variable names.
fn program() -> PathBuf {
    std::env::var_os("CHAOS_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_hookwright").into(), PathBuf::from)
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}

/// Prints past the test runner, which hides the macros' output of passing tests.
#[expect(clippy::disallowed_methods, reason = "tests print for whoever runs them")]
fn print_to_stderr(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

fn can_unshare_mounts() -> bool {
    let tried = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status_in_time();
    tried.is_ok_and(|status| status.success())
}

/// Runs the same test in a mount namespace of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "as many rounds as are asked for; the watchdog of that process ends them"
)]
fn rerun_with_private_mounts() {
    let test = std::env::current_exe().unwrap();
    let words = ["--exact", "sessions_survive_chaos", "--nocapture"];
    let status = Command::new("unshare")
        .arg("-m")
        .arg(test)
        .args(words)
        .env(PRIVATE_MOUNTS_VARIABLE, "1")
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success(), "rounds failed; what is above says which");
}
