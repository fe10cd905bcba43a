//! Starts a program with three given descriptors, or on a terminal. What flows through them is not its business.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::process::Pid;

use super::groups::Groups;
use super::leader::Leader;
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use super::sys::Stdio;
use crate::Program;

/// Starts a program, in a session of its own where the system can do that at once, else in a group of its own.
pub(super) fn launch(
    program: &mut Program<'_>,
    stdio: [BorrowedFd<'_>; 3],
    groups: &Arc<Groups>,
) -> io::Result<Leader> {
    let moved = above_standard(stdio)?;
    let stdio = [0, 1, 2].map(|at| moved[at].as_ref().map_or(stdio[at], AsFd::as_fd));
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    let stdio = Stdio::Given(stdio);
    let leader = groups.admit(|| start(program, stdio))?;
    tracing::trace!(pid = leader.group().id(), program = %program.path.display(), "started");
    Ok(leader)
}

/// Starts a program on a terminal that is its session's own.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(super) fn launch_on(
    program: &mut Program<'_>,
    terminal: &std::ffi::CStr,
    fourth: BorrowedFd<'_>,
    groups: &Arc<Groups>,
) -> io::Result<Leader> {
    let fourth = rustix::io::fcntl_dupfd_cloexec(fourth, 4)?;
    let stdio = Stdio::Terminal { path: terminal, fourth: fourth.as_fd() };
    let leader = groups.admit(|| start(program, stdio))?;
    tracing::trace!(pid = leader.group().id(), program = %program.path.display(), "started on a terminal");
    Ok(leader)
}

/// Copies of those that have one of the three standard numbers: it would be overwritten before it is used. That is
/// possible if ours were closed.
pub(super) fn above_standard(stdio: [BorrowedFd<'_>; 3]) -> io::Result<[Option<OwnedFd>; 3]> {
    let copy = |fd: BorrowedFd<'_>| match fd.as_raw_fd() {
        0..=2 => rustix::io::fcntl_dupfd_cloexec(fd, 3).map(Some),
        _ => Ok(None),
    };
    let [stdin, stdout, stderr] = stdio.map(copy);
    Ok([stdin?, stdout?, stderr?])
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn start(program: &mut Program<'_>, stdio: Stdio<'_>) -> io::Result<Pid> {
    use super::directory::Directory;
    use super::sys::{self, Cwd, Hears, Strings};
    use std::collections::BTreeMap;
    use std::ffi::OsStr;

    // There a relative program is looked for now here, now in the new directory, depending on the system's version.
    let absolute = cfg!(target_vendor = "apple").then(|| program.cwd.join(program.path));
    let path = absolute.as_deref().unwrap_or(program.path);
    let cwd = match program.directory.and_then(Directory::handle) {
        Some(handle) => Cwd::Open(handle),
        None => Cwd::At(program.cwd.as_os_str()),
    };
    let mut args = Strings::default();
    args.push(&[program.name])?;
    program.args.iter().try_for_each(|arg| args.push(&[arg]))?;
    let by_name: BTreeMap<&OsStr, &OsStr> = (&mut *program.env).collect();
    let mut env = Strings::default();
    by_name.into_iter().try_for_each(|(name, value)| env.push(&[name, OsStr::new("="), value]))?;
    sys::spawn(path.as_os_str(), &args, &env, cwd, stdio, Hears::All)
}

/// Only where sessions can be made at once.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn launch_on(
    _: &mut Program<'_>,
    _: &std::ffi::CStr,
    _: BorrowedFd<'_>,
    _: &Arc<Groups>,
) -> io::Result<Leader> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The standard library's way: a group, but no session.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn start(program: &mut Program<'_>, [stdin, stdout, stderr]: [BorrowedFd<'_>; 3]) -> io::Result<Pid> {
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
