//! Known limits: cases in which an agent does not call its hooks, so that no bridge can make a deny hold.

use hookwright_bridge::Host;

use crate::behaviour::{Behaviour, TrialSetup};

/// Returns why a behaviour cannot hold with an agent, if that is known.
pub fn known_limit(host: Host, behaviour: &Behaviour) -> Option<&'static str> {
    match (behaviour.setup, host, behaviour.name) {
        (TrialSetup::Untrusted, ..) => {
            Some("the agent silently skips a hook that was not confirmed there; `agents doctor` says so")
        }
        (_, Host::Droid, "prompt") => Some("`droid exec` does not ask its hooks about prompts"),
        _ => None,
    }
}
