//! `extensions enable` and `disable`: here, or everywhere.

use std::path::Path;

use hookwright_settings::edit::Switch;
use hookwright_settings::switch_extension;

use super::named;
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

pub(super) fn disable(toolbox: &Toolbox, name: &str, scope: Scope) -> anyhow::Result<u8> {
    let extension = named(toolbox, name)?;
    let guards: Vec<String> =
        extension.declared().hooks.iter().filter(|hook| hook.is_guard()).map(|hook| hook.id().to_owned()).collect();
    switch(toolbox, &extension.name, scope, Switch::Disable)?;
    for guard in guards {
        out::warn(format!("guard `{guard}` is off; unattended sessions do not start where it was awake"))?;
    }
    Ok(exit::OK)
}

fn switch(toolbox: &Toolbox, name: &str, scope: Scope, switch: Switch) -> anyhow::Result<()> {
    let root = &toolbox.loaded.project.root;
    let (folder, place): (&Path, _) = match scope {
        Scope::User => (Path::new("/"), "everywhere".to_owned()),
        Scope::Workspace => (root, format!("in {}", root.display())),
    };
    let changed = switch_extension(&toolbox.loaded.paths, name, folder, switch)?;
    let verb = if switch == Switch::Enable { "enabled" } else { "disabled" };
    let already = if changed { "is" } else { "was already" };
    out::note(format!("`{name}` {already} {verb} {place}"))?;
    Ok(())
}
