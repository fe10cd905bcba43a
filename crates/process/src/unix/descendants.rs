//! Who descends from what we started, wherever it went: found by mark, by session and group, and by parentage; signalled
//! one by one, each told from a later bearer of its number by when it started. Linux only.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::child_registry;
use super::process_mark::{self, ProcessMarkRange};
use crate::is_resource_exhausted;

/// Whose processes are looked for.
#[derive(Debug)]
pub(super) struct DescendantQuery {
    /// Those with these marks.
    pub(super) marks: ProcessMarkRange,
    /// Those of the groups and sessions with these numbers.
    pub(super) group_ids: Vec<u32>,
    /// Those that descend from these children of this process.
    pub(super) children: ChildFilter,
}

/// How often nobody is found before that is believed: somebody who hands on to a child all the time may be missed by a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptyScans {
    One = 0,
    Two = 1,
    Many = 20,
}

/// Which children of this process are looked for, whatever else is known of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildFilter {
    None,
    /// Those without a mark, who took it off. All that this program starts has one but its watchdog, which is never meant.
    Unmarked,
    All,
}

impl DescendantQuery {
    pub(super) fn new(family: ProcessMarkRange, numbers: Vec<u32>) -> Self {
        DescendantQuery { marks: family, group_ids: numbers, children: ChildFilter::None }
    }

    /// The same, and those of this process's children who carry no mark: they took it off.
    pub(super) fn with_unmarked_children(self) -> Self {
        DescendantQuery { children: ChildFilter::Unmarked, ..self }
    }

    /// Everybody, with all that they have started: those who are dead and only not yet collected are nobody. An error is
    /// that nobody could be looked at, as where there are no descriptors.
    pub(super) fn find(&self) -> io::Result<Vec<ProcStat>> {
        if self.is_certainly_empty()? {
            return Ok(Vec::new());
        }
        let mut all = HashMap::new();
        for pid in all_pids()? {
            all.extend(ProcStat::read(pid)?.map(|kin| (pid, kin)));
        }
        let mut known = HashMap::new();
        let mut found: Vec<ProcStat> = all
            .values()
            .filter(|kin| !kin.is_dead && self.matches(kin, &all, &mut known) && !self.is_exempt(kin))
            .copied()
            .collect();
        found.sort_unstable_by_key(|kin| (kin.start_time, kin.pid));
        Ok(found)
    }

    /// Whether there is nobody for certain: no child, and no bearer of a mark, wherever it went. That they are many, or who
    /// they are, takes a look at everybody.
    pub(super) fn is_certainly_empty(&self) -> io::Result<bool> {
        Ok(child_registry::has_no_children()
            && process_mark::are_marks_reliable()
            && marked_pids(self.marks)?.next().is_none())
    }

    fn is_exempt(&self, kin: &ProcStat) -> bool {
        kin.pid == std::process::id()
            || child_registry::watchdog_pid() == Some(kin.pid)
            || kin.mark.is_some_and(|mark| self.marks.is_detached_mark(mark))
    }

    /// Whether it, or one of its ancestors, is somebody who is looked for.
    fn matches(&self, kin: &ProcStat, all: &HashMap<u32, ProcStat>, known: &mut HashMap<u32, bool>) -> bool {
        let (mut line, mut at) = (Vec::new(), Some(kin));
        let meant = loop {
            let Some(kin) = at else { break false };
            if let Some(meant) = known.get(&kin.pid) {
                break *meant;
            }
            line.push(kin.pid);
            // A line that comes back to itself was read while numbers were given away.
            if line.len() > all.len() {
                break false;
            }
            // What is below somebody who may stay is that one's.
            if kin.mark.is_some_and(|mark| self.marks.is_detached_mark(mark)) {
                break false;
            }
            if self.matches_directly(kin) {
                break true;
            }
            at = all.get(&kin.parent);
        };
        known.extend(line.into_iter().map(|pid| (pid, meant)));
        meant
    }

    fn matches_directly(&self, kin: &ProcStat) -> bool {
        kin.mark.is_some_and(|mark| self.marks.contains(mark))
            || self.group_ids.iter().any(|number| kin.group == *number || kin.session == *number)
            || kin.parent == std::process::id() && self.matches_child(kin)
    }

    fn matches_child(&self, kin: &ProcStat) -> bool {
        match self.children {
            ChildFilter::None => false,
            ChildFilter::Unmarked => kin.mark.is_none() && child_registry::watchdog_pid() != Some(kin.pid),
            ChildFilter::All => child_registry::watchdog_pid() != Some(kin.pid),
        }
    }

    /// Lets everybody stay when this program goes, those who are started meanwhile too; who they are.
    pub(super) fn detach_all(&self) -> io::Result<Vec<ProcStat>> {
        let mut told = Vec::new();
        loop {
            let mut new = self.find()?;
            new.retain(|kin| !told.iter().any(|known| kin.is_same_process(known)));
            if new.is_empty() {
                return Ok(told);
            }
            // Somebody else's marks are of use to them.
            let ours = |kin: &&ProcStat| kin.mark.is_none_or(|mark| self.marks.contains(mark));
            new.iter().filter(ours).try_for_each(|kin| process_mark::set_detached_mark(kin.pid))?;
            told.append(&mut new);
        }
    }

    /// Ends everybody by force; those who are started meanwhile too. An error is that not everybody could be looked at.
    pub(super) fn kill_all(&self, sure: EmptyScans) -> io::Result<()> {
        /// One that is about to be killed starts nobody any more, so that even a crowd is soon all told.
        const MAX_KILL_PASSES: usize = 200;
        let (mut told, mut empty) = (HashSet::new(), 0);
        for _ in 0..MAX_KILL_PASSES {
            let mut new = self.find()?;
            new.retain(|kin| told.insert((kin.pid, kin.start_time)));
            empty = if new.is_empty() { empty + 1 } else { 0 };
            if empty > sure as usize {
                return Ok(());
            }
            for kin in new {
                kin.signal(&[Signal::KILL])?;
            }
        }
        Err(io::Error::other("there are ever more of them"))
    }
}

impl DescendantQuery {
    /// The numbers of those who are found. Where marks are carried this is a quick look, which misses those who took
    /// theirs off.
    pub(super) fn find_pids(&self) -> io::Result<Vec<u32>> {
        if !process_mark::are_marks_reliable() {
            return Ok(self.find()?.iter().map(|kin| kin.pid).collect());
        }
        let mut found = Vec::new();
        for pid in marked_pids(self.marks)? {
            let lives = ProcStat::read(pid)?.is_some_and(|kin| !kin.is_dead && !self.is_exempt(&kin));
            found.extend(lives.then_some(pid));
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The numbers of all with these marks, be they dead and only not yet collected.
pub(super) fn marked_pids(family: ProcessMarkRange) -> io::Result<impl Iterator<Item = u32>> {
    Ok(all_pids()?.filter(move |pid| process_mark::read_mark(*pid).is_some_and(|mark| family.contains(mark))))
}

fn all_pids() -> io::Result<impl Iterator<Item = u32>> {
    let entries = std::fs::read_dir("/proc")?.flatten();
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcStat {
    pub(super) pid: u32,
    pub(super) group: u32,
    parent: u32,
    session: u32,
    /// In the system's ticks.
    start_time: u64,
    mark: Option<u64>,
    is_dead: bool,
}

impl ProcStat {
    /// None if it is gone.
    fn read(pid: u32) -> io::Result<Option<ProcStat>> {
        /// Half a hundred numbers and a name of sixteen letters.
        const MAX_STAT_BYTES: usize = 2048;
        let mut stat = [0; MAX_STAT_BYTES];
        // At once: everybody on the machine is read so, and a reader who does not know how much comes asks six times.
        let read = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut stat));
        match read {
            Ok(count) => {
                Ok(ProcStat::parse(pid, &String::from_utf8_lossy(&stat[..count]), process_mark::read_mark(pid)))
            }
            Err(error) if is_resource_exhausted(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// When the process began that bears this number, if one does.
    pub(super) fn start_time_of(pid: u32) -> Option<u64> {
        ProcStat::read(pid).ok()?.map(|kin| kin.start_time)
    }

    /// `pid (name) state parent group session …`; the name may hold anything, parentheses too.
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

    /// Whether it has not ended yet.
    pub(super) fn is_alive(&self) -> bool {
        // Whoever can't be looked at may live.
        ProcStat::read(self.pid).map_or(true, |now| now.is_some_and(|now| now.is_same_process(self) && !now.is_dead))
    }

    /// Signals it, if it is the same still. An error is that there is no room to do so.
    pub(super) fn signal(&self, signals: &[Signal]) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return Ok(()) };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(errno) if is_resource_exhausted(&errno.into()) => return Err(errno.into()),
            Err(_) => return Ok(()),
        };
        // Its number may have become somebody else's before there was a handle.
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
            ProcStat::parse(7, stat, None).map(|kin| (kin.parent, kin.group, kin.session, kin.start_time, kin.is_dead))
        };
        let rest = "0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 7312 5"; // tty … starttime vsize
        assert_eq!(read(&format!("7 (a) b) S 1 42 43 {rest}")), Some((1, 42, 43, 7312, false)));
        assert_eq!(read(&format!("7 (x) Z 1 42 42 {rest}")), Some((1, 42, 42, 7312, true)));
        assert_eq!(read("7 (x) S 1 42 42 0"), None);
        assert_eq!(read(""), None);
    }

    /// A name is sixteen bytes that a process chooses itself.
    #[test]
    fn non_utf8_process_name_is_still_found_and_measured() {
        let script = r"printf '\377)\n(' >/proc/$$/comm; echo; read -r line";
        let mut shell = std::process::Command::new("sh");
        let piped = shell.args(["-c", script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let kin = ProcStat::read(child.id()).unwrap().expect("it is there");
        assert_eq!((kin.pid, kin.parent, kin.is_dead), (child.id(), std::process::id(), false));
        assert!(crate::system::limits::resident_bytes(child.id()).is_some_and(|bytes| bytes > 0));
        drop(child.stdin.take());
        child.wait_in_time().unwrap();
    }

    /// Whatever mark it carries: an editor may hold a terminal in which another session runs.
    #[test]
    fn children_of_detached_processes_are_not_matched() {
        let start = || std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let mut kept = {
            let _one_at_a_time = child_registry::lock_registry();
            process_mark::spawn_with_mark(process_mark::ProcessMark::Detached, start)
        };
        let below = loop {
            let all = all_pids().unwrap().filter_map(|pid| ProcStat::read(pid).unwrap());
            if let Some(found) = all.into_iter().find(|kin| kin.parent == kept.id()) {
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
            assert!(!found.iter().any(|kin| kin.pid == below.pid || kin.pid == kept.id()), "{found:?}");
        }
        below.signal(&[Signal::KILL]).unwrap();
        kept.wait_in_time().unwrap();
    }
}
