//! The options of `hookwright acp` as typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ApprovalModeArg, SessionArgs};

/// The options of the agent in an editor.
#[derive(Clone, Debug, Args)]
pub(crate) struct AcpArgs {
    /// The model to use.
    #[arg(short, long, value_name = "NAME")]
    model: Option<String>,
    /// Which tool calls run without asking you; the editor can change it.
    #[arg(long, value_enum, value_name = "MODE")]
    approval_mode: Option<ApprovalModeArg>,
    /// A policy file, or a directory of them: rules that allow a tool, deny it or make it ask.
    #[arg(long, value_name = "FILE|DIR")]
    policy: Vec<PathBuf>,
    /// Treat the folders of all sessions as trusted.
    #[arg(long)]
    skip_trust: bool,
    /// Answer from this file of recorded answers instead of a model.
    #[arg(long, value_name = "FILE")]
    fake_responses: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Option<AcpCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AcpCommand {
    /// Stand between an editor and any agent of the Agent Client Protocol, and have hooks judge what passes.
    #[command(
        after_help = "Hooks judge prompts (BeforeAgent), and the agent's requests for files, terminals and permission (BeforeTool, AfterTool). Everything else passes byte for byte. A guard that cannot run refuses. Calls that an agent runs without asking the editor cannot be refused here; that is said in the editor.\n\nExit code: the agent's if it ends first (128 and the signal's number if a signal ended it), 0 if the editor does; 1 if the connection fails, 126 not executable, 127 not found.\n\nExamples:\n  hookwright acp guard -- claude-agent-acp\n  hookwright acp guard -- gemini --acp\n  hookwright acp guard -- npx -y @agentclientprotocol/claude-agent-acp\n\nIn Zed's settings:\n  \"agent_servers\": {\"Claude, guarded\": {\"type\": \"custom\", \"command\": \"hookwright\",\n    \"args\": [\"acp\", \"guard\", \"--\", \"claude-agent-acp\"]}}"
    )]
    Guard {
        /// The command that starts the agent, and its arguments.
        #[arg(required = true, last = true, value_name = "AGENT COMMAND")]
        words: Vec<OsString>,
    },
}

impl From<&AcpArgs> for SessionArgs {
    fn from(args: &AcpArgs) -> Self {
        let args = args.clone();
        SessionArgs {
            model: args.model,
            approval_mode: args.approval_mode,
            policy: args.policy,
            skip_trust: args.skip_trust,
            fake_responses: args.fake_responses,
            ..SessionArgs::default()
        }
    }
}
