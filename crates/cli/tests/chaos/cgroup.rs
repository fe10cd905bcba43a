//! Control groups, where this process may create some below its own; elsewhere the tests report once that they are
//! skipped.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Once;

use hookwright_testkit::fs;

/// A control group with a maximum number of tasks (processes and threads).
pub(crate) struct TaskCgroup(PathBuf);

impl TaskCgroup {
    pub(crate) fn new(name: &str, most: u64) -> Option<TaskCgroup> {
        let made = own_cgroups().into_iter().find_map(|own| {
            let group = TaskCgroup(own.join(format!("hookwright-chaos-{name}")));
            fs::create_dir(&group.0).ok()?;
            // The file exists, or control groups cannot be used here.
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

/// Returns the groups of this process, in the `pids` hierarchy of version 1 or the unified one of version 2.
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
