//! `skills link`: links a skill's folder into the user's skills, so that it is used where it is.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use hookwright_hooks::Source;
use hookwright_settings::ProcessEnv;
use hookwright_settings::skills::{is_usable_name, read_skill_folder};

use super::install_folder;
use crate::args::ScopeArg;
use crate::commands::extensions::install::obtain_consent;
use crate::commands::hooks::LoadedProject;
use crate::output::{self, BOLD, paint};
use crate::{exit, output::diagnostics};

pub(super) fn run(toolbox: &LoadedProject, world: &ProcessEnv, path: &Path, consent: bool) -> anyhow::Result<u8> {
    let real = world.cwd.join(path).canonicalize().with_context(|| format!("there is no folder {}", path.display()))?;
    let found = read_skill_folder(&real, &Source::User);
    diagnostics::print(&found.diagnostics)?;
    let Some(skill) = found.list.first().filter(|skill| is_usable_name(&skill.name)) else {
        bail!("{} holds no skill", path.display());
    };
    let home = install_folder(&toolbox.loaded, ScopeArg::User);
    let link = home.join(&skill.name);
    if link.symlink_metadata().is_ok() {
        bail!("a skill `{}` is installed already, in {}", skill.name, link.display());
    }
    writeln!(
        output::stdout(),
        "{}: {}",
        paint(BOLD, output::one_line(&skill.name)),
        output::one_line(&skill.description)
    )?;
    if !obtain_consent(consent.into(), &format!("link {} from {}, as it is then?", skill.name, real.display()))? {
        output::error(format!("link {}: not confirmed; nothing was changed", skill.name))?;
        output::hint("look at it, then add --consent")?;
        return Ok(exit::ERROR);
    }
    std::fs::create_dir_all(&home).with_context(|| format!("can't make {}", home.display()))?;
    make_link(&real, &link).with_context(|| format!("can't link {}", link.display()))?;
    output::note(format!("skill `{}` is linked: {} is used as it is", skill.name, real.display()))?;
    Ok(exit::OK)
}

#[cfg(unix)]
fn make_link(from: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, link)
}

#[cfg(not(unix))]
fn make_link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("skills can't be linked on this system; install it instead"))
}
