//! What an update changes: of what the extension brings, of what runs or decides, and of everything else by name.

use std::collections::BTreeSet;
use std::path::Path;

use similar::TextDiff;

use crate::brings::{Brings, Content, OURS, content};
use crate::survey::files;

/// Whether the user is asked about an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// It changes nothing that runs by itself or decides anything.
    No,
    /// It does.
    Yes,
}

/// What is different about a new version.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The versions, old and new.
    pub versions: (String, String),
    /// What it brings, as a unified difference; empty if that is the same.
    pub brings: String,
    /// The files that run or decide, each as a unified difference.
    pub reviewed: Vec<(String, String)>,
    /// Other files that are new, changed or gone.
    pub others: Vec<String>,
    /// Whether the new version's number is lower than the old one's.
    pub goes_back: bool,
    /// Whether a hook may run any of these files.
    any_may_run: bool,
}

impl Difference {
    /// Compares an installed extension with a new one.
    pub fn between(old: (&Brings, &Path), new: (&Brings, &Path)) -> Difference {
        let names: BTreeSet<&String> = old.0.reviewed.keys().chain(new.0.reviewed.keys()).collect();
        let changed = names.iter().filter(|name| old.0.reviewed.get(**name) != new.0.reviewed.get(**name));
        let reviewed: Vec<(String, String)> = changed
            .map(|name| ((*name).clone(), unified(name, old.0.reviewed.get(*name), new.0.reviewed.get(*name))))
            .collect();
        let is_ours = |file: &str| OURS.contains(&file) || names.iter().any(|name| name.as_str() == file);
        let (before, after) = (old.0.sheet(), new.0.sheet());
        let brings = if before == after { String::new() } else { difference("installed", "new", &before, &after) };
        Difference {
            versions: (old.0.version.clone(), new.0.version.clone()),
            brings,
            reviewed,
            others: others(old.1, new.1, is_ours),
            goes_back: is_lower(&new.0.version, &old.0.version),
            any_may_run: new.0.any_may_run,
        }
    }

    /// Whether anything is different at all.
    pub fn is_empty(&self) -> bool {
        self.brings.is_empty()
            && self.reviewed.is_empty()
            && self.others.is_empty()
            && self.versions.0 == self.versions.1
    }

    /// Whether the user is asked. What a server or a hook loads in the end nobody can tell, so every file may run that is not
    /// there to be read.
    pub fn asks(&self) -> Asks {
        let may_run_other = self.others.iter().any(|said| self.any_may_run || !is_only_read(said));
        match self.brings.is_empty() && self.reviewed.is_empty() && !self.goes_back && !may_run_other {
            true => Asks::No,
            false => Asks::Yes,
        }
    }
}

fn unified(name: &str, old: Option<&Content>, new: Option<&Content>) -> String {
    let text = |content: Option<&Content>| match content {
        None => String::new(),
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Other(what)) => format!("({what})\n"),
    };
    let named = |content: Option<&Content>| if content.is_some() { name.to_owned() } else { "(nothing)".to_owned() };
    difference(&named(old), &named(new), &text(old), &text(new))
}

fn difference(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(old_name, new_name).to_string()
}

/// Files that are looked at by name alone.
fn others(old: &Path, new: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
    let (before, after) = (files(old), files(new));
    let all: BTreeSet<_> = before.iter().chain(&after).collect();
    let mut said = Vec::new();
    for file in all {
        let name = file.to_string_lossy();
        if is_ours(&name) {
            continue;
        }
        match (before.contains(file), after.contains(file)) {
            (false, true) => said.push(format!("{name} is new")),
            (true, false) => said.push(format!("{name} is gone")),
            _ if content(&old.join(file)) != content(&new.join(file)) => said.push(format!("{name} has changed")),
            _ => {}
        }
    }
    said
}

/// Whether a file is one that only people read, by its name: words and pictures that instruct nobody.
fn is_only_read(said: &str) -> bool {
    const FOLDERS: [&str; 5] = ["agents", "commands", "hooks", "policies", "skills"];
    const ENDS: [&str; 8] = ["md", "txt", "rst", "png", "jpg", "gif", "svg", "webp"];
    let name = [" is new", " is gone", " has changed"].iter().find_map(|end| said.strip_suffix(end)).unwrap_or(said);
    let path = Path::new(name);
    let first = path.components().next().map(|first| first.as_os_str().to_string_lossy().to_lowercase());
    let instructs = first.is_some_and(|first| FOLDERS.contains(&first.as_str()));
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    // What the manifest brings is compared by itself.
    let is_known = ["LICENSE", ".gitignore", "gemini-extension.json"].contains(&name);
    let is_plain = is_known || end.is_some_and(|end| ENDS.contains(&end.as_str()));
    is_plain && !instructs
}

/// Whether a version is lower than another, as far as both are numbers with dots.
fn is_lower(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u64>> {
        let plain = version.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
        plain.split('.').map(|part| part.parse().ok()).collect()
    };
    match (numbers(one), numbers(other)) {
        (Some(mut one), Some(mut other)) => {
            let length = one.len().max(other.len());
            one.resize(length, 0);
            other.resize(length, 0);
            one < other
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_people_read_asks_nobody() {
        for words in ["README.md has changed", "docs/a.txt is new", "LICENSE is gone", "img/logo.SVG is new"] {
            assert!(is_only_read(words), "{words}");
        }
        for runs in [
            "lib/x.js has changed",
            "agents/a.md has changed",
            "skills/s/SKILL.md is new",
            "commands/c.toml has changed",
            "off is new",
            "deny.cfg has changed",
            ".env.md.sh is new",
        ] {
            assert!(!is_only_read(runs), "{runs}");
        }
    }

    #[test]
    fn versions_that_go_back_are_known() {
        for (one, other) in [("1.0.0", "1.0.1"), ("1.9", "1.10"), ("v1", "2.0.0"), ("1.0", "1.0.1-beta")] {
            assert!(is_lower(one, other) && !is_lower(other, one), "{one} {other}");
        }
        for (one, other) in [("1.0", "1.0.0"), ("x", "1"), ("1.0.0", "1.0.0-rc")] {
            assert!(!is_lower(one, other), "{one} {other}");
        }
    }
}
