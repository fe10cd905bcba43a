//! What a shell command does, without running it: what it runs, reads, writes, deletes and contacts, and whether that is
//! all.
//!
//! [`syntax`] parses a script, [`interpreter`] goes through it as a shell would, [`programs`] says what programs do with
//! their words, and an [`observer`] makes something of it: [`effects`] makes lists, [`loaded_files`] finds
//! the files that a command loads, [`trace`] tells each step by itself. All questions to the disk go through
//! [`disk::Disk`]. The crate runs nothing and knows nothing of hooks.

pub mod budget;
pub mod command_parts;
pub mod disk;
pub mod effects;
pub mod free_variables;
pub mod interpreter;
pub mod loaded_files;
pub mod observer;
pub mod patch;
pub mod paths;
pub mod programs;
pub mod star_pattern;
pub mod state;
pub mod syntax;
pub mod trace;
pub mod value;
