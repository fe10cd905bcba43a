//! Compares two versions of an extension: the summary and the reviewed files as unified diffs, all other files by
//! name.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use similar::TextDiff;

use crate::inspection::list_files;
use crate::summary::{ExtensionSummary, INSTALLER_FILES, ReviewedContent, read_content};

/// Whether an update needs the user's consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentRequirement {
    /// The update changes nothing that runs by itself or makes a decision.
    NotRequired,
    /// The update changes something that may run or makes a decision.
    Required,
}

/// The differences between an installed extension and its new version.
#[derive(Clone, Debug, Serialize)]
pub struct ExtensionDiff {
    /// The old and the new version number.
    pub versions: (String, String),
    /// A unified diff of the summaries; empty if they are equal.
    pub summary_diff: String,
    /// A unified diff for each changed file that runs or makes a decision.
    pub reviewed_diffs: Vec<(String, String)>,
    /// Other files that are new, changed or removed.
    pub other_changes: Vec<String>,
    /// Whether the new version number is lower than the old one.
    pub is_downgrade: bool,
    /// Whether a hook may run any file of the extension.
    #[serde(skip)]
    may_run_any_file: bool,
}

impl ExtensionDiff {
    /// Compares an installed extension with a new one.
    pub fn between(old: (&ExtensionSummary, &Path), new: (&ExtensionSummary, &Path)) -> ExtensionDiff {
        let names: BTreeSet<&String> = old.0.reviewed_files.keys().chain(new.0.reviewed_files.keys()).collect();
        let changed = names.iter().filter(|name| old.0.reviewed_files.get(**name) != new.0.reviewed_files.get(**name));
        let reviewed: Vec<(String, String)> = changed
            .map(|name| {
                ((*name).clone(), content_diff(name, old.0.reviewed_files.get(*name), new.0.reviewed_files.get(*name)))
            })
            .collect();
        let is_ours = |file: &str| INSTALLER_FILES.contains(&file) || names.iter().any(|name| name.as_str() == file);
        let (before, after) = (old.0.to_text(), new.0.to_text());
        let brings = if before == after { String::new() } else { unified_diff("installed", "new", &before, &after) };
        ExtensionDiff {
            versions: (old.0.version.clone(), new.0.version.clone()),
            summary_diff: brings,
            reviewed_diffs: reviewed,
            other_changes: list_other_changes(old.1, new.1, is_ours),
            is_downgrade: is_lower_version(&new.0.version, &old.0.version),
            may_run_any_file: new.0.may_run_any_file,
        }
    }

    /// Whether the two versions are equal.
    pub fn is_empty(&self) -> bool {
        self.summary_diff.is_empty()
            && self.reviewed_diffs.is_empty()
            && self.other_changes.is_empty()
            && self.versions.0 == self.versions.1
    }

    /// Says whether the user must be asked before the update is installed.
    ///
    /// Which files a server or a hook loads at run time cannot be determined, so every changed file counts as
    /// executable unless its name says that it is documentation or a picture.
    pub fn consent_requirement(&self) -> ConsentRequirement {
        let may_run_other = self.other_changes.iter().any(|said| self.may_run_any_file || !is_inert_file(said));
        match self.summary_diff.is_empty() && self.reviewed_diffs.is_empty() && !self.is_downgrade && !may_run_other {
            true => ConsentRequirement::NotRequired,
            false => ConsentRequirement::Required,
        }
    }
}

fn content_diff(name: &str, old: Option<&ReviewedContent>, new: Option<&ReviewedContent>) -> String {
    let text = |content: Option<&ReviewedContent>| match content {
        None => String::new(),
        Some(ReviewedContent::Text(text)) => text.clone(),
        Some(ReviewedContent::Opaque(what)) => format!("({what})\n"),
    };
    let named =
        |content: Option<&ReviewedContent>| if content.is_some() { name.to_owned() } else { "(nothing)".to_owned() };
    unified_diff(&named(old), &named(new), &text(old), &text(new))
}

fn unified_diff(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(old_name, new_name).to_string()
}

/// Lists changes of files that are not reviewed, by name alone.
fn list_other_changes(old: &Path, new: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
    let (before, after) = (list_files(old), list_files(new));
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
            _ if read_content(&old.join(file)) != read_content(&new.join(file)) => {
                said.push(format!("{name} has changed"))
            }
            _ => {}
        }
    }
    said
}

/// Whether a changed file is inert, by its name: text and pictures for people, outside of the folders with
/// instructions for the model.
fn is_inert_file(said: &str) -> bool {
    const INSTRUCTION_FOLDERS: [&str; 5] = ["agents", "commands", "hooks", "policies", "skills"];
    const INERT_FILE_EXTENSIONS: [&str; 8] = ["md", "txt", "rst", "png", "jpg", "gif", "svg", "webp"];
    let name = [" is new", " is gone", " has changed"].iter().find_map(|end| said.strip_suffix(end)).unwrap_or(said);
    let path = Path::new(name);
    let first = path.components().next().map(|first| first.as_os_str().to_string_lossy().to_lowercase());
    let instructs = first.is_some_and(|first| INSTRUCTION_FOLDERS.contains(&first.as_str()));
    let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    // The manifest is compared through the summary.
    let is_known = ["LICENSE", ".gitignore", "gemini-extension.json"].contains(&name);
    let is_plain = is_known || end.is_some_and(|end| INERT_FILE_EXTENSIONS.contains(&end.as_str()));
    is_plain && !instructs
}

/// Whether a version is lower than another; false unless both are numbers separated by dots.
fn is_lower_version(one: &str, other: &str) -> bool {
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
    fn documentation_and_pictures_need_no_consent() {
        for words in ["README.md has changed", "docs/a.txt is new", "LICENSE is gone", "img/logo.SVG is new"] {
            assert!(is_inert_file(words), "{words}");
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
            assert!(!is_inert_file(runs), "{runs}");
        }
    }

    #[test]
    fn lower_versions_are_recognised() {
        for (one, other) in [("1.0.0", "1.0.1"), ("1.9", "1.10"), ("v1", "2.0.0"), ("1.0", "1.0.1-beta")] {
            assert!(is_lower_version(one, other) && !is_lower_version(other, one), "{one} {other}");
        }
        for (one, other) in [("1.0", "1.0.0"), ("x", "1"), ("1.0.0", "1.0.0-rc")] {
            assert!(!is_lower_version(one, other), "{one} {other}");
        }
    }
}
