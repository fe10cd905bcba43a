//! System calls of a confinement for which there is no safe wrapper.
#![expect(unsafe_code, reason = "system calls; each block says why it is sound")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_long, c_ulong};
use rustix::process::Pid;

/// The two sides of a fork.
pub(super) enum Fork {
    Parent(Pid),
    Child,
}

/// Forks this process; the child is in new namespaces of these kinds (`CLONE_NEW…`).
///
/// Only a process with one thread may call it: the locks of other threads would stay locked in the child for ever.
pub(super) fn fork_into(namespaces: c_int) -> io::Result<Fork> {
    let flags = namespaces.cast_unsigned() as c_ulong | libc::SIGCHLD as c_ulong;
    // SAFETY: without a stack of its own and without shared memory, the child is a copy of this process, as after
    // `fork`; the other arguments are unused with these flags.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => Ok(Fork::Child),
        pid => Pid::from_raw(i32::try_from(pid).unwrap_or(-1))
            .filter(|_| pid > 0)
            .map(Fork::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// Adds attributes (`MOUNT_ATTR_…`) to a mount and to all mounts below it.
pub(super) fn add_mount_attributes(mount: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    let change = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is an empty C string; the call reads the structure, whose size it is given.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// Installs a system call filter for this process and its descendants. It needs `no_new_privs`.
pub(super) fn install_syscall_filter(program: &[libc::sock_filter]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: the structure and the instructions that it points to live until the call has copied them.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) })
}

/// Brings the loopback interface of this network namespace up.
pub(super) fn bring_loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all zeroes is a value of this structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed() as _;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
    // SAFETY: the call reads the structure, which lives until it returns.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }.into())
}

/// A signal that was waited for.
pub(super) struct ReceivedSignal {
    pub(super) number: c_int,
    /// Whether the system sent it, as a terminal does for a key: then the whole foreground group has received it.
    pub(super) is_from_kernel: bool,
}

/// The signals that are blocked while a confined command runs, and waited for instead.
const WAITED_SIGNALS: [c_int; 8] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
];

/// Blocks the signals that [`wait_for_signal`] returns.
pub(super) fn block_waited_signals() -> io::Result<()> {
    let signals = waited_signals();
    // SAFETY: the set is initialised, and no old mask is asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Unblocks all signals, for the command.
pub(super) fn unblock_signals() -> io::Result<()> {
    let mut none = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set and never fails; no old mask is asked for.
    match unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut())
    } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Waits for one of the blocked signals; `None` when the time is over.
pub(super) fn wait_for_signal(timeout: Duration) -> Option<ReceivedSignal> {
    let signals = waited_signals();
    let limit = libc::timespec {
        tv_sec: timeout.as_secs().min(86_400).cast_signed(),
        tv_nsec: c_long::from(timeout.subsec_nanos().cast_signed()),
    };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the set and the limit are initialised, and there is room for what the call writes.
    let number = unsafe { libc::sigtimedwait(&raw const signals, info.as_mut_ptr(), &raw const limit) };
    // SAFETY: all zeroes is a value of this structure too.
    let info = unsafe { info.assume_init() };
    (number > 0).then_some(ReceivedSignal { number, is_from_kernel: info.si_code > 0 })
}

fn waited_signals() -> libc::sigset_t {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set and never fails; the others add valid numbers to it.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in WAITED_SIGNALS {
            libc::sigaddset(signals.as_mut_ptr(), signal);
        }
        signals.assume_init()
    }
}

/// Makes every descriptor from the fourth on close when a program is executed.
pub(super) fn close_descriptors_on_exec() -> io::Result<()> {
    // SAFETY: the call takes numbers, and closes nothing now.
    check(unsafe { libc::syscall(libc::SYS_close_range, 3, c_int::MAX, libc::CLOSE_RANGE_CLOEXEC) })
}

/// Returns the first two numbers of the kernel's version.
pub(super) fn version() -> Option<(u32, u32)> {
    let name = rustix::system::uname();
    let mut numbers = name.release().to_str().ok()?.split(|char: char| !char.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns whether a thread besides the calling one runs in this process.
pub(super) fn has_other_threads() -> bool {
    std::fs::read_dir("/proc/self/task").map_or(true, |threads| threads.count() != 1)
}

fn check(code: c_long) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
