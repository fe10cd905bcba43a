//! `hookwright subagents …` as typed.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum SubagentsCommand {
    /// List every sub-agent, its source, and whether it can be called.
    #[command(after_help = "Examples:\n  hookwright subagents list\n  hookwright subagents list --json")]
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a sub-agent's file, or a folder of them: exit 1 on errors, 0 on warnings only.
    #[command(
        after_help = "Examples:\n  hookwright subagents validate .gemini/agents/scout.md\n  hookwright subagents validate ~/.gemini/agents --json"
    )]
    Validate {
        /// The sub-agent's file, or a folder of them.
        path: PathBuf,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}
