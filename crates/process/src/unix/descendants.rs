//! The descendants of started processes, found by mark, by session and group, and by parentage (Linux only). They are
//! signalled one by one. The start time tells a process from a later one with the same number.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::child_registry;
use super::process_mark::{self, ProcessMarkRange};
use crate::is_resource_exhausted;

/// The criteria by which descendants are found.
#[derive(Debug)]
pub(super) struct DescendantQuery {
    /// Processes with one of these marks.
    pub(super) marks: ProcessMarkRange,
    /// Processes of the groups and sessions with these numbers.
    pub(super) group_ids: Vec<u32>,
    /// Processes that descend from these children of this process.
    pub(super) children: ChildFilter,
}

/// How many empty scans in a row prove that no process is left: one scan may miss a process that keeps re-forking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptyScans {
    One = 0,
    Two = 1,
    Many = 20,
}

/// The children of this process that match, whatever their mark and group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildFilter {
    None,
    /// Children without a mark, which removed it: every child of this program but its watchdog is started with one.
    Unmarked,
    All,
}

impl DescendantQuery {
    pub(super) fn new(family: ProcessMarkRange, numbers: Vec<u32>) -> Self {
        DescendantQuery { marks: family, group_ids: numbers, children: ChildFilter::None }
    }

    /// Also matches the children of this process that carry no mark.
    pub(super) fn with_unmarked_children(self) -> Self {
        DescendantQuery { children: ChildFilter::Unmarked, ..self }
    }

    /// Returns all matching processes with their descendants, except zombies.
    ///
    /// An error means that the processes could not be read, as where no descriptor is left.
    pub(super) fn find(&self) -> io::Result<Vec<ProcStat>> {
        if self.is_certainly_empty()? {
            return Ok(Vec::new());
        }
        let mut all = HashMap::new();
        for pid in all_pids()? {
            all.extend(ProcStat::read(pid)?.map(|process| (pid, process)));
        }
        let mut known = HashMap::new();
        let mut found: Vec<ProcStat> = all
            .values()
            .filter(|process| !process.is_dead && self.matches(process, &all, &mut known) && !self.is_exempt(process))
            .copied()
            .collect();
        found.sort_unstable_by_key(|process| (process.start_time, process.pid));
        Ok(found)
    }

    /// Returns whether there is certainly no match: no child, and no process with one of the marks.
    ///
    /// If it returns false, only a full scan tells.
    pub(super) fn is_certainly_empty(&self) -> io::Result<bool> {
        Ok(child_registry::has_no_children()
            && process_mark::are_marks_reliable()
            && marked_pids(self.marks)?.next().is_none())
    }

    fn is_exempt(&self, process: &ProcStat) -> bool {
        process.pid == std::process::id()
            || child_registry::watchdog_pid() == Some(process.pid)
            || process.mark.is_some_and(|mark| self.marks.is_detached_mark(mark))
    }

    /// Returns whether the process, or one of its ancestors, matches.
    fn matches(&self, process: &ProcStat, all: &HashMap<u32, ProcStat>, known: &mut HashMap<u32, bool>) -> bool {
        let (mut line, mut at) = (Vec::new(), Some(process));
        let is_match = loop {
            let Some(process) = at else { break false };
            if let Some(is_match) = known.get(&process.pid) {
                break *is_match;
            }
            line.push(process.pid);
            // A cycle was read while process numbers were reused.
            if line.len() > all.len() {
                break false;
            }
            // The descendants of a detached process belong to that process.
            if process.mark.is_some_and(|mark| self.marks.is_detached_mark(mark)) {
                break false;
            }
            if self.matches_directly(process) {
                break true;
            }
            at = all.get(&process.parent);
        };
        known.extend(line.into_iter().map(|pid| (pid, is_match)));
        is_match
    }

    fn matches_directly(&self, process: &ProcStat) -> bool {
        process.mark.is_some_and(|mark| self.marks.contains(mark))
            || self.group_ids.iter().any(|number| process.group == *number || process.session == *number)
            || process.parent == std::process::id() && self.matches_child(process)
    }

    fn matches_child(&self, process: &ProcStat) -> bool {
        match self.children {
            ChildFilter::None => false,
            ChildFilter::Unmarked => process.mark.is_none() && child_registry::watchdog_pid() != Some(process.pid),
            ChildFilter::All => child_registry::watchdog_pid() != Some(process.pid),
        }
    }

    /// Detaches all matching processes, including those started meanwhile, and returns them.
    pub(super) fn detach_all(&self) -> io::Result<Vec<ProcStat>> {
        let mut detached = Vec::new();
        loop {
            let mut new = self.find()?;
            new.retain(|process| !detached.iter().any(|known| process.is_same_process(known)));
            if new.is_empty() {
                return Ok(detached);
            }
            // The marks of other programs stay, because those programs need them.
            let ours = |process: &&ProcStat| process.mark.is_none_or(|mark| self.marks.contains(mark));
            new.iter().filter(ours).try_for_each(|process| process_mark::set_detached_mark(process.pid))?;
            detached.append(&mut new);
        }
    }

    /// Kills all matching processes, including those started meanwhile. An error means that not all could be read.
    pub(super) fn kill_all(&self, sure: EmptyScans) -> io::Result<()> {
        /// The most scans: processes about to be killed start no more, so that even many are soon found.
        const MAX_KILL_PASSES: usize = 200;
        let (mut seen, mut empty) = (HashSet::new(), 0);
        for _ in 0..MAX_KILL_PASSES {
            let mut new = self.find()?;
            new.retain(|process| seen.insert((process.pid, process.start_time)));
            empty = if new.is_empty() { empty + 1 } else { 0 };
            if empty > sure as usize {
                return Ok(());
            }
            for process in new {
                process.signal(&[Signal::KILL])?;
            }
        }
        Err(io::Error::other("there are ever more of them"))
    }
}

impl DescendantQuery {
    /// Returns the numbers of the matching processes.
    ///
    /// If marks are reliable, this reads only marks, and misses processes that removed theirs.
    pub(super) fn find_pids(&self) -> io::Result<Vec<u32>> {
        if !process_mark::are_marks_reliable() {
            return Ok(self.find()?.iter().map(|process| process.pid).collect());
        }
        let mut found = Vec::new();
        for pid in marked_pids(self.marks)? {
            let lives = ProcStat::read(pid)?.is_some_and(|process| !process.is_dead && !self.is_exempt(&process));
            found.extend(lives.then_some(pid));
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// Returns the numbers of all processes with these marks, zombies included.
pub(super) fn marked_pids(family: ProcessMarkRange) -> io::Result<impl Iterator<Item = u32>> {
    Ok(all_pids()?.filter(move |pid| process_mark::read_mark(*pid).is_some_and(|mark| family.contains(mark))))
}

fn all_pids() -> io::Result<impl Iterator<Item = u32>> {
    let entries = std::fs::read_dir("/proc")?.flatten();
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// The fields of `/proc/PID/stat` that are used here, and the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcStat {
    pub(super) pid: u32,
    pub(super) group: u32,
    parent: u32,
    session: u32,
    /// In clock ticks since boot.
    start_time: u64,
    mark: Option<u64>,
    is_dead: bool,
}

impl ProcStat {
    /// Reads a process; `None` if it is gone.
    fn read(pid: u32) -> io::Result<Option<ProcStat>> {
        /// More than the longest line: about fifty numbers and a name of sixteen bytes.
        const MAX_STAT_BYTES: usize = 2048;
        let mut stat = [0; MAX_STAT_BYTES];
        // One read per process: reading to the end would take about six system calls, for every process on the machine.
        let read = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut stat));
        match read {
            Ok(count) => {
                Ok(ProcStat::parse(pid, &String::from_utf8_lossy(&stat[..count]), process_mark::read_mark(pid)))
            }
            Err(error) if is_resource_exhausted(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Returns the start time of the process with this number, if there is one.
    pub(super) fn start_time_of(pid: u32) -> Option<u64> {
        ProcStat::read(pid).ok()?.map(|process| process.start_time)
    }

    /// Parses `pid (name) state parent group session …`; the name may contain anything, parentheses too.
    fn parse(pid: u32, stat: &str, mark: Option<u64>) -> Option<ProcStat> {
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        let started = fields.nth(15)?.parse().ok()?;
        Some(ProcStat { pid, group, parent, session, start_time: started, mark, is_dead: dead })
    }

    fn is_same_process(&self, other: &ProcStat) -> bool {
        (self.pid, self.start_time) == (other.pid, other.start_time)
    }

    /// Returns whether the process has not ended yet.
    pub(super) fn is_alive(&self) -> bool {
        // A process that cannot be read may be alive.
        ProcStat::read(self.pid).map_or(true, |now| now.is_some_and(|now| now.is_same_process(self) && !now.is_dead))
    }

    /// Signals the process, if its number has not been reused. An error means that no descriptor was left to do so.
    pub(super) fn signal(&self, signals: &[Signal]) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return Ok(()) };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(errno) if is_resource_exhausted(&errno.into()) => return Err(errno.into()),
            Err(_) => return Ok(()),
        };
        // The number may have been reused before the handle was opened.
        if ProcStat::read(self.pid)?.is_some_and(|now| now.is_same_process(self)) {
            for signal in signals {
                if pidfd_send_signal(&handle, *signal).is_ok() {
                    tracing::debug!(pid = self.pid, ?signal, "reached outside of its group");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;

    #[test]
    fn stat_parser_accepts_names_with_parentheses() {
        let read = |stat: &str| {
            ProcStat::parse(7, stat, None)
                .map(|process| (process.parent, process.group, process.session, process.start_time, process.is_dead))
        };
        let rest = "0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 7312 5"; // tty … starttime vsize
        assert_eq!(read(&format!("7 (a) b) S 1 42 43 {rest}")), Some((1, 42, 43, 7312, false)));
        assert_eq!(read(&format!("7 (x) Z 1 42 42 {rest}")), Some((1, 42, 42, 7312, true)));
        assert_eq!(read("7 (x) S 1 42 42 0"), None);
        assert_eq!(read(""), None);
    }

    /// A name is sixteen bytes that the process chooses itself.
    #[test]
    fn non_utf8_process_name_is_still_found_and_measured() {
        let script = r"printf '\377)\n(' >/proc/$$/comm; echo; read -r line";
        let mut shell = std::process::Command::new("sh");
        let piped = shell.args(["-c", script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let process = ProcStat::read(child.id()).unwrap().expect("it is there");
        assert_eq!((process.pid, process.parent, process.is_dead), (child.id(), std::process::id(), false));
        assert!(crate::system::limits::resident_bytes(child.id()).is_some_and(|bytes| bytes > 0));
        drop(child.stdin.take());
        child.wait_in_time().unwrap();
    }

    /// Whatever mark the child carries: a detached editor may hold a terminal in which another session runs.
    #[test]
    fn children_of_detached_processes_are_not_matched() {
        let start = || std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let mut kept = {
            let _one_at_a_time = child_registry::lock_registry();
            process_mark::spawn_with_mark(process_mark::ProcessMark::Detached, start)
        };
        let below = loop {
            let all = all_pids().unwrap().filter_map(|pid| ProcStat::read(pid).unwrap());
            if let Some(found) = all.into_iter().find(|process| process.parent == kept.id()) {
                break found;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        let search = || DescendantQuery {
            children: ChildFilter::All,
            ..DescendantQuery::new(ProcessMarkRange::of_program(), Vec::new())
        };
        for mark in [(1 << 62) | 7, u64::MAX] {
            crate::system::sys::set_lock_limit(below.pid, mark).unwrap();
            let found = search().find().unwrap();
            assert!(!found.iter().any(|process| process.pid == below.pid || process.pid == kept.id()), "{found:?}");
        }
        below.signal(&[Signal::KILL]).unwrap();
        kept.wait_in_time().unwrap();
    }
}
