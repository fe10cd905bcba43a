//! Which guards each settings file held when it was last read, on disk: so that a file which can't be read any more, or that
//! trust keeps out, is known to have held some. What follows from that is the session's work.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use hookwright_disk::{Links, Privacy};
use hookwright_hooks::{Diagnostic, FailureAction, Hook, Layer, Registry, Severity, Unarmed, WhyUnarmed, declare};
use serde::{Deserialize, Serialize};

use crate::edit::{self, EditError};
use crate::extensions::{self, Extension};
use crate::file::read_text;
use crate::load::{FileState, Loaded, SettingsFile};
use crate::notice::Notice;
use crate::paths::Paths;

impl Loaded {
    /// The project's hooks that would block when they fail and do not run, because the folder is not trusted. Guards are not
    /// among them: those are asleep.
    pub fn untrusted_blocking_hooks(&self) -> Vec<Hook> {
        let left_out = self.files.iter().filter(|file| file.state == FileState::Untrusted);
        let blocks = |hook: &Hook| hook.on_error.set().any(|(_, action)| action == FailureAction::Block);
        left_out
            .filter_map(|file| Some((file, read_text(&file.path).ok()??)))
            .flat_map(|(file, text)| declare(&Layer::new(file.source.clone(), &file.path, &text)).hooks)
            .filter(|hook| blocks(hook) && !hook.is_guard())
            .collect()
    }
}

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Record {
    /// By file.
    #[serde(default)]
    files: BTreeMap<String, Vec<Known>>,
    /// The hooks files of extensions that were active and held guards, by project.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    extensions: BTreeMap<String, BTreeSet<String>>,
}

/// The extensions of a project.
#[derive(Clone, Copy)]
pub(crate) struct Extensions<'a> {
    pub(crate) project: &'a Path,
    pub(crate) all: &'a [Extension],
    /// Those that the user or the system has disabled by name, for good.
    pub(crate) dismissed: &'a [String],
}

impl Extensions<'_> {
    /// The name of the extension that a hooks file belongs to, also if it is not installed any more.
    fn name_of(&self, file: &Path) -> String {
        let known = self.all.iter().find(|one| holds(one, file)).map(|one| one.name.clone());
        let folders = || file.ancestors().skip(1).take(2);
        known.or_else(|| folders().find_map(extensions::named)).unwrap_or_else(|| key(file))
    }

    /// Whether a file that held guards here should still be heard: it is there, and nobody who may has dismissed it.
    fn is_missed(&self, file: &Path) -> bool {
        let name = self.name_of(file);
        file.exists() && !self.dismissed.iter().any(|dismissed| dismissed.eq_ignore_ascii_case(&name))
    }
}

/// Whether an extension's hooks may be declared in this file.
fn holds(extension: &Extension, file: &Path) -> bool {
    extension.hooks_files().iter().any(|known| known == file)
}

/// One guard as it was.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Known {
    name: String,
    line: usize,
}

fn key(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// Whether what a file holds, or that it is not there, is its word about its guards.
fn counts(file: &SettingsFile) -> bool {
    match file.state {
        FileState::Loaded => true,
        FileState::Missing => !leads_nowhere(&file.path),
        FileState::Broken | FileState::Untrusted => false,
    }
}

/// Whether a file that is not there is not simply absent: its name is a link to nothing, or no folder stands where it should.
fn leads_nowhere(file: &Path) -> bool {
    let there = file.ancestors().find(|path| path.symlink_metadata().is_ok());
    there.is_some_and(|there| !there.is_dir())
}

impl Record {
    /// Reads the record. One that can't be read counts as empty, and that is said.
    pub(crate) fn read(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> Record {
        let text = match read_text(file) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                diagnostics.push(error.diagnostic());
                return Record::default();
            }
        };
        Record::parse(&text).unwrap_or_else(|error| {
            let text = format!("this record of guards can't be read: {error}");
            let wrong = Diagnostic::about_file(Severity::Error, file, text);
            diagnostics.push(wrong.help("remove it; it is written anew when a session starts"));
            Record::default()
        })
    }

    fn parse(text: &str) -> Result<Record, serde_json::Error> {
        if text.trim().is_empty() { Ok(Record::default()) } else { serde_json::from_str(text) }
    }

    /// Whether there is anything to be told of a file: what is not there and never held a guard is not looked for.
    fn knows_of(&self, file: &SettingsFile) -> bool {
        file.state != FileState::Missing || self.files.contains_key(&key(&file.path))
    }

    fn of(&self, file: &Path) -> &[Known] {
        self.files.get(&key(file)).map_or(&[], Vec::as_slice)
    }

    /// The guards of files that do not count now.
    pub(crate) fn asleep(&self, files: &[SettingsFile]) -> Vec<Unarmed> {
        files
            .iter()
            .flat_map(|file| match file.state {
                FileState::Broken => self.unarmed(&file.path, &WhyUnarmed::FileBroken),
                FileState::Untrusted => self.untrusted(file),
                FileState::Missing if self.knows_of(file) && leads_nowhere(&file.path) => {
                    self.unarmed(&file.path, &WhyUnarmed::FileBroken)
                }
                FileState::Loaded | FileState::Missing => Vec::new(),
            })
            .collect()
    }

    /// The guards of extensions that were active here, and are not any more.
    pub(crate) fn inactive(&self, here: Extensions<'_>) -> Vec<Unarmed> {
        let heard = |file: &Path| here.all.iter().any(|one| (one.active || one.left_out) && holds(one, file));
        let were = self.extensions.get(&key(here.project)).into_iter().flatten().map(Path::new);
        let missed = were.filter(|file| !heard(file) && here.is_missed(file));
        missed.flat_map(|file| self.unarmed(file, &WhyUnarmed::ExtensionInactive(here.name_of(file)))).collect()
    }

    fn unarmed(&self, file: &Path, why: &WhyUnarmed) -> Vec<Unarmed> {
        let known = self.of(file).iter();
        let unarmed = known.map(|one| Unarmed {
            name: one.name.clone(),
            file: Some(file.to_owned()),
            line: Some(one.line),
            why: why.clone(),
        });
        unarmed.collect()
    }

    /// What a file holds that trust keeps out; what it held, if that can't be told.
    fn untrusted(&self, file: &SettingsFile) -> Vec<Unarmed> {
        let Ok(Some(text)) = read_text(&file.path) else {
            return self.unarmed(&file.path, &WhyUnarmed::FolderUntrusted);
        };
        let declared = declare(&Layer::new(file.source.clone(), &file.path, &text));
        let now = Known::all(&Registry::new(vec![declared]), &file.path);
        let held = if now.is_empty() { self.of(&file.path).to_vec() } else { now };
        Record { files: BTreeMap::from([(key(&file.path), held)]), ..Record::default() }
            .unarmed(&file.path, &WhyUnarmed::FolderUntrusted)
    }

    /// What was taken out of files since they were last read.
    pub(crate) fn gone(&self, files: &[SettingsFile], registry: &Registry) -> Vec<Notice> {
        let counts = files.iter().filter(|file| self.knows_of(file) && counts(file));
        counts
            .flat_map(|file| {
                let now = Known::all(registry, &file.path);
                let was = self.of(&file.path);
                let count = |all: &[Known], name: &str| all.iter().filter(|one| one.name == name).count();
                let names: BTreeSet<&str> = was.iter().map(|one| one.name.as_str()).collect();
                let gone = names.into_iter().filter(move |name| count(&now, name) < count(was, name));
                gone.map(|name| Notice::GuardGone { guard: name.to_owned(), file: file.path.clone() })
            })
            .collect()
    }

    /// The record as it should be now.
    fn with(&self, files: &[SettingsFile], registry: &Registry, gone: Gone) -> Record {
        let mut record = self.clone();
        for file in files.iter().filter(|file| self.knows_of(file) && counts(file)) {
            let mut now = Known::all(registry, &file.path);
            if gone == Gone::Kept {
                let names: BTreeSet<String> = now.iter().map(|one| one.name.clone()).collect();
                now.extend(self.of(&file.path).iter().filter(|one| !names.contains(&one.name)).cloned());
            }
            match now {
                none if none.is_empty() => record.files.remove(&key(&file.path)),
                guards => record.files.insert(key(&file.path), guards),
            };
        }
        record
    }

    /// The record as it should be now, with what is known of extensions.
    fn updated(&self, loaded: &Loaded, gone: Gone) -> Record {
        let here = loaded.extensions_here();
        let mut record = self.with(&loaded.files_with_hooks(), &loaded.registry, gone);
        let of_extension = |file: &Path| here.all.iter().find(|one| holds(one, file));
        let mut held: BTreeSet<String> = record.extensions.remove(&key(here.project)).unwrap_or_default();
        held.retain(|file| {
            here.is_missed(Path::new(file)) && !of_extension(Path::new(file)).is_some_and(|one| one.active)
        });
        let active = here.all.iter().filter(|one| one.active).flat_map(Extension::hooks_files).map(|file| key(&file));
        held.extend(active.filter(|file| record.files.contains_key(file)));
        if !held.is_empty() {
            record.extensions.insert(key(here.project), held);
        }
        record
    }

    /// Whether it knows all that another one knows of these files and this project.
    fn knows(&self, other: &Record, files: &BTreeSet<String>, project: &str) -> bool {
        let names = |record: &Record, file: &String| -> BTreeSet<String> {
            record.files.get(file).into_iter().flatten().map(|one| one.name.clone()).collect()
        };
        let extensions = |record: &Record| record.extensions.get(project).cloned().unwrap_or_default();
        files.iter().all(|file| names(self, file).is_superset(&names(other, file)))
            && extensions(self).is_superset(&extensions(other))
    }

    /// All that either knows.
    fn joined(mut self, other: &Record) -> Record {
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

    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Which guards there are as a session knows it, whatever becomes of the record meanwhile.
#[derive(Clone, Debug)]
pub struct GuardMemory {
    file: PathBuf,
    record: Record,
    /// The files that this session reads.
    files: BTreeSet<String>,
    project: String,
}

impl GuardMemory {
    /// What a session with this configuration knows.
    pub fn of(loaded: &Loaded) -> GuardMemory {
        let file = loaded.paths.known_guards.clone();
        let record = Record::read(&file, &mut Vec::new()).updated(loaded, Gone::Forgotten);
        let files = loaded.files_with_hooks().iter().map(|file| key(&file.path)).collect();
        GuardMemory { file, record, files, project: key(&loaded.project.root) }
    }

    /// The record's file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Writes the record anew if it has lost a guard of this session; whether it had. Waits for no lock, which whoever
    /// changed the record could hold.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn restore(&self) -> io::Result<bool> {
        let now = Record::read(&self.file, &mut Vec::new());
        if now.knows(&self.record, &self.files, &self.project) {
            return Ok(false);
        }
        let text = now.joined(&self.record).text();
        let write = || hookwright_disk::replace(&self.file, text.as_bytes(), Privacy::Private, Links::Follow);
        write().or_else(|_| {
            // Something that is no file, or that may not be written.
            match self.file.symlink_metadata()?.is_dir() {
                true => std::fs::rename(&self.file, self.file.with_extension("aside"))?,
                false => std::fs::remove_file(&self.file)?,
            }
            write()
        })?;
        Ok(true)
    }
}

impl Known {
    fn all(registry: &Registry, file: &Path) -> Vec<Known> {
        registry.guards_of(file).into_iter().map(|(name, line)| Known { name, line }).collect()
    }
}

/// What becomes of guards that files held and hold no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// They are forgotten: a session has told of them.
    Forgotten,
    /// They stay in the record: no session has started that could have told.
    Kept,
}

/// Remembers which guards the files of this configuration hold. Writes nothing where that is known already.
///
/// # Errors
/// If the record can't be read or written; it is as it was then.
pub fn remember_guards(loaded: &Loaded, gone: Gone) -> Result<(), EditError> {
    let file = &loaded.paths.known_guards;
    let known = Record::read(file, &mut Vec::new());
    if known.updated(loaded, gone) == known {
        return Ok(());
    }
    edit::rewrite_private(file, |text| {
        // One that can't be read is of no use to anybody.
        Ok(Record::parse(text).unwrap_or_default().updated(loaded, gone).text())
    })
    .map(|_| ())
}

/// Forgets that guards in these files of an extension were awake in a folder and below it: a person has switched it off there, or
/// removed it, and knows of them. Where settings require one by name, it is missed all the same.
///
/// # Errors
/// If the record can't be read or written; it is as it was then.
pub fn dismiss_guards(paths: &Paths, files: &[PathBuf], folder: &Path) -> Result<(), EditError> {
    if !paths.known_guards.exists() {
        return Ok(());
    }
    let files: BTreeSet<String> = files.iter().map(|file| key(file)).collect();
    let changed = edit::rewrite_private(&paths.known_guards, |text| {
        let mut record = Record::parse(text).unwrap_or_default();
        let here = record.extensions.iter_mut().filter(|(project, _)| Path::new(project).starts_with(folder));
        here.for_each(|(_, held)| held.retain(|file| !files.contains(file)));
        record.extensions.retain(|_, held| !held.is_empty());
        Ok(record.text())
    });
    changed.map(drop)
}
