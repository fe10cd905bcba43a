//! `hookwright extensions …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ScopeArg;

#[derive(Debug, Subcommand)]
pub(crate) enum ExtensionsCommand {
    /// Install an extension: shows what it brings, and asks.
    #[command(
        after_help = "Examples:\n  hookwright extensions install https://github.com/OWNER/REPO --ref v1.2.0\n  hookwright extensions install ./my-extension\n  hookwright extensions install https://example.org/my-extension.tar.gz --consent"
    )]
    Install(ExtensionInstallArgs),
    /// Remove extensions; what a linked one links to stays.
    #[command(after_help = "Example:\n  hookwright extensions uninstall my-extension")]
    Uninstall {
        /// Their names, or where they came from.
        names: Vec<String>,
        /// Remove all of them.
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Agree that guards go with them.
        #[arg(long)]
        consent: bool,
    },
    /// Get the newest version: shows what has changed, and asks where that runs or decides something.
    #[command(
        after_help = "Examples:\n  hookwright extensions update my-extension\n  hookwright extensions update --all"
    )]
    Update {
        /// Its name.
        #[arg(conflicts_with = "all")]
        name: Option<String>,
        /// Update all of them.
        #[arg(long)]
        all: bool,
        /// Agree to what has changed.
        #[arg(long)]
        consent: bool,
    },
    /// List what is installed, where it came from and what it brings.
    #[command(after_help = "Examples:\n  hookwright extensions list\n  hookwright extensions list --json")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Use a folder as an extension where it is, while you write it.
    #[command(after_help = "Example:\n  hookwright extensions link ./my-extension")]
    Link {
        /// The folder.
        path: PathBuf,
        /// Agree to what it brings.
        #[arg(long)]
        consent: bool,
    },
    /// Enable an extension.
    #[command(after_help = "Example:\n  hookwright extensions enable my-extension --scope workspace")]
    Enable {
        /// Its name.
        name: String,
        /// Where.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
    },
    /// Disable an extension.
    #[command(after_help = "Example:\n  hookwright extensions disable my-extension --scope workspace")]
    Disable {
        /// Its name.
        name: String,
        /// Where.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
        /// Agree that guards go with it.
        #[arg(long)]
        consent: bool,
    },
    /// Write a new extension, which works and passes its own tests.
    #[command(
        after_help = "Examples:\n  hookwright extensions new my-extension\n  hookwright extensions new my-guard hooks && hookwright extensions validate my-guard"
    )]
    New {
        /// The folder to write it to; its name becomes the extension's.
        path: PathBuf,
        /// What it brings [default: context].
        #[arg(value_enum)]
        template: Option<ExtensionTemplate>,
    },
    /// Check an extension: what loads, what does not, and what is wrong; exit 1 on errors, 0 on warnings only.
    #[command(
        after_help = "Examples:\n  hookwright extensions validate ./my-extension\n  hookwright extensions validate . --json"
    )]
    Validate {
        /// Its folder.
        path: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give values to the settings of extensions, or show which have one.
    #[command(
        after_help = "Examples:\n  hookwright extensions config my-extension\n  hookwright extensions config my-extension API_KEY --scope workspace\n  pass show key | hookwright extensions config my-extension API_KEY"
    )]
    Config {
        /// Its name [default: all].
        name: Option<String>,
        /// The setting's name, or its variable's [default: all].
        setting: Option<String>,
        /// Whose value it is.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ExtensionInstallArgs {
    /// A folder, an archive (.tar.gz, .tgz, .zip), or an address that git or a browser understands.
    pub(crate) source: String,
    /// The branch, tag or commit.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Let sessions look for newer versions, and say so; none is put in place unasked.
    #[arg(long)]
    pub(crate) auto_update: bool,
    /// Agree to what it brings.
    #[arg(long)]
    pub(crate) consent: bool,
    /// Ask for no values of its settings.
    #[arg(long)]
    pub(crate) skip_settings: bool,
}

/// What a new extension brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExtensionTemplate {
    /// A guard, its script and its test.
    Hooks,
    /// A slash command.
    #[value(alias = "custom-commands")]
    Commands,
    /// An MCP server.
    McpServer,
    /// Instructions for the model.
    Context,
    /// A skill.
    #[value(alias = "skills")]
    Skill,
    /// A sub-agent.
    Agent,
}
