//! `hookwright config …` as typed.

use clap::Subcommand;

use super::ScopeArg;
use crate::commands::completions;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print what counts for a setting; without a name, everything that is set.
    #[command(after_help = "Examples:\n  hookwright config get model.name\n  hookwright config get --all")]
    Get {
        /// The setting, with dots.
        #[arg(add = completions::setting_names())]
        key: Option<String>,
        /// Also list settings that nobody has set.
        #[arg(long, conflicts_with = "key")]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Set a setting; comments in the file stay.
    #[command(
        after_help = "A value is JSON or plain words; a list may be written with commas. A project may tighten what you say, never loosen it.\n\nExamples:\n  hookwright config set model.name gemini-2.5-flash\n  hookwright config set tools.exclude run_shell_command,web_fetch --scope workspace"
    )]
    Set {
        /// The setting, with dots.
        #[arg(add = completions::setting_names())]
        key: String,
        /// The value.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Whose settings.
        #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
        scope: ScopeArg,
    },
    /// Take a setting out of the file.
    Unset {
        /// The setting, with dots.
        #[arg(add = completions::setting_names())]
        key: String,
        /// Whose settings.
        #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
        scope: ScopeArg,
    },
    /// Open the settings file in your editor ($VISUAL or $EDITOR); what can't be read afterwards changes nothing.
    Edit {
        /// Whose settings.
        #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
        scope: ScopeArg,
    },
    /// Print where settings are.
    Path {
        /// Only the file of these.
        #[arg(long, value_enum, value_name = "SCOPE")]
        scope: Option<ScopeArg>,
    },
}
