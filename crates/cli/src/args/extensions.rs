//! `hookwright extensions …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ScopeArg;

#[derive(Debug, Subcommand)]
pub(crate) enum ExtensionsCommand {
    /// Install an extension: shows what it contains and asks first.
    #[command(
        after_help = "Examples:\n  hookwright extensions install https://github.com/OWNER/REPO --ref v1.2.0\n  hookwright extensions install ./my-extension\n  hookwright extensions install https://example.org/my-extension.tar.gz --consent"
    )]
    Install(ExtensionInstallArgs),
    /// Remove extensions; the folder of a linked one is kept.
    #[command(after_help = "Example:\n  hookwright extensions uninstall my-extension")]
    Uninstall {
        /// Names of extensions, or the sources they were installed from.
        names: Vec<String>,
        /// Remove all extensions.
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Agree to the loss of their guards without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// Install the newest version: shows the changes, and asks first if they include code or permissions.
    #[command(
        after_help = "Examples:\n  hookwright extensions update my-extension\n  hookwright extensions update --all"
    )]
    Update {
        /// The extension's name.
        #[arg(conflicts_with = "all")]
        name: Option<String>,
        /// Update all extensions.
        #[arg(long)]
        all: bool,
        /// Agree to the changes without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// List installed extensions, their sources and their contents.
    #[command(after_help = "Examples:\n  hookwright extensions list\n  hookwright extensions list --json")]
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Use a folder as an extension where it is, while you write it.
    #[command(after_help = "Example:\n  hookwright extensions link ./my-extension")]
    Link {
        /// The extension's folder.
        path: PathBuf,
        /// Agree to its contents without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// Enable an extension.
    #[command(after_help = "Example:\n  hookwright extensions enable my-extension --scope workspace")]
    Enable {
        /// The extension's name.
        name: String,
        /// Where the change applies.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
    },
    /// Disable an extension.
    #[command(after_help = "Example:\n  hookwright extensions disable my-extension --scope workspace")]
    Disable {
        /// The extension's name.
        name: String,
        /// Where the change applies.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
        /// Agree to the loss of its guards without being asked.
        #[arg(long)]
        consent: bool,
    },
    /// Write a new extension from a template that works and passes its own tests.
    #[command(
        after_help = "Examples:\n  hookwright extensions new my-extension\n  hookwright extensions new my-guard hooks && hookwright extensions validate my-guard"
    )]
    New {
        /// The folder to create; the extension is named after it.
        path: PathBuf,
        /// What the extension contains [default: context].
        #[arg(value_enum)]
        template: Option<ExtensionTemplate>,
    },
    /// Check an extension: which parts load, and what is wrong; exit 1 on errors, 0 on warnings only.
    #[command(
        after_help = "Examples:\n  hookwright extensions validate ./my-extension\n  hookwright extensions validate . --json"
    )]
    Validate {
        /// The extension's folder.
        path: PathBuf,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set the values of an extension's settings, or show which have one.
    #[command(
        after_help = "Examples:\n  hookwright extensions config my-extension\n  hookwright extensions config my-extension API_KEY --scope workspace\n  pass show key | hookwright extensions config my-extension API_KEY"
    )]
    Config {
        /// The extension's name [default: all].
        name: Option<String>,
        /// The setting's name, or the name of its variable [default: all].
        setting: Option<String>,
        /// Where the value is stored and applies.
        #[arg(long, value_enum, default_value_t = ScopeArg::User, ignore_case = true)]
        scope: ScopeArg,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ExtensionInstallArgs {
    /// A folder, an archive (.tar.gz, .tgz, .zip), or an address that git or a browser understands.
    pub(crate) source: String,
    /// The branch, tag or commit to install.
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Let sessions look for newer versions and report them; nothing is installed without asking.
    #[arg(long)]
    pub(crate) auto_update: bool,
    /// Agree to its contents without being asked.
    #[arg(long)]
    pub(crate) consent: bool,
    /// Do not ask for the values of its settings.
    #[arg(long)]
    pub(crate) skip_settings: bool,
}

/// What a new extension contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExtensionTemplate {
    /// A guard with its script and its test.
    Hooks,
    /// A custom slash command.
    #[value(alias = "custom-commands")]
    Commands,
    /// An MCP server with its test.
    McpServer,
    /// Instructions for the model.
    Context,
    /// A skill that the model loads when needed.
    #[value(alias = "skills")]
    Skill,
    /// A sub-agent that the model delegates to.
    Agent,
}
