//! This program as its own watchdog: a second, small process of it ends what hooks and tools run if the first is killed.
//! How that is done, `hookwright-process` knows.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::exit;

/// What the watchdog finds itself called.
const WATCHDOG_NAME: &str = "hookwright-watchdog";

/// Watches, if that is what this process was started for.
pub(crate) fn run_if_requested() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    args.next().filter(|name| name == WATCHDOG_NAME)?;
    let family = args.next().unwrap_or_default();
    let watched = hookwright_process::run_watchdog(&family.to_string_lossy());
    Some(ExitCode::from(if watched.is_ok() { exit::OK } else { exit::ERROR }))
}

/// From now on nothing that this program starts outlives it.
pub(crate) fn start() {
    // Not by its path: the file there may be another one by the time that it is needed.
    hookwright_process::enable_watchdog(PathBuf::from("/proc/self/exe"), WATCHDOG_NAME);
}
