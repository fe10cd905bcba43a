//! The packs of guards that setup adds, as changes of files. A pack is added to copies of the files first, so that the
//! user sees the change before it is made.

use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_bridge::install::InstallScope;
use hookwright_settings::edit::{EditError, json_splice, read_settings_map, rewrite};
use hookwright_settings::{ConfigPaths, read_settings_file};

use crate::commands::hooks::packs::{Pack, shipped};

/// The pack that is added unless the user chooses another.
const DEFAULT_PACK: &str = "essentials";

/// A file with its text before and after.
#[derive(Clone, Debug)]
pub(super) struct PlannedFile {
    pub(super) path: PathBuf,
    pub(super) old: Option<String>,
    pub(super) new: String,
}

impl PlannedFile {
    /// Writes the new text if the file is still as it was planned.
    pub(super) fn write(&self) -> Result<(), EditError> {
        rewrite(&self.path, |text| {
            let is_unchanged = text == self.old.as_deref().unwrap_or_default() || text == self.new;
            is_unchanged.then(|| self.new.clone()).ok_or_else(|| {
                let what = "this file has changed since it was read";
                json_splice::refusal(&self.path, what, "run the command again to see what would change")
            })
        })?;
        Ok(())
    }
}

/// What adding a pack does.
#[derive(Clone, Debug)]
pub(super) struct PackPlan {
    pub(super) name: String,
    /// The settings file that declares its guards.
    pub(super) settings: PathBuf,
    pub(super) added: Vec<String>,
    pub(super) present: Vec<String>,
    /// Guards of the same name and another content, which stay as they are.
    pub(super) differing: Vec<String>,
}

/// All packs, and the files that change.
#[derive(Clone, Debug, Default)]
pub(super) struct GuardPlan {
    pub(super) packs: Vec<PackPlan>,
    pub(super) files: Vec<PlannedFile>,
}

impl GuardPlan {
    /// Plans the addition of these packs to the settings of a scope.
    pub(super) fn new(
        packs: &[Pack],
        paths: &ConfigPaths,
        project: &Path,
        scope: InstallScope,
    ) -> anyhow::Result<GuardPlan> {
        let scratch = tempfile::Builder::new().prefix("hookwright-setup-").tempdir()?;
        let mut plan = GuardPlan::default();
        let mut copied: Vec<PathBuf> = Vec::new();
        for pack in packs {
            let settings = pack.settings_file(paths, project, scope);
            // A file that does not parse is reported by its own path.
            read_settings_map(&settings)?;
            let same_file = copied.iter().position(|file| *file == settings);
            let folder = scratch.path().join(same_file.unwrap_or(copied.len()).to_string());
            let copy = folder.join("hooks.json");
            if same_file.is_none() {
                copied.push(settings.clone());
                if let Some(text) = read_settings_file(&settings)? {
                    std::fs::create_dir_all(&folder)?;
                    std::fs::write(&copy, text)?;
                }
            }
            // The pack's test is written only where there is none.
            let test = settings.with_file_name("hooks").join(format!("{}.hooktest.toml", pack.name));
            let addition = pack.for_scope(scope).add_to(&copy).with_context(|| format!("pack {}", pack.name))?;
            if !addition.added.is_empty() {
                plan.set_file(&settings, &copy)?;
            }
            if !test.exists() {
                plan.set_file(&test, &addition.test)?;
            }
            plan.packs.push(PackPlan {
                name: addition.pack,
                settings,
                added: addition.added,
                present: addition.present,
                differing: addition.differing,
            });
        }
        Ok(plan)
    }

    /// Sets the new text of a file to that of its copy.
    fn set_file(&mut self, path: &Path, copy: &Path) -> anyhow::Result<()> {
        let new = read_settings_file(copy)?.unwrap_or_default();
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.new = new,
            None => self.files.push(PlannedFile { path: path.to_owned(), old: read_settings_file(path)?, new }),
        }
        Ok(())
    }

    /// Returns the names of the guards of all packs.
    pub(super) fn guard_names(&self) -> Vec<&str> {
        self.packs.iter().flat_map(|pack| pack.added.iter().chain(&pack.present)).map(String::as_str).collect()
    }
}

/// Returns the packs with these names, or at these paths.
pub(super) fn find_packs(names: &[String], directory: &Path) -> anyhow::Result<Vec<Pack>> {
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    names.map(|name| Ok(Pack::find(name, directory)?.into_owned())).collect()
}

/// Returns the names of the packs that are added unless the user chooses others.
pub(super) fn default_packs() -> Vec<String> {
    let is_shipped = shipped().iter().any(|pack| pack.name == DEFAULT_PACK);
    if is_shipped { vec![DEFAULT_PACK.to_owned()] } else { Vec::new() }
}
