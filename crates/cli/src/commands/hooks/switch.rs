//! `hooks enable`, `disable`, `enable-all`, `disable-all`. A guard is disabled only with a person's consent.

use hookwright_settings::administration::{GuardLossConsent, HookSelection, HookSwitchRequest, switch_hooks};

use super::LoadedProject;
use crate::commands::extensions::guard_removal::{confirm_by_person, given_consent};
use crate::commands::extensions::install::ConsentSource;
use crate::exit;
use crate::presentation::administration::hook_switch_messages;
use crate::presentation::{CommandStyle, print_messages};

pub(crate) fn enable(toolbox: &LoadedProject, hooks: HookSelection) -> anyhow::Result<u8> {
    run(toolbox, HookSwitchRequest::enable(hooks), ConsentSource::Prompt)
}

pub(crate) fn disable(toolbox: &LoadedProject, hooks: HookSelection, consent: ConsentSource) -> anyhow::Result<u8> {
    run(toolbox, HookSwitchRequest::disable(hooks, given_consent(&toolbox.world, consent)), consent)
}

fn run(toolbox: &LoadedProject, mut request: HookSwitchRequest, consent: ConsentSource) -> anyhow::Result<u8> {
    let mut outcome = switch_hooks(&toolbox.config, &request);
    if let Some(guard) = outcome.guard_without_consent() {
        if !confirm_by_person(&toolbox.world, consent, &format!("disable the guard `{guard}`"))? {
            return Ok(exit::ERROR);
        }
        request.consent = GuardLossConsent::Given;
        outcome = switch_hooks(&toolbox.config, &request);
    }
    match outcome.write_error {
        Some(error) => Err(error.into()),
        None => {
            print_messages(&hook_switch_messages(&outcome, CommandStyle::Shell))?;
            Ok(if outcome.is_complete() { exit::OK } else { exit::ERROR })
        }
    }
}
