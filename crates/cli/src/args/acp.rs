//! The options of `hookwright acp` as typed.

use std::path::PathBuf;

use clap::Args;

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
}

impl From<AcpArgs> for SessionArgs {
    fn from(args: AcpArgs) -> Self {
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
