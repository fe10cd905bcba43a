//! Who descends from what we started, wherever it went: found by mark, by session and group, and by parentage; signalled
//! one by one, each told from a later bearer of its number by when it started. Linux only.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::household;
use super::mark::{self, Family};
use crate::is_no_room;

/// Whose processes are looked for.
#[derive(Debug)]
pub(super) struct Search {
    /// Those with these marks.
    pub(super) family: Family,
    /// Those of the groups and sessions with these numbers.
    pub(super) numbers: Vec<u32>,
    /// Those that descend from these children of this process.
    pub(super) children: Children,
}

/// How often nobody is found before that is believed: somebody who hands on to a child all the time may be missed by a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    AtOnce = 0,
    AfterASecondLook = 1,
    AfterManyLooks = 20,
}

/// Which children of this process are looked for, whatever else is known of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Children {
    None,
    /// Those without a mark, who took it off. All that this program starts has one but its watchdog, which is never meant.
    Unmarked,
    All,
}

impl Search {
    pub(super) fn of(family: Family, numbers: Vec<u32>) -> Self {
        Search { family, numbers, children: Children::None }
    }

    /// The same, and those of this process's children who carry no mark: they took it off.
    pub(super) fn and_unmarked(self) -> Self {
        Search { children: Children::Unmarked, ..self }
    }

    /// Everybody, with all that they have started: those who are dead and only not yet collected are nobody. An error is
    /// that nobody could be looked at, as where there are no descriptors.
    pub(super) fn find(&self) -> io::Result<Vec<Kin>> {
        if self.is_nobody()? {
            return Ok(Vec::new());
        }
        let mut all = HashMap::new();
        for pid in pids()? {
            all.extend(Kin::read(pid)?.map(|kin| (pid, kin)));
        }
        let mut known = HashMap::new();
        let mut found: Vec<Kin> = all
            .values()
            .filter(|kin| !kin.dead && self.means(kin, &all, &mut known) && !self.spares(kin))
            .copied()
            .collect();
        found.sort_unstable_by_key(|kin| (kin.started, kin.pid));
        Ok(found)
    }

    /// Whether there is nobody for certain: no child, and no bearer of a mark, wherever it went. That they are many, or who
    /// they are, takes a look at everybody.
    pub(super) fn is_nobody(&self) -> io::Result<bool> {
        Ok(household::is_alone() && mark::are_carried() && carriers(self.family)?.next().is_none())
    }

    fn spares(&self, kin: &Kin) -> bool {
        kin.pid == std::process::id()
            || household::watchdog() == Some(kin.pid)
            || kin.mark.is_some_and(|mark| self.family.lets_stay(mark))
    }

    /// Whether it, or one of its ancestors, is somebody who is looked for.
    fn means(&self, kin: &Kin, all: &HashMap<u32, Kin>, known: &mut HashMap<u32, bool>) -> bool {
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
            if kin.mark.is_some_and(|mark| self.family.lets_stay(mark)) {
                break false;
            }
            if self.means_directly(kin) {
                break true;
            }
            at = all.get(&kin.parent);
        };
        known.extend(line.into_iter().map(|pid| (pid, meant)));
        meant
    }

    fn means_directly(&self, kin: &Kin) -> bool {
        kin.mark.is_some_and(|mark| self.family.contains(mark))
            || self.numbers.iter().any(|number| kin.group == *number || kin.session == *number)
            || kin.parent == std::process::id() && self.means_child(kin)
    }

    fn means_child(&self, kin: &Kin) -> bool {
        match self.children {
            Children::None => false,
            Children::Unmarked => kin.mark.is_none() && household::watchdog() != Some(kin.pid),
            Children::All => household::watchdog() != Some(kin.pid),
        }
    }

    /// Lets everybody stay when this program goes, those who are started meanwhile too; who they are.
    pub(super) fn let_stay(&self) -> io::Result<Vec<Kin>> {
        let mut told = Vec::new();
        loop {
            let mut new = self.find()?;
            new.retain(|kin| !told.iter().any(|known| kin.is(known)));
            if new.is_empty() {
                return Ok(told);
            }
            // Somebody else's marks are of use to them.
            let ours = |kin: &&Kin| kin.mark.is_none_or(|mark| self.family.contains(mark));
            new.iter().filter(ours).try_for_each(|kin| mark::let_stay(kin.pid))?;
            told.append(&mut new);
        }
    }

    /// Ends everybody by force; those who are started meanwhile too. An error is that not everybody could be looked at.
    pub(super) fn kill(&self, sure: Sure) -> io::Result<()> {
        /// One that is about to be killed starts nobody any more, so that even a crowd is soon all told.
        const PASSES: usize = 200;
        let (mut told, mut empty) = (HashSet::new(), 0);
        for _ in 0..PASSES {
            let mut new = self.find()?;
            new.retain(|kin| told.insert((kin.pid, kin.started)));
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

impl Search {
    /// The numbers of those who are found. Where marks are carried this is a quick look, which misses those who took
    /// theirs off.
    pub(super) fn glance(&self) -> io::Result<Vec<u32>> {
        if !mark::are_carried() {
            return Ok(self.find()?.iter().map(|kin| kin.pid).collect());
        }
        let mut found = Vec::new();
        for pid in carriers(self.family)? {
            let lives = Kin::read(pid)?.is_some_and(|kin| !kin.dead && !self.spares(&kin));
            found.extend(lives.then_some(pid));
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The numbers of all with these marks, be they dead and only not yet collected.
pub(super) fn carriers(family: Family) -> io::Result<impl Iterator<Item = u32>> {
    Ok(pids()?.filter(move |pid| mark::of(*pid).is_some_and(|mark| family.contains(mark))))
}

fn pids() -> io::Result<impl Iterator<Item = u32>> {
    let entries = std::fs::read_dir("/proc")?.flatten();
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kin {
    pub(super) pid: u32,
    pub(super) group: u32,
    parent: u32,
    session: u32,
    /// In the system's ticks.
    started: u64,
    mark: Option<u64>,
    dead: bool,
}

impl Kin {
    /// None if it is gone.
    fn read(pid: u32) -> io::Result<Option<Kin>> {
        /// Half a hundred numbers and a name of sixteen letters.
        const LONGEST: usize = 2048;
        let mut stat = [0; LONGEST];
        // At once: everybody on the machine is read so, and a reader who does not know how much comes asks six times.
        let read = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut stat));
        match read {
            Ok(count) => Ok(Kin::parse(pid, &String::from_utf8_lossy(&stat[..count]), mark::of(pid))),
            Err(error) if is_no_room(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// When the process began that bears this number, if one does.
    pub(super) fn started(pid: u32) -> Option<u64> {
        Kin::read(pid).ok()?.map(|kin| kin.started)
    }

    /// `pid (name) state parent group session …`; the name may hold anything, parentheses too.
    fn parse(pid: u32, stat: &str, mark: Option<u64>) -> Option<Kin> {
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        let started = fields.nth(15)?.parse().ok()?;
        Some(Kin { pid, group, parent, session, started, mark, dead })
    }

    fn is(&self, other: &Kin) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }

    /// Whether it has not ended yet.
    pub(super) fn lives(&self) -> bool {
        // Whoever can't be looked at may live.
        Kin::read(self.pid).map_or(true, |now| now.is_some_and(|now| now.is(self) && !now.dead))
    }

    /// Signals it, if it is the same still. An error is that there is no room to do so.
    pub(super) fn signal(&self, signals: &[Signal]) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid.cast_signed()) else { return Ok(()) };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(errno) if is_no_room(&errno.into()) => return Err(errno.into()),
            Err(_) => return Ok(()),
        };
        // Its number may have become somebody else's before there was a handle.
        if Kin::read(self.pid)?.is_some_and(|now| now.is(self)) {
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
    fn names_with_parentheses_are_read() {
        let read = |stat: &str| {
            Kin::parse(7, stat, None).map(|kin| (kin.parent, kin.group, kin.session, kin.started, kin.dead))
        };
        let rest = "0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 7312 5"; // tty … starttime vsize
        assert_eq!(read(&format!("7 (a) b) S 1 42 43 {rest}")), Some((1, 42, 43, 7312, false)));
        assert_eq!(read(&format!("7 (x) Z 1 42 42 {rest}")), Some((1, 42, 42, 7312, true)));
        assert_eq!(read("7 (x) S 1 42 42 0"), None);
        assert_eq!(read(""), None);
    }

    /// A name is sixteen bytes that a process chooses itself.
    #[test]
    fn a_name_that_is_no_text_hides_nobody_and_no_memory() {
        let script = r"printf '\377)\n(' >/proc/$$/comm; echo; read -r line";
        let mut shell = std::process::Command::new("sh");
        let piped = shell.args(["-c", script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let kin = Kin::read(child.id()).unwrap().expect("it is there");
        assert_eq!((kin.pid, kin.parent, kin.dead), (child.id(), std::process::id(), false));
        assert!(crate::system::limits::memory_of(child.id()).is_some_and(|bytes| bytes > 0));
        drop(child.stdin.take());
        child.wait_in_time().unwrap();
    }

    /// Whatever mark it carries: an editor may hold a terminal in which another session runs.
    #[test]
    fn what_is_below_somebody_who_may_stay_is_not_ours() {
        let start = || std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let mut kept = mark::with(mark::Start::Kept, start);
        let below = loop {
            let all = pids().unwrap().filter_map(|pid| Kin::read(pid).unwrap());
            if let Some(found) = all.into_iter().find(|kin| kin.parent == kept.id()) {
                break found;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        let search = || Search { children: Children::All, ..Search::of(Family::of_program(), Vec::new()) };
        for mark in [(1 << 62) | 7, u64::MAX] {
            crate::system::sys::set_lock_limit(below.pid, mark).unwrap();
            let found = search().find().unwrap();
            assert!(!found.iter().any(|kin| kin.pid == below.pid || kin.pid == kept.id()), "{found:?}");
        }
        below.signal(&[Signal::KILL]).unwrap();
        kept.wait_in_time().unwrap();
    }
}
