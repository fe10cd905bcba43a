//! What counts when a hook fails, by cause. Which layer's word that is, is `registry.rs`.

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
    /// As it is written in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureAction::Allow => "allow",
            FailureAction::Ask => "ask",
            FailureAction::Block => "block",
        }
    }
}

/// What counts when a hook fails, by cause; what is not set here is decided further out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnError {
    /// It ran too long.
    pub timeout: Option<FailureAction>,
    /// Another exit code, or a signal.
    pub exit: Option<FailureAction>,
    /// It could not start.
    pub spawn: Option<FailureAction>,
    /// Its output could not be understood in full.
    pub output: Option<FailureAction>,
    /// This machine had no room for it.
    pub resource: Option<FailureAction>,
    /// Its answer was cut off before a decision could be read.
    pub truncated: Option<FailureAction>,
}

impl OnError {
    /// The same for every cause.
    pub fn for_all_causes(action: FailureAction) -> Self {
        let action = Some(action);
        OnError { timeout: action, exit: action, spawn: action, output: action, resource: action, truncated: action }
    }

    /// What is set, cause by cause, under the keys of the settings.
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

    /// The action for a cause, if set.
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

    /// This policy, with gaps filled by an outer one.
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
    /// What counts where nobody has said: a hook's own failure lets the event go on, ours does not.
    pub(crate) fn default_action(self) -> FailureAction {
        match self {
            FailureCause::Timeout | FailureCause::Exit | FailureCause::Spawn | FailureCause::Output => {
                FailureAction::Allow
            }
            FailureCause::Resource | FailureCause::Truncated => FailureAction::Block,
        }
    }
}
