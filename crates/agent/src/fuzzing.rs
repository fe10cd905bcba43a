//! Doors for `crates/properties`: policies out of texts, what they decide, and what a custom command would run. No part of
//! the interface.

use std::path::Path;

use hookwright_hooks::McpToolName;
use hookwright_settings::ApprovalMode;
use hookwright_settings::commands::CustomCommand;
use serde_json::{Map, Value};

use crate::commands::{CommandError, CommandInvocation};
use crate::policy::{ParsedPolicy, Policy, PolicyCall, PolicyRule, PolicyTier, RuleDecision};

/// A policy file with this text.
pub fn parse_policy_text(text: &str, tier: PolicyTier) -> ParsedPolicy {
    crate::policy::parse_policy(Path::new("policy.toml"), text, tier)
}

/// What these rules say on a call.
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

/// A custom command with a user's arguments, before anything is read or run.
#[derive(Debug, PartialEq, Eq)]
pub struct ExpandedCommand {
    /// The prompt, with its places as they would be read and run.
    pub text: String,
    /// The shell commands in it.
    pub shell_commands: Vec<String>,
}

/// A custom command, invoked with these arguments.
///
/// # Errors
/// If it is not well-formed.
pub fn expand_command(command: &CustomCommand, args: &str) -> Result<ExpandedCommand, CommandError> {
    let typed = format!("/{} {args}", command.name);
    let invoked = CommandInvocation::new(command, &typed, args)?;
    Ok(ExpandedCommand {
        text: invoked.preview_text(),
        shell_commands: invoked.shell_commands().map(str::to_owned).collect(),
    })
}
