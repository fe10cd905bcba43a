//! Does a deny hold? A real agent, run once against a model stand-in with a hook that behaves in a certain way, and a look
//! at what happened on disk.
//!
//! It asks no model, needs no key, and touches nothing of the user's: each run has its own home and project. It prints nothing.

#![warn(missing_docs)]

mod batch;
pub mod behaviour;
pub mod case;
mod driver;
mod limit;
pub mod live;
pub mod mock_model;
mod record;

pub use behaviour::{BEHAVIOURS, Behaviour, HookIntent};
pub use case::{CallOutcome, HookWiring, TrialAgent, TrialCase, TrialError, TrialLimits, TrialObservation};
pub use limit::known_limit;
pub use live::{LiveReport, LiveRow, LiveTrial, run_live_trial};
pub use record::record_payloads;

pub use hookwright_bridge::{FailClosedSupport, Host};

/// The user's folder for what programs can make again, by variables of the environment.
pub fn cache_dir(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<std::path::PathBuf> {
    let own = var("XDG_CACHE_HOME").map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    own.or_else(|| Some(std::path::PathBuf::from(var("HOME")?).join(".cache")))
}

/// The agents that can be tried.
pub fn testable_hosts() -> impl Iterator<Item = Host> {
    driver::AgentDriver::hosts()
}
