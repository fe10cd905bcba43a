//! Other agents' hook dialects, both ways: a native event in, one or several of ours out; our verdict in, the host's own
//! answer out, with the list of what it could not say.
//!
//! Pure: it runs no hook, reads no settings and prints nothing. `hookwright bridge AGENT` does that.

#![warn(missing_docs)]

pub mod dialect;
pub mod host;

pub use dialect::{
    Back, Dialect, Heard, Loss, Misheard, NativeTool, Ruling, SessionFacts, Standing, Verdict, View, Written,
};
pub use host::{Closing, FailClosed, HOSTS, Host, HostEvent, HostInfo, OnTimeout, Unit};
