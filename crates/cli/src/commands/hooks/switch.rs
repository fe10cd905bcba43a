//! `hooks enable`, `disable`, `enable-all`, `disable-all`. Disabling writes to the project's settings where they take
//! effect, else to the user's; enabling removes the names from both.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::bail;
use hookwright_hooks::{Source, SwitchError};
use hookwright_settings::edit::Switch;
use hookwright_settings::{HookSwitchOutcome, hooks_still_off, switch_hooks};

use super::LoadedProject;
use crate::{exit, output};

pub(crate) fn enable(
    toolbox: &LoadedProject,
    name: Option<&str>,
    reopen: impl Fn() -> anyhow::Result<LoadedProject>,
) -> anyhow::Result<u8> {
    let names = resolve_names(toolbox, name)?;
    let switched = write_switch(toolbox, &names, Switch::Enable)?;
    if let Some((file, error)) = switched.user_settings_error {
        output::warn(format!("can't look into {}: {error}", file.display()))?;
    }
    // A layer that can't be written here, or the hook's own declaration, may still disable it.
    let names_now: Vec<&str> = names.iter().map(String::as_str).collect();
    let still_off = hooks_still_off(&reopen()?.loaded.registry, &names_now);
    for (name, by) in &still_off {
        let layers: Vec<String> = by.iter().map(Source::to_string).collect();
        output::error(format!("hook `{name}` is still switched off by the {} settings", layers.join(" and ")))?;
    }
    if still_off.is_empty() || !switched.changed_files.is_empty() {
        print_report("enabled", name, &names, &switched.changed_files)?;
    }
    Ok(if still_off.is_empty() { exit::OK } else { exit::ERROR })
}

pub(crate) fn disable(toolbox: &LoadedProject, name: Option<&str>) -> anyhow::Result<u8> {
    let names = resolve_names(toolbox, name)?;
    let hooks = toolbox.loaded.registry.hooks();
    let own = target_layer(toolbox);
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
    refused.iter().try_for_each(output::warn)?;
    let kept: HashSet<&str> = refused.iter().map(SwitchError::name).collect();
    let names: Vec<String> = names.into_iter().filter(|name| !kept.contains(name.as_str())).collect();
    let changed = write_switch(toolbox, &names, Switch::Disable)?.changed_files;
    for guard in hooks.iter().filter(|hook| hook.is_guard() && names.iter().any(|name| name == hook.id())) {
        output::warn(format!("guard `{}` is off; unattended sessions no longer start here", guard.id()))?;
    }
    print_report("disabled", name, &names, &changed)?;
    Ok(exit::OK)
}

/// Returns the layer whose settings are changed.
fn target_layer(toolbox: &LoadedProject) -> Source {
    let file = toolbox.loaded.settings_file();
    if file == toolbox.loaded.paths.user_settings { Source::User } else { Source::Project }
}

/// Returns the ids of the hooks that are meant; an unknown name is an error.
///
/// A hook that is not loaded for lack of trust can't be switched: its name in the user's settings would act
/// in every other folder.
fn resolve_names(toolbox: &LoadedProject, name: Option<&str>) -> anyhow::Result<Vec<String>> {
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
    Err(toolbox.unknown_hook_error(name))
}

fn write_switch(toolbox: &LoadedProject, names: &[String], switch: Switch) -> anyhow::Result<HookSwitchOutcome> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(switch_hooks(&toolbox.loaded, &names, switch, |_, change| change())?)
}

fn print_report(verb: &str, name: Option<&str>, names: &[String], files: &[PathBuf]) -> std::io::Result<()> {
    let what = match name {
        Some(name) => format!("hook `{name}`"),
        None => format!("{} hooks", names.len()),
    };
    if files.is_empty() {
        output::note(format!("{what}: already {verb}"))?;
    } else {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        output::note(format!("{verb} {what} in {}", files.join(" and ")))?;
    }
    Ok(())
}
