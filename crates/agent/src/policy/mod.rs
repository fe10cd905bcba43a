//! Policies: Gemini CLI's rules in TOML on which tools run, are refused, or need asking. Reading files is `load.rs`, what
//! one rule says is `rule.rs`, what all of them say on a call is `decide.rs`; asking is others' work.

mod decide;
mod load;
mod remember;
mod rule;

pub(crate) use decide::{PolicyCall, Verdict};
pub use load::{PolicyFiles, check_policy, load_policies};
pub(crate) use load::{parse, watched};
pub(crate) use remember::{Memory, Offer};
pub use rule::{Decision, Rule, Tier};

use hookwright_hooks::Diagnostic;

use crate::services::Interaction;

/// All rules in force, strongest first.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    interaction: Interaction,
    /// Whether a file of rules is broken, so that nobody knows what it would have denied.
    broken: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { rules: Vec::new(), interaction: Interaction::Interactive, broken: false }
    }
}

impl Policy {
    /// The rules, strongest first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The same with some more rules.
    pub(crate) fn with(&self, more: &[Rule]) -> Policy {
        let rules = self.rules.iter().chain(more).cloned().collect();
        Policy { interaction: self.interaction, broken: self.broken, ..Policy::new(rules) }
    }

    /// Whether a file of rules is broken: then everything that is not harmless is asked.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}

/// A policy file that cannot be used: a policy must never be half in force.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// One that the command line names.
    #[error("the policy can't be used: {0}")]
    Named(Box<Diagnostic>),
    /// One of the user, an extension, the project or the administrator.
    #[error("a policy is broken, and nobody is there to be asked in its place: {0}")]
    Broken(Box<Diagnostic>),
}

impl PolicyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let (PolicyError::Named(problem) | PolicyError::Broken(problem)) = self;
        format!("repair it (`hookwright policy check {}`) or move it away", problem.file.display())
    }
}
