//! The agent cannot touch its own guards. Which files those are made of is `paths.rs`; asking before a tool changes one of
//! them is `approval.rs` and `call.rs`. That anything else changed one is noticed in `guards.rs`, told and asked about in
//! `settle.rs`; what stands in for a hook that is gone, `missing.rs`.

mod globs;
mod guards;
mod left;
mod made_of;
mod missing;
mod paths;
mod settle;
mod watched;

pub use guards::{GuardChange, Guards};
pub(crate) use guards::{HeldInstructions, LedgerStart, WAY_ON};
pub use left::LeftChanges;
pub(crate) use made_of::MadeOf;
pub use paths::Protected;
pub(crate) use settle::{CHANGES_WAIT, leave_mode, settle, settle_at_the_end};
