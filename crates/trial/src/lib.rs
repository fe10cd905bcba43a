//! Does a deny hold? A real agent, run once against a model stand-in with a hook that behaves in a certain way, and a look
//! at what happened on disk.
//!
//! It asks no model, needs no key, and touches nothing of the user's: each run has its own home and project. It prints nothing.

#![warn(missing_docs)]

pub mod behaviour;
pub mod cell;
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

/// The agents that can be tried.
pub fn agents() -> impl Iterator<Item = Host> {
    driver::Driver::all()
}
