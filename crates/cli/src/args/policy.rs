//! `hookwright policy …` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ApprovalModeArg;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List every policy rule in force, the strongest first.
    #[command(after_help = "Examples:\n  hookwright policy list\n  hookwright policy list --json")]
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a policy file: exit 1 on errors, 0 on warnings only.
    #[command(after_help = "Example:\n  hookwright policy check ~/.gemini/policies/shell.toml")]
    Check {
        /// The policy file.
        file: PathBuf,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say whether a call would be allowed, and which rule, list or mode decides: exit 0 allowed, 2 denied, 3 ask.
    #[command(
        after_help = "Hooks do not run: add --fire, or use `hookwright hooks fire BeforeTool`.\n\nExamples:\n  hookwright policy explain run_shell_command '{\"command\": \"git push\"}'\n  hookwright policy explain write_file '{\"file_path\": \"a.txt\"}' --mode yolo --json"
    )]
    Explain(PolicyExplainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyExplainArgs {
    /// The tool's name.
    pub(crate) tool: String,
    /// The tool's arguments as a JSON object.
    #[arg(value_name = "ARGS_JSON", default_value = "{}")]
    pub(crate) args: String,
    /// The approval mode [default: as in the settings].
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ApprovalModeArg>,
    /// Judge it as a call made by this sub-agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) subagent: Option<String>,
    /// Also run the BeforeTool hooks that match.
    #[arg(long)]
    pub(crate) fire: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
