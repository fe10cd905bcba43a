//! The agent cannot touch its own guards. Which files those are made of is `protected_paths.rs`; asking before a tool changes one of
//! them is `approval.rs` and `call.rs`. That anything else changed one is noticed in `guards.rs`, told and asked about in
//! `change_report.rs`; what stands in for a hook that is gone, `missing_hooks.rs`.

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
