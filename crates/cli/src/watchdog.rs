//! Runs this program as its own watchdog: a second, small process that ends the processes of hooks and tools if the
//! first one is killed. `hookwright-process` implements it.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::exit;

/// The `argv[0]` of the watchdog process.
const WATCHDOG_NAME: &str = "hookwright-watchdog";

/// Runs the watchdog if this process was started as one.
pub(crate) fn run_if_requested() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    args.next().filter(|name| name == WATCHDOG_NAME)?;
    let family = args.next().unwrap_or_default();
    let watched = hookwright_process::run_watchdog(&family.to_string_lossy());
    Some(ExitCode::from(if watched.is_ok() { exit::OK } else { exit::ERROR }))
}

/// Enables the watchdog, so that no process that this program starts outlives it, except detached ones.
///
/// Only Linux has it: elsewhere this does nothing.
pub(crate) fn start() {
    // Not by its path: the file at that path may have been replaced by the time that the watchdog starts.
    hookwright_process::enable_watchdog(PathBuf::from("/proc/self/exe"), WATCHDOG_NAME);
}
