//! `extensions config`: the values of extensions' own settings, asked for on a terminal or taken from a pipe, kept in a file that is
//! the user's alone.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use hookwright_extensions::keep_trust;
use hookwright_settings::{Extension, ExtensionOwner, OwnSetting, World, read_values, write_values};

use super::install::ask_one;
use super::{ask, named};
use crate::args::Scope;
use crate::exit;
use crate::hooks::Toolbox;
use crate::out::{self, BOLD, paint};

pub(super) fn run(
    toolbox: &Toolbox,
    world: &World,
    name: Option<&str>,
    setting: Option<&str>,
    scope: Scope,
) -> anyhow::Result<u8> {
    let extensions: Vec<&Extension> = match name {
        Some(name) => vec![named(toolbox, name)?],
        None => toolbox.loaded.extensions.iter().filter(|one| !one.settings.is_empty()).collect(),
    };
    if extensions.iter().all(|one| one.settings.is_empty()) {
        out::note("there are no settings")?;
        return Ok(exit::OK);
    }
    if scope == Scope::Workspace && !toolbox.loaded.project.trust.is_trusted() {
        bail!(
            "this folder is not trusted, so its `.env` would not count; trust it first (`hookwright hooks trust --folder`)"
        );
    }
    match setting {
        Some(wanted) => one(toolbox, world, extensions[0], wanted, scope),
        None if ask::is_anybody_there() => {
            extensions.iter().try_for_each(|extension| all(toolbox, world, extension, scope))?;
            Ok(exit::OK)
        }
        None => show(&extensions),
    }
}

/// Which settings have a value; never which.
fn show(extensions: &[&Extension]) -> anyhow::Result<u8> {
    let mut stdout = out::stdout();
    for extension in extensions {
        for setting in &extension.settings {
            let value = extension.env.iter().find(|(name, _)| *name == setting.variable).map(|(_, value)| value);
            let shown = match value {
                None => "(no value)".to_owned(),
                Some(_) if setting.sensitive => "(a secret)".to_owned(),
                Some(value) => out::one_line(value),
            };
            let name = format!("{}.{}", extension.name, setting.variable);
            writeln!(stdout, "{} {} {shown}", paint(BOLD, name), out::one_line(&setting.name))?;
        }
    }
    Ok(exit::OK)
}

fn one(toolbox: &Toolbox, world: &World, extension: &Extension, wanted: &str, scope: Scope) -> anyhow::Result<u8> {
    let found = extension.settings.iter().find(|setting| setting.variable == wanted || setting.name == wanted);
    let Some(setting) = found else {
        let names: Vec<&str> = extension.settings.iter().map(|setting| setting.variable.as_str()).collect();
        bail!("`{}` has no setting `{wanted}`; it has {}", extension.name, names.join(", "));
    };
    let value = match ask::is_anybody_there() {
        true => ask_one(setting)?,
        // From a pipe: `pass show key | hookwright extensions config NAME KEY`.
        false => ask::piped()?,
    };
    match value {
        Some(value) => store(toolbox, world, extension, setting, value, scope)?,
        None => out::note("nothing was changed")?,
    }
    Ok(exit::OK)
}

fn all(toolbox: &Toolbox, world: &World, extension: &Extension, scope: Scope) -> anyhow::Result<()> {
    for setting in &extension.settings {
        let known = read_values(&folder(toolbox, extension, scope)?).iter().any(|(name, _)| *name == setting.variable);
        let question = format!("{} ({}) has a value; give it another?", out::one_line(&setting.name), setting.variable);
        if known && !ask::agrees(&question)? {
            continue;
        }
        if let Some(value) = ask_one(setting)?.filter(|value| !value.is_empty()) {
            store(toolbox, world, extension, setting, value, scope)?;
        }
    }
    Ok(())
}

fn folder(toolbox: &Toolbox, extension: &Extension, scope: Scope) -> anyhow::Result<PathBuf> {
    match scope {
        Scope::Workspace => Ok(toolbox.loaded.project.root.clone()),
        Scope::User if extension.owner == ExtensionOwner::Project => {
            bail!("`{}` came with the project; use --scope workspace", extension.name)
        }
        Scope::User => Ok(extension.home.clone()),
    }
}

fn store(
    toolbox: &Toolbox,
    world: &World,
    extension: &Extension,
    setting: &OwnSetting,
    value: String,
    scope: Scope,
) -> anyhow::Result<()> {
    let verb = if value.is_empty() { "has no value any more" } else { "is set" };
    let folder = folder(toolbox, extension, scope)?;
    let file = keep_trust(&extension.name, world, &toolbox.loaded, || {
        Ok(write_values(&folder, &[(setting.variable.clone(), value)])?)
    })?;
    out::note(format!("{} {verb} in {}, which only you can read", setting.variable, file.display()))?;
    Ok(())
}
