//! Extensions from elsewhere onto this disk: a source is fetched into a draft, looked at, and put in place whole or not at all.
//!
//! `source.rs` says what a source is, `fetch/` gets it, `survey.rs` refuses what has no business in an extension, `brings.rs`
//! and `contents.rs` say what it brings, `difference.rs` what an update changes, `draft.rs` puts it in place. `install.rs` and `update.rs` are
//! the journeys. It asks nobody and prints nothing: the caller shows what there is to consent to, and says yes or drops it.
//! What an installed extension means to a session is `hookwright-settings`.

mod brings;
mod contents;
mod difference;
mod draft;
mod error;
mod fetch;
mod install;
mod skills;
mod source;
mod survey;
mod update;

pub use brings::{Brings, Content, Item, Section};
pub use contents::Contents;
pub use difference::{Asks, Difference};
pub use error::ExtensionError;
pub use fetch::{Fetcher, Progress};
pub use install::{Agreed, Prepared, find, keep_trust, leads_to_nothing, link, prepare, uninstall};
pub use skills::{PreparedSkills, prepare_skills};
pub use source::Source;
pub use survey::check_folder;
pub use update::{Update, is_behind, look_for_update};
