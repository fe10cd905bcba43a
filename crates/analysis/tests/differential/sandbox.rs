//! Runs this test again in namespaces of its own: no network, no other process, and a disk that is read-only but for one
//! directory. A test that root runs is root to the disk as well, so `/dev`, `/sys` and `/proc/sys` are read-only too.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const DIRECTORY_VARIABLE: &str = "DIFFERENTIAL_DIRECTORY";
/// What the set-up of the sandbox ends with if it can't be had.
const UNAVAILABLE: i32 = 97;
const GRACE: Duration = Duration::from_secs(60);
const KILL_TIME: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(2);

/// `$1` is this test's program, `$2` its name, `$3` the directory.
const SET_UP: &str = r#"
mount --bind "$3" "$3" || exit 97
mount --bind /proc/sys /proc/sys || exit 97
cut -d' ' -f2 /proc/mounts | sort -u | while read -r at; do
    case $at in "$3"* | /proc) ;; *) mount -o remount,ro,bind "$at" ;; esac
done 2>/dev/null
cd "$3" && [ -w "$3" ] || exit 97
# Devices can be written to, but none can be made, replaced or removed.
for at in /etc /dev /dev/shm /sys /proc/sys; do
    ! [ -w "$at" ] || exit 97
done
strace -f -qq -y -o "$3/probe" -e trace=openat true || exit 97
exec "$1" --exact "$2" --nocapture
"#;

/// The directory of the sandbox, if this process is in it.
pub(crate) fn inner_directory() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY_VARIABLE).map(PathBuf::from)
}

/// Runs a test of this program in a sandbox; an error says why there is none.
pub(crate) fn run_this_test(name: &str, limit: Duration) -> Result<(), String> {
    for program in ["strace", "unshare", "git"] {
        if !is_installed(program) {
            return Err(format!("{program} is not installed"));
        }
    }
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = directory.path().canonicalize().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new("unshare")
        .args(["-rnmp", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SET_UP, "sh"])
        .arg(program)
        .arg(name)
        .arg(&path)
        .env(DIRECTORY_VARIABLE, &path)
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = wait(&mut child, limit + GRACE);
    assert!(status.is_some(), "the sandbox did not end in time");
    match status.and_then(|status| status.code()) {
        Some(0) => Ok(()),
        Some(UNAVAILABLE) | Some(1) => Err("namespaces, or tracing in them, are not allowed".to_owned()),
        code => panic!("the test failed in its sandbox: {code:?}"),
    }
}

/// Whether a program is in one of the directories of `PATH`.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).exists())
}

/// Waits for a process; one that does not end in time is killed.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            // The group, if it leads one.
            let group = format!("-{}", child.id());
            let killer = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).spawn();
            let _ = child.kill();
            for ended in [Some(child), killer.ok().as_mut()].into_iter().flatten() {
                let deadline = Instant::now() + KILL_TIME;
                while Instant::now() < deadline && matches!(ended.try_wait(), Ok(None)) {
                    std::thread::sleep(POLL);
                }
            }
            return None;
        }
        std::thread::sleep(POLL);
    }
}
