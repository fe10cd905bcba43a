//! `extensions enable` and `disable`: for one project, or for all.

use std::path::{Path, PathBuf};

use hookwright_extensions::ExtensionError;
use hookwright_hooks::{UnarmedGuard, UnarmedReason};
use hookwright_settings::edit::Switch;
use hookwright_settings::{ProcessEnv, dismiss_guards, switch_extension};

use super::install::ConsentSource;
use super::{find_extension, guard_removal};
use crate::args::ScopeArg;
use crate::commands::hooks::LoadedProject;
use crate::{exit, output};

pub(super) fn enable(toolbox: &LoadedProject, name: &str, scope: ScopeArg) -> anyhow::Result<u8> {
    let name = &find_extension(toolbox, name)?.name;
    write_switch(toolbox, name, scope, Switch::Enable)?;
    if toolbox.loaded.disabled_extensions().iter().any(|disabled| disabled.eq_ignore_ascii_case(name)) {
        output::warn(format!("`{name}` is still switched off by `extensions.disabled` in settings"))?;
    }
    Ok(exit::OK)
}

pub(super) fn disable(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    name: &str,
    scope: ScopeArg,
    consent: ConsentSource,
) -> anyhow::Result<u8> {
    let Ok(extension) = find_extension(toolbox, name) else {
        return disable_uninstalled(toolbox, world, name, consent);
    };
    if !guard_removal::confirm_guard_loss(toolbox, world, extension, consent, "disable")? {
        return Ok(exit::ERROR);
    }
    write_switch(toolbox, &extension.name, scope, Switch::Disable)?;
    dismiss_guards(&toolbox.loaded.paths, &extension.hooks_files(), scope_folder(toolbox, scope))?;
    Ok(exit::OK)
}

/// Handles an extension that is no longer installed, but whose guards are still expected.
fn disable_uninstalled(
    toolbox: &LoadedProject,
    world: &ProcessEnv,
    name: &str,
    consent: ConsentSource,
) -> anyhow::Result<u8> {
    let is_missed =
        |guard: &&UnarmedGuard| matches!(&guard.reason, UnarmedReason::ExtensionInactive(one) if one == name);
    let missed: Vec<&UnarmedGuard> = toolbox.loaded.unarmed_guards.iter().filter(is_missed).collect();
    if missed.is_empty() {
        return Err(ExtensionError::unknown(name, &toolbox.loaded).into());
    }
    missed.iter().try_for_each(output::warn)?;
    if !guard_removal::confirm_by_person(world, consent, name, "go on without")? {
        return Ok(exit::ERROR);
    }
    let files: Vec<PathBuf> = missed.iter().filter_map(|guard| guard.file.clone()).collect();
    dismiss_guards(&toolbox.loaded.paths, &files, Path::new("/"))?;
    output::note(format!("the guards of `{name}` are no longer required"))?;
    Ok(exit::OK)
}

/// Returns the folder below which the switch applies.
fn scope_folder(toolbox: &LoadedProject, scope: ScopeArg) -> &Path {
    match scope {
        ScopeArg::User => Path::new("/"),
        ScopeArg::Workspace => &toolbox.loaded.project.root,
    }
}

fn write_switch(toolbox: &LoadedProject, name: &str, scope: ScopeArg, switch: Switch) -> anyhow::Result<()> {
    let folder = scope_folder(toolbox, scope);
    let shown = match scope {
        ScopeArg::User => "everywhere".to_owned(),
        ScopeArg::Workspace => format!("in {}", folder.display()),
    };
    let changed = switch_extension(&toolbox.loaded.paths, name, folder, switch)?;
    let verb = if switch == Switch::Enable { "enabled" } else { "disabled" };
    let already = if changed { "is" } else { "was already" };
    output::note(format!("`{name}` {already} {verb} {shown}"))?;
    Ok(())
}
