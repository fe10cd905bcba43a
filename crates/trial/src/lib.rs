//! Does a deny hold? A real agent, run once against a model stand-in with a hook that behaves in a certain way, and a look
//! at what happened on disk.
//!
//! It asks no model, needs no key, and touches nothing of the user's: each run has its own home and project. It prints nothing.

#![warn(missing_docs)]

pub mod behaviour;
pub mod cell;
mod column;
mod driver;
mod limit;
pub mod live;
mod record;
pub mod standin;

pub use behaviour::{BEHAVIOURS, Behaviour, Meaning};
pub use cell::{Agent, Bounds, Cell, End, Seen, TrialError, Wiring};
pub use limit::limit;
pub use live::{Live, Report, Row, live};
pub use record::record;

pub use hookwright_bridge::{FailClosed, Host};

/// The user's folder for what programs can make again, by variables of the environment.
pub fn cache(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<std::path::PathBuf> {
    let own = var("XDG_CACHE_HOME").map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    own.or_else(|| Some(std::path::PathBuf::from(var("HOME")?).join(".cache")))
}

/// The agents that can be tried.
pub fn agents() -> impl Iterator<Item = Host> {
    driver::Driver::all()
}
