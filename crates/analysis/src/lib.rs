//! What a shell command does, without running it.

pub mod budget;
pub mod syntax;
