//! Programs to start, and checks of the processes.

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hookwright_process::{CaptureLimit, OutputRouting, Process, ProcessGroups, ProcessInput, ProgramSpec};
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;

pub(crate) const TERMINATION_GRACE_PERIOD: Duration = Duration::from_millis(300);

/// A folder to run in, and the groups of the processes that run there.
pub(crate) struct ProcessFixture {
    dir: tempfile::TempDir,
    pub(crate) groups: Arc<ProcessGroups>,
}

impl ProcessFixture {
    pub(crate) fn new() -> Self {
        hookwright_testkit::watchdog::watch();
        ProcessFixture { dir: tempfile::tempdir().unwrap(), groups: Arc::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts a program with a small input and separate captures of stdout and stderr.
    pub(crate) fn spawn(&self, path: &Path, name: &str, args: &[&str]) -> std::io::Result<Process> {
        self.spawn_with(
            path,
            name,
            args,
            ProcessInput::Chunks(vec![Bytes::from("hello\n")]),
            OutputRouting::Separate(CaptureLimit::Head(1000)),
        )
    }

    pub(crate) fn spawn_with(
        &self,
        path: &Path,
        name: &str,
        args: &[&str],
        input: ProcessInput,
        output: OutputRouting,
    ) -> std::io::Result<Process> {
        self.with_program(path, name, args, |program| Process::spawn(program, input, output, &self.groups))
    }

    pub(crate) fn with_program<T>(
        &self,
        path: &Path,
        name: &str,
        args: &[&str],
        work: impl FnOnce(&mut ProgramSpec<'_>) -> T,
    ) -> T {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let pairs = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TWICE", "first"), ("TWICE", "second")];
        let mut env = pairs.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        let name = OsStr::new(name);
        work(&mut ProgramSpec { path, name, args: &args, cwd: self.dir.path(), cwd_handle: None, env: &mut env })
    }

    pub(crate) fn spawn_shell(&self, script: &str) -> Process {
        self.spawn(Path::new("/bin/sh"), "sh", &["-c", script]).unwrap()
    }

    /// Waits for the process id that a script writes into a file.
    pub(crate) async fn read_pid(&self, name: &str) -> u32 {
        let file = self.path(name);
        let read = || fs::read_to_string(&file).ok()?.strip_suffix('\n')?.trim().parse().ok();
        wait_until(&format!("{name} is written"), || read().is_some()).await;
        read().unwrap()
    }
}

pub(crate) fn head_text(capture: &hookwright_process::Capture) -> String {
    String::from_utf8(capture.head().to_vec()).unwrap()
}

/// Returns whether a process exists and is not a zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    let listed =
        std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output_in_time().unwrap();
    let state = String::from_utf8_lossy(&listed.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Whether the init process reaps orphans; the one of a namespace may be any program. Without it, a test is skipped aloud.
///
/// A group whose last member is such a zombie is never empty.
pub(crate) fn are_orphans_reaped(test: &str) -> bool {
    let orphan = std::process::Command::new("sh").args(["-c", "sleep 0.01 & echo $!"]).output_in_time().unwrap();
    let orphan = String::from_utf8_lossy(&orphan.stdout).trim().to_owned();
    let exists = || {
        let listed = std::process::Command::new("ps").args(["-o", "stat=", "-p", &orphan]).output_in_time().unwrap();
        !listed.stdout.trim_ascii().is_empty()
    };
    for _ in 0..100 {
        if !exists() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    hookwright_testkit::report_skipped(test, "the init process does not reap orphans");
    false
}

pub(crate) async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// Fails a test that hangs.
pub(crate) async fn with_timeout<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.unwrap()
}
