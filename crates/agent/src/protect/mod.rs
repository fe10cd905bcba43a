//! Protects guards from the agent.
//!
//! `protected_paths.rs` says which files guards depend on; `approval.rs` and `call/admit.rs` ask before a tool changes
//! one of them. Other changes are detected in `tamper_watch.rs`, and reported and asked about in `change_report.rs`.
//! `missing_hooks.rs` replaces hooks that were removed.

mod change_report;
mod guarded_files;
mod missing_hooks;
mod protected_globs;
mod protected_paths;
mod tamper_watch;
mod untrusted_changes;
mod watched_file;

pub(crate) use change_report::{UNTRUSTED_CHANGES_MESSAGE, report_changes, report_changes_at_end, reset_approval_mode};
pub(crate) use guarded_files::GuardedFiles;
pub use protected_paths::ProtectedPaths;
pub use tamper_watch::{GuardChange, TamperWatch};
pub(crate) use tamper_watch::{LedgerStart, TRUST_HINT, UntrustedInstructions};
pub use untrusted_changes::UntrustedChanges;
