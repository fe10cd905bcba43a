//! Settings of this process itself: a file that is too large is an error and not a signal, and its memory is not open
//! to inspection. Child processes inherit neither.

/// Makes a write beyond the limit on file sizes (`ulimit -f`) return an error instead of raising SIGXFSZ.
///
/// The signal would end the program without a message. Child processes have the signal's default action.
pub fn ignore_file_size_signal() {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    if let Err(error) = super::sys::install_noop_handler(libc::SIGXFSZ) {
        tracing::debug!(%error, "a file that may not grow will end the program");
    }
}

/// Forbids other programs of the same user to read this program's memory and initial environment (Linux only).
///
/// It also disables core dumps.
pub fn forbid_memory_inspection() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::debug!(%error, "other programs may look into this one");
    }
}
