//! Policies: Gemini CLI's TOML rules on which tool calls run, are denied, or need approval.
//!
//! `policy_file.rs` reads the files, `rule.rs` matches one rule, `rule_verdict.rs`
//! combines all rules into a verdict on a call.

mod policy_file;
mod remembered_rules;
mod rule;
mod rule_verdict;

pub use policy_file::{ParsedPolicy, check_policy_file, load_policies};
pub(crate) use policy_file::{parse_policy, watched_policy_paths};
pub(crate) use remembered_rules::{RememberedRules, RuleOffer};
pub use rule::{PolicyRule, PolicyTier, RuleDecision};
pub(crate) use rule_verdict::{PolicyCall, RuleVerdict};

use hookwright_hooks::Diagnostic;

use crate::services::Interaction;

/// All rules in force, strongest first.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<PolicyRule>,
    interaction: Interaction,
    /// Whether a policy file is broken, so that its denials are unknown.
    has_broken_file: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { rules: Vec::new(), interaction: Interaction::Interactive, has_broken_file: false }
    }
}

impl Policy {
    /// Returns the rules, strongest first.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// Returns a copy with further rules.
    pub(crate) fn with_rules(&self, more: &[PolicyRule]) -> Policy {
        let rules = self.rules.iter().chain(more).cloned().collect();
        Policy { interaction: self.interaction, has_broken_file: self.has_broken_file, ..Policy::new(rules) }
    }

    /// Returns whether a policy file is broken: then every call that is not harmless needs approval.
    pub fn is_broken(&self) -> bool {
        self.has_broken_file
    }
}

/// A policy file that cannot be used; a policy is never partly in force.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A file that the command line names is broken.
    #[error("the policy can't be used: {0}")]
    NamedFile(Box<Diagnostic>),
    /// A file of the user, an extension, the project or the administrator is broken.
    #[error("a policy is broken, and no user is present to be asked instead: {0}")]
    ConfiguredFile(Box<Diagnostic>),
}

impl PolicyError {
    /// Returns the advice to the user.
    pub fn hint(&self) -> String {
        let (PolicyError::NamedFile(problem) | PolicyError::ConfiguredFile(problem)) = self;
        format!("repair it (`hookwright policy check {}`) or move it away", problem.file.display())
    }
}
