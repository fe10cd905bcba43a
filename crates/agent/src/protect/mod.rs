//! The agent cannot touch its own guards. Which files those are made of is `paths.rs`; asking before a tool changes one of
//! them is `approval.rs` and `call.rs`.

mod globs;
mod paths;

pub use paths::Protected;
