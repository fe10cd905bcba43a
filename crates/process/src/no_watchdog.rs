//! Where the system has neither marks nor adoption (anything but Linux): what is not in a group that is known outlives
//! this program if it wants to, and everything does if the program is killed.

use std::io;
use std::path::PathBuf;

/// Nothing: there is no watchdog here.
pub fn enable_watchdog(_: PathBuf, _: &'static str) {}

/// Starts something that the user wants for themselves.
pub fn spawn_detached<T>(start: impl FnOnce() -> T) -> T {
    start()
}

/// Nothing: whoever is known is ended with its group.
pub fn kill_descendants() {}

/// Nothing: there is no watchdog here.
///
/// # Errors
/// Always.
pub fn run_watchdog(_: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
