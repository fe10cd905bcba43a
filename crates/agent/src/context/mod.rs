//! What the model is given to read before it is asked: context files (`GEMINI.md`) and what `@path` in a prompt names.
//! Finds and reads; the system prompt is `system.rs`.

mod code;
mod import;
mod memory;
mod mention;
mod prompt;
mod reach;
pub(crate) mod reader;

pub use memory::{Memory, MemoryOptions, load_memory};
pub(crate) use prompt::Mentioned;
pub use prompt::mentioned;
