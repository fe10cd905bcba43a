//! `extensions install`, `link` and `uninstall`: show what an extension brings, and change nothing
//! before the user agrees.

use std::path::Path;

use anyhow::{Context, bail};
use hookwright_extensions::{
    ExtensionSource, InstallConsent, PreparedExtension, find_extension, prepare_extension, prepare_link,
    uninstall as take_out,
};
use hookwright_hooks::Severity;
use hookwright_settings::{ExtensionOwner, ExtensionSetting, ProcessEnv};

use super::{guard_removal, preview, with_fetcher};
use crate::args::ExtensionInstallArgs;
use crate::commands::hooks::LoadedProject;
use crate::commands::prompt;
use crate::{exit, output, output::diagnostics};

/// Whether the user has agreed by a flag on the command line, or has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsentSource {
    CommandLine,
    Prompt,
}

impl From<bool> for ConsentSource {
    fn from(given: bool) -> Self {
        if given { ConsentSource::CommandLine } else { ConsentSource::Prompt }
    }
}

pub(super) fn run(toolbox: &LoadedProject, world: &ProcessEnv, args: &ExtensionInstallArgs) -> anyhow::Result<u8> {
    let source = ExtensionSource::parse(&args.source, args.reference.as_deref(), &world.cwd)?;
    if args.auto_update && !matches!(source, ExtensionSource::Git { .. }) {
        bail!("--auto-update is for repositories");
    }
    let prepared = with_fetcher(world, async |fetcher| {
        prepare_extension(&source, args.auto_update, fetcher, &toolbox.loaded).await
    })??;
    if args.auto_update {
        output::note("sessions will report a newer version; nothing is installed without asking")?;
    }
    install_prepared(toolbox, world, prepared, args.consent.into(), args.skip_settings.into(), "install")
}

pub(super) fn link(toolbox: &LoadedProject, world: &ProcessEnv, path: &Path, consent: bool) -> anyhow::Result<u8> {
    let folder = world.cwd.join(path);
    if !folder.is_dir() {
        bail!("there is no folder {}", path.display());
    }
    let prepared = prepare_link(&folder, &toolbox.loaded)?;
    install_prepared(toolbox, world, prepared, consent.into(), ValuePrompt::Ask, "link")
}

/// Whether the user is asked for the values of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValuePrompt {
    Ask,
    Skip,
}

impl From<bool> for ValuePrompt {
    fn from(skipped: bool) -> Self {
        if skipped { ValuePrompt::Skip } else { ValuePrompt::Ask }
    }
}

fn install_prepared(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    prepared: PreparedExtension,
    consent: ConsentSource,
    settings: ValuePrompt,
    verb: &str,
) -> anyhow::Result<u8> {
    let name = prepared.summary.name.clone();
    preview::print_contents(&prepared.summary)?;
    diagnostics::print(&prepared.summary.diagnostics)?;
    if prepared.summary.diagnostics.iter().any(|wrong| wrong.severity == Severity::Error) {
        output::warn("the parts with errors are ignored; the rest is used")?;
    }
    if !obtain_consent(consent, &format!("{verb} `{name}`, and trust its hooks?"))? {
        return report_refusal(&name, verb);
    }
    let values = match settings {
        ValuePrompt::Ask => ask_missing_values(&prepared.settings, &prepared.known_values())?,
        ValuePrompt::Skip => Vec::new(),
    };
    let missing = settings_without_value(&prepared.settings, &prepared.known_values(), &values);
    prepared.commit(&values, InstallConsent::Given, world, &toolbox.loaded)?;
    let done = if verb == "link" { "linked" } else { "installed" };
    output::note(format!("`{name}` is {done}; a running session notices, and new ones have it"))?;
    warn_missing_values(&name, &missing)?;
    Ok(exit::OK)
}

/// Asks for consent: by the flag, on the terminal, or by `y` on a piped stdin, as scripts for Gemini CLI give it.
pub(crate) fn obtain_consent(consent: ConsentSource, question: &str) -> anyhow::Result<bool> {
    match consent {
        ConsentSource::CommandLine => Ok(true),
        ConsentSource::Prompt => Ok(prompt::confirm(question)?),
    }
}

pub(super) fn report_refusal(name: &str, verb: &str) -> anyhow::Result<u8> {
    output::error(format!("{verb} `{name}`: not confirmed; nothing was changed"))?;
    if !prompt::is_interactive() {
        output::hint("look at what it contains, then add --consent")?;
    }
    Ok(exit::ERROR)
}

/// Asks for the values that are missing, if stdin is a terminal.
pub(super) fn ask_missing_values(
    settings: &[ExtensionSetting],
    known: &[(String, String)],
) -> anyhow::Result<Vec<(String, String)>> {
    if !prompt::is_interactive() {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    for setting in settings.iter().filter(|setting| !known.iter().any(|(name, _)| *name == setting.variable)) {
        if let Some(value) = ask_value(setting)?.filter(|value| !value.is_empty()) {
            values.push((setting.variable.clone(), value));
        }
    }
    Ok(values)
}

/// Asks for one value; `None` if the user cancels.
pub(super) fn ask_value(setting: &ExtensionSetting) -> anyhow::Result<Option<String>> {
    if !setting.description.is_empty() {
        output::stderr_line(&output::one_line(&setting.description))?;
    }
    let default = setting.default.as_deref().map(|value| format!(" [{}]", output::one_line(value))).unwrap_or_default();
    let question = format!("{} ({}){default}: ", output::one_line(&setting.name), setting.variable);
    let typed = if setting.sensitive { prompt::ask_hidden_line(&question) } else { prompt::ask_line(&question) };
    typed.context("can't ask for a value")
}

fn settings_without_value(
    settings: &[ExtensionSetting],
    known: &[(String, String)],
    values: &[(String, String)],
) -> Vec<String> {
    let given = |setting: &ExtensionSetting| known.iter().chain(values).any(|(name, _)| *name == setting.variable);
    let has = |setting: &ExtensionSetting| setting.default.is_some() || given(setting);
    settings.iter().filter(|setting| !has(setting)).map(|setting| output::one_line(&setting.name)).collect()
}

fn warn_missing_values(name: &str, missing: &[String]) -> anyhow::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    output::warn(format!("settings without a value: {}", missing.join(", ")))?;
    output::hint(format!("`hookwright extensions config {name}` asks for them"))?;
    Ok(())
}

pub(super) fn uninstall(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    names: &[String],
    all: bool,
    consent: ConsentSource,
) -> anyhow::Result<u8> {
    let own = toolbox.loaded.extensions.iter().filter(|one| one.owner == ExtensionOwner::User);
    let names: Vec<String> = if all { own.map(|one| one.name.clone()).collect() } else { names.to_vec() };
    if names.is_empty() {
        match all {
            true => output::note("no extension is installed")?,
            false => bail!("name the extensions to remove, or add --all"),
        }
    }
    let mut code = exit::OK;
    for name in &names {
        let known = find_extension(name, &toolbox.loaded);
        if let Some(extension) = known.filter(|one| one.owner == ExtensionOwner::User)
            && !guard_removal::confirm_guard_loss(toolbox, world, extension, consent)?
        {
            code = exit::ERROR;
            continue;
        }
        let linked = known.filter(|one| one.path != one.install_dir);
        match take_out(name, &toolbox.loaded) {
            Ok(name) => match linked {
                Some(linked) => output::note(format!("`{name}` is unlinked; {} stays", linked.path.display()))?,
                None => output::note(format!("`{name}` is uninstalled"))?,
            },
            Err(error) => {
                code = crate::output::error_report::print(&error.into());
            }
        }
    }
    Ok(code)
}
