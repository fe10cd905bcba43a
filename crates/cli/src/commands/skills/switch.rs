//! `skills enable` and `disable`: disabling writes to one settings file; enabling removes the name from the
//! project's and the user's.

use std::path::{Path, PathBuf};

use anyhow::bail;
use hookwright_agent::session::skill_state;
use hookwright_hooks::did_you_mean;
use hookwright_settings::edit::{DisabledList, Switch, set_disabled};
use hookwright_settings::skills::{Skill, Skills, discover};
use hookwright_settings::{LoadOptions, load};

use crate::args::ScopeArg;
use crate::commands::hooks::LoadedProject;
use crate::{exit, output};

pub(super) fn enable(toolbox: &LoadedProject, name: &str) -> anyhow::Result<u8> {
    let skills = discover(&toolbox.loaded);
    let skill = find_skill(&skills, name)?;
    let listed = toolbox.loaded.settings.skills.disabled.iter();
    let names: Vec<&str> = listed.filter(|listed| skills.get(listed) == Some(skill)).map(String::as_str).collect();
    let mut files = vec![toolbox.loaded.settings_file(), &toolbox.loaded.paths.user_settings];
    files.dedup();
    let mut changed = Vec::new();
    for file in files {
        if set_disabled(file, DisabledList::Skills, &names, Switch::Enable)? {
            changed.push(file);
        }
    }
    print_switched("enabled", skill, &changed)?;
    warn_if_still_off(toolbox, name)?;
    Ok(exit::OK)
}

pub(super) fn disable(toolbox: &LoadedProject, name: &str, scope: Option<ScopeArg>) -> anyhow::Result<u8> {
    let skills = discover(&toolbox.loaded);
    let skill = find_skill(&skills, name)?;
    let loaded = &toolbox.loaded;
    let file: PathBuf = match scope {
        None => loaded.settings_file().to_owned(),
        Some(ScopeArg::User) => loaded.paths.user_settings.clone(),
        Some(ScopeArg::Workspace) if loaded.project.trust.is_trusted() => {
            loaded.paths.project_settings(&loaded.project.root)
        }
        Some(ScopeArg::Workspace) => {
            bail!(
                "this folder is not trusted, so its settings have no effect; trust it first (`hookwright hooks trust --folder`)"
            )
        }
    };
    let changed: &[&Path] = if set_disabled(&file, DisabledList::Skills, &[skill.name.as_str()], Switch::Disable)? {
        &[&file]
    } else {
        &[]
    };
    print_switched("disabled", skill, changed)?;
    Ok(exit::OK)
}

fn find_skill<'s>(skills: &'s Skills, name: &str) -> anyhow::Result<&'s Skill> {
    match skills.get(name) {
        Some(skill) => Ok(skill),
        None => {
            let known = skills.list.iter().map(|skill| skill.name.as_str());
            let help = did_you_mean(name, known, "`hookwright skills list` shows them all");
            bail!("no skill is called `{name}`; {help}")
        }
    }
}

fn print_switched(verb: &str, skill: &Skill, files: &[&Path]) -> anyhow::Result<()> {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    match files.as_slice() {
        [] => output::note(format!("skill `{}`: already {verb}", skill.name))?,
        files => output::note(format!("{verb} skill `{}` in {}", skill.name, files.join(" and ")))?,
    }
    Ok(())
}

/// Warns when another settings layer still disables the skill.
fn warn_if_still_off(toolbox: &LoadedProject, name: &str) -> anyhow::Result<()> {
    let loaded = &toolbox.loaded;
    let options = LoadOptions { project: loaded.project.root.clone(), ..LoadOptions::default() };
    let skills = discover(&load(&loaded.process_env, &options));
    if let Some(skill) = skills.get(name).filter(|skill| skills.offered().all(|offered| offered != *skill)) {
        output::warn(format!("skill `{}` is still {}", skill.name, skill_state(skill)))?;
    }
    Ok(())
}
