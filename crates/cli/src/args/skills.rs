//! `hookwright skills …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Place, Scope};

#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    pub(crate) command: SkillsCommand,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List every skill, whose it is, and whether the model is offered it.
    #[command(after_help = "Examples:\n  hookwright skills list\n  hookwright skills list --json")]
    List {
        /// Also built-in ones, of which there are none.
        #[arg(long, hide = true)]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a skill, or a folder of them: exit 1 on errors, 0 on warnings only.
    #[command(
        after_help = "Examples:\n  hookwright skills validate .gemini/skills/pdf\n  hookwright skills validate ~/.agents/skills --json"
    )]
    Validate {
        /// The folder, or its SKILL.md.
        path: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove an installed skill.
    #[command(after_help = "Example:\n  hookwright skills uninstall pdf --scope workspace")]
    Uninstall {
        /// Its name.
        name: String,
        /// From where.
        #[arg(long, value_enum, default_value_t = Scope::User, ignore_case = true)]
        scope: Scope,
    },
    /// Offer a skill to the model again.
    Enable {
        /// Its name.
        name: String,
    },
    /// Offer a skill to the model no more.
    #[command(after_help = "Example:\n  hookwright skills disable pdf --scope user")]
    Disable {
        /// Its name.
        name: String,
        /// In whose settings [default: the workspace's where it has any, else the user's].
        #[arg(short, long, value_enum, ignore_case = true)]
        scope: Option<Scope>,
    },
}
