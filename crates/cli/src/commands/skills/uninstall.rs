//! `skills uninstall`: removes a skill's folder, or the link to it, from the installed ones.

use anyhow::{Context, bail};
use hookwright_hooks::Source;
use hookwright_settings::skills::{is_usable_name, read_folder};

use super::install_folder;
use crate::args::ScopeArg;
use crate::commands::hooks::LoadedProject;
use crate::{exit, output};

pub(super) fn run(toolbox: &LoadedProject, name: &str, scope: ScopeArg) -> anyhow::Result<u8> {
    let home = install_folder(&toolbox.loaded, scope);
    let found = read_folder(&home, None, &Source::User);
    let named = found.list.iter().find(|skill| skill.name == name).map(|skill| skill.folder.clone());
    let entries = std::fs::read_dir(&home).into_iter().flatten().flatten().map(|entry| entry.path());
    // By the name in its file, else by its folder's name, so that a skill that can't be read can be removed too.
    let by_itself = entries.into_iter().find(|path| named.is_some() && path.canonicalize().ok() == named);
    let by_folder = Some(home.join(name)).filter(|path| is_usable_name(name) && path.symlink_metadata().is_ok());
    let Some(path) = by_itself.or(by_folder) else {
        bail!("no skill `{name}` is installed in {}", home.display());
    };
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let removed = if is_link { std::fs::remove_file(&path) } else { std::fs::remove_dir_all(&path) };
    removed.with_context(|| format!("can't remove {}", path.display()))?;
    match is_link {
        true => {
            output::note(format!("skill `{name}` is unlinked; the folder that {} linked to is kept", path.display()))?
        }
        false => output::note(format!("skill `{name}` is uninstalled from {}", path.display()))?,
    }
    Ok(exit::OK)
}
