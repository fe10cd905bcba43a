//! `extensions enable` and `disable`: for one project, or for all. Guards go only with a person's consent.

use hookwright_settings::administration::{
    ExtensionSwitchOutcome, ExtensionSwitchRequest, GuardLossConsent, switch_extension,
};

use super::guard_removal::confirm_by_person;
use super::install::ConsentSource;
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::presentation::administration::extension_switch_messages;
use crate::presentation::{CommandStyle, print_messages};

pub(super) fn run(
    toolbox: &LoadedProject,
    request: ExtensionSwitchRequest,
    consent: ConsentSource,
) -> anyhow::Result<u8> {
    let outcome = switch_extension(&toolbox.config, &request)?;
    print_messages(&extension_switch_messages(&outcome, CommandStyle::Shell))?;
    let action = match &outcome {
        ExtensionSwitchOutcome::NeedsConsent { name, .. } => format!("disable `{name}` and its guards"),
        ExtensionSwitchOutcome::ExpectedGuards { name, .. } => format!("go on without `{name}` and its guards"),
        ExtensionSwitchOutcome::Unknown(_) => return Ok(exit::ERROR),
        ExtensionSwitchOutcome::Switched { .. } | ExtensionSwitchOutcome::Forgotten { .. } => return Ok(exit::OK),
    };
    match confirm_by_person(&toolbox.world, consent, &action)? {
        true => run(toolbox, ExtensionSwitchRequest { consent: GuardLossConsent::Given, ..request }, consent),
        false => Ok(exit::ERROR),
    }
}
