//! Who is in a process group.

/// The processes of a group, without those that are dead and only not yet collected.
#[cfg(target_os = "linux")]
pub(super) fn of(group: u32) -> Vec<u32> {
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
        assert!(is_living_member("7 (a) b) S 1 42 42 0", 42));
        assert!(!is_living_member("7 (x) Z 1 42 42 0", 42));
        assert!(!is_living_member("7 (x) S 42 1 1 0", 42));
        assert!(!is_living_member("", 42));
    }
}
