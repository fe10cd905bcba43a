//! Extensions from elsewhere onto this disk: a source is fetched into a draft, looked at, and put in place whole or not at all.
//!
//! `source.rs` says what a source is, `fetch/` gets it, `inspection.rs` refuses what has no business in an extension, `summary.rs`
//! and `contents.rs` say what it brings, `diff.rs` what an update changes, `draft.rs` puts it in place. `install.rs` and `update.rs` are
//! the journeys. It asks nobody and prints nothing: the caller shows what there is to consent to, and says yes or drops it.
//! What an installed extension means to a session is `hookwright-settings`.

mod contents;
mod diff;
mod draft;
mod error;
mod fetch;
mod inspection;
mod install;
mod skills;
mod source;
mod summary;
mod update;

pub use contents::ExtensionContents;
pub use diff::{ConsentRequirement, ExtensionDiff};
pub use error::ExtensionError;
pub use fetch::{Fetcher, ProgressFn};
pub use inspection::check_folder;
pub use install::{
    InstallConsent, PreparedExtension, dangling_link_warning, find_extension, prepare_extension, prepare_link,
    preserve_hook_trust, uninstall,
};
pub use skills::{PreparedSkills, prepare_skills};
pub use source::ExtensionSource;
pub use summary::{ExtensionSummary, ReviewedContent, SummaryItem, SummarySection};
pub use update::{UpdateStatus, check_for_update, has_newer_commit};
