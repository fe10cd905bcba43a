//! `hookwright checkpoints …` as typed.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointsCommand {
    /// List the turns that can be undone.
    #[command(after_help = "Examples:\n  hookwright checkpoints list\n  hookwright checkpoints list --json")]
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what a restore would change, with the differences.
    #[command(after_help = "Examples:\n  hookwright checkpoints show 12\n  hookwright checkpoints show latest --json")]
    Show {
        /// The checkpoint's number, or `latest`.
        #[arg(value_name = "NUMBER")]
        which: String,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Restore the state before a turn: its files, the conversation or both. A restore can be undone.
    #[command(
        after_help = "The exit code is 1 if a file was left as it is; the output says which, and why. The files of guards are\nneither saved nor restored.\n\nExamples:\n  hookwright checkpoints restore 12\n  hookwright checkpoints restore latest --yes --what both"
    )]
    Restore(CheckpointRestoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointRestoreArgs {
    /// The checkpoint's number, or `latest`.
    #[arg(value_name = "NUMBER")]
    pub(crate) which: String,
    /// What to restore.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) what: RestoreTargetArg,
    /// Also restore files that were changed after the agent's turn; those changes are lost.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Restore without asking.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The part of a checkpoint that is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RestoreTargetArg {
    /// Only the files that the turn changed.
    #[default]
    Files,
    /// Only the conversation, up to the turn's prompt.
    Conversation,
    /// The files and the conversation.
    Both,
}
