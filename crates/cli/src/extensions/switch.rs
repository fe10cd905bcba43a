//! `extensions enable` and `disable`: here, or everywhere.

use std::path::Path;

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
    let extension = named(toolbox, name)?;
    if !guards::may_go(toolbox, world, extension, consent, "disable")? {
        return Ok(exit::ERROR);
    }
    switch(toolbox, &extension.name, scope, Switch::Disable)?;
    dismiss_guards(&toolbox.loaded.paths, extension, place(toolbox, scope))?;
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
