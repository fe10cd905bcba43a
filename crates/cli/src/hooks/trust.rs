//! `hooks trust`: what is new or changed among the project's hooks, and the user's word that it is fine.

use std::io::Write;

use anyhow::bail;
use hookwright_settings::trust::{FolderRule, set_folder_trust, trust_hooks};
use hookwright_settings::{FileState, Finding, Review};

use super::Toolbox;
use crate::exit;
use crate::out::{self, BOLD, paint};

pub(crate) fn run(toolbox: &Toolbox, name: Option<&str>, all: bool, folder: bool) -> anyhow::Result<u8> {
    let root = &toolbox.loaded.project.root;
    if folder {
        set_folder_trust(&toolbox.loaded.paths, root, FolderRule::TrustFolder)?;
        out::note(format!("{} is trusted now; its settings and hooks are loaded", root.display()))?;
        return Ok(exit::OK);
    }
    if toolbox.loaded.files.iter().any(|file| file.state == FileState::Untrusted) {
        out::warn(format!("{} is not trusted, so its hooks are not loaded", root.display()))?;
        out::hint("look at `.gemini/settings.json`, then run `hookwright hooks trust --folder`")?;
        if name.is_none() && !all {
            return Ok(exit::ERROR);
        }
        bail!("trust the folder first");
    }
    let reviews = &toolbox.loaded.reviews;
    let chosen: Vec<&Review> = match name {
        Some(name) => reviews.iter().filter(|review| review.hook.id() == name).collect(),
        None if all => reviews.iter().collect(),
        None => return show(reviews),
    };
    if chosen.is_empty() {
        return nothing_to_trust(toolbox, name);
    }
    trust_hooks(&toolbox.loaded.paths, chosen.iter().copied())?;
    for review in &chosen {
        out::note(format!("hook `{}` on {} is trusted now", review.hook.id(), review.hook.event))?;
    }
    Ok(exit::OK)
}

fn nothing_to_trust(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<u8> {
    match name {
        Some(name) if !toolbox.loaded.registry.hooks().iter().any(|hook| hook.id() == name) => {
            bail!("no hook is called `{name}`; `hookwright hooks list` shows them all")
        }
        Some(name) => out::note(format!("hook `{name}` is trusted already"))?,
        None => out::note("every hook is trusted already")?,
    }
    Ok(exit::OK)
}

fn show(reviews: &[Review]) -> anyhow::Result<u8> {
    if reviews.is_empty() {
        out::note("every hook is trusted already")?;
        return Ok(exit::OK);
    }
    let mut stdout = out::stdout();
    for review in reviews {
        let what = match &review.finding {
            Finding::New => "new".to_owned(),
            Finding::Changed { what } => format!("changed: {}", what.join("; ")),
        };
        let held = if review.held { ", waits for trust" } else { "" };
        writeln!(stdout, "{} on {} ({what}{held})", paint(BOLD, out::one_line(review.hook.id())), review.hook.event)?;
        if let Some(command) = review.hook.command() {
            writeln!(stdout, "    runs {}", out::one_line(command))?;
        }
    }
    out::hint("`hookwright hooks trust NAME` trusts one of them, `--all` all")?;
    Ok(exit::OK)
}
