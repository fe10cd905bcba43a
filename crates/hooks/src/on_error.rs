//! The failure policy of hooks: the action for each cause. `registry.rs` combines the policies of hooks and layers.

use serde::{Deserialize, Serialize};

use crate::answers::FailureCause;

/// What counts when a hook fails, from the most lenient to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FailureAction {
    /// The event goes on, with a warning.
    Allow,
    /// The user decides.
    Ask,
    /// The event is denied.
    Block,
}

impl FailureAction {
    /// The name of the action in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureAction::Allow => "allow",
            FailureAction::Ask => "ask",
            FailureAction::Block => "block",
        }
    }
}

/// The action for each cause of failure; a cause without one is decided by the next outer policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnError {
    /// The hook exceeded its timeout.
    pub timeout: Option<FailureAction>,
    /// The process exited with an unexpected code or was ended by a signal.
    pub exit: Option<FailureAction>,
    /// The process could not be started.
    pub spawn: Option<FailureAction>,
    /// The output could not be understood in full.
    pub output: Option<FailureAction>,
    /// The machine had no resources for the process.
    pub resource: Option<FailureAction>,
    /// The answer was truncated before a decision could be read.
    pub truncated: Option<FailureAction>,
}

impl OnError {
    /// The policy with the same action for every cause.
    pub fn for_all_causes(action: FailureAction) -> Self {
        let action = Some(action);
        OnError { timeout: action, exit: action, spawn: action, output: action, resource: action, truncated: action }
    }

    /// The actions that are set, with the keys of their causes in settings.
    pub fn configured(&self) -> impl Iterator<Item = (&'static str, FailureAction)> {
        let OnError { timeout, exit, spawn, output, resource, truncated } = *self;
        let causes = [
            ("timeout", timeout),
            ("exit", exit),
            ("spawn", spawn),
            ("output", output),
            ("resource", resource),
            ("truncated", truncated),
        ];
        causes.into_iter().filter_map(|(cause, action)| Some((cause, action?)))
    }

    /// The action for a cause, if it is set.
    pub fn get(&self, cause: FailureCause) -> Option<FailureAction> {
        match cause {
            FailureCause::Timeout => self.timeout,
            FailureCause::Exit => self.exit,
            FailureCause::Spawn => self.spawn,
            FailureCause::Output => self.output,
            FailureCause::Resource => self.resource,
            FailureCause::Truncated => self.truncated,
        }
    }

    /// This policy, with unset causes taken from an outer policy.
    pub(crate) fn or(self, outer: OnError) -> OnError {
        OnError {
            timeout: self.timeout.or(outer.timeout),
            exit: self.exit.or(outer.exit),
            spawn: self.spawn.or(outer.spawn),
            output: self.output.or(outer.output),
            resource: self.resource.or(outer.resource),
            truncated: self.truncated.or(outer.truncated),
        }
    }
}

impl FailureCause {
    /// The action for causes that no policy sets.
    ///
    /// A failure of the hook itself lets the event proceed; a failure on the engine's side, for want of resources or by
    /// truncation, denies it.
    pub(crate) fn default_action(self) -> FailureAction {
        match self {
            FailureCause::Timeout | FailureCause::Exit | FailureCause::Spawn | FailureCause::Output => {
                FailureAction::Allow
            }
            FailureCause::Resource | FailureCause::Truncated => FailureAction::Block,
        }
    }
}
