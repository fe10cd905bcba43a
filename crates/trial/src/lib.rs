//! Tests whether a deny holds: runs a real agent once against a mock model server, with a hook that behaves in a
//! certain way, and checks which files exist afterwards.
//!
//! It uses no real model and needs no key. Each run has its own home and project; of the user's files, only Copilot's
//! unpacked package is used, through a symbolic link. It prints nothing.

#![warn(missing_docs)]

mod batch;
pub mod behaviour;
pub mod case;
mod driver;
pub mod guard_trial;
mod limit;
pub mod live;
pub mod mock_model;
mod record;

pub use behaviour::{BEHAVIOURS, Behaviour, HookIntent};
pub use case::{CallOutcome, HookWiring, TrialAgent, TrialCase, TrialError, TrialLimits, TrialObservation};
pub use guard_trial::{GuardObservation, GuardTrial, run_guard_trial};
pub use limit::known_limit;
pub use live::{LiveReport, LiveRow, LiveTrial, run_live_trial};
pub use record::record_payloads;

pub use hookwright_bridge::{FailClosedSupport, Host};

/// Returns the user's cache directory, by the environment's variables.
pub fn cache_dir(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<std::path::PathBuf> {
    let own = var("XDG_CACHE_HOME").map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    own.or_else(|| Some(std::path::PathBuf::from(var("HOME")?).join(".cache")))
}

/// Returns the agents that can be tried.
pub fn testable_hosts() -> impl Iterator<Item = Host> {
    driver::AgentDriver::hosts()
}
