//! The text that the model reads before its request: context files (`GEMINI.md`),
//! and files that `@path` in a prompt names.
//!
//! The system prompt is in `system_prompt.rs`.

mod import;
mod import_policy;
mod markdown_code;
mod memory;
mod mention;
mod prompt_mentions;
pub(crate) mod prompt_reader;

pub use memory::{ContextMemory, MemoryOptions, load_memory};
pub(crate) use prompt_mentions::PromptMentions;
pub use prompt_mentions::mentioned_files;
