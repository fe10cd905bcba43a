//! The processes of a round, found by a mark in their environment.

use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_testkit::fs;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The variable that a round's processes inherit.
pub(crate) const MARK_VARIABLE: &str = "HOOKWRIGHT_CHAOS";

/// A process with the mark.
pub(crate) struct MarkedProcess {
    pub(crate) pid: Pid,
    pub(crate) command_line: String,
}

impl MarkedProcess {
    /// Returns whether hooks or tools started the process: it is neither the program nor one that the round itself
    /// started.
    pub(crate) fn is_below(&self, program: &Path) -> bool {
        let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.pid.as_raw_nonzero()));
        let stat = read("stat").unwrap_or_default();
        // After the name in brackets: the state, then the parent.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let running = std::fs::read_link(format!("/proc/{}/exe", self.pid.as_raw_nonzero()));
        parent != Some(std::process::id()) && running.is_ok_and(|path| path != program)
    }
}

/// Returns the running processes with the mark. A zombie has no environment.
pub(crate) fn marked_processes(mark: &str) -> Vec<MarkedProcess> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| has_mark(*pid, mark))
        .filter_map(|pid| Some(MarkedProcess { pid: Pid::from_raw(pid)?, command_line: read_command_line(pid) }))
        .collect()
}

fn has_mark(pid: i32, mark: &str) -> bool {
    let wanted = format!("{MARK_VARIABLE}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

fn read_command_line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()
}

/// Sends a signal to a process if it still belongs to this round: its id may have been reused.
pub(crate) fn send_signal(pid: Pid, mark: &str, signal: Signal) {
    if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
        && has_mark(pid.as_raw_nonzero().get(), mark)
    {
        let _ = pidfd_send_signal(&handle, signal);
    }
}

/// Waits until no process is left, and returns those that remain at the timeout.
pub(crate) fn wait_until_gone(mark: &str, patience: Duration) -> Vec<MarkedProcess> {
    let deadline = Instant::now() + patience;
    loop {
        let left = marked_processes(mark);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills all of them, repeatedly, since they may start others meanwhile.
pub(crate) fn kill_all(mark: &str) {
    for _ in 0..100 {
        let left = marked_processes(mark);
        if left.is_empty() {
            return;
        }
        left.iter().for_each(|process| send_signal(process.pid, mark, Signal::KILL));
        std::thread::sleep(Duration::from_millis(5));
    }
}
