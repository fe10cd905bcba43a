//! Installs extensions from other places: a source is fetched into a draft, inspected, and put in place as a whole or
//! not at all.
//!
//! `source.rs` parses sources, `fetch/` fetches them, `inspection.rs` rejects files that are not allowed,
//! `summary.rs` and `contents.rs` list what an extension contains, `diff.rs` what an update changes, `draft.rs` puts
//! it in place. `install.rs` and `update.rs` combine these steps. The crate asks no questions and prints nothing: the
//! caller shows what needs consent, and commits or drops it. How a session loads an installed extension is in
//! `hookwright-settings`.

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
pub use update::{ExtensionUpdateReport, UpdateStatus, check_for_update, has_newer_commit, updatable_extensions};
