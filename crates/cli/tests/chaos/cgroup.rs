//! Control groups, where this process may make some below its own; elsewhere that is said once.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Once;

use hookwright_testkit::fs;

/// A group whose members may not be more than so many threads and processes.
pub(crate) struct TaskCgroup(PathBuf);

impl TaskCgroup {
    pub(crate) fn new(name: &str, most: u64) -> Option<TaskCgroup> {
        let made = own_cgroups().into_iter().find_map(|own| {
            let group = TaskCgroup(own.join(format!("hookwright-chaos-{name}")));
            fs::create_dir(&group.0).ok()?;
            // The file is there, or this is no place for groups.
            let mut limit = fs::OpenOptions::new().write(true).open(group.0.join("pids.max")).ok()?;
            limit.write_all(most.to_string().as_bytes()).ok()?;
            Some(group)
        });
        if made.is_none() {
            static SKIP_REPORTED: Once = Once::new();
            SKIP_REPORTED.call_once(|| {
                hookwright_testkit::report_skipped("chaos", "no control group can be made here; limits do instead")
            });
        }
        made
    }

    pub(crate) fn procs_file(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for TaskCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Where this process is, in the hierarchy that counts tasks: the old one, or the one for everything.
fn own_cgroups() -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let place = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (kind, path) = rest.split_once(':')?;
        let root = match kind {
            "pids" => "/sys/fs/cgroup/pids",
            "" => "/sys/fs/cgroup",
            _ => return None,
        };
        Some(PathBuf::from(format!("{root}{path}")))
    };
    groups.lines().filter_map(place).collect()
}
