//! Doors for `crates/properties`: policies out of texts, what they decide, and what a custom command would run. No part of
//! the interface.

use std::path::Path;

use hookwright_hooks::McpName;
use hookwright_settings::ApprovalMode;
use hookwright_settings::commands::Command;
use serde_json::{Map, Value};

use crate::commands::{CommandError, Invoked};
use crate::policy::{Decision, Policy, PolicyCall, PolicyFiles, Rule, Tier};

/// A policy file with this text.
pub fn policy_file(text: &str, tier: Tier) -> PolicyFiles {
    crate::policy::parse(Path::new("policy.toml"), text, tier)
}

/// What these rules say on a call.
pub fn decide(rules: Vec<Rule>, tool: &str, args: &Map<String, Value>, mode: ApprovalMode) -> Option<Decision> {
    Policy::new(rules)
        .decide(&PolicyCall {
            tool,
            mcp: McpName::read(tool),
            others: &[],
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
pub struct Expanded {
    /// The prompt, with its places as they would be read and run.
    pub text: String,
    /// The shell commands in it.
    pub shells: Vec<String>,
}

/// A custom command, invoked with these arguments.
///
/// # Errors
/// If it is not well-formed.
pub fn expand(command: &Command, args: &str) -> Result<Expanded, CommandError> {
    let typed = format!("/{} {args}", command.name);
    let invoked = Invoked::new(command, &typed, args)?;
    Ok(Expanded { text: invoked.text(), shells: invoked.shells().map(str::to_owned).collect() })
}
