//! The bridge has one thread and a faster search for descendants than a session. No process survives because of that.
#![cfg(target_os = "linux")]

use hookwright_testkit::{finish, has_program, wait_until};

use super::{bridge, guarded, shell};
use crate::suite::agent::signals::{assert_gone, send};
use crate::suite::agent::surviving_processes::{daemon, lacks_any};

/// Ways to hide a process: from its group, its parent, the marks, or the list of children while it is read.
fn ways_out() -> Vec<(&'static str, String)> {
    let quoted = |script: String| script.replace('\'', "'\\''");
    let mut ways = vec![
        ("a daemon", daemon("")),
        ("below a shell that ends", format!("sh -c '{}' &", quoted(daemon("")))),
        // The hook's other children end one after another during the search.
        ("in a crowd that ends", format!("for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.0$i &); done\n{}", daemon(""))),
    ];
    if has_program("bash") {
        let unmarked = daemon("ulimit -x 7 && env -i PATH=\"$PATH\"");
        ways.push(("without a mark", format!("bash -c '{}'", quoted(unmarked))));
    }
    if has_program("unshare") && rustix::process::getuid().is_root() {
        ways.push(("in a process namespace", daemon("unshare --pid --fork")));
    }
    ways
}

#[test]
fn nobody_outlives_the_bridge() {
    if lacks_any("nobody_outlives_the_bridge", &["setsid"]) {
        return;
    }
    for (way, script) in ways_out() {
        // In a namespace its pid is different, so a file that it holds open identifies it.
        let sandbox = guarded(&format!("exec 9>held\n{script}\nexit 0"));
        let run = bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{way}: {run:#?}");
        let held = sandbox.project().join("held");
        wait_until("nobody holds the file", || !is_held(&held));
    }
}

/// Returns whether a process has the file open.
fn is_held(file: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let descriptors = processes.filter_map(|entry| std::fs::read_dir(entry.path().join("fd")).ok()).flatten().flatten();
    descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| target == file)
}

#[test]
fn nobody_outlives_a_bridge_that_is_killed() {
    if lacks_any("nobody_outlives_a_bridge_that_is_killed", &["setsid"]) {
        return;
    }
    let sandbox = guarded(&format!("{}\ntouch ready; sleep 60", daemon("")));
    let payload = shell("claude-code", "PreToolUse", "ls").to_string();
    let input = sandbox.write("payload.json", &payload);
    let mut command = sandbox.command(&["bridge", "claude-code"]);
    let bridge = command.stdin(std::fs::File::open(input).unwrap()).spawn().unwrap();
    wait_until("the hook runs", || sandbox.has_file("ready"));
    send("-KILL", &bridge.id().to_string());
    finish(bridge);
    assert_gone(sandbox.read("daemon").trim());
}
