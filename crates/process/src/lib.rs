//! Child processes: each is started in a session of its own, gets its input, has its output captured within a limit,
//! and is ended together with its descendants.
//!
//! A [`Process`] is one run of a program with the process group that it leads. [`ProcessGroups`] tracks every group
//! that may still have members, so that none outlives the program. A [`LineProcess`] exchanges lines with a process.
//! This crate depends on no other crate of the workspace.

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
#[cfg(target_os = "linux")]
pub use system::confinement;
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

/// Returns whether an error says that descriptors, processes or memory ran out, so that a retry may succeed.
#[cfg(unix)]
pub fn is_resource_exhausted(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let resource_exhausted_error = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    resource_exhausted_error.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Returns the error that the system gives when it starts no further process or thread.
#[cfg(unix)]
pub fn resource_exhausted_error() -> std::io::Error {
    rustix::io::Errno::AGAIN.into()
}

/// Returns the error that the system gives when it starts no further process or thread.
#[cfg(not(unix))]
pub fn resource_exhausted_error() -> std::io::Error {
    std::io::ErrorKind::OutOfMemory.into()
}

/// Returns the error that the system gives when it grants no further memory.
fn out_of_memory_error() -> std::io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::NOMEM.into();
    #[cfg(not(unix))]
    return std::io::ErrorKind::OutOfMemory.into();
}

/// Returns whether an error says that memory ran out, so that a retry may succeed.
#[cfg(not(unix))]
pub fn is_resource_exhausted(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::OutOfMemory
}

/// A program to start: its file, arguments, directory and environment.
pub struct ProgramSpec<'a> {
    /// The program's file; a relative path is relative to `cwd`.
    pub path: &'a Path,
    /// The program's `argv[0]`.
    pub name: &'a OsStr,
    /// The arguments after `argv[0]`.
    pub args: &'a [OsString],
    /// The path of the working directory.
    pub cwd: &'a Path,
    /// The working directory held open. If given, it is used instead of the path, wherever the path leads by then.
    pub cwd_handle: Option<&'a DirectoryHandle>,
    /// The whole environment; the last value of a repeated name counts.
    pub env: &'a mut dyn Iterator<Item = (&'a OsStr, &'a OsStr)>,
}

/// The present location of a directory that was opened earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryLocation {
    /// The directory is where it was opened.
    Unmoved,
    /// The directory is at this path now.
    Moved(PathBuf),
    /// The directory does not exist any more, or this program cannot reach it.
    Gone,
}

/// The standard input of a process.
#[derive(Debug)]
pub enum ProcessInput {
    /// No input: the first read returns the end of the file.
    Empty,
    /// These pieces, in order, through a pipe.
    Chunks(Vec<Bytes>),
}

/// The way in which the output of a process is captured.
pub enum OutputRouting {
    /// Stdout and stderr are captured separately.
    Separate(CaptureLimit),
    /// Both streams go through one pipe, which keeps their order, and are captured as stdout.
    ///
    /// Each piece is also passed to the callback as it arrives. Nothing more is read before the callback returns, so
    /// that a slow callback makes the program wait.
    Merged(CaptureLimit, OutputCallback),
    /// Like [`Merged`](Self::Merged), with a terminal instead of the pipe. The program also reads its input from the
    /// terminal.
    Terminal(CaptureLimit, OutputCallback, PseudoTerminal),
}

/// The size of a terminal in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// The number of columns.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
}

/// The way in which the program on a terminal reads its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalInputMode {
    /// The program reads lines, which the terminal echoes.
    Lines,
    /// The program reads lines without echo, as for a password.
    HiddenLines,
    /// The program reads single keys.
    Keys,
}

/// A callback that receives pieces of output as they arrive.
pub type OutputCallback = Box<dyn FnMut(&[u8]) + Send>;

/// The way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// This signal ended the process.
    Signal(i32),
}

/// The next event of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEvent {
    /// The process printed something.
    Output,
    /// The process has ended.
    Exited(Exit),
}

/// How long the termination of a process waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminationWait {
    /// Until the process itself is gone. Its descendants may use the rest of the grace period, without the caller
    /// waiting.
    Leader,
    /// Until the whole group is gone.
    Group,
}

/// The captured output of a process that has ended.
#[derive(Debug)]
pub struct FinishedProcess {
    /// The captured stdout.
    pub stdout: Capture,
    /// The captured stderr.
    pub stderr: Capture,
    /// Whether the process's group still has members.
    pub has_survivors: bool,
}
