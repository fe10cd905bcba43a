//! `extensions update`: fetches the newest version of an extension and shows the difference. A change in anything that
//! runs or decides needs the user's consent.

use anyhow::bail;
use hookwright_extensions::{
    ConsentRequirement, ExtensionUpdateReport, InstallConsent, PreparedExtension, UpdateStatus, check_for_update,
    updatable_extensions,
};
use hookwright_settings::{Extension, ProcessEnv};

use super::install::{ConsentSource, ask_missing_values, obtain_consent, report_refusal};
use super::{find_extension, preview, with_fetcher};
use crate::commands::hooks::LoadedProject;
use crate::presentation::administration::extension_update_messages;
use crate::presentation::{CommandStyle, print_messages};
use crate::{exit, output::diagnostics};

pub(super) fn run(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    name: Option<&str>,
    all: bool,
    consent: bool,
) -> anyhow::Result<u8> {
    let wanted: Vec<&Extension> = match name {
        Some(name) => vec![find_extension(toolbox, name)?],
        None if all => updatable_extensions(&toolbox.loaded),
        None => bail!("name the extension to update, or add --all"),
    };
    if wanted.is_empty() {
        print_report(&ExtensionUpdateReport::NoneUpdatable)?;
    }
    let mut code = exit::OK;
    for extension in wanted {
        // A failure of one extension does not keep the others from being updated.
        let done = update_one(toolbox, world, extension, consent.into());
        code = code.max(done.unwrap_or_else(|error| crate::output::error_report::print(&error)));
    }
    Ok(code)
}

fn update_one(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    extension: &Extension,
    consent: ConsentSource,
) -> anyhow::Result<u8> {
    let Extension { name, version, path: folder, moved_to, .. } = extension.clone();
    if let Some(to) = moved_to {
        print_report(&ExtensionUpdateReport::Moved { name: name.clone(), to })?;
    }
    let found = with_fetcher(world, async |fetcher| check_for_update(extension, fetcher, &toolbox.loaded).await)??;
    match found {
        UpdateStatus::Current => print_report(&ExtensionUpdateReport::Current { name, version })?,
        UpdateStatus::Linked => print_report(&ExtensionUpdateReport::Linked { name, folder })?,
        UpdateStatus::Ready(prepared) => return install_update(toolbox, world, *prepared, consent),
    }
    Ok(exit::OK)
}

fn install_update(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    prepared: PreparedExtension,
    consent: ConsentSource,
) -> anyhow::Result<u8> {
    let (name, version) = (prepared.summary.name.clone(), prepared.summary.version.clone());
    let asks = match &prepared.diff {
        Some(difference) => {
            preview::print_difference(&name, difference)?;
            difference.consent_requirement()
        }
        None => ConsentRequirement::Required,
    };
    diagnostics::print(&prepared.summary.diagnostics)?;
    let agreed = match asks {
        ConsentRequirement::NotRequired => InstallConsent::NotRequired,
        ConsentRequirement::Required
            if obtain_consent(consent, &format!("update `{name}`, and trust its hooks as they are then?"))? =>
        {
            InstallConsent::Given
        }
        ConsentRequirement::Required => return report_refusal(&name, "update"),
    };
    let values = ask_missing_values(&prepared.settings, &prepared.known_values())?;
    prepared.commit(&values, agreed, world, &toolbox.loaded)?;
    print_report(&ExtensionUpdateReport::Updated { name, version })?;
    Ok(exit::OK)
}

fn print_report(report: &ExtensionUpdateReport) -> std::io::Result<()> {
    print_messages(&extension_update_messages(report, CommandStyle::Shell))
}
