//! Records on disk which guards each settings file declared when it was last read. With the record, guards are known
//! even if their file can't be read any more or is not trusted. The session decides what follows from that.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_disk::{FilePrivacy, SymlinkPolicy};
use hookwright_hooks::{Diagnostic, Hook, Layer, Registry, Severity, UnarmedGuard, UnarmedReason, parse_layer};
use serde::{Deserialize, Serialize};

use crate::edit::{self, EditError};
use crate::extensions::{self, Extension};
use crate::file::read_text;
use crate::load::{LoadedConfig, SettingsFile, SettingsFileState};
use crate::notice::Notice;
use crate::paths::ConfigPaths;

impl LoadedConfig {
    /// Returns the project's hooks that do not run because the folder is not trusted. Guards are not among them: they
    /// are listed as unarmed guards.
    pub fn untrusted_project_hooks(&self) -> Vec<Hook> {
        self.hooks_of_untrusted_files()
            .hooks()
            .iter()
            .filter(|hook| !hook.is_guard())
            .map(|hook| Hook::clone(hook))
            .collect()
    }

    /// Returns the project's guards that do not run because the folder is not trusted.
    pub fn untrusted_project_guards(&self) -> Vec<Arc<Hook>> {
        self.hooks_of_untrusted_files().hooks().iter().filter(|hook| hook.is_guard()).cloned().collect()
    }

    fn hooks_of_untrusted_files(&self) -> Registry {
        let left_out = self.files.iter().filter(|file| file.state == SettingsFileState::Untrusted);
        registry_of_files(left_out)
    }
}

/// Reads the hooks of these files, whatever their state, as one registry. A file that can't be read adds none.
fn registry_of_files<'f>(files: impl Iterator<Item = &'f SettingsFile>) -> Registry {
    let texts = files.filter_map(|file| Some((file, read_text(&file.path).ok()??)));
    Registry::new(texts.map(|(file, text)| parse_layer(&Layer::new(file.source.clone(), &file.path, &text))).collect())
}

/// The recorded guards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct GuardRecord {
    /// Guards by settings file.
    #[serde(default)]
    files: BTreeMap<String, Vec<RecordedGuard>>,
    /// Hooks files of extensions that were active and declared guards, by project.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    extensions: BTreeMap<String, BTreeSet<String>>,
}

/// The extensions of a project.
#[derive(Clone, Copy)]
pub(crate) struct ProjectExtensions<'a> {
    pub(crate) project: &'a Path,
    pub(crate) extensions: &'a [Extension],
    /// Names that the user or the system has disabled in the settings.
    pub(crate) disabled: &'a [String],
}

impl ProjectExtensions<'_> {
    /// Returns the name of the extension that a hooks file belongs to, even if it is no longer installed.
    fn extension_name_of(&self, file: &Path) -> String {
        let known = self.extensions.iter().find(|one| declares_hooks_in(one, file)).map(|one| one.name.clone());
        let folders = || file.ancestors().skip(1).take(2);
        known.or_else(|| folders().find_map(extensions::extension_name)).unwrap_or_else(|| path_key(file))
    }

    /// Whether a file that declared guards here should still be loaded: it exists, and its extension is not disabled
    /// in the user's or the system's settings.
    fn is_expected(&self, file: &Path) -> bool {
        let name = self.extension_name_of(file);
        file.exists() && !self.disabled.iter().any(|dismissed| dismissed.eq_ignore_ascii_case(&name))
    }
}

/// Whether an extension may declare hooks in this file.
fn declares_hooks_in(extension: &Extension, file: &Path) -> bool {
    extension.hooks_files().iter().any(|known| known == file)
}

/// A guard as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct RecordedGuard {
    name: String,
    line: usize,
}

fn path_key(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// Whether the contents of a file, or its absence, say which guards it has.
fn is_authoritative(file: &SettingsFile) -> bool {
    match file.state {
        SettingsFileState::Loaded => true,
        SettingsFileState::Missing => !is_dangling(&file.path),
        SettingsFileState::Broken | SettingsFileState::Untrusted => false,
    }
}

/// Whether a missing file is more than absent: it is a dangling link, or one of its parents is no folder.
fn is_dangling(file: &Path) -> bool {
    let there = file.ancestors().find(|path| path.symlink_metadata().is_ok());
    there.is_some_and(|there| !there.is_dir())
}

impl GuardRecord {
    /// Reads the record. One that can't be read counts as empty and is reported.
    pub(crate) fn read(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> GuardRecord {
        let text = match read_text(file) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                diagnostics.push(error.diagnostic());
                return GuardRecord::default();
            }
        };
        GuardRecord::parse(&text).unwrap_or_else(|error| {
            let text = format!("this record of guards can't be read: {error}");
            let wrong = Diagnostic::about_file(Severity::Error, file, text);
            diagnostics.push(wrong.help("remove it; the next session writes a new one"));
            GuardRecord::default()
        })
    }

    fn parse(text: &str) -> Result<GuardRecord, serde_json::Error> {
        if text.trim().is_empty() { Ok(GuardRecord::default()) } else { serde_json::from_str(text) }
    }

    /// Whether a file must be looked at: it exists, or it declared guards before.
    fn is_relevant(&self, file: &SettingsFile) -> bool {
        file.state != SettingsFileState::Missing || self.files.contains_key(&path_key(&file.path))
    }

    fn guards_in(&self, file: &Path) -> &[RecordedGuard] {
        self.files.get(&path_key(file)).map_or(&[], Vec::as_slice)
    }

    /// Returns the guards of files that can't be read or are not trusted.
    pub(crate) fn unarmed_guards(&self, files: &[SettingsFile]) -> Vec<UnarmedGuard> {
        let untrusted = || files.iter().filter(|file| file.state == SettingsFileState::Untrusted);
        // One registry for all files: `required` in one file is about the hooks of the others, too.
        let declared = LazyCell::new(|| registry_of_files(untrusted()));
        files
            .iter()
            .flat_map(|file| match file.state {
                SettingsFileState::Broken => self.as_unarmed(&file.path, &UnarmedReason::FileBroken),
                SettingsFileState::Untrusted => self.untrusted_guards(file, &declared),
                SettingsFileState::Missing if self.is_relevant(file) && is_dangling(&file.path) => {
                    self.as_unarmed(&file.path, &UnarmedReason::FileBroken)
                }
                SettingsFileState::Loaded | SettingsFileState::Missing => Vec::new(),
            })
            .collect()
    }

    /// Returns the guards of extensions that were active here and no longer are.
    pub(crate) fn guards_of_inactive_extensions(&self, here: ProjectExtensions<'_>) -> Vec<UnarmedGuard> {
        let is_accounted_for = |file: &Path| {
            here.extensions
                .iter()
                .any(|one| (one.active || one.excluded_by_command_line) && declares_hooks_in(one, file))
        };
        let were = self.extensions.get(&path_key(here.project)).into_iter().flatten().map(Path::new);
        let missed = were.filter(|file| !is_accounted_for(file) && here.is_expected(file));
        missed
            .flat_map(|file| self.as_unarmed(file, &UnarmedReason::ExtensionInactive(here.extension_name_of(file))))
            .collect()
    }

    fn as_unarmed(&self, file: &Path, why: &UnarmedReason) -> Vec<UnarmedGuard> {
        let known = self.guards_in(file).iter();
        let unarmed = known.map(|one| UnarmedGuard {
            name: one.name.clone(),
            file: Some(file.to_owned()),
            line: Some(one.line),
            reason: why.clone(),
        });
        unarmed.collect()
    }

    /// Returns the guards in an untrusted file; the recorded ones if it has none or can't be read.
    fn untrusted_guards(&self, file: &SettingsFile, declared: &Registry) -> Vec<UnarmedGuard> {
        let now = RecordedGuard::from_registry(declared, &file.path);
        let held = if now.is_empty() { self.guards_in(&file.path).to_vec() } else { now };
        GuardRecord { files: BTreeMap::from([(path_key(&file.path), held)]), ..GuardRecord::default() }
            .as_unarmed(&file.path, &UnarmedReason::FolderUntrusted)
    }

    /// Returns a notice for each guard that was removed from a file since it was last read.
    pub(crate) fn removed_guards(&self, files: &[SettingsFile], registry: &Registry) -> Vec<Notice> {
        let counts = files.iter().filter(|file| self.is_relevant(file) && is_authoritative(file));
        counts
            .flat_map(|file| {
                let now = RecordedGuard::from_registry(registry, &file.path);
                let was = self.guards_in(&file.path);
                let count = |all: &[RecordedGuard], name: &str| all.iter().filter(|one| one.name == name).count();
                let names: BTreeSet<&str> = was.iter().map(|one| one.name.as_str()).collect();
                let gone = names.into_iter().filter(move |name| count(&now, name) < count(was, name));
                gone.map(|name| Notice::GuardRemoved { guard: name.to_owned(), file: file.path.clone() })
            })
            .collect()
    }

    /// Returns the record with the current guards of these files.
    fn with_files(&self, files: &[SettingsFile], registry: &Registry, gone: RemovedGuardPolicy) -> GuardRecord {
        let mut record = self.clone();
        for file in files.iter().filter(|file| self.is_relevant(file) && is_authoritative(file)) {
            let mut now = RecordedGuard::from_registry(registry, &file.path);
            if gone == RemovedGuardPolicy::Keep {
                let names: BTreeSet<String> = now.iter().map(|one| one.name.clone()).collect();
                now.extend(self.guards_in(&file.path).iter().filter(|one| !names.contains(&one.name)).cloned());
            }
            match now {
                none if none.is_empty() => record.files.remove(&path_key(&file.path)),
                guards => record.files.insert(path_key(&file.path), guards),
            };
        }
        record
    }

    /// Returns the record with the current guards of all files and extensions.
    fn updated(&self, loaded: &LoadedConfig, gone: RemovedGuardPolicy) -> GuardRecord {
        let here = loaded.project_extensions();
        let mut record = self.with_files(&loaded.files_with_hooks(), &loaded.registry, gone);
        let of_extension = |file: &Path| here.extensions.iter().find(|one| declares_hooks_in(one, file));
        let mut held: BTreeSet<String> = record.extensions.remove(&path_key(here.project)).unwrap_or_default();
        held.retain(|file| {
            here.is_expected(Path::new(file)) && !of_extension(Path::new(file)).is_some_and(|one| one.active)
        });
        let active = here
            .extensions
            .iter()
            .filter(|one| one.active)
            .flat_map(Extension::hooks_files)
            .map(|file| path_key(&file));
        held.extend(active.filter(|file| record.files.contains_key(file)));
        if !held.is_empty() {
            record.extensions.insert(path_key(here.project), held);
        }
        record
    }

    /// Whether this record has all guards that another one has for these files and this project.
    fn covers(&self, other: &GuardRecord, files: &BTreeSet<String>, project: &str) -> bool {
        let names = |record: &GuardRecord, file: &String| -> BTreeSet<String> {
            record.files.get(file).into_iter().flatten().map(|one| one.name.clone()).collect()
        };
        let extensions = |record: &GuardRecord| record.extensions.get(project).cloned().unwrap_or_default();
        files.iter().all(|file| names(self, file).is_superset(&names(other, file)))
            && extensions(self).is_superset(&extensions(other))
    }

    /// Returns the union of two records.
    fn merged(mut self, other: &GuardRecord) -> GuardRecord {
        for (file, guards) in &other.files {
            let own = self.files.entry(file.clone()).or_default();
            let names: BTreeSet<String> = own.iter().map(|one| one.name.clone()).collect();
            own.extend(guards.iter().filter(|one| !names.contains(&one.name)).cloned());
        }
        for (project, files) in &other.extensions {
            self.extensions.entry(project.clone()).or_default().extend(files.iter().cloned());
        }
        self
    }

    fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The guards that a session loaded, kept in memory so that the record on disk can be restored.
#[derive(Clone, Debug)]
pub struct SessionGuardRecord {
    file: PathBuf,
    record: GuardRecord,
    /// The files that this session reads.
    files: BTreeSet<String>,
    project: String,
}

impl SessionGuardRecord {
    /// Returns the record of a session with this configuration.
    pub fn from_config(loaded: &LoadedConfig) -> SessionGuardRecord {
        let file = loaded.paths.known_guards.clone();
        let record = GuardRecord::read(&file, &mut Vec::new()).updated(loaded, RemovedGuardPolicy::Forget);
        let files = loaded.files_with_hooks().iter().map(|file| path_key(&file.path)).collect();
        SessionGuardRecord { file, record, files, project: path_key(&loaded.project.root) }
    }

    /// Returns the path of the record's file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Writes the record again if it lacks a guard of this session, and returns whether it did. No lock is taken,
    /// because the process that changed the record could hold it.
    ///
    /// # Errors
    /// If the record can't be written.
    pub fn restore(&self) -> io::Result<bool> {
        let now = GuardRecord::read(&self.file, &mut Vec::new());
        if now.covers(&self.record, &self.files, &self.project) {
            return Ok(false);
        }
        let text = now.merged(&self.record).to_json();
        let write =
            || hookwright_disk::write_atomic(&self.file, text.as_bytes(), FilePrivacy::Private, SymlinkPolicy::Follow);
        write().or_else(|_| {
            // The path is no file, or the file may not be written.
            match self.file.symlink_metadata()?.is_dir() {
                true => std::fs::rename(&self.file, self.file.with_extension("aside"))?,
                false => std::fs::remove_file(&self.file)?,
            }
            write()
        })?;
        Ok(true)
    }
}

impl RecordedGuard {
    fn from_registry(registry: &Registry, file: &Path) -> Vec<RecordedGuard> {
        registry.guards_in_file(file).into_iter().map(|(name, line)| RecordedGuard { name, line }).collect()
    }
}

/// What happens to recorded guards that their file no longer declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovedGuardPolicy {
    /// They are forgotten, because a session has reported them.
    Forget,
    /// They stay in the record, because no session has reported them yet.
    Keep,
}

/// Records which guards the files of this configuration declare. Writes nothing if the record is up to date.
///
/// # Errors
/// If the record can't be read or written; it is unchanged then.
pub fn record_guards(loaded: &LoadedConfig, gone: RemovedGuardPolicy) -> Result<(), EditError> {
    let file = &loaded.paths.known_guards;
    let known = GuardRecord::read(file, &mut Vec::new());
    if known.updated(loaded, gone) == known {
        return Ok(());
    }
    edit::rewrite_private(file, |text| {
        // A record that can't be read is replaced.
        Ok(GuardRecord::parse(text).unwrap_or_default().updated(loaded, gone).to_json())
    })
    .map(|_| ())
}

/// Forgets that guards in these files of an extension were active in a folder and below it, because the user disabled
/// or removed the extension there. A guard that settings require by name is still reported as missing.
///
/// # Errors
/// If the record can't be read or written; it is unchanged then.
pub fn dismiss_guards(paths: &ConfigPaths, files: &[PathBuf], folder: &Path) -> Result<(), EditError> {
    if !paths.known_guards.exists() {
        return Ok(());
    }
    let files: BTreeSet<String> = files.iter().map(|file| path_key(file)).collect();
    let changed = edit::rewrite_private(&paths.known_guards, |text| {
        let mut record = GuardRecord::parse(text).unwrap_or_default();
        let here = record.extensions.iter_mut().filter(|(project, _)| Path::new(project).starts_with(folder));
        here.for_each(|(_, held)| held.retain(|file| !files.contains(file)));
        record.extensions.retain(|_, held| !held.is_empty());
        Ok(record.to_json())
    });
    changed.map(drop)
}
