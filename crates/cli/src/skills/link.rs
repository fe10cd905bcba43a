//! `skills link`: a skill of the user's that stays where it is.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use hookwright_hooks::Source;
use hookwright_settings::World;
use hookwright_settings::skills::{is_usable, one};

use super::folder;
use crate::args::Scope;
use crate::extensions::install::is_agreed;
use crate::hooks::Toolbox;
use crate::out::{self, BOLD, paint};
use crate::{exit, report};

pub(super) fn run(toolbox: &Toolbox, world: &World, path: &Path, consent: bool) -> anyhow::Result<u8> {
    let real = world.cwd.join(path).canonicalize().with_context(|| format!("there is no folder {}", path.display()))?;
    let found = one(&real, &Source::User);
    report::print(&found.diagnostics)?;
    let Some(skill) = found.list.first().filter(|skill| is_usable(&skill.name)) else {
        bail!("{} holds no skill", path.display());
    };
    let home = folder(&toolbox.loaded, Scope::User);
    let link = home.join(&skill.name);
    if link.symlink_metadata().is_ok() {
        bail!("a skill `{}` is installed already, in {}", skill.name, link.display());
    }
    writeln!(out::stdout(), "{}: {}", paint(BOLD, out::one_line(&skill.name)), out::one_line(&skill.description))?;
    if !is_agreed(consent.into(), &format!("link {} from {}, as it is then?", skill.name, real.display()))? {
        out::error(format!("nobody has agreed to link {}; nothing was changed", skill.name))?;
        out::hint("look at it, then say --consent")?;
        return Ok(exit::ERROR);
    }
    std::fs::create_dir_all(&home).with_context(|| format!("can't make {}", home.display()))?;
    make_link(&real, &link).with_context(|| format!("can't link {}", link.display()))?;
    out::note(format!("skill `{}` is linked: {} counts as it is", skill.name, real.display()))?;
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
