//! Who is in a process group, or in the session that began with it.

/// The processes of a group and of the session of the same number, without those that are dead and only not yet collected.
#[cfg(target_os = "linux")]
pub(super) fn of(number: u32) -> Vec<u32> {
    living(|place| place.group == number || place.session == number)
}

/// Those of the session that have made a group of their own, as a shell with `set -m` does for every job.
#[cfg(target_os = "linux")]
pub(super) fn strays(number: u32) -> Vec<u32> {
    living(|place| place.group != number && place.session == number)
}

/// Whether a process is one of the strays still.
#[cfg(target_os = "linux")]
pub(super) fn is_stray(pid: u32, number: u32) -> bool {
    place_of(pid).is_some_and(|place| place.group != number && place.session == number)
}

/// Where a process belongs.
#[cfg(target_os = "linux")]
struct Place {
    group: u32,
    session: u32,
}

#[cfg(target_os = "linux")]
fn living(belongs: impl Fn(&Place) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = pids.filter(|pid| place_of(*pid).is_some_and(|place| belongs(&place))).collect();
    found.sort_unstable();
    found
}

#[cfg(target_os = "linux")]
fn place_of(pid: u32) -> Option<Place> {
    read_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent group session …`, nothing for the dead; the name may hold anything, parentheses too.
#[cfg(target_os = "linux")]
fn read_stat(stat: &str) -> Option<Place> {
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Place { group, session })
}

/// The processes of a group.
#[cfg(not(target_os = "linux"))]
pub(super) fn of(group: u32) -> Vec<u32> {
    let listed = std::process::Command::new("pgrep").arg("-g").arg(group.to_string()).output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    listed.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_are_read() {
        let read = |stat| read_stat(stat).map(|place| (place.group, place.session));
        assert_eq!(read("7 (a) b) S 1 42 43 0"), Some((42, 43)));
        assert_eq!(read("7 (x) Z 1 42 42 0"), None);
        assert_eq!(read(""), None);
    }
}
