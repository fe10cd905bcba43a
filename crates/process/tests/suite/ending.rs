//! Processes that are ended, and groups that are remembered for as long as they have members and no longer.

use std::path::Path;
use std::time::Duration;

use hookwright_process::{Exit, Until};
use hookwright_testkit::deadline::*;
use tokio::time::Instant;

use super::support::{GRACE, Place, eventually, is_running, within};

async fn gone(pid: u32) {
    eventually(&format!("{pid} is gone"), || !is_running(pid)).await;
}

#[tokio::test]
async fn asking_is_enough_for_most() {
    let place = Place::new();
    let mut process = place.shell("trap 'echo tidy; exit 3' TERM; echo $$ > leader; while :; do sleep 0.05; done");
    place.pid("leader").await;
    within(process.end(Duration::from_secs(10), Until::LeaderGone)).await;
    assert_eq!(within(process.wait()).await.unwrap(), Exit::Code(3));
    assert_eq!(process.stdout().head(), b"tidy\n");
}

#[tokio::test]
async fn who_does_not_listen_is_killed_with_all_others() {
    for until in [Until::LeaderGone, Until::GroupGone] {
        let place = Place::new();
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' & \
                      echo $$ > leader; while :; do sleep 1; done";
        let mut process = place.shell(script);
        let (leader, child) = (place.pid("leader").await, place.pid("child").await);
        let started = Instant::now();
        within(process.end(GRACE, until)).await;
        assert!(started.elapsed() >= GRACE);
        assert_eq!(within(process.wait()).await.unwrap(), Exit::Signal(9));
        gone(leader).await;
        gone(child).await;
    }
}

#[tokio::test]
async fn a_stopped_process_hears_that_it_should_end() {
    let place = Place::new();
    let mut process = place.shell("trap 'exit 5' TERM; echo $$ > leader; kill -STOP $$; while :; do sleep 0.05; done");
    place.pid("leader").await;
    within(process.end(Duration::from_secs(10), Until::LeaderGone)).await;
    assert_eq!(within(process.wait()).await.unwrap(), Exit::Code(5));
}

fn kill(pid: u32) {
    assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status_in_time().unwrap().success());
}

/// A leader that obeys, and a child that does not.
const STUBBORN_CHILD: &str = "sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' & wait";

#[tokio::test]
async fn others_have_the_rest_of_the_grace() {
    let place = Place::new();
    let mut process = place.shell(STUBBORN_CHILD);
    let child = place.pid("child").await;
    within(process.end(Duration::from_secs(3600), Until::LeaderGone)).await;
    assert!(is_running(child), "nobody waits for it");
    assert!(process.finish().left_behind);
    kill(child);
    gone(child).await;

    let place = Place::new();
    let mut process = place.shell(STUBBORN_CHILD);
    let child = place.pid("child").await;
    let started = Instant::now();
    within(process.end(GRACE, Until::LeaderGone)).await;
    process.finish();
    gone(child).await;
    assert!(started.elapsed() >= GRACE);

    let place = Place::new();
    let mut process = place.shell(STUBBORN_CHILD);
    let child = place.pid("child").await;
    let started = Instant::now();
    within(process.end(GRACE, Until::GroupGone)).await;
    assert!(started.elapsed() >= GRACE, "it is waited for");
    gone(child).await;
}

#[tokio::test]
async fn dropping_a_process_ends_its_group() {
    let place = Place::new();
    let process = place.shell("sleep 60 & echo $! > child; echo $$ > leader; wait");
    let (leader, child) = (place.pid("leader").await, place.pid("child").await);
    assert_eq!(place.groups.pids(), [leader]);
    drop(process);
    gone(leader).await;
    gone(child).await;
    eventually("it is reaped and forgotten", || place.groups.pids().is_empty()).await;
}

#[tokio::test]
async fn a_group_that_has_settled_is_forgotten() {
    let place = Place::new();
    let mut process = place.shell("exit 0");
    assert_eq!(place.groups.pids(), [process.pid()]);
    within(process.wait()).await.unwrap();
    assert!(!process.finish().left_behind);
    assert!(place.groups.pids().is_empty());

    let mut process = place.shell("sleep 0.5 & exit 0");
    let group = process.pid();
    within(process.wait()).await.unwrap();
    assert!(process.finish().left_behind);
    assert_eq!(place.groups.pids(), [group], "remembered while somebody is in it");
    eventually("the last one ends", || place.groups.pids().is_empty()).await;
}

#[tokio::test]
async fn what_lets_go_of_its_output_is_remembered_until_it_is_gone() {
    let place = Place::new();
    let mut process = place.shell("sleep 60 >/dev/null 2>&1 & echo $! > child");
    within(process.wait()).await.unwrap();
    let child = place.pid("child").await;
    let group = process.pid();
    assert!(process.has_left_others());
    process.follow();
    let outlived = tokio::spawn(async move { process.outlive().await });
    assert_eq!(place.groups.pids(), [group]);
    std::process::Command::new("kill").args(["-9", &child.to_string()]).status_in_time().unwrap();
    within(outlived).await.unwrap();
    assert!(place.groups.pids().is_empty());
}

/// A shell with `set -m` gives every job a group of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_group_of_its_own_leads_nobody_out_of_the_session() {
    let place = Place::new();
    let script = "set -m; sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 0.1; done' >/dev/null 2>&1 & \
                  while [ ! -s child ]; do sleep 0.01; done";
    for end in ["asked", "killed"] {
        let Ok(mut process) = place.start(Path::new("/bin/bash"), "bash", &["-c", script]) else {
            eprintln!("skipped: there is no bash, and plain shells make no groups without a terminal");
            return;
        };
        within(process.wait()).await.unwrap();
        let (child, group) = (place.pid("child").await, process.pid());
        assert!(process.members().contains(&child), "{end}");
        process.follow();
        let outlived = tokio::spawn(async move { process.outlive().await });
        assert_eq!(place.groups.pids(), [group]);
        match end {
            "asked" => within(place.groups.end_all(GRACE)).await,
            _ => place.groups.kill_now(),
        }
        gone(child).await;
        within(outlived).await.unwrap();
        assert!(place.groups.pids().is_empty());
        std::fs::remove_file(place.path("child")).unwrap();
    }
}

#[tokio::test]
async fn everything_left_is_ended_at_the_end() {
    let place = Place::new();
    let stubborn = "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 0.1; done' & \
                    while [ ! -s stubborn ]; do sleep 0.01; done";
    for script in ["sleep 60 & echo $! > meek", stubborn] {
        let mut process = place.shell(script);
        within(process.wait()).await.unwrap();
        assert!(process.finish().left_behind);
    }
    let (meek, stubborn) = (place.pid("meek").await, place.pid("stubborn").await);
    assert_eq!(place.groups.pids().len(), 2);
    within(place.groups.end_all(GRACE)).await;
    assert!(place.groups.pids().is_empty());
    gone(meek).await;
    gone(stubborn).await;
}

#[tokio::test]
async fn killing_now_asks_nobody() {
    let place = Place::new();
    let script = "trap 'touch asked' TERM; sleep 60 & echo $! > child; echo $$ > leader; wait; wait";
    let mut process = place.shell(script);
    place.pid("leader").await;
    let child = place.pid("child").await;
    place.groups.kill_now();
    assert_eq!(within(process.wait()).await.unwrap(), Exit::Signal(9));
    gone(child).await;
    assert!(!place.path("asked").exists());
}
