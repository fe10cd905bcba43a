//! Process groups: who is in one, asking it to end, forcing it to. The only place that sends signals. Where there are
//! no groups, the command's own process is all there is, and its owner ends it.

#[cfg(unix)]
pub(super) use unix::{ask_to_end, force_to_end, members};

#[cfg(not(unix))]
pub(super) use elsewhere::{ask_to_end, force_to_end, members};

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

    fn pid(number: u32) -> Option<Pid> {
        // Group 1 and below are never ours, and 0 would be our own.
        i32::try_from(number).ok().filter(|number| *number > 1).and_then(Pid::from_raw)
    }

    pub(in crate::process) fn ask_to_end(group: u32) {
        if let Some(group) = pid(group) {
            let _ = kill_process_group(group, Signal::TERM);
            // A stopped process, as one that wanted to read the terminal, hears nothing until it goes on.
            let _ = kill_process_group(group, Signal::CONT);
        }
    }

    pub(in crate::process) fn force_to_end(group: u32) {
        if let Some(group) = pid(group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn is_alive(group: u32) -> bool {
        pid(group).is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    /// The processes of a group, without those that are dead and only not yet collected.
    #[cfg(target_os = "linux")]
    pub(in crate::process) fn members(group: u32) -> Vec<u32> {
        if !is_alive(group) {
            return Vec::new();
        }
        let mut found: Vec<u32> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| {
                std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_living_member(&stat, group))
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// `pid (name) state parent group …`; the name may hold anything, parentheses too.
    #[cfg(target_os = "linux")]
    fn is_living_member(stat: &str, group: u32) -> bool {
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next();
        let its_group = fields.nth(1).and_then(|field| field.parse().ok());
        !matches!(state, None | Some("Z" | "X")) && its_group == Some(group)
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::process) fn members(group: u32) -> Vec<u32> {
        if !is_alive(group) {
            return Vec::new();
        }
        let listed = std::process::Command::new("pgrep").arg("-g").arg(group.to_string()).output();
        let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        listed.lines().filter_map(|line| line.trim().parse().ok()).collect()
    }

    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;

        #[test]
        fn names_with_parentheses_are_read() {
            assert!(is_living_member("7 (a) b) S 1 42 42 0", 42));
            assert!(!is_living_member("7 (x) Z 1 42 42 0", 42));
            assert!(!is_living_member("7 (x) S 42 1 1 0", 42));
            assert!(!is_living_member("", 42));
        }

        #[test]
        fn numbers_that_are_no_group_of_ours_do_nothing() {
            for number in [0, 1, u32::MAX] {
                ask_to_end(number);
                force_to_end(number);
                assert!(!is_alive(number));
                assert!(members(number).is_empty());
            }
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    pub(in crate::process) fn ask_to_end(_group: u32) {}
    pub(in crate::process) fn force_to_end(_group: u32) {}
    pub(in crate::process) fn members(_group: u32) -> Vec<u32> {
        Vec::new()
    }
}
