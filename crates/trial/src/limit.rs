//! What no bridge can give: cells in which an agent does not ask its hooks, or not in time, whatever they would say.

use hookwright_bridge::Host;

use crate::behaviour::{Behaviour, TrialSetup};

/// Why this cannot hold there, if it cannot.
pub fn known_limit(host: Host, behaviour: &Behaviour) -> Option<&'static str> {
    match (behaviour.setup, host, behaviour.name) {
        (TrialSetup::Untrusted, ..) => {
            Some("a hook that nobody has confirmed there is passed over without a word; `agents doctor` says so")
        }
        (_, Host::Droid, "prompt") => Some("`droid exec` does not ask its hooks about prompts"),
        _ => None,
    }
}
