//! What the program asks of the system for itself, before anything else: that a full file is an error and no signal, and
//! that nobody looks into its memory. The programs that it starts have nothing of either.

/// A file that may not grow (`ulimit -f`) is an error of the write from now on; as a signal it would end the program without
/// a word. What the program starts has the signal as the system has it.
pub fn ignore_file_size_signal() {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    if let Err(error) = super::sys::install_noop_handler(libc::SIGXFSZ) {
        tracing::debug!(%error, "a file that may not grow will end the program");
    }
}

/// Keeps this program's memory and the environment that it was started with (`/proc/PID/environ`) from other programs of the
/// same user, where the system can do that (Linux); it leaves no core dump either.
pub fn forbid_memory_inspection() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::debug!(%error, "other programs may look into this one");
    }
}
