//! Entry points for `crates/properties`: parsing and evaluating policies, and expanding custom commands.
//! They are not part of the public interface.

use std::path::Path;

use hookwright_hooks::McpToolName;
use hookwright_settings::ApprovalMode;
use hookwright_settings::commands::CustomCommand;
use serde_json::{Map, Value};

use crate::commands::{CommandError, CommandInvocation};
use crate::policy::{ParsedPolicy, Policy, PolicyCall, PolicyRule, PolicyTier, RuleDecision};

/// Parses a policy file with this text.
pub fn parse_policy_text(text: &str, tier: PolicyTier) -> ParsedPolicy {
    crate::policy::parse_policy(Path::new("policy.toml"), text, tier)
}

/// Returns the decision of these rules on a call.
pub fn decide_by_rules(
    rules: Vec<PolicyRule>,
    tool: &str,
    args: &Map<String, Value>,
    mode: ApprovalMode,
) -> Option<RuleDecision> {
    Policy::new(rules)
        .decide(&PolicyCall {
            tool,
            mcp_name: McpToolName::parse(tool),
            other_servers: &[],
            args,
            mode,
            agent: None,
            project: None,
            file: None,
        })
        .map(|verdict| verdict.decision)
}

/// A custom command with the user's arguments, before any file is read or command is run.
#[derive(Debug, PartialEq, Eq)]
pub struct ExpandedCommand {
    /// The prompt with its placeholders filled in, as they would be read and run.
    pub text: String,
    /// The shell commands in the prompt.
    pub shell_commands: Vec<String>,
}

/// Expands a custom command with these arguments.
///
/// # Errors
/// If the command is malformed.
pub fn expand_command(command: &CustomCommand, args: &str) -> Result<ExpandedCommand, CommandError> {
    let typed = format!("/{} {args}", command.name);
    let invoked = CommandInvocation::new(command, &typed, args)?;
    Ok(ExpandedCommand {
        text: invoked.preview_text(),
        shell_commands: invoked.shell_commands().map(str::to_owned).collect(),
    })
}
