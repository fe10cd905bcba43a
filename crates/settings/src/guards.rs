//! Which guards each settings file held when it was last read, on disk: so that a file which can't be read any more, or that
//! trust keeps out, is known to have held some. What follows from that is the session's work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hookwright_hooks::{Diagnostic, Layer, Registry, Severity, Unarmed, WhyUnarmed, declare};
use serde::{Deserialize, Serialize};

use crate::edit::{self, EditError};
use crate::file::read_text;
use crate::load::{FileState, Loaded, SettingsFile};
use crate::notice::Notice;

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Record {
    /// By file.
    #[serde(default)]
    files: BTreeMap<String, Vec<Known>>,
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
                FileState::Missing if leads_nowhere(&file.path) => self.unarmed(&file.path, &WhyUnarmed::FileBroken),
                FileState::Loaded | FileState::Missing => Vec::new(),
            })
            .collect()
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
        Record { files: BTreeMap::from([(key(&file.path), held)]) }.unarmed(&file.path, &WhyUnarmed::FolderUntrusted)
    }

    /// What was taken out of files since they were last read.
    pub(crate) fn gone(&self, files: &[SettingsFile], registry: &Registry) -> Vec<Notice> {
        let counts = files.iter().filter(|file| counts(file));
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
        for file in files.iter().filter(|file| counts(file)) {
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
    let files = loaded.files_with_hooks();
    let known = Record::read(file, &mut Vec::new());
    if known.with(&files, &loaded.registry, gone) == known {
        return Ok(());
    }
    edit::rewrite_private(file, |text| {
        // One that can't be read is of no use to anybody.
        let record = Record::parse(text).unwrap_or_default().with(&files, &loaded.registry, gone);
        let mut text = serde_json::to_string_pretty(&record).unwrap_or_default();
        text.push('\n');
        Ok(text)
    })
    .map(|_| ())
}
