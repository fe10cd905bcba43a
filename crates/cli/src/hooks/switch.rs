//! `hooks enable`, `disable`, `enable-all`, `disable-all`: written to the workspace's settings, else to the user's.

use std::collections::HashSet;

use anyhow::bail;
use hookwright_hooks::{HookState, Source, SwitchError};
use hookwright_settings::edit::{Switch, set_disabled};

use super::Toolbox;
use crate::{exit, out};

pub(crate) fn enable(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<u8> {
    let names = names(toolbox, name)?;
    let changed = write(toolbox, &names, Switch::Enable)?;
    warn_if_still_off(toolbox, &names)?;
    report("enabled", name, &names, changed)
}

pub(crate) fn disable(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<u8> {
    let names = names(toolbox, name)?;
    let hooks = toolbox.loaded.registry.hooks();
    let own = layer(toolbox);
    let refusal = |wanted: &String| {
        let mut meant = hooks.iter().filter(|hook| hook.id() == wanted);
        meant.find_map(|hook| match hook {
            hook if hook.locked => Some(SwitchError::Locked(wanted.clone())),
            hook if hook.is_guard() && hook.source != own => {
                Some(SwitchError::Guard { name: wanted.clone(), layer: hook.source.clone() })
            }
            _ => None,
        })
    };
    let refused: Vec<SwitchError> = names.iter().filter_map(refusal).collect();
    if let (Some(_), [refused, ..]) = (name, refused.as_slice()) {
        bail!("{refused}");
    }
    refused.iter().try_for_each(out::warn)?;
    let kept: HashSet<&str> = refused.iter().map(SwitchError::name).collect();
    let names: Vec<String> = names.into_iter().filter(|name| !kept.contains(name.as_str())).collect();
    let changed = write(toolbox, &names, Switch::Disable)?;
    for guard in hooks.iter().filter(|hook| hook.is_guard() && names.iter().any(|name| name == hook.id())) {
        out::warn(format!("guard `{}` is off; unattended sessions do not start here any more", guard.id()))?;
    }
    report("disabled", name, &names, changed)
}

/// Whose settings are changed.
fn layer(toolbox: &Toolbox) -> Source {
    let file = toolbox.loaded.settings_file();
    if file == toolbox.loaded.paths.user_settings { Source::User } else { Source::Project }
}

/// The hooks meant; a name nobody has is most likely a typo.
fn names(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<Vec<String>> {
    let mut all: Vec<String> = toolbox.entries().iter().map(|entry| entry.hook.id().to_owned()).collect();
    all.sort();
    all.dedup();
    match name {
        None => Ok(all),
        Some(name) if all.iter().any(|known| known == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("no hook is called `{name}`; `hookwright hooks list` shows them all"),
    }
}

fn write(toolbox: &Toolbox, names: &[String], switch: Switch) -> anyhow::Result<Option<std::path::PathBuf>> {
    let file = toolbox.loaded.settings_file().to_owned();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(set_disabled(&file, &names, switch)?.then_some(file))
}

fn report(verb: &str, name: Option<&str>, names: &[String], file: Option<std::path::PathBuf>) -> anyhow::Result<u8> {
    let what = match name {
        Some(name) => format!("hook `{name}`"),
        None => format!("{} hooks", names.len()),
    };
    match file {
        Some(file) => out::note(format!("{verb} {what} in {}", file.display()))?,
        None => out::note(format!("{what}: already {verb}"))?,
    }
    Ok(exit::OK)
}

/// Another layer may say otherwise, and then nothing has been gained.
fn warn_if_still_off(toolbox: &Toolbox, names: &[String]) -> anyhow::Result<()> {
    let own = layer(toolbox);
    let names: HashSet<&str> = names.iter().map(String::as_str).collect();
    for (hook, state) in toolbox.loaded.registry.entries().filter(|(hook, _)| names.contains(hook.id())) {
        let others: Vec<String> = match state {
            HookState::Disabled { by } => by.iter().filter(|source| **source != own).map(Source::to_string).collect(),
            HookState::SwitchedOff { by } => vec![by.to_string()],
            HookState::Enabled | HookState::Held { .. } => continue,
        };
        if !others.is_empty() {
            out::warn(format!("hook `{}` is still switched off by the {} settings", hook.id(), others.join(" and ")))?;
        }
    }
    Ok(())
}
