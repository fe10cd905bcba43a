//! `extensions config`: the values of extensions' own settings, asked for on a terminal or read from a pipe, and stored
//! in a file that only the user can read.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use hookwright_extensions::preserve_hook_trust;
use hookwright_settings::{
    Extension, ExtensionOwner, ExtensionSetting, ProcessEnv, read_extension_values, write_extension_values,
};

use super::find_extension;
use super::install::ask_value;
use crate::args::ScopeArg;
use crate::commands::hooks::LoadedProject;
use crate::commands::prompt;
use crate::exit;
use crate::output::{self, BOLD, paint};

pub(super) fn run(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    name: Option<&str>,
    setting: Option<&str>,
    scope: ScopeArg,
) -> anyhow::Result<u8> {
    let extensions: Vec<&Extension> = match name {
        Some(name) => vec![find_extension(toolbox, name)?],
        None => toolbox.loaded.extensions.iter().filter(|one| !one.settings.is_empty()).collect(),
    };
    if extensions.iter().all(|one| one.settings.is_empty()) {
        output::note("there are no settings")?;
        return Ok(exit::OK);
    }
    if scope == ScopeArg::Workspace && !toolbox.loaded.project.trust.is_trusted() {
        bail!(
            "this folder is not trusted, so its `.env` would have no effect; trust it first (`hookwright hooks trust --folder`)"
        );
    }
    match setting {
        Some(wanted) => configure_one(toolbox, world, extensions[0], wanted, scope),
        None if prompt::is_interactive() => {
            extensions.iter().try_for_each(|extension| configure_all(toolbox, world, extension, scope))?;
            Ok(exit::OK)
        }
        None => print_configured(&extensions),
    }
}

/// Prints which settings have a value; a secret's value is not shown.
fn print_configured(extensions: &[&Extension]) -> anyhow::Result<u8> {
    let mut stdout = output::stdout();
    for extension in extensions {
        for setting in &extension.settings {
            let value = extension.env.iter().find(|(name, _)| *name == setting.variable).map(|(_, value)| value);
            let shown = match value {
                None => "(no value)".to_owned(),
                Some(_) if setting.sensitive => "(a secret)".to_owned(),
                Some(value) => output::one_line(value),
            };
            let name = format!("{}.{}", extension.name, setting.variable);
            writeln!(stdout, "{} {} {shown}", paint(BOLD, name), output::one_line(&setting.name))?;
        }
    }
    Ok(exit::OK)
}

fn configure_one(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    extension: &Extension,
    wanted: &str,
    scope: ScopeArg,
) -> anyhow::Result<u8> {
    let found = extension.settings.iter().find(|setting| setting.variable == wanted || setting.name == wanted);
    let Some(setting) = found else {
        let names: Vec<&str> = extension.settings.iter().map(|setting| setting.variable.as_str()).collect();
        bail!("`{}` has no setting `{wanted}`; it has {}", extension.name, names.join(", "));
    };
    let value = match prompt::is_interactive() {
        true => ask_value(setting)?,
        // From a pipe: `pass show key | hookwright extensions config NAME KEY`.
        false => prompt::read_piped_line()?,
    };
    match value {
        Some(value) => store_value(toolbox, world, extension, setting, value, scope)?,
        None => output::note("nothing was changed")?,
    }
    Ok(exit::OK)
}

fn configure_all(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    extension: &Extension,
    scope: ScopeArg,
) -> anyhow::Result<()> {
    for setting in &extension.settings {
        let known = read_extension_values(&values_folder(toolbox, extension, scope)?)
            .iter()
            .any(|(name, _)| *name == setting.variable);
        let question =
            format!("{} ({}) has a value; give it another?", output::one_line(&setting.name), setting.variable);
        if known && !prompt::confirm(&question)? {
            continue;
        }
        if let Some(value) = ask_value(setting)?.filter(|value| !value.is_empty()) {
            store_value(toolbox, world, extension, setting, value, scope)?;
        }
    }
    Ok(())
}

fn values_folder(toolbox: &LoadedProject, extension: &Extension, scope: ScopeArg) -> anyhow::Result<PathBuf> {
    match scope {
        ScopeArg::Workspace => Ok(toolbox.loaded.project.root.clone()),
        ScopeArg::User if extension.owner == ExtensionOwner::Project => {
            bail!("`{}` came with the project; use --scope workspace", extension.name)
        }
        ScopeArg::User => Ok(extension.install_dir.clone()),
    }
}

fn store_value(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    extension: &Extension,
    setting: &ExtensionSetting,
    value: String,
    scope: ScopeArg,
) -> anyhow::Result<()> {
    let verb = if value.is_empty() { "has no value any more" } else { "is set" };
    let folder = values_folder(toolbox, extension, scope)?;
    let file = preserve_hook_trust(&extension.name, world, &toolbox.loaded, || {
        Ok(write_extension_values(&folder, &[(setting.variable.clone(), value)])?)
    })?;
    output::note(format!("{} {verb} in {}, which only you can read", setting.variable, file.display()))?;
    Ok(())
}
