//! Where the system has neither marks nor adoption (anything but Linux): what is not in a group that is known outlives
//! this program if it wants to, and everything does if the program is killed.

use std::io;
use std::path::PathBuf;

/// Nothing: there is no watchdog here.
pub fn let_none_outlive(_: PathBuf, _: &'static str) {}

/// Starts something that the user wants for themselves.
pub fn start_to_stay<T>(start: impl FnOnce() -> T) -> T {
    start()
}

/// Nothing: whoever is known is ended with its group.
pub fn end_descendants() {}

/// Nothing: there is no watchdog here.
///
/// # Errors
/// Always.
pub fn stand_watch(_: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
