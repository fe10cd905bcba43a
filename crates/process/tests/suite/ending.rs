//! Termination of processes, and groups, which are known for exactly as long as they have members.

use std::path::Path;
use std::time::Duration;

use hookwright_process::{Exit, TerminationWait};
use hookwright_testkit::deadline::*;
use tokio::time::Instant;

use super::support::{
    ProcessFixture, TERMINATION_GRACE_PERIOD, are_orphans_reaped, is_running, wait_until, with_timeout,
};

async fn wait_until_gone(pid: u32) {
    wait_until(&format!("{pid} is gone"), || !is_running(pid)).await;
}

#[tokio::test]
async fn sigterm_ends_a_cooperative_process() {
    let place = ProcessFixture::new();
    let mut process =
        place.spawn_shell("trap 'echo tidy; exit 3' TERM; echo $$ > leader; while :; do sleep 0.05; done");
    place.read_pid("leader").await;
    with_timeout(process.terminate(Duration::from_secs(10), TerminationWait::Leader)).await;
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(3));
    assert_eq!(process.stdout().head(), b"tidy\n");
}

#[tokio::test]
async fn process_ignoring_sigterm_is_killed_with_its_group() {
    for until in [TerminationWait::Leader, TerminationWait::Group] {
        let place = ProcessFixture::new();
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' & \
                      echo $$ > leader; while :; do sleep 1; done";
        let mut process = place.spawn_shell(script);
        let (leader, child) = (place.read_pid("leader").await, place.read_pid("child").await);
        let started = Instant::now();
        with_timeout(process.terminate(TERMINATION_GRACE_PERIOD, until)).await;
        assert!(started.elapsed() >= TERMINATION_GRACE_PERIOD);
        assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Signal(9));
        wait_until_gone(leader).await;
        wait_until_gone(child).await;
    }
}

#[tokio::test]
async fn stopped_process_is_continued_to_receive_sigterm() {
    let place = ProcessFixture::new();
    let mut process =
        place.spawn_shell("trap 'exit 5' TERM; echo $$ > leader; kill -STOP $$; while :; do sleep 0.05; done");
    place.read_pid("leader").await;
    with_timeout(process.terminate(Duration::from_secs(10), TerminationWait::Leader)).await;
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Code(5));
}

fn kill(pid: u32) {
    assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status_in_time().unwrap().success());
}

/// The leader obeys SIGTERM, and its child does not.
const STUBBORN_CHILD: &str = "sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' & wait";

#[tokio::test]
async fn group_members_keep_the_rest_of_the_grace_period() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell(STUBBORN_CHILD);
    let child = place.read_pid("child").await;
    with_timeout(process.terminate(Duration::from_secs(3600), TerminationWait::Leader)).await;
    assert!(is_running(child), "nobody waits for it");
    assert!(process.finish().has_survivors);
    kill(child);
    wait_until_gone(child).await;

    let place = ProcessFixture::new();
    let mut process = place.spawn_shell(STUBBORN_CHILD);
    let child = place.read_pid("child").await;
    let started = Instant::now();
    with_timeout(process.terminate(TERMINATION_GRACE_PERIOD, TerminationWait::Leader)).await;
    process.finish();
    wait_until_gone(child).await;
    assert!(started.elapsed() >= TERMINATION_GRACE_PERIOD);

    let place = ProcessFixture::new();
    let mut process = place.spawn_shell(STUBBORN_CHILD);
    let child = place.read_pid("child").await;
    let started = Instant::now();
    with_timeout(process.terminate(TERMINATION_GRACE_PERIOD, TerminationWait::Group)).await;
    assert!(started.elapsed() >= TERMINATION_GRACE_PERIOD, "it is waited for");
    wait_until_gone(child).await;
}

#[tokio::test]
async fn dropping_a_process_ends_its_group() {
    if !are_orphans_reaped("dropping_a_process_ends_its_group") {
        return;
    }
    let place = ProcessFixture::new();
    let process = place.spawn_shell("sleep 60 & echo $! > child; echo $$ > leader; wait");
    let (leader, child) = (place.read_pid("leader").await, place.read_pid("child").await);
    assert_eq!(place.groups.pids(), [leader]);
    drop(process);
    wait_until_gone(leader).await;
    wait_until_gone(child).await;
    wait_until("it is reaped and forgotten", || place.groups.pids().is_empty()).await;
}

#[tokio::test]
async fn empty_group_is_forgotten() {
    if !are_orphans_reaped("empty_group_is_forgotten") {
        return;
    }
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("exit 0");
    assert_eq!(place.groups.pids(), [process.pid()]);
    with_timeout(process.wait()).await.unwrap();
    assert!(!process.finish().has_survivors);
    assert!(place.groups.pids().is_empty());

    let mut process = place.spawn_shell("sleep 0.5 & exit 0");
    let group = process.pid();
    with_timeout(process.wait()).await.unwrap();
    assert!(process.finish().has_survivors);
    assert_eq!(place.groups.pids(), [group], "remembered while somebody is in it");
    wait_until("the last one ends", || place.groups.pids().is_empty()).await;
}

#[tokio::test]
async fn process_that_closed_its_output_is_tracked_until_exit() {
    let place = ProcessFixture::new();
    let mut process = place.spawn_shell("sleep 60 >/dev/null 2>&1 & echo $! > child");
    with_timeout(process.wait()).await.unwrap();
    let child = place.read_pid("child").await;
    let group = process.pid();
    assert!(process.has_survivors());
    process.track_group();
    let outlived = tokio::spawn(async move { process.wait_for_group().await });
    assert_eq!(place.groups.pids(), [group]);
    std::process::Command::new("kill").args(["-9", &child.to_string()]).status_in_time().unwrap();
    with_timeout(outlived).await.unwrap();
    assert!(place.groups.pids().is_empty());
}

/// A shell with `set -m` gives every job a group of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn own_process_group_does_not_escape_the_session() {
    let place = ProcessFixture::new();
    let script = "set -m; sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' >/dev/null 2>&1 & \
                  while [ ! -s child ]; do sleep 0.01; done";
    for end in ["asked", "killed"] {
        let Ok(mut process) = place.spawn(Path::new("/bin/bash"), "bash", &["-c", script]) else {
            eprintln!("skipped: there is no bash, and plain shells make no groups without a terminal");
            return;
        };
        with_timeout(process.wait()).await.unwrap();
        let (child, group) = (place.read_pid("child").await, process.pid());
        assert!(process.live_pids().contains(&child), "{end}");
        process.track_group();
        let outlived = tokio::spawn(async move { process.wait_for_group().await });
        assert_eq!(place.groups.pids(), [group]);
        match end {
            "asked" => with_timeout(place.groups.terminate_all(TERMINATION_GRACE_PERIOD)).await,
            _ => place.groups.kill_all(),
        }
        wait_until_gone(child).await;
        with_timeout(outlived).await.unwrap();
        assert!(place.groups.pids().is_empty());
        std::fs::remove_file(place.path("child")).unwrap();
    }
}

#[tokio::test]
async fn terminate_all_ends_every_group() {
    let place = ProcessFixture::new();
    let stubborn = "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 0.1; done' & \
                    while [ ! -s stubborn ]; do sleep 0.01; done";
    for script in ["sleep 60 & echo $! > meek", stubborn] {
        let mut process = place.spawn_shell(script);
        with_timeout(process.wait()).await.unwrap();
        assert!(process.finish().has_survivors);
    }
    let (meek, stubborn) = (place.read_pid("meek").await, place.read_pid("stubborn").await);
    assert_eq!(place.groups.pids().len(), 2);
    with_timeout(place.groups.terminate_all(TERMINATION_GRACE_PERIOD)).await;
    assert!(place.groups.pids().is_empty());
    wait_until_gone(meek).await;
    wait_until_gone(stubborn).await;
}

#[tokio::test]
async fn kill_all_skips_sigterm() {
    let place = ProcessFixture::new();
    let script = "trap 'touch asked' TERM; sleep 60 & echo $! > child; echo $$ > leader; wait; wait";
    let mut process = place.spawn_shell(script);
    place.read_pid("leader").await;
    let child = place.read_pid("child").await;
    place.groups.kill_all();
    assert_eq!(with_timeout(process.wait()).await.unwrap(), Exit::Signal(9));
    wait_until_gone(child).await;
    assert!(!place.path("asked").exists());
}
