//! `hooks enable`, `disable`, `enable-all`, `disable-all`: written to the workspace's settings, else to the user's.

use std::collections::HashSet;

use anyhow::bail;
use hookwright_hooks::{HookState, Source};
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
    let locked: HashSet<&str> = hooks.iter().filter(|hook| hook.locked).map(|hook| hook.id()).collect();
    let (kept, names): (Vec<String>, Vec<String>) =
        names.into_iter().partition(|wanted| locked.contains(wanted.as_str()));
    if let (Some(_), [kept, ..]) = (name, kept.as_slice()) {
        bail!("hook `{kept}` is locked by the system settings and can't be switched off");
    }
    for kept in &kept {
        out::warn(format!("hook `{kept}` is locked by the system settings and stays on"))?;
    }
    let changed = write(toolbox, &names, Switch::Disable)?;
    report("disabled", name, &names, changed)
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
    let file = toolbox.loaded.settings_file();
    let own = if file == toolbox.loaded.paths.user_settings { Source::User } else { Source::Project };
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
