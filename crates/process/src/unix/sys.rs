//! The one place with `unsafe`: what nobody offers in a safe way. `posix_spawn` into a new session; another process's
//! limits and session; for handles on processes, which Linux has, a signal to the group behind one and the wait for its
//! process's end; and about this process itself what is done when it aborts, which signals it ignores, where its memory
//! comes from, and how far its first stack reaches.
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
/// From the system's `spawn.h`; the libc crate has no name for it there.
#[cfg(target_vendor = "apple")]
const SETSID: c_short = 0x0400;

/// Strings as C wants a list of them: each closed by a zero byte and holding no other.
#[derive(Default)]
pub(super) struct CStringList {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl CStringList {
    /// Adds one that is made of these parts.
    pub(super) fn push(&mut self, parts: &[&OsStr]) -> io::Result<()> {
        self.starts.push(self.bytes.len());
        for part in parts {
            if part.as_bytes().contains(&0) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a zero byte in an argument or variable"));
            }
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.bytes.push(0);
        Ok(())
    }

    /// Pointers to all of them and one to nothing, good for as long as this lives unchanged.
    fn pointers(&self) -> Vec<*mut c_char> {
        let pointer = |start: &usize| self.bytes[*start..].as_ptr().cast::<c_char>().cast_mut();
        self.starts.iter().map(pointer).chain([ptr::null_mut()]).collect()
    }
}

/// Where a program starts.
#[derive(Clone, Copy)]
pub(super) enum SpawnCwd<'a> {
    Path(&'a OsStr),
    /// In the directory with this descriptor, which is above the three standard ones too.
    Descriptor(BorrowedFd<'a>),
}

/// Which signals reach a program from its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalMask {
    Empty,
    /// Only those that nobody can keep out.
    Full,
}

/// What a program has open from its beginning.
#[derive(Clone, Copy)]
pub(super) enum SpawnStdio<'a> {
    /// These as the three standard descriptors, which they become. They must be above them.
    Descriptors([BorrowedFd<'a>; 3]),
    /// The terminal at this path as all three, which is its controlling terminal too, since it is the first that the new
    /// session opens; and another descriptor, above them, as the fourth.
    Terminal { path: &'a CStr, fourth: BorrowedFd<'a> },
}

/// Starts a program as the leader of a new session, and so of a new group, without a controlling terminal unless it is
/// given one. No page tables are copied, and errors of the program's start come back as the system's own.
pub(super) fn spawn(
    path: &OsStr,
    args: &CStringList,
    env: &CStringList,
    cwd: SpawnCwd<'_>,
    stdio: SpawnStdio<'_>,
    hears: SignalMask,
) -> io::Result<Pid> {
    let path = CString::new(path.as_bytes())?;
    let actions = FileActions::new(cwd, stdio)?;
    let attributes = SpawnAttributes::new(hears)?;
    let (args, env) = (args.pointers(), env.pointers());
    let mut pid: libc::pid_t = 0;
    // SAFETY: both objects are initialised, and live until the end of this function; the lists end in a null pointer and
    // their strings in a zero byte, by the making of `CStringList`; the call only reads all of them, and writes `pid`.
    check_return_code(unsafe {
        libc::posix_spawn(&mut pid, path.as_ptr(), &actions.0, &attributes.0, args.as_ptr(), env.as_ptr())
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The number of a process's session, this one's without a number. It is 0 where whoever leads the session is in a process
/// namespace around ours, as below a container's runtime; `rustix` takes it for a process and ends the program over it.
pub(super) fn session_id(pid: Option<Pid>) -> Option<libc::pid_t> {
    // SAFETY: the call takes and gives plain numbers.
    let session = unsafe { libc::getsid(Pid::as_raw(pid)) };
    (session >= 0).then_some(session)
}

/// What the child does before it becomes the program.
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

/// What the child is.
struct SpawnAttributes(libc::posix_spawnattr_t);

impl SpawnAttributes {
    /// A new session; the blocked signals, if any; SIGPIPE as programs expect it, since this one ignores it.
    fn new(hears: SignalMask) -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: the call initialises what it is pointed to, or says that it has not.
        check_return_code(unsafe { libc::posix_spawnattr_init(raw.as_mut_ptr()) })?;
        // SAFETY: it has been initialised.
        let mut attributes = SpawnAttributes(unsafe { raw.assume_init() });
        let mut signals = MaybeUninit::uninit();
        // SAFETY: `sigfillset` and `sigemptyset` initialise the set and never fail; the others read it and another one, and
        // change initialised objects.
        unsafe {
            match hears {
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

/// Lets a signal do nothing, unless it is ignored already. Programs that are started have it as it was: a handler, unlike a
/// signal that is ignored, is not handed on.
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
    // SAFETY: all zeroes is an empty set of signals and no flags; the handler does nothing at all, so it may run at any time.
    let code = unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = nothing as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// These calls return the error instead of setting `errno`.
fn check_return_code(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// A process's limit on file locks, which Linux keeps and does not look at.
#[cfg(target_os = "linux")]
pub(super) fn lock_limit(pid: u32) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit64>::uninit();
    // SAFETY: of the two pointers the one that is read is null, and the other is to room for what is written.
    let code = unsafe { libc::prlimit64(pid.cast_signed(), libc::RLIMIT_LOCKS, ptr::null(), limit.as_mut_ptr()) };
    // SAFETY: the call succeeded, so it wrote the limit.
    (code == 0).then(|| unsafe { limit.assume_init() }.rlim_cur)
}

/// Sets a process's limit on file locks; the highest that it may set itself is none, as it is by default.
#[cfg(target_os = "linux")]
pub(super) fn set_lock_limit(pid: u32, to: u64) -> io::Result<()> {
    let limit = libc::rlimit64 { rlim_cur: to, rlim_max: libc::RLIM64_INFINITY };
    // SAFETY: of the two pointers the one that is read is to a limit, and the other is null.
    match unsafe { libc::prlimit64(pid.cast_signed(), libc::RLIMIT_LOCKS, &limit, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Signals the group that the process behind a handle leads or led; 0 only asks whether it has members. Needs Linux 6.9.
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

/// A handle as something to wait for.
#[cfg(target_os = "linux")]
pub(super) fn watch_pidfd(handle: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: an `Arc<OwnedFd>` always names the same descriptor, which stays open for as long as it lives.
    Ok(unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }?)
}

/// Lets all threads take their memory from one place.
#[cfg(target_env = "gnu")]
pub(super) fn use_single_malloc_arena() {
    // SAFETY: the call takes numbers, and changes nothing but where memory is taken from later.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Has the first stack reach down so far below here, where the system lets it. Only for the thread that has it.
#[cfg(target_os = "linux")]
pub(super) fn grow_stack(bytes: usize) -> io::Result<()> {
    let here = 0_u8;
    // The system lets the stack grow for what it writes itself as for what we write, but where it can't, it says so instead
    // of ending the program.
    // SAFETY: the call writes a time so far below all that is on the stack, where nothing is yet, or nothing at all.
    let code = unsafe {
        let below = ptr::from_ref(&here).addr().saturating_sub(bytes) & !(align_of::<libc::timespec>() - 1);
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, below)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Calls this when the program aborts, or is told to, and ends it. It must not allocate nor wait.
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
    // `SA_SIGINFO`, lives for ever, and reads nothing but what was set above. It is reset before it runs, so that an abort
    // inside of it ends the program too.
    let code = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
        libc::sigaction(libc::SIGABRT, &action, ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The signals that mean to a new process what they mean by themselves: all but those that this one was told to ignore, as
/// by `nohup`. Those of a keyboard count whatever this one was told, since a shell's `&` says that too, and a program on a
/// terminal of its own could not be ended from there. The system would see to most of them unasked, but it would first ask
/// about each, in every new process.
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

/// Whether this process ignores a signal.
pub(super) fn is_signal_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call is given no new action, and writes the present one into a place of its type, which is valid as it is.
    let (code, action) = unsafe { (libc::sigaction(signal, ptr::null(), action.as_mut_ptr()), action.assume_init()) };
    code == 0 && action.sa_sigaction == libc::SIG_IGN
}
