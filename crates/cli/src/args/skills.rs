//! `hookwright skills …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ScopeArg;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List every skill, its source, and whether the model can use it.
    #[command(after_help = "Examples:\n  hookwright skills list\n  hookwright skills list --json")]
    List {
        /// Also list built-in skills (there are none).
        #[arg(long, hide = true)]
        all: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a skill, or a folder of them: exit 1 on errors, 0 on warnings only.
    #[command(
        after_help = "Examples:\n  hookwright skills validate .gemini/skills/pdf\n  hookwright skills validate ~/.agents/skills --json"
    )]
    Validate {
        /// The skill's folder, its SKILL.md, or a folder of skills.
        path: PathBuf,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Install skills: shows what would be installed and asks first.
    #[command(
        after_help = "Examples:\n  hookwright skills install https://github.com/OWNER/REPO --path skills/pdf\n  hookwright skills install ./my-skill --scope workspace"
    )]
    Install(SkillInstallArgs),
    /// Use a skill's folder where it is, while you write it.
    #[command(after_help = "Example:\n  hookwright skills link ./my-skill")]
    Link {
        /// The skill's folder.
        path: PathBuf,
        /// Agree to its contents without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// Remove an installed skill.
    #[command(after_help = "Example:\n  hookwright skills uninstall pdf --scope workspace")]
    Uninstall {
        /// The skill's name.
        name: String,
        /// Where it is installed.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
    },
    /// Let the model use a skill again.
    Enable {
        /// The skill's name.
        name: String,
    },
    /// Stop the model from using a skill.
    #[command(after_help = "Example:\n  hookwright skills disable pdf --scope user")]
    Disable {
        /// The skill's name.
        name: String,
        /// Whose settings to change [default: the workspace's if it has any, else the user's].
        #[arg(short, long, value_enum, ignore_case = true)]
        scope: Option<ScopeArg>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SkillInstallArgs {
    /// A folder, an archive (.tar.gz, .tgz, .zip), or an address that git or a browser understands.
    pub(crate) source: String,
    /// The branch, tag or commit to install.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Where the skills apply.
    #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
    pub(crate) scope: ScopeArg,
    /// The folder within the source that holds the skill or skills.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Agree to the contents without being asked.
    #[arg(long)]
    pub(crate) consent: bool,
}
