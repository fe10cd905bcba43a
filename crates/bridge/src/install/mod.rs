//! Installs Hookwright in other agents' settings: which file, which entries, and how they are removed again.
//!
//! Only `plan.rs` writes files. The host's own trust records are read by `trust.rs` and never written.

mod entry;
mod plan;
mod plugin;
mod requirements;
mod settings_text;
mod switches;
mod target;
mod trust;

pub use entry::{EntryProgram, entry_timeout};
pub use plan::{InstallPlan, apply, load_wiring, plan_install, plan_uninstall, read_target};
pub use settings_text::{BridgeEntry, HookFileLayout, HostWiring, read_wiring, with_entries, without_entries};
pub use switches::{DisablingSetting, disabling_settings};
pub use target::{InstallScope, InstallTarget, MACHINE_ROOT_VARIABLE, detection_dir, targets_read_by};
pub use trust::{HostTrust, confirmation_hint, read_trust};

#[cfg(test)]
mod tests;
