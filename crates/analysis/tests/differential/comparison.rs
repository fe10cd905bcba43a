//! Compares what a command did with what the analysis said.

use std::path::Path;

use hookwright_analysis::effects::{Effects, Touched};
use hookwright_analysis::programs::spec::Aspect;

use crate::fixture::Fixture;
use crate::trace::{Event, EventKind};

/// Files that git loads by itself.
const GIT_SETTINGS: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];

/// What a command did that was not said, each once.
pub(crate) fn differences(command: &str, told: &Effects, events: &[Event], fixture: &Fixture) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for event in events {
        if is_compared_by_git(told, event) || fixture.is_unchanged(event) {
            continue;
        }
        if let Some(list) = missing_from(command, told, event, fixture) {
            let shown = event.path.strip_prefix(&fixture.root).unwrap_or(&event.path).display();
            let line = format!("{list} lacks {shown}: {} did {}", event.program, event.call);
            if !found.iter().any(|known| known.starts_with(&format!("{list} lacks {shown}:"))) {
                found.push(line);
            }
        }
    }
    found
}

/// Whether git compares a file of the work tree with what it puts there.
fn is_compared_by_git(told: &Effects, event: &Event) -> bool {
    event.kind == EventKind::Read && is_git(event) && covers(&told.writes, event)
}

/// The list that an event should be in and is not.
fn missing_from(command: &str, told: &Effects, event: &Event, fixture: &Fixture) -> Option<&'static str> {
    let checks = |aspect: Aspect| !told.may_hold_more(aspect);
    let name = event.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if is_git(event) && in_repository(&event.path) {
        return match event.kind {
            EventKind::Read => None,
            _ if name == "config" => (checks(Aspect::Writes) && !covers(&told.writes, event)).then_some("writes"),
            // A repository that is made is among what is written.
            _ if covers(&told.writes, event) => None,
            _ => (checks(Aspect::Repository) && told.repository.is_empty() && changes_repository(&event.path, fixture))
                .then_some("repository"),
        };
    }
    let own_file = event.path.strip_prefix(fixture.home()).is_ok_and(|rest| rest.to_string_lossy().starts_with('.'));
    if own_file && event.kind == EventKind::Read && !command.contains(&name) {
        return None;
    }
    if event.program == "zip" && event.kind == EventKind::Write && is_temporary_archive(&event.path, told) {
        return None;
    }
    let (aspect, list, shown) = match event.kind {
        EventKind::Read => (Aspect::Reads, &told.reads, "reads"),
        EventKind::Write | EventKind::MakeDirectory => (Aspect::Writes, &told.writes, "writes"),
        EventKind::Delete => (Aspect::Deletes, &told.deletes, "deletes"),
        EventKind::Start => {
            let is_named = |word: &String| word.rsplit('/').next() == Some(&*name);
            let named = told.commands.iter().any(|command| command.shown.first().is_some_and(is_named));
            return (checks(Aspect::Commands) && !named).then_some("commands");
        }
        EventKind::Connect => {
            let address = event.path.to_string_lossy();
            let named = told.network.iter().any(|host| host.contains(&*address) || !host.starts_with("127."));
            return (checks(Aspect::Network) && !named).then_some("network");
        }
    };
    // The work tree's files that git chooses itself are not told; those that are named are.
    let is_message = command.contains("stash create");
    if event.kind == EventKind::Read
        && is_git(event)
        && (is_message || !event.is_named || GIT_SETTINGS.contains(&&*name))
    {
        return None;
    }
    (checks(aspect) && !covers(list, event)).then_some(shown)
}

/// Whether zip writes an archive that is told to this file before it renames it, which it does not where a broken pipe ends it.
fn is_temporary_archive(path: &Path, told: &Effects) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_beside = told.writes.iter().any(|written| written.path.parent() == path.parent());
    is_beside && name.len() == 8 && name.starts_with("zi") && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_git(event: &Event) -> bool {
    event.program.starts_with("git")
}

fn in_repository(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git" || part.as_os_str() == "remote.git")
}

/// Whether a write below `.git` changes what the repository holds; a refreshed index does not.
fn changes_repository(path: &Path, fixture: &Fixture) -> bool {
    let text = path.to_string_lossy();
    let inside = text.split_once(".git/").map_or("", |(_, inside)| inside);
    match inside {
        "index" => fixture.index_differs(),
        "HEAD" | "packed-refs" | "config" => true,
        inside => {
            ["refs/", "objects/", "logs/", "worktrees/", "modules/"].iter().any(|start| inside.starts_with(start))
        }
    }
}

fn covers(list: &[Touched], event: &Event) -> bool {
    list.iter().any(|told| {
        // Directories are made on the way to a file.
        let on_the_way = event.kind == EventKind::MakeDirectory && told.path.starts_with(&event.path);
        told.path == event.path
            || on_the_way
            || is_template(&told.path, &event.path)
            || (told.deep && event.path.starts_with(&told.path))
    })
}

/// Whether a path is one of `name.XXXXXX`.
fn is_template(template: &Path, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let start = name(template).split_once("XXX").map(|(start, _)| start.to_owned());
    template.parent() == path.parent() && start.is_some_and(|start| name(path).starts_with(&start))
}
