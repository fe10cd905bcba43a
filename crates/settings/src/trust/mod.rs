//! Whom and what the user trusts: folders, and the hooks of projects and extensions.
//!
//! Nothing here asks the user; it says what is not trusted yet and records what the caller was told.

mod fingerprint;
mod folders;
mod guards;
mod hooks;
mod instructions;
mod ledger;
mod names;
mod record;

pub use fingerprint::{DECLARATION_FORM, declaration_digest, exact_name};
pub(crate) use fingerprint::{Taker, variable};
pub(crate) use folders::folder_trust;
pub use folders::{FolderRule, FolderTrust, TrustSource, set_folder_trust};
pub use guards::{GuardFile, GuardKind, GuardLook, text_changes};
pub use hooks::{Finding, Review, hold, trust_hooks, trust_hooks_too};
pub(crate) use hooks::{Reviewer, Scope, trust_switch_offs};
pub(crate) use hookwright_hooks::shell::normalized;
pub(crate) use instructions::stand_ins;
pub(crate) use ledger::own_change;
pub use ledger::{
    Ledger, LedgerEntry, LedgerHook, PendingChange, all_pending, any_ledger, hooks_before, pending, trust_changes,
};
pub use names::may_be_loaded;
