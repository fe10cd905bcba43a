//! `hookwright checkpoints …` as typed.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointsCommand {
    /// List the turns that can be gone back to.
    #[command(after_help = "Examples:\n  hookwright checkpoints list\n  hookwright checkpoints list --json")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what going back to before a turn would do, with the differences.
    #[command(after_help = "Examples:\n  hookwright checkpoints show 12\n  hookwright checkpoints show latest --json")]
    Show {
        /// Its number, or `latest`.
        #[arg(value_name = "NUMBER")]
        which: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Go back to before a turn: its files, the conversation or both. That can be undone.
    #[command(
        after_help = "Exit code 1 if a file is left as it is; which, and why, is said. What guards are made of is never kept nor brought back.\n\nExamples:\n  hookwright checkpoints restore 12\n  hookwright checkpoints restore latest --yes --what both"
    )]
    Restore(CheckpointRestoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointRestoreArgs {
    /// Its number, or `latest`.
    #[arg(value_name = "NUMBER")]
    pub(crate) which: String,
    /// What to bring back.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) what: RestoreTargetArg,
    /// Bring back files too that somebody has changed since the agent did.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is brought back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RestoreTargetArg {
    /// Files.
    #[default]
    Files,
    /// The conversation.
    Conversation,
    /// Both.
    Both,
}
