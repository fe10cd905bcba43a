//! Consent to the loss of guards: the user sees which guards go with an action, and confirms it.
//! `settings/src/guard_record.rs` records which guards sessions expect.

use hookwright_settings::administration::{GuardLossConsent, guard_losses};
use hookwright_settings::{Extension, ProcessEnv};

use super::install::{ConsentSource, obtain_consent};
use crate::commands::hooks::LoadedProject;
use crate::commands::prompt;
use crate::output;
use crate::presentation::administration::guard_loss_messages;
use crate::presentation::print_messages;

/// Whether the extension may go: it has no guard, or the user agrees. A refusal has been printed.
pub(super) fn confirm_guard_loss(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    extension: &Extension,
    consent: ConsentSource,
) -> anyhow::Result<bool> {
    let guards = guard_losses(&toolbox.loaded, extension);
    print_messages(&guard_loss_messages(&extension.name, &guards))?;
    if guards.is_empty() {
        return Ok(true);
    }
    confirm_by_person(world, consent, &format!("uninstall `{}` and its guards", extension.name))
}

/// Returns the consent that the command line gives. A command that an agent runs is not a person's consent.
pub(crate) fn given_consent(world: &ProcessEnv, consent: ConsentSource) -> GuardLossConsent {
    match consent {
        ConsentSource::CommandLine if !is_run_by_agent(world) => GuardLossConsent::Given,
        _ => GuardLossConsent::Missing,
    }
}

fn is_run_by_agent(world: &ProcessEnv) -> bool {
    world.var("GEMINI_CLI").is_some_and(|value| !value.is_empty())
}

/// Whether a person agrees to an action that loses guards. A refusal has been printed.
pub(crate) fn confirm_by_person(world: &ProcessEnv, consent: ConsentSource, action: &str) -> anyhow::Result<bool> {
    let is_agent = is_run_by_agent(world);
    let agreed = match is_agent {
        // What an agent pipes in is not a person's answer either.
        true => prompt::is_interactive() && prompt::confirm(&format!("{action}?"))?,
        false => obtain_consent(consent, &format!("{action}?"))?,
    };
    if agreed {
        return Ok(true);
    }
    output::error(format!("{action}: not confirmed; nothing was changed"))?;
    match is_agent {
        true => output::hint("an agent can't agree to that; do it in a terminal of your own")?,
        false => output::hint("if you can do without these guards, add --consent")?,
    }
    Ok(false)
}
