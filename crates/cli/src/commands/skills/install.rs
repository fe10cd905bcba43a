//! `skills install`: shows the skills, and installs nothing before the user agrees.

use std::io::Write;

use anyhow::bail;
use hookwright_extensions::{ExtensionSource, PreparedSkills, prepare_skills};
use hookwright_settings::ProcessEnv;
use hookwright_settings::skills::list_resources;

use super::install_folder;
use crate::args::{ScopeArg, SkillInstallArgs};
use crate::commands::extensions::install::obtain_consent;
use crate::commands::extensions::with_fetcher;
use crate::commands::hooks::LoadedProject;
use crate::output::{self, BOLD, paint};
use crate::{exit, output::diagnostics};

pub(super) fn run(toolbox: &LoadedProject, world: &ProcessEnv, args: &SkillInstallArgs) -> anyhow::Result<u8> {
    let source = ExtensionSource::parse(&args.source, args.reference.as_deref(), &world.cwd)?;
    let loaded = &toolbox.loaded;
    if args.scope == ScopeArg::Workspace && !loaded.project.trust.is_trusted() {
        bail!(
            "this folder is not trusted, so its skills are not used; trust it first (`hookwright hooks trust --folder`)"
        );
    }
    let target = install_folder(loaded, args.scope);
    let prepared =
        with_fetcher(world, async |fetcher| prepare_skills(&source, args.path.as_deref(), &target, fetcher).await)??;
    print_skills(&prepared)?;
    let names: Vec<String> = prepared.skills.list.iter().map(|skill| skill.name.clone()).collect();
    let what = names.join(", ");
    if !obtain_consent(args.consent.into(), &format!("install {what} from {source} into {}?", target.display()))? {
        output::error(format!("install {what}: not confirmed; nothing was changed"))?;
        output::hint("look at what would be installed, then add --consent")?;
        return Ok(exit::ERROR);
    }
    for path in prepared.commit()? {
        output::note(format!("installed {}", path.display()))?;
    }
    Ok(exit::OK)
}

/// Prints what the user agrees to: the purpose of each skill, and the files that the model could read and run.
fn print_skills(prepared: &PreparedSkills) -> anyhow::Result<()> {
    diagnostics::print(&prepared.skills.diagnostics)?;
    let mut stdout = output::stdout();
    for skill in &prepared.skills.list {
        writeln!(stdout, "{}: {}", paint(BOLD, output::one_line(&skill.name)), output::one_line(&skill.description))?;
        let found = list_resources(&skill.folder);
        for file in &found.files {
            writeln!(stdout, "    {}", output::one_line(file))?;
        }
        if found.truncated {
            writeln!(stdout, "    … and more")?;
        }
    }
    for name in prepared.replaced_names() {
        output::warn(format!("skill `{name}` is installed already; this one would take its place"))?;
    }
    Ok(())
}
