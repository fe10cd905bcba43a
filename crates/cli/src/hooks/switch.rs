//! `hooks enable`, `disable`, `enable-all`, `disable-all`. Off is written to the workspace's settings, else to the user's; on
//! takes the names out of both.

use std::collections::HashSet;
use std::path::Path;

use anyhow::bail;
use hookwright_hooks::{HookState, Source, SwitchError};
use hookwright_settings::edit::{Disabled, Switch, set_disabled};

use super::Toolbox;
use crate::{exit, out};

pub(crate) fn enable(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<u8> {
    let names = names(toolbox, name)?;
    let changed = write_everywhere(toolbox, &names)?;
    warn_if_still_off(toolbox, &names)?;
    report("enabled", name, &names, &changed)
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
    let file = toolbox.loaded.settings_file();
    let changed: &[&Path] = if set(file, &names, Switch::Disable)? { &[file] } else { &[] };
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

/// The hooks meant; a name nobody has is most likely a typo. A hook that trust keeps out can't be switched: a name in the user's
/// settings would act in every other folder.
fn names(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<Vec<String>> {
    let mut all: Vec<String> = toolbox.loaded.registry.hooks().iter().map(|hook| hook.id().to_owned()).collect();
    all.sort();
    all.dedup();
    let Some(name) = name else { return Ok(all) };
    if all.iter().any(|known| known == name) {
        return Ok(vec![name.to_owned()]);
    }
    if toolbox.entries().iter().any(|entry| entry.hook.id() == name) {
        bail!(
            "hook `{name}` is not loaded, because this folder is not trusted; trust it first (`hookwright hooks trust --folder`)"
        );
    }
    Err(toolbox.no_hook(name))
}

fn set(file: &Path, names: &[String], switch: Switch) -> anyhow::Result<bool> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(set_disabled(file, Disabled::Hooks, &names, switch)?)
}

/// Takes names out of every list that may be written: the project's where it counts, and the user's.
fn write_everywhere<'t>(toolbox: &'t Toolbox, names: &[String]) -> anyhow::Result<Vec<&'t Path>> {
    let (own, user) = (toolbox.loaded.settings_file(), toolbox.loaded.paths.user_settings.as_path());
    let mut changed = Vec::new();
    if set(own, names, Switch::Enable)? {
        changed.push(own);
    }
    if own != user {
        match set(user, names, Switch::Enable) {
            Ok(true) => changed.push(user),
            Ok(false) => {}
            Err(error) => out::warn(format!("can't look into {}: {error:#}", user.display()))?,
        }
    }
    Ok(changed)
}

fn report(verb: &str, name: Option<&str>, names: &[String], files: &[&Path]) -> anyhow::Result<u8> {
    let what = match name {
        Some(name) => format!("hook `{name}`"),
        None => format!("{} hooks", names.len()),
    };
    if files.is_empty() {
        out::note(format!("{what}: already {verb}"))?;
    } else {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        out::note(format!("{verb} {what} in {}", files.join(" and ")))?;
    }
    Ok(exit::OK)
}

/// Another layer may say otherwise, and then nothing has been gained.
fn warn_if_still_off(toolbox: &Toolbox, names: &[String]) -> anyhow::Result<()> {
    let written = [layer(toolbox), Source::User];
    let names: HashSet<&str> = names.iter().map(String::as_str).collect();
    for (hook, state) in toolbox.loaded.registry.entries().filter(|(hook, _)| names.contains(hook.id())) {
        let others: Vec<String> = match state {
            HookState::Disabled { by } => {
                by.iter().filter(|source| !written.contains(source)).map(Source::to_string).collect()
            }
            HookState::SwitchedOff { by } => vec![by.to_string()],
            HookState::Enabled | HookState::Held { .. } => continue,
        };
        if !others.is_empty() {
            out::warn(format!("hook `{}` is still switched off by the {} settings", hook.id(), others.join(" and ")))?;
        }
    }
    Ok(())
}
