//! `hookwright skills …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ScopeArg;

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
    /// Install skills: shows what comes, and asks.
    #[command(
        after_help = "Examples:\n  hookwright skills install https://github.com/OWNER/REPO --path skills/pdf\n  hookwright skills install ./my-skill --scope workspace"
    )]
    Install(SkillInstallArgs),
    /// Use a skill's folder where it is, while you write it.
    #[command(after_help = "Example:\n  hookwright skills link ./my-skill")]
    Link {
        /// The folder.
        path: PathBuf,
        /// Agree to what it brings.
        #[arg(long)]
        consent: bool,
    },
    /// Remove an installed skill.
    #[command(after_help = "Example:\n  hookwright skills uninstall pdf --scope workspace")]
    Uninstall {
        /// Its name.
        name: String,
        /// From where.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
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
        scope: Option<ScopeArg>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SkillInstallArgs {
    /// A folder, an archive (.tar.gz, .tgz, .zip), or an address that git or a browser understands.
    pub(crate) source: String,
    /// The branch, tag or commit.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Where they are to count.
    #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
    pub(crate) scope: ScopeArg,
    /// The folder in the source that holds the skill, or the skills.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Agree to what comes.
    #[arg(long)]
    pub(crate) consent: bool,
}
