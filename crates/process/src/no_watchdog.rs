//! Stand-ins for systems without process marks and subreapers, which is all but Linux. There, a process that left its
//! group may outlive this program, and every process does so if this program is killed.

use std::io;
use std::path::PathBuf;

/// Does nothing: there is no watchdog on this system.
pub fn enable_watchdog(_: PathBuf, _: &'static str) {}

/// Starts a process that may outlive this program.
pub fn spawn_detached<T>(start: impl FnOnce() -> T) -> T {
    start()
}

/// Does nothing: known processes are ended with their groups.
pub fn kill_descendants() {}

/// Fails: there is no watchdog on this system.
///
/// # Errors
/// Always returns [`io::ErrorKind::Unsupported`].
pub fn run_watchdog(_: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
