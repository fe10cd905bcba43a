//! Installing: a source becomes a draft that can be looked at, and, if the caller says so, an extension in its place. Until then
//! nothing counts, and a draft that is dropped is gone.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, Source as HookSource};
use hookwright_settings::trust::{trust_hooks, trust_hooks_too};
use hookwright_settings::{
    Extension, ExtensionChoice, ExtensionOwner, LoadOptions, Loaded, Origin, OriginKind, World, dismiss_guards,
    forget_extension, load, read_values, write_values, wrong_with_extension_name,
};

use crate::brings::Brings;
use crate::difference::Difference;
use crate::draft::{self, Draft, Turn};
use crate::error::ExtensionError;
use crate::fetch::Fetcher;
use crate::source::Source;
use crate::survey::{BOUNDS, Rights, check_folder, survey};

const INSTALLED: &str = ".gemini-extension-install.json";

/// An extension that is ready to be put in place.
pub struct Prepared {
    /// What it brings.
    pub brings: Brings,
    /// What it changes, if it takes the place of another.
    pub difference: Option<Difference>,
    /// Its settings.
    pub settings: Vec<hookwright_settings::OwnSetting>,
    /// Gone with this, unless it was put in place.
    _draft: Draft,
    root: PathBuf,
    origin: Origin,
    replaces: Option<Replaced>,
}

/// The extension whose place is taken, as it was looked at.
pub(crate) struct Replaced {
    pub(crate) extension: Extension,
    pub(crate) origin: Option<Origin>,
}

/// Fetches a source and looks at it.
///
/// # Errors
/// If it can't be fetched, is no extension, or one of that name is installed.
pub async fn prepare(
    source: &Source,
    auto_update: bool,
    fetcher: &Fetcher<'_>,
    loaded: &Loaded,
) -> Result<Prepared, ExtensionError> {
    let prepared = fetch(source, auto_update, fetcher, loaded, None).await?;
    not_there(&prepared.brings.name, loaded)?;
    Ok(prepared)
}

pub(crate) async fn fetch(
    source: &Source,
    auto_update: bool,
    fetcher: &Fetcher<'_>,
    loaded: &Loaded,
    replaces: Option<Replaced>,
) -> Result<Prepared, ExtensionError> {
    let draft = Draft::new(&loaded.paths)?;
    let fetched = fetcher.fetch(source, draft.path()).await?;
    let left_out = survey(draft.path(), BOUNDS, Rights::Trimmed)?;
    let root = fetched.root;
    // What it says of where it came from is not its to say.
    let said = root.join(INSTALLED);
    if said.symlink_metadata().is_ok() {
        std::fs::remove_file(&said).map_err(ExtensionError::disk(&said))?;
    }
    let mut brings = Brings::of(&root, loaded)?;
    brings.diagnostics.extend(left_out.iter().map(|link| leads_to_nothing(&draft.path().join(link))));
    brings.by_name(&root);
    let extension = Extension::as_written(&root, &loaded.project.root, &mut Vec::new());
    let settings = extension.map(|extension| extension.settings).unwrap_or_default();
    let origin = source.origin(fetched.commit, auto_update);
    Ok(Prepared { brings, difference: None, settings, _draft: draft, root, origin, replaces })
}

/// Said of a link that is left out.
pub fn leads_to_nothing(link: &Path) -> Diagnostic {
    Diagnostic::about_file(Severity::Warning, link, "this link leads to nothing, so it is left out")
}

/// That no extension has this name, in whatever capitals, nor a folder its place.
fn not_there(name: &str, loaded: &Loaded) -> Result<(), ExtensionError> {
    let same = |other: &&Extension| other.owner == ExtensionOwner::User && other.name.eq_ignore_ascii_case(name);
    if let Some(other) = loaded.extensions.iter().find(same) {
        return Err(ExtensionError::Installed(other.name.clone()));
    }
    let folders = std::fs::read_dir(&loaded.paths.extensions).into_iter().flatten().flatten().map(|entry| entry.path());
    let in_the_way = |path: &PathBuf| path.file_name().is_some_and(|other| other.eq_ignore_ascii_case(name));
    match folders.into_iter().find(in_the_way) {
        Some(path) => Err(ExtensionError::InTheWay(path)),
        None => Ok(()),
    }
}

impl Prepared {
    /// The values that its settings have already, from the one whose place it takes.
    pub fn known_values(&self) -> Vec<(String, String)> {
        let old = self.replaces.as_ref().map(|old| read_values(&old.extension.home)).unwrap_or_default();
        let declared = |name: &String| self.settings.iter().any(|setting| setting.variable == *name);
        old.into_iter().filter(|(name, _)| declared(name)).collect()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Puts it in place with these values of its settings. What was there stays if anything of that fails.
    ///
    /// # Errors
    /// If it can't be put in place, or somebody else was faster.
    pub fn commit(
        self,
        values: &[(String, String)],
        agreed: Agreed,
        world: &World,
        loaded: &Loaded,
    ) -> Result<(), ExtensionError> {
        let name = self.brings.name.clone();
        match agreed {
            Agreed::Yes => {
                self.put_in_place(values, world, loaded)?;
                let now = again(world, loaded, &name);
                Ok(trust_hooks(&now.paths, now.reviews_of(&HookSource::Extension(name)))?)
            }
            Agreed::NotAsked => self.put_in_place(values, world, loaded),
        }
    }

    fn put_in_place(self, values: &[(String, String)], world: &World, loaded: &Loaded) -> Result<(), ExtensionError> {
        let is_new = |name: &String| values.iter().any(|(new, _)| new == name);
        let old = self.known_values().into_iter().filter(|(name, _)| !is_new(name));
        let kept: Vec<_> = old.chain(values.iter().cloned()).collect();
        if !kept.is_empty() {
            write_values(&self.root, &kept)?;
        }
        self.write_origin()?;
        let name = &self.brings.name;
        let _turn = Turn::wait(&loaded.paths)?;
        match &self.replaces {
            None => {
                not_there(name, &again(world, loaded, name))?;
                draft::place(&self.root, &draft::home(&loaded.paths, name))
            }
            Some(old) if Origin::read(&old.extension.home) != old.origin => {
                Err(ExtensionError::Overtaken(name.clone()))
            }
            Some(old) => draft::swap(&self.root, &old.extension.home),
        }
    }

    fn write_origin(&self) -> Result<(), ExtensionError> {
        let (file, text) = (self.root.join(INSTALLED), self.origin.text());
        let shared = hookwright_disk::Privacy::Shared;
        let written = hookwright_disk::replace(&file, text.as_bytes(), shared, hookwright_disk::Links::Follow);
        written.map_err(ExtensionError::disk(&file))
    }
}

/// Whether the user has seen what an extension brings and said yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// They have: its hooks are trusted as they are.
    Yes,
    /// Nothing changed that they would be asked about. Nothing is trusted either: a hook that is another one after all waits.
    NotAsked,
}

/// Does something for the user that changes an extension's values, not its hooks; these stay trusted, if they were before.
///
/// # Errors
/// If that fails, or trust can't be recorded.
pub fn keep_trust<T>(
    name: &str,
    world: &World,
    loaded: &Loaded,
    change: impl FnOnce() -> Result<T, ExtensionError>,
) -> Result<T, ExtensionError> {
    let source = HookSource::Extension(name.to_owned());
    let was_trusted = again(world, loaded, name).reviews_of(&source).next().is_none();
    let done = change()?;
    if was_trusted {
        let now = again(world, loaded, name);
        trust_hooks_too(&now.paths, now.reviews_of(&source))?;
    }
    Ok(done)
}

/// Links a folder as an extension: it stays where it is, and what it is from now on counts.
///
/// # Errors
/// If it is no extension, or one of that name is installed.
pub fn link(folder: &Path, loaded: &Loaded) -> Result<Prepared, ExtensionError> {
    let folder = folder.canonicalize().map_err(ExtensionError::disk(folder))?;
    check_folder(&folder)?;
    let brings = Brings::of(&folder, loaded)?;
    not_there(&brings.name, loaded)?;
    let draft = Draft::new(&loaded.paths)?;
    let root = draft.path().to_owned();
    let source =
        folder.to_str().ok_or_else(|| ExtensionError::unfit(folder.to_string_lossy(), "its name is not UTF-8"))?;
    let origin =
        Origin { source: source.to_owned(), kind: OriginKind::Link, reference: None, commit: None, auto_update: false };
    let extension = Extension::as_written(&folder, &loaded.project.root, &mut Vec::new());
    let settings = extension.map(|extension| extension.settings).unwrap_or_default();
    Ok(Prepared { brings, difference: None, settings, _draft: draft, root, origin, replaces: None })
}

/// The configuration as it is now, with this extension active wherever we are.
fn again(world: &World, loaded: &Loaded, name: &str) -> Loaded {
    let options = LoadOptions {
        project: loaded.project.root.clone(),
        extensions: ExtensionChoice::Only(vec![name.to_owned()]),
        ..LoadOptions::default()
    };
    load(world, &options)
}

/// The extension that is meant by a name, or by where it came from.
pub fn find<'l>(which: &str, loaded: &'l Loaded) -> Option<&'l Extension> {
    let is_meant = |one: &&Extension| {
        one.name.eq_ignore_ascii_case(which) || one.origin.as_ref().is_some_and(|origin| origin.source == which)
    };
    loaded.extensions.iter().find(is_meant)
}

/// Removes an installed extension, by its name or by where it came from. What a linked one links to stays. Its name.
///
/// # Errors
/// If there is none, or it can't be removed.
pub fn uninstall(which: &str, loaded: &Loaded) -> Result<String, ExtensionError> {
    let mut hooks_files = Vec::new();
    let (name, home) = match find(which, loaded) {
        Some(one) if one.owner == ExtensionOwner::Project => {
            return Err(ExtensionError::OfProject { name: one.name.clone(), folder: one.home.clone() });
        }
        Some(one) => {
            hooks_files = one.hooks_files();
            (one.name.clone(), one.home.clone())
        }
        // One that is too broken to be read is known by its folder.
        None => {
            let home = draft::home(&loaded.paths, which);
            if wrong_with_extension_name(which).is_some() || home.symlink_metadata().is_err() {
                return Err(ExtensionError::unknown(which, loaded));
            }
            (which.to_owned(), home)
        }
    };
    let _turn = Turn::wait(&loaded.paths)?;
    draft::take_away(&loaded.paths, &home)?;
    forget_extension(&loaded.paths, &name)?;
    // What a linked one links to stays, with its guards; nobody misses them.
    dismiss_guards(&loaded.paths, &hooks_files, Path::new("/"))?;
    Ok(name)
}
