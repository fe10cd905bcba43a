//! The rig that tries agents, applied to this program in place of Gemini CLI: its report must match what happened.
//! Other agents are tested by `conformance/`.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_trial::{
    Behaviour, CallOutcome, HookWiring, Host, LiveTrial, TrialAgent, TrialCase, TrialLimits, TrialObservation,
    run_live_trial,
};

/// Runs a program once as if it were Gemini CLI.
fn run(program: &Path, behaviour: &str, time: u64) -> TrialObservation {
    let behaviour = Behaviour::by_name(behaviour).unwrap();
    let cell =
        TrialCase { agent: TrialAgent { host: Host::GeminiCli, program }, behaviour, wiring: HookWiring::Direct };
    assert!(cell.is_applicable());
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let bounds = TrialLimits {
        search_path: &path,
        timeout: Duration::from_secs(time),
        block_network: true,
        keep_files: false,
        cache_dir: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(cell.run(bounds)).unwrap()
}

fn hookwright(behaviour: &str) -> TrialObservation {
    run(Path::new(env!("CARGO_BIN_EXE_hookwright")), behaviour, 60)
}

#[test]
fn calls_that_ran_are_told_from_calls_that_did_not() {
    let seen = hookwright("silence");
    assert_eq!((seen.end, seen.started, seen.told), (CallOutcome::Ran, 1, false), "{seen:?}");
    let seen = hookwright("gemini-deny");
    assert_eq!((seen.end, seen.started, seen.told), (CallOutcome::Blocked, 1, true), "{seen:?}");
    let seen = hookwright("rewrite-gemini");
    assert_eq!((seen.end, seen.started), (CallOutcome::Rewritten, 1), "{seen:?}");
    // A hook that is not a guard may fail, as in Gemini CLI.
    assert_eq!(hookwright("exit-1").end, CallOutcome::Ran);
    assert_eq!(hookwright("missing").started, 0);
}

#[test]
fn a_guard_on_edits_sees_the_tool_for_edits() {
    let seen = hookwright("edit");
    assert_eq!(seen.started, 1, "{seen:?}");
    let seen = hookwright("edit-by-command");
    assert_eq!((seen.end, seen.started), (CallOutcome::Ran, 0), "{seen:?}");
}

/// A run that never came to a call does not count as blocked.
#[test]
fn an_agent_that_does_nothing_has_not_blocked_anything() {
    assert_eq!(run(Path::new("/bin/true"), "gemini-deny", 60).end, CallOutcome::Dead);
    let folder = tempfile::tempdir().unwrap();
    let sleeper = folder.path().join("sleeper");
    std::fs::write(&sleeper, "#!/bin/sh\nsleep 60\n").unwrap();
    std::fs::set_permissions(&sleeper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(run(&sleeper, "gemini-deny", 1).end, CallOutcome::Hung);
}

/// The few behaviours that are tried on a user's machine, through the bridge as `agents install` writes it.
#[test]
fn the_short_column_holds_here() {
    let hookwright = Path::new(env!("CARGO_BIN_EXE_hookwright"));
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let until = Instant::now() + Duration::from_secs(300);
    let wanted =
        LiveTrial { host: Host::GeminiCli, program: hookwright, hookwright, path: &path, cache: None, deadline: until };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut heard = 0;
    let report = runtime.block_on(run_live_trial(wanted, |_| heard += 1)).unwrap();
    assert_eq!((heard, report.rows.len()), (10, 10));
    assert!(report.holds(), "{report:#?}");
}

/// A run on a machine that is too busy says nothing about an agent.
#[test]
fn an_agent_without_enough_time_is_not_reported_as_failed() {
    let (program, path) = (Path::new("/bin/true"), OsString::from("/usr/bin:/bin"));
    let wanted = LiveTrial {
        host: Host::GeminiCli,
        program,
        hookwright: program,
        path: &path,
        cache: None,
        deadline: Instant::now(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(run_live_trial(wanted, |_| ())).unwrap();
    assert!(report.rows.iter().all(|row| row.verdict() == hookwright_trial::live::TrialVerdict::Unknown));
    assert!(!report.holds());
}
