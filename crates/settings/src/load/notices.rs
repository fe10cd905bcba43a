//! What the user should be told of a configuration: what does not count in a folder that is not trusted, hooks that wait, hooks
//! that the project switches off. The notices themselves, with their words, are `notice.rs`.

use std::collections::HashSet;

use hookwright_hooks::{FileKind, HookState, Registry, Source};

use super::{FileState, Project, SettingsFile};
use crate::notice::{Notice, SwitchedOff};
use crate::paths::Paths;
use crate::trust::{Finding, Review};

pub(super) fn notices(
    project: &Project,
    paths: &Paths,
    files: &[SettingsFile],
    registry: &Registry,
    reviews: &[Review],
) -> Vec<Notice> {
    let mut notices = Vec::new();
    // The home directory's own files are the user's and count in any case.
    if !project.trust.is_trusted() && project.root != paths.home {
        let own = ["settings.json", "commands", "agents", "extensions", ".env"].map(|file| format!(".gemini/{file}"));
        let own = own.into_iter().chain([".env".to_owned()]).map(|file| project.root.join(file));
        let more = files.iter().filter(|file| file.state == FileState::Untrusted).map(|file| file.path.clone());
        let more = more.filter(|path| FileKind::of(path) != FileKind::Settings);
        let own = own.chain(paths.skills(&project.root)).chain(more);
        let ignored: Vec<_> = own.filter(|path| path.exists()).collect();
        if !ignored.is_empty() {
            notices.push(Notice::ProjectNotTrusted { root: project.root.clone(), ignored });
        }
    }
    notices.extend(reviews.iter().filter(|review| review.finding != Finding::SwitchOff).map(|review| Notice::Hook {
        hook: review.hook.id().to_owned(),
        command: review.hook.deed().unwrap_or_default().into_owned(),
        source: review.hook.source.clone(),
        finding: review.finding.clone(),
        held: review.held,
        certain: review.certain,
    }));
    let waits = |name: &str, source: &Source| {
        let mut switch_offs = reviews.iter().filter(|review| review.finding == Finding::SwitchOff);
        switch_offs.any(|review| review.held && review.hook.id() == name && review.hook.source == *source)
    };
    for how in [SwitchedOff::ByName, SwitchedOff::All] {
        let (held, off) = switched_off(registry, how).into_iter().partition(|(name, source)| waits(name, source));
        for (hooks, held) in [(off, false), (held, true)] {
            let hooks: Vec<_> = hooks;
            if !hooks.is_empty() {
                notices.push(Notice::ProjectSwitchesOff { hooks, how, held });
            }
        }
    }
    notices
}

/// Hooks of others that would run if it were not for the project.
fn switched_off(registry: &Registry, how: SwitchedOff) -> Vec<(String, Source)> {
    let in_this_way = |state: &HookState| matches!(state, HookState::SwitchedOff { .. }) == (how == SwitchedOff::All);
    let mut seen = HashSet::new();
    let others = registry.switched_off_by_project().filter(|(_, state)| in_this_way(state));
    let named = others.filter(|(hook, _)| seen.insert((hook.id(), &hook.source)));
    named.map(|(hook, _)| (hook.id().to_owned(), hook.source.clone())).collect()
}
