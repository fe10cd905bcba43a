//! Calls of the C library for which there is no safe wrapper. `unsafe` stands here and in `confinement/kernel.rs` only.
//!
//! It has `posix_spawn` into a new session, the limits and session of another process, the signal to a group by pidfd
//! and the wait on a pidfd (Linux), and for this process the abort handler, ignored signals, malloc arenas and the main
//! stack.
#![expect(unsafe_code, reason = "calls of the C library; each block says why it is sound")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_short};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::OnceLock;

use rustix::process::Pid;
#[cfg(target_os = "linux")]
use {
    std::os::fd::OwnedFd,
    std::sync::Arc,
    tokio::io::{Interest, unix::AsyncFd},
};

#[cfg(target_os = "linux")]
const SETSID: c_short = libc::POSIX_SPAWN_SETSID;
/// From the system's `spawn.h`; the libc crate has no name for it on macOS.
#[cfg(target_vendor = "apple")]
const SETSID: c_short = 0x0400;

/// A list of C strings: each ends with a zero byte and contains no other.
#[derive(Default)]
pub(super) struct CStringList {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl CStringList {
    /// Adds the string that these parts form together.
    pub(super) fn push(&mut self, parts: &[&OsStr]) -> io::Result<()> {
        self.starts.push(self.bytes.len());
        for part in parts {
            if part.as_bytes().contains(&0) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "an argument or variable contains a NUL byte"));
            }
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
        Ok(())
    }

    /// Returns pointers to all strings and a null pointer, valid for as long as the list is unchanged.
    fn pointers(&self) -> Vec<*mut c_char> {
        let pointer = |start: &usize| self.bytes[*start..].as_ptr().cast::<c_char>().cast_mut();
        self.starts.iter().map(pointer).chain([ptr::null_mut()]).collect()
    }
}

/// The working directory of a new program.
#[derive(Clone, Copy)]
pub(super) enum SpawnCwd<'a> {
    Path(&'a OsStr),
    /// The directory with this descriptor, which must not be one of the three standard ones.
    Descriptor(BorrowedFd<'a>),
}

/// The signal mask that a program starts with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalMask {
    Empty,
    /// Blocks all signals that can be blocked.
    Full,
}

/// The open descriptors that a program starts with.
#[derive(Clone, Copy)]
pub(super) enum SpawnStdio<'a> {
    /// These become the three standard descriptors. They must have higher numbers.
    Descriptors([BorrowedFd<'a>; 3]),
    /// The terminal at this path becomes all three, and the controlling terminal, since it is the first that the new
    /// session opens. Another descriptor, with a higher number, becomes the fourth.
    Terminal { path: &'a CStr, fourth: BorrowedFd<'a> },
}

/// Starts a program as the leader of a new session, and so of a new group.
///
/// It has no controlling terminal unless `stdio` gives one. No page tables are copied, and errors of the program's
/// start are returned as the system's own.
pub(super) fn spawn(
    path: &OsStr,
    args: &CStringList,
    env: &CStringList,
    cwd: SpawnCwd<'_>,
    stdio: SpawnStdio<'_>,
    signal_mask: SignalMask,
) -> io::Result<Pid> {
    let path = CString::new(path.as_bytes())?;
    let actions = FileActions::new(cwd, stdio)?;
    let attributes = SpawnAttributes::new(signal_mask)?;
    let (args, env) = (args.pointers(), env.pointers());
    let mut pid: libc::pid_t = 0;
    // SAFETY: both objects are initialised, and live until the end of this function; the lists end in a null pointer
    // and their strings in a zero byte, by the making of `CStringList`; the call only reads all of them, and writes
    // `pid`.
    check_return_code(unsafe {
        libc::posix_spawn(&mut pid, path.as_ptr(), &actions.0, &attributes.0, args.as_ptr(), env.as_ptr())
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns the session id of a process, or of this one without a number.
///
/// It is 0 if the session's leader is in an outer pid namespace, as below a container runtime; `rustix` panics on that.
pub(super) fn session_id(pid: Option<Pid>) -> Option<libc::pid_t> {
    // SAFETY: the call takes and gives plain numbers.
    let session = unsafe { libc::getsid(Pid::as_raw(pid)) };
    (session >= 0).then_some(session)
}

/// The actions of the child before it executes the program.
struct FileActions(libc::posix_spawn_file_actions_t);

impl FileActions {
    fn new(cwd: SpawnCwd<'_>, stdio: SpawnStdio<'_>) -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the call initialises what it is pointed to, or says that it has not.
        check_return_code(unsafe { libc::posix_spawn_file_actions_init(raw.as_mut_ptr()) })?;
        // SAFETY: it has been initialised.
        let mut actions = FileActions(unsafe { raw.assume_init() });
        match stdio {
            SpawnStdio::Descriptors(stdio) => {
                (0..).zip(stdio).try_for_each(|(number, fd)| actions.dup(fd.as_raw_fd(), number))?
            }
            SpawnStdio::Terminal { path, fourth } => {
                // SAFETY: the object is initialised, and the call copies the string.
                check_return_code(unsafe {
                    libc::posix_spawn_file_actions_addopen(&mut actions.0, 0, path.as_ptr(), libc::O_RDWR, 0)
                })?;
                actions.dup(0, 1)?;
                actions.dup(0, 2)?;
                actions.dup(fourth.as_raw_fd(), 3)?;
            }
        }
        match cwd {
            SpawnCwd::Path(path) => {
                let path = CString::new(path.as_bytes())?;
                // SAFETY: the object is initialised, and the call copies the string.
                check_return_code(unsafe {
                    libc::posix_spawn_file_actions_addchdir_np(&mut actions.0, path.as_ptr())
                })?;
            }
            // SAFETY: the object is initialised; descriptors are plain numbers to this call.
            SpawnCwd::Descriptor(handle) => check_return_code(unsafe {
                libc::posix_spawn_file_actions_addfchdir_np(&mut actions.0, handle.as_raw_fd())
            })?,
        }
        Ok(actions)
    }

    fn dup(&mut self, from: c_int, to: c_int) -> io::Result<()> {
        // SAFETY: the object is initialised; descriptors are plain numbers to this call.
        check_return_code(unsafe { libc::posix_spawn_file_actions_adddup2(&mut self.0, from, to) })
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: it is initialised, and not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

/// The attributes of the child: session, signal mask and signal actions.
struct SpawnAttributes(libc::posix_spawnattr_t);

impl SpawnAttributes {
    /// Sets a new session, the signal mask, and default actions for the signals of [`default_signals`].
    fn new(signal_mask: SignalMask) -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the call initialises what it is pointed to, or says that it has not.
        check_return_code(unsafe { libc::posix_spawnattr_init(raw.as_mut_ptr()) })?;
        // SAFETY: it has been initialised.
        let mut attributes = SpawnAttributes(unsafe { raw.assume_init() });
        let mut signals = MaybeUninit::uninit();
        // SAFETY: `sigfillset` and `sigemptyset` initialise the set and never fail; the others read it and another one,
        // and change initialised objects.
        unsafe {
            match signal_mask {
                SignalMask::Empty => libc::sigemptyset(signals.as_mut_ptr()),
                SignalMask::Full => libc::sigfillset(signals.as_mut_ptr()),
            };
            check_return_code(libc::posix_spawnattr_setsigmask(&mut attributes.0, signals.as_ptr()))?;
            check_return_code(libc::posix_spawnattr_setsigdefault(&mut attributes.0, default_signals()))?;
        }
        let flags = libc::POSIX_SPAWN_SETSIGMASK as c_short | libc::POSIX_SPAWN_SETSIGDEF as c_short | SETSID;
        // SAFETY: the object is initialised.
        check_return_code(unsafe { libc::posix_spawnattr_setflags(&mut attributes.0, flags) })?;
        Ok(attributes)
    }
}

impl Drop for SpawnAttributes {
    fn drop(&mut self) {
        // SAFETY: it is initialised, and not used again.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}

/// Installs a handler for a signal that does nothing, unless the signal is ignored already.
///
/// Child processes get the default action: unlike an ignored signal, a handler is not inherited.
pub(super) fn install_noop_handler(signal: c_int) -> io::Result<()> {
    extern "C" fn nothing(_: c_int) {}
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, the call only writes the old one; all zeroes is a value of this struct too.
    let before = unsafe {
        if libc::sigaction(signal, ptr::null(), before.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        before.assume_init()
    };
    if before.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    // SAFETY: all zeroes is an empty set of signals and no flags; the handler does nothing at all, so it may run at any
    // time.
    let code = unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = nothing as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Turns a return code into a result: these calls return the error instead of setting `errno`.
fn check_return_code(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Returns a process's limit on file locks, which Linux stores but does not enforce.
#[cfg(target_os = "linux")]
pub(super) fn lock_limit(pid: u32) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit64>::uninit();
    // SAFETY: of the two pointers the one that is read is null, and the other is to room for what is written.
    let code = unsafe { libc::prlimit64(pid.cast_signed(), libc::RLIMIT_LOCKS, ptr::null(), limit.as_mut_ptr()) };
    // SAFETY: the call succeeded, so it wrote the limit.
    (code == 0).then(|| unsafe { limit.assume_init() }.rlim_cur)
}

/// Sets a process's soft limit on file locks; its hard limit stays unlimited, which is the default.
#[cfg(target_os = "linux")]
pub(super) fn set_lock_limit(pid: u32, to: u64) -> io::Result<()> {
    let limit = libc::rlimit64 { rlim_cur: to, rlim_max: libc::RLIM64_INFINITY };
    // SAFETY: of the two pointers the one that is read is to a limit, and the other is null.
    match unsafe { libc::prlimit64(pid.cast_signed(), libc::RLIMIT_LOCKS, &limit, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Signals the group that the process of a pidfd leads or led; signal 0 only tests for members. Needs Linux 6.9.
#[cfg(target_os = "linux")]
pub(super) fn signal_group(leader: BorrowedFd<'_>, signal: c_int) -> rustix::io::Result<()> {
    // SAFETY: the call takes numbers only, and of the pointer that could say more it is given none.
    let code = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            leader.as_raw_fd(),
            signal,
            ptr::null::<libc::siginfo_t>(),
            libc::PIDFD_SIGNAL_PROCESS_GROUP,
        )
    };
    if code == 0 {
        return Ok(());
    }
    Err(rustix::io::Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(rustix::io::Errno::INVAL))
}

/// Registers a pidfd with the reactor.
#[cfg(target_os = "linux")]
pub(super) fn watch_pidfd(handle: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: an `Arc<OwnedFd>` always names the same descriptor, which stays open for as long as it lives.
    Ok(unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }?)
}

/// Makes all threads allocate from one malloc arena.
#[cfg(target_env = "gnu")]
pub(super) fn use_single_malloc_arena() {
    // SAFETY: the call takes numbers, and changes nothing but where memory is taken from later.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Grows the main stack by this many bytes, where the system allows it. Only the main thread may call it.
#[cfg(target_os = "linux")]
pub(super) fn grow_stack(bytes: usize) -> io::Result<()> {
    let here = 0_u8;
    // The kernel grows the stack for its own writes as for ours, but if it cannot, the call fails instead of the
    // program being killed.
    // SAFETY: the call writes a time so far below all that is on the stack, where nothing is yet, or nothing at all.
    let code = unsafe {
        let below = ptr::from_ref(&here).addr().saturating_sub(bytes) & !(align_of::<libc::timespec>() - 1);
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, below)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the function to run when the program aborts or gets SIGABRT. It must neither allocate nor block.
pub(super) fn set_abort_handler(act: fn()) -> io::Result<()> {
    static ABORT_CALLBACK: OnceLock<fn()> = OnceLock::new();
    extern "C" fn handle(_: c_int) {
        if let Some(act) = ABORT_CALLBACK.get() {
            act();
        }
        // SAFETY: the call takes a number. Its signal waits for the end of this handler, which is reset by then.
        unsafe { libc::raise(libc::SIGABRT) };
    }
    ABORT_CALLBACK.get_or_init(|| act);
    // SAFETY: all zeroes is a valid `sigaction`, with an empty mask; the handler is of the type that goes without
    // `SA_SIGINFO`, lives for ever, and reads nothing but what was set above. It is reset before it runs, so that an
    // abort inside of it ends the program too.
    let code = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
        libc::sigaction(libc::SIGABRT, &action, ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the signals that have their default action in a new process: all but those that this one ignores, as under
/// `nohup`.
///
/// SIGINT, SIGQUIT and SIGPIPE are always among them: a shell's `&` makes this process ignore the keyboard's signals,
/// and a program on a terminal of its own could not be ended from there. The C library would reset most signals by
/// itself, but only after asking about each of them, in every new process.
fn default_signals() -> &'static libc::sigset_t {
    static DEFAULT_SIGNALS: OnceLock<libc::sigset_t> = OnceLock::new();
    DEFAULT_SIGNALS.get_or_init(|| {
        const ALWAYS_DEFAULT_SIGNALS: [c_int; 3] = [libc::SIGPIPE, libc::SIGINT, libc::SIGQUIT];
        let last = if cfg!(target_os = "linux") { 64 } else { 31 };
        let mut signals = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the set and never fails; what `sigaddset` does not take, it leaves out.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            for signal in
                (1..=last).filter(|signal| ALWAYS_DEFAULT_SIGNALS.contains(signal) || !is_signal_ignored(*signal))
            {
                libc::sigaddset(signals.as_mut_ptr(), signal);
            }
            signals.assume_init()
        }
    })
}

/// Returns whether this process ignores a signal.
pub(super) fn is_signal_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call is given no new action, and writes the present one into a place of its type, which is valid as
    // it is.
    let (code, action) = unsafe { (libc::sigaction(signal, ptr::null(), action.as_mut_ptr()), action.assume_init()) };
    code == 0 && action.sa_sigaction == libc::SIG_IGN
}
