//! What stands in other agents' settings so that they ask Hookwright: which file, which entries, and how they come out again.
//!
//! Texts in, texts out; `disk.rs` alone touches files. The host's own store of trust is read (`trust.rs`) and never written.

mod disk;
mod entry;
mod place;
mod plugin;
mod text;
mod trust;

pub use disk::{Plan, apply, plan_install, plan_uninstall, read, wiring};
pub use entry::{Caller, patience};
pub use place::{Scope, Target, detection, targets_read_by};
pub use text::{Found, Shape, Wiring, installed, survey, uninstalled};
pub use trust::{Trust, to_confirm, trust};

#[cfg(test)]
mod tests;
