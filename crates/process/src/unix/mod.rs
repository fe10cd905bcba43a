//! Processes on Unix: pipes, a session and a group for each process, and signals to the whole group and, on Linux, to
//! the processes that left it.

#[cfg(target_os = "linux")]
mod child_registry;
#[cfg(target_os = "linux")]
pub mod confinement;
pub(crate) mod current_process;
#[cfg(target_os = "linux")]
mod descendants;
mod directory;
mod group;
mod groups;
mod interactive;
mod launch;
mod leader;
pub(crate) mod limits;
#[cfg(not(target_os = "linux"))]
mod portable;
mod process;
#[cfg(target_os = "linux")]
mod process_mark;
pub(crate) mod self_protection;
mod stdin_writer;
mod stream;
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod sys;
mod terminal_holder;
#[cfg(target_os = "linux")]
mod watchdog;

#[cfg(target_os = "linux")]
pub use child_registry::{enable_watchdog, kill_descendants, spawn_detached};
pub use directory::DirectoryHandle;
pub use groups::ProcessGroups;
pub(crate) use interactive::spawn_interactive;
pub use interactive::{ProcessStdin, ProcessStdout, has_unread_input, read_nonblocking};
pub use process::{DetachedProcesses, Process};
#[cfg(target_os = "linux")]
pub use watchdog::run_watchdog;

#[cfg(not(target_os = "linux"))]
use portable::{
    DescendantQuery, EmptyScans, ProcStat, ProcessMarkAllocator, ProcessMarkRange, dismiss_idle_watchdog,
    drain_after_exit, marked_pids, spawn_marked,
};
#[cfg(target_os = "linux")]
use {
    child_registry::{dismiss_idle_watchdog, drain_after_exit, spawn_marked},
    descendants::{DescendantQuery, EmptyScans, ProcStat, marked_pids},
    process_mark::{ProcessMarkAllocator, ProcessMarkRange},
};
