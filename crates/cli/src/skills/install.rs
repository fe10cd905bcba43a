//! `skills install`: what comes is shown, and nothing counts before somebody agrees.

use std::io::Write;

use anyhow::bail;
use hookwright_extensions::{PreparedSkills, Source, prepare_skills};
use hookwright_settings::World;
use hookwright_settings::skills::resources;

use super::folder;
use crate::args::{InstallSkills, Scope};
use crate::extensions::install::is_agreed;
use crate::extensions::with_fetcher;
use crate::hooks::Toolbox;
use crate::out::{self, BOLD, paint};
use crate::{exit, report};

pub(super) fn run(toolbox: &Toolbox, world: &World, args: &InstallSkills) -> anyhow::Result<u8> {
    let source = Source::parse(&args.source, args.reference.as_deref(), &world.cwd)?;
    let loaded = &toolbox.loaded;
    if args.scope == Scope::Workspace && !loaded.project.trust.is_trusted() {
        bail!(
            "this folder is not trusted, so its skills do not count; trust it first (`hookwright hooks trust --folder`)"
        );
    }
    let target = folder(loaded, args.scope);
    let prepared =
        with_fetcher(world, async |fetcher| prepare_skills(&source, args.path.as_deref(), &target, fetcher).await)??;
    show(&prepared)?;
    let names: Vec<String> = prepared.skills.list.iter().map(|skill| skill.name.clone()).collect();
    let what = names.join(", ");
    if !is_agreed(args.consent.into(), &format!("install {what} from {source} into {}?", target.display()))? {
        out::error(format!("nobody has agreed to install {what}; nothing was changed"))?;
        out::hint("look at what comes, then say --consent")?;
        return Ok(exit::ERROR);
    }
    for path in prepared.commit()? {
        out::note(format!("installed {}", path.display()))?;
    }
    Ok(exit::OK)
}

/// What there is to agree to: what each is for, and the files that the model could read and run.
fn show(prepared: &PreparedSkills) -> anyhow::Result<()> {
    report::print(&prepared.skills.diagnostics)?;
    let mut stdout = out::stdout();
    for skill in &prepared.skills.list {
        writeln!(stdout, "{}: {}", paint(BOLD, out::one_line(&skill.name)), out::one_line(&skill.description))?;
        let found = resources(&skill.folder);
        for file in &found.files {
            writeln!(stdout, "    {}", out::one_line(file))?;
        }
        if found.more {
            writeln!(stdout, "    … and more")?;
        }
    }
    for name in prepared.replaced() {
        out::warn(format!("skill `{name}` is installed already; this one would take its place"))?;
    }
    Ok(())
}
