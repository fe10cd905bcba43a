//! Tests `run_shell_command` without a terminal.

use super::support::{ToolTestProject, result_text};
use hookwright_testkit::fs;
use hookwright_tools::{CommandEnd, ToolErrorKind};
use serde_json::json;
use std::time::{Duration, Instant};

/// Returns the lines of the answer inside its wrapper.
fn lines(text: &str) -> Vec<&str> {
    let inner = text.strip_prefix("<untrusted_context>\n").and_then(|text| text.strip_suffix("\n</untrusted_context>"));
    inner.unwrap_or_else(|| panic!("not wrapped: {text}")).lines().collect()
}

#[tokio::test]
async fn output_of_both_streams_in_order() {
    let project = ToolTestProject::new();
    let command = "echo out; echo err >&2; echo \"$GREETING $GEMINI_CLI ${HOME-none}\"";
    let result = project.call("run_shell_command", json!({ "command": command })).await;
    assert_eq!(result.error, None);
    let text = result_text(&result);
    let lines = lines(&text);
    assert_eq!(lines[0], format!("Command: {command}"));
    assert_eq!(lines[1], format!("Directory: {}", project.root.display()));
    assert_eq!(lines[2..5], ["Output: out", "err", "hi there 1 none"]);
    assert!(lines[5].starts_with("Process Group PGID: "), "{text}");
    assert_eq!(result.to_json()["returnDisplay"], "out\nerr\nhi there 1 none\n");
    assert_eq!(*project.live.lock().unwrap(), "out\nerr\nhi there 1 none\n");
}

#[tokio::test]
async fn exit_codes_and_signals_are_reported() {
    let project = ToolTestProject::with(&[("sub/x", "")]);
    let result = project.call("run_shell_command", json!({ "command": "exit 3" })).await;
    assert_eq!(result.error, None, "a command that fails is not a failed call");
    assert!(result_text(&result).contains("Output: (empty)\nExit Code: 3\n"));
    assert_eq!(result.to_json()["returnDisplay"], "Command exited with code: 3");
    let killed = project.call_text("run_shell_command", json!({ "command": "kill -9 $$" })).await;
    assert!(killed.contains("Signal: SIGKILL"), "{killed}");
    let missing = project.call_text("run_shell_command", json!({ "command": "no-such-program-here" })).await;
    assert!(missing.contains("Exit Code: 127"), "{missing}");
    let inside = project.call_text("run_shell_command", json!({ "command": "pwd", "dir_path": "sub" })).await;
    assert!(inside.contains("project/sub"), "{inside}");
    let stdin = project.call_text("run_shell_command", json!({ "command": "cat" })).await;
    assert!(stdin.contains("Output: (empty)"), "there is no input: {stdin}");
}

#[tokio::test]
async fn the_end_of_a_command_is_typed() {
    let mut project = ToolTestProject::new();
    project.ctx.shell.grace_period = Duration::from_millis(200);
    for (command, end) in [
        ("true", CommandEnd::Exited(0)),
        ("echo 'Exit Code: 9'; exit 3", CommandEnd::Exited(3)),
        ("kill -9 $$", CommandEnd::Signaled(9)),
    ] {
        let result = project.call("run_shell_command", json!({ "command": command })).await;
        assert_eq!(result.command.map(|run| run.end), Some(end), "{command}");
    }
    let background = json!({ "command": "sleep 60", "is_background": true, "delay_ms": 10 });
    assert_eq!(
        project.call("run_shell_command", background).await.command.map(|run| run.end),
        Some(CommandEnd::Background)
    );
    project.ctx.process_groups.terminate_all(Duration::from_secs(2)).await;

    let sleep = json!({ "command": "sleep 60" });
    project.ctx.shell.timeout = Some(Duration::from_millis(50));
    assert_eq!(
        project.call("run_shell_command", sleep.clone()).await.command.map(|run| run.end),
        Some(CommandEnd::TimedOut)
    );
    project.ctx.shell.timeout = None;
    project.ctx.shell.inactivity_timeout = Some(Duration::from_millis(50));
    assert_eq!(
        project.call("run_shell_command", sleep.clone()).await.command.map(|run| run.end),
        Some(CommandEnd::Inactive)
    );
    project.ctx.shell.inactivity_timeout = None;
    let cancel = project.ctx.cancel.clone();
    let begun = json!({ "command": "echo begun; sleep 60" });
    let cancelling = async {
        assert!(wait_until(|| project.live.lock().unwrap().contains("begun")).await, "it never begins");
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(project.call("run_shell_command", begun), cancelling);
    assert_eq!(result.command.map(|run| run.end), Some(CommandEnd::Cancelled));
    assert_eq!(project.call("list_directory", json!({ "dir_path": "." })).await.command, None);
}

#[tokio::test]
async fn commands_that_cannot_run_are_refused() {
    let project = ToolTestProject::with(&[("file", "")]);
    for (args, kind) in [
        (json!({ "command": "  " }), ToolErrorKind::InvalidToolParams),
        (json!({ "command": "ls", "dir_path": ".." }), ToolErrorKind::PathNotInWorkspace),
        (json!({ "command": "ls", "dir_path": "file" }), ToolErrorKind::PathIsNotADirectory),
        (json!({ "command": "ls", "dir_path": "gone" }), ToolErrorKind::PathIsNotADirectory),
        (json!({}), ToolErrorKind::InvalidToolParams),
    ] {
        assert_eq!(project.call_failure("run_shell_command", args.clone()).await.0, kind, "{args}");
    }
}

#[tokio::test]
async fn a_flood_is_bounded() {
    let mut project = ToolTestProject::new();
    project.ctx.shell.max_output_bytes = 1000;
    let command = "printf 'first\\n'; head -c 20000000 /dev/zero | tr '\\0' x; printf '\\nlast'";
    let text = project.call_text("run_shell_command", json!({ "command": command })).await;
    assert!(text.len() < 2000, "{}", text.len());
    assert!(text.contains("Output: first") && text.contains("bytes left out") && text.contains("last"), "{text}");
}

#[tokio::test]
async fn inactivity_and_running_time_are_limited() {
    let mut project = ToolTestProject::new();
    project.ctx.shell.inactivity_timeout = Some(Duration::from_secs(1));
    project.ctx.shell.grace_period = Duration::from_millis(200);
    let started = Instant::now();
    let result = project.call("run_shell_command", json!({ "command": "echo begun; sleep 60" })).await;
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(
        result_text(&result).contains("gave no output for 1.0 seconds. Below is the output"),
        "{}",
        result_text(&result)
    );
    assert!(result_text(&result).contains("begun"));

    project.ctx.shell.timeout = Some(Duration::from_secs(1));
    let command = "while true; do echo tick; sleep 0.05; done";
    let text = project.call_text("run_shell_command", json!({ "command": command })).await;
    assert!(text.contains("ran longer than 1.0 seconds") && text.contains("tick"), "{text}");
}

#[cfg(target_os = "linux")]
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

async fn wait_until(what: impl Fn() -> bool) -> bool {
    for _ in 0..3000 {
        if what() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancelling_ends_the_whole_group_even_if_it_resists() {
    let mut project = ToolTestProject::new();
    project.ctx.shell.grace_period = Duration::from_millis(200);
    let cancel = project.ctx.cancel.clone();
    let live = project.live.clone();
    tokio::spawn(async move {
        wait_until(|| live.lock().unwrap().contains("ready")).await;
        cancel.cancel();
    });
    let command = "trap '' TERM; (trap '' TERM; echo $BASHPID > child; while true; do sleep 0.1; done) & \
                   echo $$ > parent; sleep 0.1; echo ready; while true; do sleep 0.1; done";
    let started = Instant::now();
    let (kind, text) = project.call_failure("run_shell_command", json!({ "command": command })).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(kind, ToolErrorKind::Cancelled);
    assert!(text.contains("cancelled by user") && text.contains("ready"), "{text}");
    for file in ["parent", "child"] {
        let pid = project.text(file);
        assert!(wait_until(|| !is_running(&pid)).await, "{file} {pid} is still running");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_hold_the_call() {
    let project = ToolTestProject::new();
    let started = Instant::now();
    let result = project.call("run_shell_command", json!({ "command": "sleep 60 & echo done" })).await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let text = result_text(&result);
    let pids = text.lines().find_map(|line| line.strip_prefix("Background PIDs: ")).unwrap_or_default();
    assert!(is_running(pids), "{text}");
    assert_eq!(project.ctx.process_groups.pids().len(), 1);
    project.ctx.process_groups.terminate_all(Duration::from_secs(2)).await;
    assert!(wait_until(|| !is_running(pids)).await);
    assert!(project.ctx.process_groups.pids().is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_background_command_runs_on() {
    let project = ToolTestProject::new();
    let command = "echo up; echo $$ > pid; while true; do echo more; sleep 0.05; done";
    let args = json!({ "command": command, "is_background": true, "delay_ms": 1200 });
    let result = project.call("run_shell_command", args).await;
    assert!(result_text(&result).contains("Command is running in background. PID: "), "{}", result_text(&result));
    assert!(result_text(&result).contains("Initial output:\nup\nmore"));
    let pid = project.text("pid");
    assert!(is_running(&pid));
    assert_eq!(project.ctx.process_groups.pids(), [pid.trim().parse::<u32>().unwrap()]);
    project.ctx.process_groups.terminate_all(Duration::from_secs(2)).await;
    assert!(wait_until(|| !is_running(&pid)).await);

    let early = json!({ "command": "echo oops; exit 4", "is_background": true, "delay_ms": 5000 });
    let text = project.call_text("run_shell_command", early).await;
    assert!(text.contains("Output: oops") && text.contains("Exit Code: 4"), "{text}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_call_leaves_nothing_running() {
    let project = ToolTestProject::new();
    let args = json!({ "command": "echo $$ > pid; sleep 60" });
    let tool = project.registry.get("run_shell_command").unwrap();
    let written = || fs::read_to_string(project.root.join("pid")).is_ok_and(|pid| pid.ends_with('\n'));
    tokio::select! {
        result = tool.run(&args, &project.ctx) => panic!("{result:?}"),
        begun = wait_until(written) => assert!(begun),
    }
    let pid = project.text("pid");
    assert!(wait_until(|| !is_running(&pid)).await, "{pid} is still running");
}

/// The tests may run without a terminal themselves, so the command's session is checked too: it can have none.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_has_no_terminal() {
    let project = ToolTestProject::new();
    let command = "echo x > /dev/tty && touch drawn; cat /proc/$$/stat > stat; echo $$ > pid";
    project.call_text("run_shell_command", json!({ "command": command })).await;
    assert!(!project.root.join("drawn").exists());
    let (stat, pid) = (project.text("stat"), project.text("pid"));
    let fields: Vec<&str> = stat.split(") ").nth(1).unwrap().split(' ').collect();
    assert_eq!((fields[3], fields[4]), (pid.trim(), "0"), "session, terminal: {stat}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn kill_all_ends_running_and_background_commands() {
    let project = ToolTestProject::new();
    project.call_text("run_shell_command", json!({ "command": "sleep 60 & echo $! > left" })).await;
    let command = json!({ "command": "trap 'touch asked' TERM; echo $$ > runs; while true; do sleep 0.1; done" });
    let written = || fs::read_to_string(project.root.join("runs")).is_ok_and(|pid| pid.ends_with('\n'));
    let (result, ()) = tokio::join!(project.call("run_shell_command", command), async {
        assert!(wait_until(written).await);
        project.ctx.process_groups.kill_all();
    });
    assert_eq!(result.command.map(|run| run.end), Some(CommandEnd::Signaled(9)));
    for file in ["runs", "left"] {
        let pid = project.text(file);
        assert!(wait_until(|| !is_running(&pid)).await, "{file} {pid} is still running");
    }
    assert!(!project.root.join("asked").exists());
}

/// An ended command is not tracked any more, because another process may have got its id.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_ended_background_command_is_not_tracked() {
    let project = ToolTestProject::new();
    let args = json!({ "command": "(sleep 0.3 >/dev/null 2>&1) & sleep 0.1", "is_background": true, "delay_ms": 10 });
    project.call_text("run_shell_command", args).await;
    assert_eq!(project.ctx.process_groups.pids().len(), 1);
    assert!(wait_until(|| project.ctx.process_groups.pids().is_empty()).await);
}
