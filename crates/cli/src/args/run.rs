//! `hookwright run …` as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Start from a named profile; further options add to it.
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) profile: Option<RunProfile>,
    /// Read the profile from a JSON file, or several profiles that all count; further options add to a single one.
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    pub(crate) plan: Option<PathBuf>,
    /// Run the shell command that this environment variable holds.
    #[arg(long, value_name = "VARIABLE", hide = true, conflicts_with = "command")]
    pub(crate) command_from: Option<String>,
    /// Paths that may be changed: `folder/**`, a single path, or `!path` for an exception.
    #[arg(long, value_name = "GLOB", num_args = 1.., allow_hyphen_values = false)]
    pub(crate) writes: Vec<String>,
    /// Paths that may not be read.
    #[arg(long, value_name = "GLOB", num_args = 1..)]
    pub(crate) no_reads: Vec<String>,
    /// `none`, `loopback` (its own), `all`, or the hosts that may be reached [default: none].
    #[arg(long, value_name = "HOST", num_args = 1..)]
    pub(crate) network: Vec<String>,
    /// Package managers whose caches may be changed: cargo, npm, yarn, pnpm, bun, pip, uv, go, gradle, maven.
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub(crate) cache: Vec<String>,
    /// Allow UNIX sockets: services of this machine such as Docker and ssh-agent can be reached then.
    #[arg(long)]
    pub(crate) unix_sockets: bool,
    /// Memory that each process may allocate, in MB.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) memory: Option<u64>,
    /// How many processes may exist at once.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: Option<u32>,
    /// Seconds after which the command is killed.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time: Option<u64>,
    /// Keep variables that look like secrets in the command's environment.
    #[arg(long)]
    pub(crate) keep_env: bool,
    /// Print what would be enforced and how, and run nothing.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["explain", "command_from"])]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// Parses the words behind the program's name by the table of `run` alone, so that those of the other commands are
    /// not built. `None`: they are not only about `run`, or wrong.
    pub(crate) fn parse_alone(words: impl Iterator<Item = OsString>) -> Option<RunArgs> {
        #[derive(clap::Parser)]
        struct RunCli {
            #[command(flatten)]
            args: RunArgs,
        }
        <RunCli as clap::Parser>::try_parse_from(words).ok().map(|cli| cli.args)
    }
}

/// A profile with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunProfile {
    /// Nothing may be changed, no network.
    Look,
    /// The current directory and the caches of package managers may be changed; a loopback network of its own.
    Build,
}
