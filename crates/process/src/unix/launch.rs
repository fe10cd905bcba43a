//! Starts a program with three given descriptors, or on a terminal.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::process::Pid;

use super::groups::ProcessGroups;
use super::leader::GroupLeader;
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use super::sys::SpawnStdio;
use crate::ProgramSpec;

/// Starts a program in a new session on Linux and macOS, and in a new group elsewhere.
pub(super) fn launch(
    program: &mut ProgramSpec<'_>,
    stdio: [BorrowedFd<'_>; 3],
    groups: &Arc<ProcessGroups>,
) -> io::Result<GroupLeader> {
    let moved = dup_above_stdio(stdio)?;
    let stdio = [0, 1, 2].map(|at| moved[at].as_ref().map_or(stdio[at], AsFd::as_fd));
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    let stdio = SpawnStdio::Descriptors(stdio);
    let leader = groups.spawn_leader(|| spawn_program(program, stdio))?;
    tracing::trace!(pid = leader.group().id(), program = %program.path.display(), "started");
    Ok(leader)
}

/// Starts a program on a terminal, which becomes the controlling terminal of its session.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(super) fn launch_on_terminal(
    program: &mut ProgramSpec<'_>,
    terminal: &std::ffi::CStr,
    fourth: BorrowedFd<'_>,
    groups: &Arc<ProcessGroups>,
) -> io::Result<GroupLeader> {
    let fourth = rustix::io::fcntl_dupfd_cloexec(fourth, 4)?;
    let stdio = SpawnStdio::Terminal { path: terminal, fourth: fourth.as_fd() };
    let leader = groups.spawn_leader(|| spawn_program(program, stdio))?;
    tracing::trace!(pid = leader.group().id(), program = %program.path.display(), "started on a terminal");
    Ok(leader)
}

/// Returns copies of the descriptors numbered 0 to 2, which would otherwise be overwritten before they are used.
///
/// A descriptor can have such a number if this program was started with a standard stream closed.
pub(super) fn dup_above_stdio(stdio: [BorrowedFd<'_>; 3]) -> io::Result<[Option<OwnedFd>; 3]> {
    let copy = |fd: BorrowedFd<'_>| match fd.as_raw_fd() {
        0..=2 => rustix::io::fcntl_dupfd_cloexec(fd, 3).map(Some),
        _ => Ok(None),
    };
    let [stdin, stdout, stderr] = stdio.map(copy);
    Ok([stdin?, stdout?, stderr?])
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn spawn_program(program: &mut ProgramSpec<'_>, stdio: SpawnStdio<'_>) -> io::Result<Pid> {
    use super::directory::DirectoryHandle;
    use super::sys::{self, CStringList, SignalMask, SpawnCwd};
    use std::collections::BTreeMap;
    use std::ffi::OsStr;

    // Whether macOS looks for a relative program here or in the new directory depends on its version.
    let absolute = cfg!(target_vendor = "apple").then(|| program.cwd.join(program.path));
    let path = absolute.as_deref().unwrap_or(program.path);
    let cwd = match program.cwd_handle.and_then(DirectoryHandle::handle) {
        Some(handle) => SpawnCwd::Descriptor(handle),
        None => SpawnCwd::Path(program.cwd.as_os_str()),
    };
    let mut args = CStringList::default();
    args.push(&[program.name])?;
    program.args.iter().try_for_each(|arg| args.push(&[arg]))?;
    let by_name: BTreeMap<&OsStr, &OsStr> = (&mut *program.env).collect();
    let mut env = CStringList::default();
    by_name.into_iter().try_for_each(|(name, value)| env.push(&[name, OsStr::new("="), value]))?;
    sys::spawn(path.as_os_str(), &args, &env, cwd, stdio, SignalMask::Empty)
}

/// Fails: this system cannot start a program in a new session.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn launch_on_terminal(
    _: &mut ProgramSpec<'_>,
    _: &std::ffi::CStr,
    _: BorrowedFd<'_>,
    _: &Arc<ProcessGroups>,
) -> io::Result<GroupLeader> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Starts a program with the standard library: in a new group, but not in a new session.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn spawn_program(program: &mut ProgramSpec<'_>, [stdin, stdout, stderr]: [BorrowedFd<'_>; 3]) -> io::Result<Pid> {
    use std::os::unix::process::CommandExt;

    let child = std::process::Command::new(program.path)
        .arg0(program.name)
        .args(program.args)
        .current_dir(program.cwd)
        .env_clear()
        .envs(&mut *program.env)
        .process_group(0)
        .stdin(stdin.try_clone_to_owned()?)
        .stdout(stdout.try_clone_to_owned()?)
        .stderr(stderr.try_clone_to_owned()?)
        .spawn()?;
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::ErrorKind::NotFound.into())
}
