//! Installs skills from other places: they are fetched into a draft beside the installed ones, inspected, and put in
//! place one by one, each as a whole or not at all. As with extensions, the caller shows them, and commits or drops
//! them.

use std::path::{Component, Path, PathBuf};

use hookwright_hooks::Source as Owner;
use hookwright_settings::skills::{SKILL_FILE, Skills, is_usable_name, read_folder, read_skill_folder};

use crate::draft::{self, DraftFolder};
use crate::error::ExtensionError;
use crate::fetch::Fetcher;
use crate::inspection::{EXTENSION_LIMITS, FilePermissionPolicy, inspect_folder};
use crate::install::dangling_link_warning;
use crate::source::ExtensionSource;

/// Skills that were fetched and inspected and can be installed.
pub struct PreparedSkills {
    /// The skills, and the diagnostics about them.
    pub skills: Skills,
    /// Removed on drop.
    draft: DraftFolder,
    target: PathBuf,
}

/// Fetches a source and finds the skills in it: the source itself, else one in each folder, else those in its
/// `skills` folder.
///
/// # Errors
/// If it can't be fetched, contains links that lead out of it, or holds no skill.
pub async fn prepare_skills(
    source: &ExtensionSource,
    inside: Option<&Path>,
    target: &Path,
    fetcher: &Fetcher<'_>,
) -> Result<PreparedSkills, ExtensionError> {
    let wrong = |why: &str| ExtensionError::Source { source_text: source.to_string(), why: why.to_owned() };
    let is_inside =
        |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if inside.is_some_and(|path| !is_inside(&path)) {
        return Err(wrong("the given path leads out of it"));
    }
    let draft = DraftFolder::in_folder(target)?;
    let fetched = fetcher.fetch(source, draft.path()).await?;
    let left_out = inspect_folder(draft.path(), EXTENSION_LIMITS, FilePermissionPolicy::Restrict)?;
    let root = inside.map_or(fetched.root.clone(), |path| fetched.root.join(path));
    let found = [root.clone(), root.join("skills")].into_iter().map(|folder| {
        let is_one = folder.join(SKILL_FILE).symlink_metadata().is_ok();
        if is_one {
            read_skill_folder(&folder, &Owner::User)
        } else {
            read_folder(&folder, Some(draft.path()), &Owner::User)
        }
    });
    let found: Vec<Skills> = found.collect();
    let Some(mut skills) = found.iter().find(|skills| !skills.list.is_empty()).or(found.first()).cloned() else {
        return Err(wrong("it contains no skill"));
    };
    skills.diagnostics.extend(left_out.iter().map(|link| dangling_link_warning(link)));
    let real = draft.path().canonicalize().unwrap_or_else(|_| draft.path().to_owned());
    for wrong in &mut skills.diagnostics {
        let inner = wrong.file.strip_prefix(&real).or_else(|_| wrong.file.strip_prefix(draft.path()));
        wrong.file = inner.unwrap_or(&wrong.file).to_owned();
    }
    if skills.list.is_empty() {
        let why = skills.diagnostics.first().map(ToString::to_string);
        return Err(wrong(&why.unwrap_or_else(|| "it contains no skill".to_owned())));
    }
    Ok(PreparedSkills { skills, draft, target: target.to_owned() })
}

impl PreparedSkills {
    /// Names of the skills that would replace an installed one.
    pub fn replaced_names(&self) -> Vec<&str> {
        let names = self.skills.list.iter().map(|skill| skill.name.as_str());
        names.filter(|name| self.target.join(name).symlink_metadata().is_ok()).collect()
    }

    /// Installs the skills and returns their folders. If one fails, the skill that it would replace stays.
    ///
    /// # Errors
    /// If a skill can't be put in place.
    pub fn commit(self) -> Result<Vec<PathBuf>, ExtensionError> {
        let mut placed = Vec::new();
        for (at, skill) in self.skills.list.iter().enumerate() {
            if !is_usable_name(&skill.name) {
                return Err(ExtensionError::rejected(skill.name.as_str(), "its name can't be used for a folder"));
            }
            // A repository's history is not part of the skill.
            let history = skill.folder.join(".git");
            if history.symlink_metadata().is_ok() {
                std::fs::remove_dir_all(&history).map_err(ExtensionError::disk_error(&history))?;
            }
            // The draft folder itself can't be moved, because it is removed on drop.
            let ready = match skill.folder == self.draft.path().canonicalize().unwrap_or_default() {
                false => skill.folder.clone(),
                true => self.move_to_subfolder(at)?,
            };
            let target = self.target.join(&skill.name);
            match target.symlink_metadata() {
                Ok(_) => draft::swap(&ready, &target)?,
                Err(_) => draft::move_into_place(&ready, &target)?,
            }
            placed.push(target);
        }
        Ok(placed)
    }

    /// Moves a skill that fills the whole draft into a subfolder of the draft.
    fn move_to_subfolder(&self, at: usize) -> Result<PathBuf, ExtensionError> {
        let ready = self.draft.path().join(format!(".ready-{at}"));
        let entries = std::fs::read_dir(self.draft.path()).map_err(ExtensionError::disk_error(self.draft.path()))?;
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        std::fs::create_dir(&ready).map_err(ExtensionError::disk_error(&ready))?;
        for path in paths {
            let Some(name) = path.file_name() else { continue };
            std::fs::rename(&path, ready.join(name)).map_err(ExtensionError::disk_error(&path))?;
        }
        Ok(ready)
    }
}
