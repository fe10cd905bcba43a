//! `hookwright config …` as typed.

use clap::Subcommand;

use super::ScopeArg;
use crate::commands::completions;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the value in force of a setting; without a name, of everything that is set.
    #[command(after_help = "Examples:\n  hookwright config get model.name\n  hookwright config get --all")]
    Get {
        /// The setting's name with dots, such as `model.name`.
        #[arg(add = completions::setting_names())]
        key: Option<String>,
        /// Also list settings that are not set.
        #[arg(long, conflicts_with = "key")]
        all: bool,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set a setting; comments in the file are kept.
    #[command(
        after_help = "A value is JSON or plain text; a list may be written with commas. A project's settings can only tighten yours,\nnever loosen them.\n\nExamples:\n  hookwright config set model.name gemini-2.5-flash\n  hookwright config set tools.exclude run_shell_command,web_fetch --scope workspace"
    )]
    Set {
        /// The setting's name with dots, such as `model.name`.
        #[arg(add = completions::setting_names())]
        key: String,
        /// The value to set.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Whose settings to change.
        #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
        scope: ScopeArg,
    },
    /// Remove a setting from the file.
    Unset {
        /// The setting's name with dots, such as `model.name`.
        #[arg(add = completions::setting_names())]
        key: String,
        /// Whose settings to change.
        #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
        scope: ScopeArg,
    },
    /// Open the settings file in your editor ($VISUAL or $EDITOR); a text with syntax errors is not written.
    Edit {
        /// Whose settings to change.
        #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
        scope: ScopeArg,
    },
    /// Print the paths of the settings files.
    Path {
        /// Only the path of this scope's file.
        #[arg(long, value_enum, value_name = "SCOPE")]
        scope: Option<ScopeArg>,
    },
}
