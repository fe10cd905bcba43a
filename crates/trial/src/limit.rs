//! What no bridge can give: cells in which an agent does not ask its hooks, or not in time, whatever they would say.

use hookwright_bridge::{FailClosed, Host};

use crate::behaviour::{Behaviour, Place};

/// Why this cannot hold there, if it cannot.
pub fn limit(host: Host, behaviour: &Behaviour) -> Option<&'static str> {
    match (behaviour.place, host, behaviour.name) {
        (Place::Untrusted, ..) => {
            Some("a hook that nobody has confirmed there is passed over without a word; `agents doctor` says so")
        }
        (Place::ProgramGone, ..) if host.info().fail_closed == FailClosed::None => {
            Some("when the program of a hook cannot be started, the call runs, and there is no switch for that")
        }
        (_, Host::Droid, "prompt") => Some("`droid exec` does not ask its hooks about prompts"),
        (_, Host::Copilot, "prompt") => Some("what a hook says about a prompt is not heard"),
        _ => None,
    }
}
