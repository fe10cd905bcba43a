//! The subcommands, one folder or file per family.

pub(crate) mod agents;
pub(crate) mod checkpoints;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod effects;
pub(crate) mod extensions;
pub(crate) mod hook_test;
pub(crate) mod hooks;
pub(crate) mod journal;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod run;
pub(crate) mod session_list;
pub(crate) mod skills;
pub(crate) mod subagents;

use std::ffi::OsString;
use std::path::Path;

/// Whether a program exists: on the `PATH` of `env`, or at its path if it has a slash.
pub(crate) fn is_program_installed(program: &str, cwd: &Path, env: &[(OsString, OsString)]) -> bool {
    if program.contains('/') {
        return cwd.join(program).is_file();
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    std::env::split_paths(&path).any(|directory| cwd.join(directory).join(program).is_file())
}
