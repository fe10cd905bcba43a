//! Child processes: started in a session of their own, fed, listened to within bounds, and ended whole.
//!
//! One [`Process`] is one run of a program with the group it leads; [`ProcessGroups`] knows all that may still run, so that
//! none outlives its host; a [`LineProcess`] speaks with a process line by line. Nothing here knows what the programs
//! are for, and no crate of ours is below this one.

#![warn(missing_docs)]

mod capture;
mod limiter;
mod line_process;
#[cfg(not(target_os = "linux"))]
mod no_watchdog;
mod signal;
#[cfg(unix)]
#[path = "unix/mod.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;
#[cfg(unix)]
#[path = "unix/terminal.rs"]
mod terminal;
#[cfg(windows)]
#[path = "no_terminal.rs"]
mod terminal;

pub use capture::{Capture, CaptureLimit};
pub use limiter::{Limiter, Permit, ProcessBudget, probe_memory, probe_threads, probe_threads_if_limited};
pub use line_process::{LineProcess, PipedProcess, ReadLineError};
#[cfg(not(target_os = "linux"))]
pub use no_watchdog::{enable_watchdog, kill_descendants, run_watchdog, spawn_detached};
pub use signal::signal_name;
#[cfg(unix)]
pub use system::current_process::{CONTINUE_SIGNAL, STOP_SIGNAL};
pub use system::current_process::{
    is_hangup_ignored, is_stdout_closed, is_terminal_hangup, set_abort_handler, suspend_job, suspend_self,
    write_final_output,
};
pub use system::limits::{raise_descriptor_limit, reserve_stack, use_single_malloc_arena};
pub use system::self_protection::{forbid_memory_inspection, ignore_file_size_signal};
pub use system::{
    DetachedProcesses, DirectoryHandle, Process, ProcessGroups, ProcessStdin, ProcessStdout, has_unread_input,
    read_nonblocking,
};
#[cfg(target_os = "linux")]
pub use system::{enable_watchdog, kill_descendants, run_watchdog, spawn_detached};
pub use terminal::PseudoTerminal;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// Whether it was for want of descriptors, processes or memory: what may be there in a moment.
#[cfg(unix)]
pub fn is_resource_exhausted(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let resource_exhausted_error = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    resource_exhausted_error.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// What the system says where it starts no further process or thread.
#[cfg(unix)]
pub fn resource_exhausted_error() -> std::io::Error {
    rustix::io::Errno::AGAIN.into()
}

/// What the system says where it starts no further process or thread.
#[cfg(not(unix))]
pub fn resource_exhausted_error() -> std::io::Error {
    std::io::ErrorKind::OutOfMemory.into()
}

/// What the system says where it gives out no further memory.
fn out_of_memory_error() -> std::io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::NOMEM.into();
    #[cfg(not(unix))]
    return std::io::ErrorKind::OutOfMemory.into();
}

/// Whether it was for want of memory: what may be there in a moment.
#[cfg(not(unix))]
pub fn is_resource_exhausted(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::OutOfMemory
}

/// What to start.
pub struct ProgramSpec<'a> {
    /// The file; one that is relative is so to `cwd`.
    pub path: &'a Path,
    /// What the program sees as its own name.
    pub name: &'a OsStr,
    /// What it is given.
    pub args: &'a [OsString],
    /// Where it runs: the path as it is now.
    pub cwd: &'a Path,
    /// The same directory held open, if it is: it counts, whatever the path leads to by then.
    pub cwd_handle: Option<&'a DirectoryHandle>,
    /// The whole environment; of a name that comes twice the last counts.
    pub env: &'a mut dyn Iterator<Item = (&'a OsStr, &'a OsStr)>,
}

/// Where a directory is that was opened earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryLocation {
    /// Where it was.
    Unmoved,
    /// Here.
    Moved(PathBuf),
    /// Nowhere, or nowhere that this program can reach.
    Gone,
}

/// What a process can read.
#[derive(Debug)]
pub enum ProcessInput {
    /// Nothing: the end comes at once.
    Empty,
    /// These pieces, in order, through a pipe.
    Chunks(Vec<Bytes>),
}

/// What becomes of what a process prints.
pub enum OutputRouting {
    /// Each stream by itself.
    Separate(CaptureLimit),
    /// Both streams through one pipe, which keeps their order; it counts as stdout. Each piece is also passed on as it
    /// comes, and nothing more is read before `live` has returned: what it cannot take waits in the program.
    Merged(CaptureLimit, OutputCallback),
    /// The same, with a terminal in the place of the pipe: it is also where the program reads, so that there is no other
    /// input.
    Terminal(CaptureLimit, OutputCallback, PseudoTerminal),
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// How the program on a terminal wants to be typed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalInputMode {
    /// Line by line, which are shown as they are typed.
    Lines,
    /// Line by line, which are not shown: a password.
    HiddenLines,
    /// Key by key.
    Keys,
}

/// Takes pieces of output as they come.
pub type OutputCallback = Box<dyn FnMut(&[u8]) + Send>;

/// How a process ended by itself, or by somebody else's hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What happened to a process next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It printed something.
    Output,
    /// It has ended.
    Exited(Exit),
}

/// How long ending a process takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminationWait {
    /// Until the process itself is gone; what it started may take the rest of the grace, without anybody waiting.
    Leader,
    /// Until its whole group is gone.
    Group,
}

/// What came of a process.
#[derive(Debug)]
pub struct FinishedProcess {
    /// What is kept of its stdout.
    pub stdout: Capture,
    /// What is kept of its stderr.
    pub stderr: Capture,
    /// Whether its group still has members.
    pub has_survivors: bool,
}
