//! `hooks trust`: shows which of the project's hooks are new or changed, and records that the user trusts them.

use hookwright_settings::administration::{HookSelection, HookTrustRefusal, pending_trust, trust_pending};
use hookwright_settings::record_project_contents;
use hookwright_settings::trust::{FolderRule, set_folder_trust};

use super::LoadedProject;
use crate::presentation::administration::{hook_trust_messages, pending_trust_messages};
use crate::presentation::{CommandStyle, print_answer, print_messages};
use crate::{exit, output};

pub(crate) fn run(toolbox: &LoadedProject, name: Option<String>, all: bool, folder: bool) -> anyhow::Result<u8> {
    if folder {
        return trust_folder(toolbox);
    }
    let hooks = match name {
        Some(name) => HookSelection::Named(name),
        None if all => HookSelection::All,
        None => return show_pending(toolbox),
    };
    let outcome = trust_pending(&toolbox.config, &hooks)?;
    print_messages(&hook_trust_messages(&outcome, CommandStyle::Shell))?;
    if outcome.refusal == Some(HookTrustRefusal::FolderNotTrusted) {
        print_folder_contents(toolbox)?;
    }
    Ok(if outcome.is_complete() { exit::OK } else { exit::ERROR })
}

fn trust_folder(toolbox: &LoadedProject) -> anyhow::Result<u8> {
    let root = &toolbox.loaded.project.root;
    set_folder_trust(&toolbox.loaded.paths, root, FolderRule::TrustFolder)?;
    // The contents that are listed here need no announcement later.
    print_folder_contents(toolbox)?;
    record_project_contents(&toolbox.loaded)?;
    output::note(format!("{} is trusted now; its settings and hooks are loaded", root.display()))?;
    Ok(exit::OK)
}

fn print_folder_contents(toolbox: &LoadedProject) -> std::io::Result<()> {
    crate::presentation::opening_text::project_contents(&toolbox.loaded).iter().try_for_each(output::note)
}

fn show_pending(toolbox: &LoadedProject) -> anyhow::Result<u8> {
    let pending = pending_trust(&toolbox.config);
    print_answer(&pending_trust_messages(&pending, CommandStyle::Shell))?;
    if pending.is_folder_untrusted {
        print_folder_contents(toolbox)?;
    }
    Ok(if pending.is_folder_untrusted { exit::ERROR } else { exit::OK })
}
