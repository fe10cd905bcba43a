//! What the model is given to read before it is asked: context files (`GEMINI.md`) and what `@path` in a prompt names.
//! Finds and reads; the system prompt is `system_prompt.rs`.

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
