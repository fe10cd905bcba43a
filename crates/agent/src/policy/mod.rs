//! Policies: Gemini CLI's rules in TOML on which tools run, are refused, or need asking. Reading files is `policy_file.rs`, what
//! one rule says is `rule.rs`, what all of them say on a call is `rule_verdict.rs`; asking is others' work.

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
    /// Whether a file of rules is broken, so that nobody knows what it would have denied.
    has_broken_file: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { rules: Vec::new(), interaction: Interaction::Interactive, has_broken_file: false }
    }
}

impl Policy {
    /// The rules, strongest first.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }

    /// The same with some more rules.
    pub(crate) fn with_rules(&self, more: &[PolicyRule]) -> Policy {
        let rules = self.rules.iter().chain(more).cloned().collect();
        Policy { interaction: self.interaction, has_broken_file: self.has_broken_file, ..Policy::new(rules) }
    }

    /// Whether a file of rules is broken: then everything that is not harmless is asked.
    pub fn is_broken(&self) -> bool {
        self.has_broken_file
    }
}

/// A policy file that cannot be used: a policy must never be half in force.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// One that the command line names.
    #[error("the policy can't be used: {0}")]
    NamedFile(Box<Diagnostic>),
    /// One of the user, an extension, the project or the administrator.
    #[error("a policy is broken, and nobody is there to be asked in its place: {0}")]
    ConfiguredFile(Box<Diagnostic>),
}

impl PolicyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let (PolicyError::NamedFile(problem) | PolicyError::ConfiguredFile(problem)) = self;
        format!("repair it (`hookwright policy check {}`) or move it away", problem.file.display())
    }
}
