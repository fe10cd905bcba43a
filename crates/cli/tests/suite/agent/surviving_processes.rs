//! No process outlives the agent, wherever it went and however the agent ends.
#![cfg(target_os = "linux")]

use super::signals::{assert_gone, send};
use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{finish, has_program, report_skipped, wait_until};

/// A typical daemon: a session of its own, no parent, no pipes, signals ignored. `before` is inserted before the
/// command that starts it.
pub(crate) fn daemon(before: &str) -> String {
    format!(
        "({before} setsid sh -c 'trap \"\" TERM HUP INT; exec </dev/null >/dev/null 2>&1; echo $$ > daemon.tmp; \
         mv daemon.tmp daemon; while :; do sleep 1; done' &)\n\
         while ! [ -e daemon ]; do sleep 0.02; done"
    )
}

/// Returns whether a program is missing that the test needs, and reports it.
pub(crate) fn lacks_any(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !has_program(program));
    missing.inspect(|program| report_skipped(test, &format!("{program} is not installed"))).is_some()
}

/// Writes the pids of the watchdog and the other children of this process's parent to `family`.
const LIST_SIBLINGS_SCRIPT: &str = "cat /proc/$PPID/task/*/children | tr ' ' '\\n' | grep -v '^$' > family";

fn assert_siblings_gone(sandbox: &Sandbox) {
    let family = sandbox.read("family");
    assert!(family.lines().count() >= 2, "the hook and the watchdog: {family}");
    family.lines().for_each(assert_gone);
}

/// What starts the daemon.
#[derive(Clone, Copy, Debug)]
enum DaemonOrigin {
    Hook,
    Command,
}

/// How an agent ends.
#[derive(Clone, Copy, Debug)]
enum AgentExit {
    Exit,
    Signal(&'static str),
}

const AGENT_EXITS: [AgentExit; 5] = [
    AgentExit::Exit,
    AgentExit::Signal("-INT"),
    AgentExit::Signal("-TERM"),
    AgentExit::Signal("-HUP"),
    AgentExit::Signal("-KILL"),
];

/// A session with a daemon, and a last hook that lists the siblings and then runs this.
fn session(from: DaemonOrigin, daemon: &str, last: &str) -> (Sandbox, ReplayBuilder) {
    let (sandbox, command) = match from {
        DaemonOrigin::Hook => {
            (project(&[("BeforeTool", "", &format!("{daemon}\n{LIST_SIBLINGS_SCRIPT}\n{last}"))]), "true")
        }
        DaemonOrigin::Command => (project(&[("AfterTool", "", &format!("{LIST_SIBLINGS_SCRIPT}\n{last}"))]), daemon),
    };
    (sandbox, ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("done"))
}

/// Runs such a session to its end; a signal comes while the last hook runs.
fn ended(from: DaemonOrigin, daemon: &str, last: &str, way: AgentExit) -> (Sandbox, ProgramRun) {
    let wait = if let AgentExit::Signal(_) = way { "touch ready; sleep 60" } else { "" };
    let (sandbox, replay) = session(from, daemon, &format!("{last}\n{wait}"));
    let agent = start(&sandbox, &replay);
    if let AgentExit::Signal(signal) = way {
        wait_until("the hook runs", || sandbox.has_file("ready"));
        send(signal, &agent.id().to_string());
    }
    (sandbox, finish(agent))
}

fn start(sandbox: &Sandbox, replay: &ReplayBuilder) -> std::process::Child {
    let file = sandbox.replay(replay);
    sandbox.command(&["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"]).spawn().unwrap()
}

#[test]
fn a_daemon_of_a_hook_or_a_tool_does_not_outlive_the_agent_however_that_ends() {
    if lacks_any("a_daemon_of_a_hook_or_a_tool_does_not_outlive_the_agent_however_that_ends", &["setsid"]) {
        return;
    }
    for (from, way) in
        [DaemonOrigin::Hook, DaemonOrigin::Command].into_iter().flat_map(|from| AGENT_EXITS.map(|way| (from, way)))
    {
        let (sandbox, run) = ended(from, &daemon(""), "", way);
        if let AgentExit::Exit = way {
            run.expect_exit_code(0);
            // Processes that the agent itself can end are gone before it is.
            assert!(!hookwright_testkit::is_running(sandbox.read("daemon").trim()), "{from:?}");
        }
        assert_gone(sandbox.read("daemon").trim());
        assert_siblings_gone(&sandbox);
    }
}

/// Marks, sessions and the environment can all be removed; parentage cannot.
#[test]
fn a_daemon_that_takes_everything_off_does_not_outlive_the_agent() {
    if lacks_any("a_daemon_that_takes_everything_off_does_not_outlive_the_agent", &["setsid", "bash"]) {
        return;
    }
    let daemon = daemon("ulimit -x 7 && env -i PATH=\"$PATH\"");
    for way in [AgentExit::Exit, AgentExit::Signal("-TERM")] {
        let (sandbox, _) = ended(DaemonOrigin::Command, &daemon, "", way);
        assert_gone(sandbox.read("daemon").trim());
        assert_siblings_gone(&sandbox);
    }
}

/// In another namespace, an orphan becomes a child of that namespace's first process and not of ours.
#[test]
fn a_daemon_in_anothers_namespace_does_not_outlive_the_agent() {
    let test = "a_daemon_in_anothers_namespace_does_not_outlive_the_agent";
    if lacks_any(test, &["setsid", "unshare", "nsenter", "pgrep"]) {
        return;
    }
    let mut unshare = std::process::Command::new("unshare");
    if !unshare.args(["--pid", "--fork", "true"]).output_in_time().unwrap().status.success() {
        return report_skipped(test, "this user may make no namespace");
    }
    for way in [AgentExit::Exit, AgentExit::Signal("-KILL")] {
        let other = UnrelatedNamespace::start();
        let children = format!("/proc/{0}/task/{0}/children", other.0.id());
        let first = || fs::read_to_string(&children).unwrap().trim().to_owned();
        wait_until("the other program runs", || !first().is_empty());
        // A duration that identifies its process.
        let length = format!("6{}.5", other.0.id());
        let daemon = format!("nsenter -t {} -p sh -c 'setsid sleep {length} >/dev/null 2>&1 &'", first());
        let is_running = || {
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
                .any(|line| line == format!("sleep\0{length}\0").as_bytes())
        };
        let (sandbox, _) = ended(DaemonOrigin::Hook, &format!("{daemon}\npgrep -f '[s]leep {length}' > seen"), "", way);
        assert!(!sandbox.read("seen").is_empty());
        wait_until("it is gone", || !is_running());
    }
}

/// An unrelated program in a namespace of its own, which ends with everything in it.
struct UnrelatedNamespace(std::process::Child);

impl UnrelatedNamespace {
    fn start() -> Self {
        let mut unshare = std::process::Command::new("unshare");
        let quiet =
            unshare.args(["--pid", "--fork", "--kill-child", "sleep", "600"]).stdout(std::process::Stdio::null());
        UnrelatedNamespace(quiet.stderr(std::process::Stdio::null()).spawn().unwrap())
    }
}

impl Drop for UnrelatedNamespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait_in_time();
    }
}

/// A watchdog that was killed is replaced.
#[test]
fn a_watchdog_that_was_killed_is_replaced() {
    if lacks_any("a_watchdog_that_was_killed_is_replaced", &["setsid"]) {
        return;
    }
    let kill = "for pid in $(cat /proc/$PPID/task/*/children); do \
                grep -q '^hookwright-watch[d]og' /proc/$pid/cmdline && kill -9 $pid && echo $pid > killed; done; true";
    let (sandbox, _) = session(DaemonOrigin::Command, "", "touch ready; sleep 60");
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": kill}))
        .calls("run_shell_command", json!({"command": daemon("")}))
        .says("done");
    sandbox.settings(&json!({"hooks": {"AfterTool": [{"hooks": [{
        "type": "command", "command": sandbox.script("last.sh", "[ -e daemon ] || exit 0; touch ready; sleep 60")}]}]}}));
    let agent = start(&sandbox, &replay);
    wait_until("the hook runs", || sandbox.has_file("ready"));
    assert!(sandbox.has_file("killed"));
    send("-KILL", &agent.id().to_string());
    finish(agent);
    assert_gone(sandbox.read("daemon").trim());
}

/// Many processes that start others as fast as they can and ignore signals.
#[test]
fn a_crowd_that_keeps_growing_does_not_outlive_the_agent() {
    if lacks_any("a_crowd_that_keeps_growing_does_not_outlive_the_agent", &["setsid"]) {
        return;
    }
    let grow = "cat > grow.sh <<'END'\ntrap '' TERM HUP\nexec </dev/null >/dev/null 2>&1\necho $$ >> crowd\n\
                while [ \"$(wc -l < crowd)\" -lt 100 ]; do setsid sh grow.sh & sleep 0.2; done; sleep 600\nEND\n\
                (setsid sh grow.sh &); while [ \"$(wc -l < crowd)\" -lt 10 ]; do sleep 0.02; done";
    // A file to read exists before the first of them does.
    let grow = format!("touch crowd; {grow}");
    for way in [AgentExit::Signal("-TERM"), AgentExit::Signal("-KILL")] {
        let (sandbox, _) = ended(DaemonOrigin::Command, &grow, "", way);
        let crowd = || sandbox.read("crowd").lines().filter(|pid| hookwright_testkit::is_running(pid)).count();
        wait_until("all are gone", || crowd() == 0);
    }
}

/// The daemon of a hook that times out ends with the hook; the session goes on.
#[test]
fn a_daemon_of_a_hook_that_takes_too_long_is_ended_with_it() {
    if lacks_any("a_daemon_of_a_hook_that_takes_too_long_is_ended_with_it", &["setsid"]) {
        return;
    }
    let sandbox = crate::sandbox();
    let slow = sandbox.script("slow.sh", &format!("{}\nsleep 60", daemon("env -i PATH=\"$PATH\"")));
    let wait = "i=0; while kill -0 \"$(cat daemon)\" 2>/dev/null && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; \
                kill -0 \"$(cat daemon)\" 2>/dev/null && echo alive > found; true";
    let hook = |command: &str, timeout| json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]});
    let late = sandbox.script("late.sh", wait);
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [hook(&slow, 2_000)], "AfterAgent": [hook(&late, 60_000)]}}));
    finish(start(&sandbox, &ReplayBuilder::new().says("done"))).expect_exit_code(0);
    assert!(sandbox.has_file("daemon"), "it had no time to start it");
    assert!(!sandbox.has_file("found"), "the daemon ran on");
}

/// Without descriptors the agent cannot search for processes; its watchdog still can.
#[test]
fn a_daemon_does_not_outlive_an_agent_that_has_no_descriptors_left() {
    if lacks_any("a_daemon_does_not_outlive_an_agent_that_has_no_descriptors_left", &["setsid", "prlimit"]) {
        return;
    }
    for way in [AgentExit::Exit, AgentExit::Signal("-TERM")] {
        let (sandbox, _) = ended(DaemonOrigin::Command, &daemon(""), "prlimit --pid $PPID --nofile=5:5", way);
        assert_gone(sandbox.read("daemon").trim());
        assert_siblings_gone(&sandbox);
    }
}

/// Finds the watchdog among the children of this process's parent, in `$dog`.
const FIND_WATCHDOG_SCRIPT: &str = "for pid in $(cat /proc/$PPID/task/*/children); do \
                   grep -q '^hookwright-watch[d]og' /proc/$pid/cmdline && dog=$pid; done";

/// Kills the agent from one of its own commands, after this; the processes before are `daemon` and `plain`.
fn killed_from_within(act: &str) -> Sandbox {
    let (sandbox, _) = session(DaemonOrigin::Command, "", "");
    let plain = "echo $$ > plain; exec sleep 600";
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": act}))
        .calls("run_shell_command", json!({"command": plain, "is_background": true}))
        .calls("run_shell_command", json!({"command": daemon("")}))
        .calls("run_shell_command", json!({"command": format!("{FIND_WATCHDOG_SCRIPT}; {act}; kill -9 $PPID")}));
    finish(start(&sandbox, &replay));
    sandbox
}

#[test]
fn a_watchdog_that_was_stopped_wakes() {
    if lacks_any("a_watchdog_that_was_stopped_wakes", &["setsid"]) {
        return;
    }
    let sandbox = killed_from_within(&format!("{FIND_WATCHDOG_SCRIPT}; kill -STOP $dog"));
    assert_gone(sandbox.read("plain").trim());
    assert_gone(sandbox.read("daemon").trim());
    assert_siblings_gone(&sandbox);
}

/// Where processes cannot be marked, groups and sessions are still known, also to the watchdog.
#[test]
fn without_marks_a_kill_still_ends_what_stayed_in_its_session() {
    if lacks_any("without_marks_a_kill_still_ends_what_stayed_in_its_session", &["setsid", "prlimit"]) {
        return;
    }
    let sandbox = killed_from_within("prlimit --pid $PPID --locks=5:5");
    assert_gone(sandbox.read("plain").trim());
    // The daemon is not guaranteed to end then.
    send("-KILL", sandbox.read("daemon").trim());
}

/// The token that lets a process stay is a secret.
#[test]
fn nothing_lets_itself_stay() {
    if lacks_any("nothing_lets_itself_stay", &["setsid", "bash"]) {
        return;
    }
    for forged in ["m | (0xFFFFF << 20)", "m + 1", "m | 1", "1 << 62"] {
        let forge = format!("m=$(ulimit -Sx); ulimit -Sx $(({forged})) &&");
        let (sandbox, run) = ended(DaemonOrigin::Command, &daemon(&forge), "", AgentExit::Exit);
        run.expect_exit_code(0);
        assert_gone(sandbox.read("daemon").trim());
    }
}
