//! Child processes: started in a session of their own, fed, listened to within bounds, and ended whole.
//!
//! One [`Process`] is one run of a program with the group it leads; [`Groups`] knows all that may still run, so that
//! none outlives its host; a [`Conversation`] speaks with a process line by line. Nothing here knows what the programs
//! are for, and no crate of ours is below this one.

#![warn(missing_docs)]

mod capture;
mod lines;
mod room;
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
#[cfg(not(target_os = "linux"))]
mod unwatched;

pub use capture::{Capture, Keep};
pub use lines::{Conversation, HearError, Pipes};
pub use room::{Place, Room, Shares, expect_threads, start_threads, take_memory};
pub use signal::signal_name;
#[cfg(unix)]
pub use system::ending::{GO_ON, STOP};
pub use system::ending::{at_abort, is_hangup_ignored, is_hung_up, is_stdout_unread, last_words, stop_here, stop_job};
pub use system::limits::{raise_descriptor_limit, share_memory, take_stack};
pub use system::oneself::{hear_of_full_files, keep_to_oneself};
pub use system::{Directory, Groups, Hearing, Process, Speaking, Stayer, hear_now, left_unread};
#[cfg(target_os = "linux")]
pub use system::{end_descendants, let_none_outlive, stand_watch, start_to_stay};
pub use terminal::Terminal;
#[cfg(not(target_os = "linux"))]
pub use unwatched::{end_descendants, let_none_outlive, stand_watch, start_to_stay};

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// Whether it was for want of descriptors, processes or memory: what may be there in a moment.
#[cfg(unix)]
pub fn is_no_room(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let no_room = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    no_room.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// What the system says where it starts no further process or thread.
#[cfg(unix)]
pub fn no_room() -> std::io::Error {
    rustix::io::Errno::AGAIN.into()
}

/// What the system says where it starts no further process or thread.
#[cfg(not(unix))]
pub fn no_room() -> std::io::Error {
    std::io::ErrorKind::OutOfMemory.into()
}

/// What the system says where it gives out no further memory.
fn no_memory() -> std::io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::NOMEM.into();
    #[cfg(not(unix))]
    return std::io::ErrorKind::OutOfMemory.into();
}

/// Whether it was for want of memory: what may be there in a moment.
#[cfg(not(unix))]
pub fn is_no_room(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::OutOfMemory
}

/// What to start.
pub struct Program<'a> {
    /// The file; one that is relative is so to `cwd`.
    pub path: &'a Path,
    /// What the program sees as its own name.
    pub name: &'a OsStr,
    /// What it is given.
    pub args: &'a [OsString],
    /// Where it runs: the path as it is now.
    pub cwd: &'a Path,
    /// The same directory held open, if it is: it counts, whatever the path leads to by then.
    pub directory: Option<&'a Directory>,
    /// The whole environment; of a name that comes twice the last counts.
    pub env: &'a mut dyn Iterator<Item = (&'a OsStr, &'a OsStr)>,
}

/// Where a directory is that was opened earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Where it was.
    InPlace,
    /// Here.
    Moved(PathBuf),
    /// Nowhere, or nowhere that this program can reach.
    Gone,
}

/// What a process can read.
#[derive(Debug)]
pub enum Input {
    /// Nothing: the end comes at once.
    Empty,
    /// These pieces, in order, through a pipe.
    Pieces(Vec<Bytes>),
}

/// What becomes of what a process prints.
pub enum Output {
    /// Each stream by itself.
    Apart(Keep),
    /// Both streams through one pipe, which keeps their order; it counts as stdout. Each piece is also passed on as it
    /// comes, and nothing more is read before `live` has returned: what it cannot take waits in the program.
    Together(Keep, Live),
    /// The same, with a terminal in the place of the pipe: it is also where the program reads, so that there is no other
    /// input.
    Terminal(Keep, Live, Terminal),
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// How the program on a terminal wants to be typed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Line by line, which are shown as they are typed.
    Lines,
    /// Line by line, which are not shown: a password.
    Hidden,
    /// Key by key.
    Keys,
}

/// Takes pieces of output as they come.
pub type Live = Box<dyn FnMut(&[u8]) + Send>;

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
pub enum Step {
    /// It printed something.
    Output,
    /// It has ended.
    Exited(Exit),
}

/// How long ending a process takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Until the process itself is gone; what it started may take the rest of the grace, without anybody waiting.
    LeaderGone,
    /// Until its whole group is gone.
    GroupGone,
}

/// What came of a process.
#[derive(Debug)]
pub struct Finished {
    /// What is kept of its stdout.
    pub stdout: Capture,
    /// What is kept of its stderr.
    pub stderr: Capture,
    /// Whether its group still has members.
    pub left_behind: bool,
}
