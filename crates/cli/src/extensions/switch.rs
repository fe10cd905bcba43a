//! `extensions enable` and `disable`: here, or everywhere.

use std::path::{Path, PathBuf};

use hookwright_extensions::ExtensionError;
use hookwright_hooks::{Unarmed, WhyUnarmed};
use hookwright_settings::edit::Switch;
use hookwright_settings::{World, dismiss_guards, switch_extension};

use super::install::Consent;
use super::{guards, named};
use crate::args::Scope;
use crate::hooks::Toolbox;
use crate::{exit, out};

pub(super) fn enable(toolbox: &Toolbox, name: &str, scope: Scope) -> anyhow::Result<u8> {
    let name = &named(toolbox, name)?.name;
    switch(toolbox, name, scope, Switch::Enable)?;
    if toolbox.loaded.disabled_extensions().iter().any(|disabled| disabled.eq_ignore_ascii_case(name)) {
        out::warn(format!("`{name}` is still switched off by `extensions.disabled` in settings"))?;
    }
    Ok(exit::OK)
}

pub(super) fn disable(
    toolbox: &Toolbox,
    world: &World,
    name: &str,
    scope: Scope,
    consent: Consent,
) -> anyhow::Result<u8> {
    let Ok(extension) = named(toolbox, name) else {
        return without(toolbox, world, name, consent);
    };
    if !guards::may_go(toolbox, world, extension, consent, "disable")? {
        return Ok(exit::ERROR);
    }
    switch(toolbox, &extension.name, scope, Switch::Disable)?;
    dismiss_guards(&toolbox.loaded.paths, &extension.hooks_files(), place(toolbox, scope))?;
    Ok(exit::OK)
}

/// One that is not installed any more may still be missed for its guards.
fn without(toolbox: &Toolbox, world: &World, name: &str, consent: Consent) -> anyhow::Result<u8> {
    let is_missed = |guard: &&Unarmed| matches!(&guard.why, WhyUnarmed::ExtensionInactive(one) if one == name);
    let missed: Vec<&Unarmed> = toolbox.loaded.asleep.iter().filter(is_missed).collect();
    if missed.is_empty() {
        return Err(ExtensionError::unknown(name, &toolbox.loaded).into());
    }
    missed.iter().try_for_each(out::warn)?;
    if !guards::is_persons_word(world, consent, name, "go on without")? {
        return Ok(exit::ERROR);
    }
    let files: Vec<PathBuf> = missed.iter().filter_map(|guard| guard.file.clone()).collect();
    dismiss_guards(&toolbox.loaded.paths, &files, Path::new("/"))?;
    out::note(format!("the guards of `{name}` are missed no more"))?;
    Ok(exit::OK)
}

/// Where a switch counts.
fn place(toolbox: &Toolbox, scope: Scope) -> &Path {
    match scope {
        Scope::User => Path::new("/"),
        Scope::Workspace => &toolbox.loaded.project.root,
    }
}

fn switch(toolbox: &Toolbox, name: &str, scope: Scope, switch: Switch) -> anyhow::Result<()> {
    let folder = place(toolbox, scope);
    let shown = match scope {
        Scope::User => "everywhere".to_owned(),
        Scope::Workspace => format!("in {}", folder.display()),
    };
    let changed = switch_extension(&toolbox.loaded.paths, name, folder, switch)?;
    let verb = if switch == Switch::Enable { "enabled" } else { "disabled" };
    let already = if changed { "is" } else { "was already" };
    out::note(format!("`{name}` {already} {verb} {shown}"))?;
    Ok(())
}
