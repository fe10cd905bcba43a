//! `hookwright effects …` as typed.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct EffectsArgs {
    /// The shell command, as one argument.
    #[arg(allow_hyphen_values = true)]
    pub(crate) command: String,
    /// The directory that it would run in; paths in it are shown relative to it [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the effects as hooks get them, with `reasons` and `steps`.
    #[arg(long)]
    pub(crate) json: bool,
}
