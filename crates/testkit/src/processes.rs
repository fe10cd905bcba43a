//! Inspects processes through `/proc`: the tree below a process, and what each one waits in; and kills them.
//!
//! Where there is no `/proc` the lists are empty.

use std::fmt::Write;

use crate::fs;

/// These processes and all of their descendants, parents first.
pub fn process_tree(roots: &[u32]) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all_pids().filter_map(|pid| Some((pid, parent_pid(pid)?))).collect();
    let mut tree = roots.to_vec();
    let mut next = 0;
    while let Some(&one) = tree.get(next) {
        let children = parents.iter().filter(|(_, parent)| *parent == one).map(|(pid, _)| *pid);
        let new: Vec<u32> = children.filter(|pid| !tree.contains(pid)).collect();
        tree.extend(new);
        next += 1;
    }
    tree
}

/// The processes other than this one that hold a file open, named as the links in `/proc/PID/fd` name it.
pub fn file_holders(file: &str) -> Vec<u32> {
    let holds = |pid: &u32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|link| link.as_os_str() == file)
    };
    all_pids().filter(|pid| *pid != std::process::id()).filter(holds).collect()
}

/// One line for each process and one for each of its threads: state, command line, and the kernel function and system
/// call that it waits in.
pub fn describe(pids: &[u32]) -> String {
    let mut text = String::new();
    for pid in pids {
        let state = read_status(*pid).map_or_else(|| "gone".to_owned(), |stat| stat.state.to_string());
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let parent = parent_pid(*pid).unwrap_or_default();
        let _ = writeln!(text, "{pid} (child of {parent}) {state} {}", command.trim_end());
        text.push_str(&describe_waits(*pid));
    }
    text
}

/// What the threads of a process wait in, one line each.
pub fn describe_waits(pid: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let wait = |task: std::fs::DirEntry| {
        let read = |name: &str| {
            let content = fs::read(task.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&content).trim().to_owned()
        };
        format!("    {} waits in {}: {}\n", read("comm"), read("wchan"), read("syscall"))
    };
    tasks.map(wait).collect()
}

/// Ends processes with SIGKILL.
pub fn kill(pids: &[u32]) {
    #[cfg(unix)]
    for pid in pids.iter().filter_map(|pid| rustix::process::Pid::from_raw(i32::try_from(*pid).ok()?)) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = pids;
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

struct ProcessStatus {
    state: char,
    parent: u32,
}

fn read_status(pid: u32) -> Option<ProcessStatus> {
    // A process may have any bytes in its name, parentheses too.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace();
    Some(ProcessStatus { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

fn parent_pid(pid: u32) -> Option<u32> {
    read_status(pid).map(|stat| stat.parent)
}
