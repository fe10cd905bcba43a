//! Collects the notices about a configuration: files that are ignored in an untrusted folder, hooks that wait for
//! review, hooks that the project disables. `notice.rs` defines the notices and their texts.

use std::collections::HashSet;

use hookwright_hooks::{FileKind, HookState, Registry, Source};

use super::{ProjectFolder, SettingsFile, SettingsFileState};
use crate::notice::{Notice, SwitchOffMethod};
use crate::paths::ConfigPaths;
use crate::trust::{HookFinding, HookTrustReview};

pub(super) fn collect_notices(
    project: &ProjectFolder,
    paths: &ConfigPaths,
    files: &[SettingsFile],
    registry: &Registry,
    reviews: &[HookTrustReview],
) -> Vec<Notice> {
    let mut notices = Vec::new();
    // The files of the home directory are the user's and are always loaded.
    if !project.trust.is_trusted() && project.root != paths.home {
        let own = ["settings.json", "commands", "agents", "extensions", ".env"].map(|file| format!(".gemini/{file}"));
        let own = own.into_iter().chain([".env".to_owned()]).map(|file| project.root.join(file));
        let more = files.iter().filter(|file| file.state == SettingsFileState::Untrusted).map(|file| file.path.clone());
        let more = more.filter(|path| FileKind::from_path(path) != FileKind::Settings);
        let own = own.chain(paths.skills_dirs(&project.root)).chain(more);
        let ignored: Vec<_> = own.filter(|path| path.exists()).collect();
        if !ignored.is_empty() {
            notices.push(Notice::ProjectNotTrusted { root: project.root.clone(), ignored });
        }
    }
    notices.extend(reviews.iter().filter(|review| review.finding != HookFinding::SwitchOff).map(|review| {
        Notice::Hook {
            hook: review.hook.id().to_owned(),
            command: review.hook.short_summary().unwrap_or_default().into_owned(),
            source: review.hook.source.clone(),
            finding: review.finding.clone(),
            held: review.held,
            certain: review.certain,
        }
    }));
    let waits = |name: &str, source: &Source| {
        let mut switch_offs = reviews.iter().filter(|review| review.finding == HookFinding::SwitchOff);
        switch_offs.any(|review| review.held && review.hook.id() == name && review.hook.source == *source)
    };
    for how in [SwitchOffMethod::ByName, SwitchOffMethod::All] {
        let (held, off) = hooks_switched_off(registry, how).into_iter().partition(|(name, source)| waits(name, source));
        for (hooks, held) in [(off, false), (held, true)] {
            let hooks: Vec<_> = hooks;
            if !hooks.is_empty() {
                notices.push(Notice::ProjectSwitchesOff { hooks, how, held });
            }
        }
    }
    notices
}

/// Returns hooks of other sources that the project disables.
fn hooks_switched_off(registry: &Registry, how: SwitchOffMethod) -> Vec<(String, Source)> {
    let in_this_way =
        |state: &HookState| matches!(state, HookState::SwitchedOff { .. }) == (how == SwitchOffMethod::All);
    let mut seen = HashSet::new();
    let others = registry.switched_off_by_project().filter(|(_, state)| in_this_way(state));
    let named = others.filter(|(hook, _)| seen.insert((hook.id(), &hook.source)));
    named.map(|(hook, _)| (hook.id().to_owned(), hook.source.clone())).collect()
}
