//! Trust in folders, and in the hooks of projects and extensions.
//!
//! The user is not asked here: the module reports what is not trusted yet, and records the decisions that the caller
//! passes.

mod fingerprint;
mod folder_trust;
mod guard_files;
mod hook_record;
mod hook_review;
mod instructions;
mod ledger;
mod loadable_names;

pub use fingerprint::{DECLARATION_DIGEST_VERSION, declaration_digest, exact_name};
pub(crate) use fingerprint::{Fingerprinter, hook_variable};
pub(crate) use folder_trust::folder_trust;
pub use folder_trust::{FolderRule, FolderTrust, TrustSource, set_folder_trust};
pub use guard_files::{GuardFile, GuardFileKind, GuardFileSnapshot, text_diff};
pub use hook_review::{HookFinding, HookTrustReview, hold_untrusted, trust_hooks, trust_hooks_keeping_previous};
pub(crate) use hook_review::{HookReviewer, TrustScope, trust_switch_offs};
pub(crate) use hookwright_analysis::paths::normalized;
pub(crate) use instructions::placeholder_hooks;
pub(crate) use ledger::change_trust_record;
pub use ledger::{
    Ledger, LedgerEntry, LedgerHook, PendingChange, all_pending_changes, has_ledger, hooks_before, pending_changes,
    trust_changes,
};
pub use loadable_names::may_be_loaded;
