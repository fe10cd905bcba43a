//! Installs, links and uninstalls extensions.
//!
//! A source is fetched into a draft, which the caller can show and then commit. Before the commit nothing is
//! installed, and dropping the draft removes it.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity, Source as HookSource};
use hookwright_settings::trust::{trust_hooks, trust_hooks_keeping_previous};
use hookwright_settings::{
    Extension, ExtensionChoice, ExtensionOrigin, ExtensionOwner, LoadOptions, LoadedConfig, OriginKind, ProcessEnv,
    dismiss_guards, forget_extension, load, read_extension_values, write_extension_values, wrong_with_extension_name,
};

use crate::diff::ExtensionDiff;
use crate::draft::{self, DraftFolder, InstallLock};
use crate::error::ExtensionError;
use crate::fetch::Fetcher;
use crate::inspection::{EXTENSION_LIMITS, FilePermissionPolicy, check_folder, inspect_folder};
use crate::source::ExtensionSource;
use crate::summary::ExtensionSummary;

const ORIGIN_FILE: &str = ".gemini-extension-install.json";

/// An extension that was fetched and inspected and can be installed.
pub struct PreparedExtension {
    /// The contents of the extension, for review.
    pub summary: ExtensionSummary,
    /// The differences from the installed version, if this is an update.
    pub diff: Option<ExtensionDiff>,
    /// The settings that the extension declares.
    pub settings: Vec<hookwright_settings::ExtensionSetting>,
    /// Keeps the draft folder until the extension is installed or dropped.
    _draft: DraftFolder,
    root: PathBuf,
    origin: ExtensionOrigin,
    replaced: Option<ReplacedExtension>,
}

/// The installed extension that an update replaces, as it was when it was inspected.
pub(crate) struct ReplacedExtension {
    pub(crate) extension: Extension,
    pub(crate) origin: Option<ExtensionOrigin>,
}

/// Fetches a source into a draft and inspects it.
///
/// # Errors
/// If it can't be fetched, is no extension, or an extension of that name is installed.
pub async fn prepare_extension(
    source: &ExtensionSource,
    auto_update: bool,
    fetcher: &Fetcher<'_>,
    loaded: &LoadedConfig,
) -> Result<PreparedExtension, ExtensionError> {
    let prepared = fetch_and_inspect(source, auto_update, fetcher, loaded, None).await?;
    check_not_installed(&prepared.summary.name, loaded)?;
    Ok(prepared)
}

pub(crate) async fn fetch_and_inspect(
    source: &ExtensionSource,
    auto_update: bool,
    fetcher: &Fetcher<'_>,
    loaded: &LoadedConfig,
    replaces: Option<ReplacedExtension>,
) -> Result<PreparedExtension, ExtensionError> {
    let draft = DraftFolder::new(&loaded.paths)?;
    let fetched = fetcher.fetch(source, draft.path()).await?;
    let left_out = inspect_folder(draft.path(), EXTENSION_LIMITS, FilePermissionPolicy::Restrict)?;
    let root = fetched.root;
    // The origin is recorded by the installer; a record inside of the source is not trusted.
    let said = root.join(ORIGIN_FILE);
    if said.symlink_metadata().is_ok() {
        std::fs::remove_file(&said).map_err(ExtensionError::disk_error(&said))?;
    }
    let mut brings = ExtensionSummary::read(&root, loaded)?;
    brings.diagnostics.extend(left_out.iter().map(|link| dangling_link_warning(&draft.path().join(link))));
    brings.replace_draft_paths(&root);
    let extension = Extension::read_raw(&root, &loaded.project.root, &mut Vec::new());
    let settings = extension.map(|extension| extension.settings).unwrap_or_default();
    let origin = source.to_origin(fetched.commit, auto_update);
    Ok(PreparedExtension { summary: brings, diff: None, settings, _draft: draft, root, origin, replaced: replaces })
}

/// Returns the warning for a dangling link that is left out.
pub fn dangling_link_warning(link: &Path) -> Diagnostic {
    Diagnostic::about_file(Severity::Warning, link, "the target of this link does not exist, so it is left out")
}

/// Checks that no extension or folder has this name, ignoring case.
fn check_not_installed(name: &str, loaded: &LoadedConfig) -> Result<(), ExtensionError> {
    let same = |other: &&Extension| other.owner == ExtensionOwner::User && other.name.eq_ignore_ascii_case(name);
    if let Some(other) = loaded.extensions.iter().find(same) {
        return Err(ExtensionError::Installed(other.name.clone()));
    }
    let folders = std::fs::read_dir(&loaded.paths.extensions).into_iter().flatten().flatten().map(|entry| entry.path());
    let in_the_way = |path: &PathBuf| path.file_name().is_some_and(|other| other.eq_ignore_ascii_case(name));
    match folders.into_iter().find(in_the_way) {
        Some(path) => Err(ExtensionError::PathOccupied(path)),
        None => Ok(()),
    }
}

impl PreparedExtension {
    /// Returns values of its settings that the replaced extension already has.
    pub fn known_values(&self) -> Vec<(String, String)> {
        let old =
            self.replaced.as_ref().map(|old| read_extension_values(&old.extension.install_dir)).unwrap_or_default();
        let declared = |name: &String| self.settings.iter().any(|setting| setting.variable == *name);
        old.into_iter().filter(|(name, _)| declared(name)).collect()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Installs the extension with these setting values.
    ///
    /// If it can't be put in place, the previous extension stays. If only trust in its hooks can't be recorded, the new
    /// extension is installed all the same.
    ///
    /// # Errors
    /// If it can't be put in place, another process updated the installed extension meanwhile, or trust can't be
    /// recorded.
    pub fn commit(
        self,
        values: &[(String, String)],
        agreed: InstallConsent,
        world: &ProcessEnv,
        loaded: &LoadedConfig,
    ) -> Result<(), ExtensionError> {
        let name = self.summary.name.clone();
        match agreed {
            InstallConsent::Given => {
                self.install(values, world, loaded)?;
                let now = reload(world, loaded, &name);
                Ok(trust_hooks(&now.paths, now.reviews_of(&HookSource::Extension(name)))?)
            }
            InstallConsent::NotRequired => self.install(values, world, loaded),
        }
    }

    fn install(
        self,
        values: &[(String, String)],
        world: &ProcessEnv,
        loaded: &LoadedConfig,
    ) -> Result<(), ExtensionError> {
        let is_new = |name: &String| values.iter().any(|(new, _)| new == name);
        let old = self.known_values().into_iter().filter(|(name, _)| !is_new(name));
        let kept: Vec<_> = old.chain(values.iter().cloned()).collect();
        if !kept.is_empty() {
            write_extension_values(&self.root, &kept)?;
        }
        self.write_origin()?;
        let name = &self.summary.name;
        let _turn = InstallLock::acquire(&loaded.paths)?;
        match &self.replaced {
            None => {
                check_not_installed(name, &reload(world, loaded, name))?;
                draft::move_into_place(&self.root, &draft::install_dir(&loaded.paths, name))
            }
            Some(old) if ExtensionOrigin::read(&old.extension.install_dir) != old.origin => {
                Err(ExtensionError::ConcurrentChange(name.clone()))
            }
            Some(old) => draft::swap(&self.root, &old.extension.install_dir),
        }
    }

    fn write_origin(&self) -> Result<(), ExtensionError> {
        let (file, text) = (self.root.join(ORIGIN_FILE), self.origin.to_json());
        let shared = hookwright_disk::FilePrivacy::Shared;
        let written =
            hookwright_disk::write_atomic(&file, text.as_bytes(), shared, hookwright_disk::SymlinkPolicy::Follow);
        written.map_err(ExtensionError::disk_error(&file))
    }
}

/// Whether the user agreed to what an extension contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallConsent {
    /// The user agreed: the hooks are trusted as they are.
    Given,
    /// Nothing changed that needs consent. Nothing is trusted either, so a hook that did change waits for review.
    NotRequired,
}

/// Runs a change of an extension's values; its hooks stay trusted if they were trusted before.
///
/// # Errors
/// If the change fails, or trust can't be recorded.
pub fn preserve_hook_trust<T>(
    name: &str,
    world: &ProcessEnv,
    loaded: &LoadedConfig,
    change: impl FnOnce() -> Result<T, ExtensionError>,
) -> Result<T, ExtensionError> {
    let source = HookSource::Extension(name.to_owned());
    let was_trusted = reload(world, loaded, name).reviews_of(&source).next().is_none();
    let done = change()?;
    if was_trusted {
        let now = reload(world, loaded, name);
        trust_hooks_keeping_previous(&now.paths, now.reviews_of(&source))?;
    }
    Ok(done)
}

/// Prepares a link to a folder as an extension; the folder stays where it is, and later changes in it take effect.
///
/// # Errors
/// If it is no extension, or an extension of that name is installed.
pub fn prepare_link(folder: &Path, loaded: &LoadedConfig) -> Result<PreparedExtension, ExtensionError> {
    let folder = folder.canonicalize().map_err(ExtensionError::disk_error(folder))?;
    check_folder(&folder)?;
    let brings = ExtensionSummary::read(&folder, loaded)?;
    check_not_installed(&brings.name, loaded)?;
    let draft = DraftFolder::new(&loaded.paths)?;
    let root = draft.path().to_owned();
    let source =
        folder.to_str().ok_or_else(|| ExtensionError::rejected(folder.to_string_lossy(), "its name is not UTF-8"))?;
    let origin = ExtensionOrigin {
        source: source.to_owned(),
        kind: OriginKind::Link,
        reference: None,
        commit: None,
        auto_update: false,
    };
    let extension = Extension::read_raw(&folder, &loaded.project.root, &mut Vec::new());
    let settings = extension.map(|extension| extension.settings).unwrap_or_default();
    Ok(PreparedExtension { summary: brings, diff: None, settings, _draft: draft, root, origin, replaced: None })
}

/// Loads the configuration again, with this extension active.
fn reload(world: &ProcessEnv, loaded: &LoadedConfig, name: &str) -> LoadedConfig {
    let options = LoadOptions {
        project: loaded.project.root.clone(),
        extensions: ExtensionChoice::Only(vec![name.to_owned()]),
        ..LoadOptions::default()
    };
    load(world, &options)
}

/// Finds an extension by its name, ignoring case, or by its source.
pub fn find_extension<'l>(which: &str, loaded: &'l LoadedConfig) -> Option<&'l Extension> {
    let is_meant = |one: &&Extension| {
        one.name.eq_ignore_ascii_case(which) || one.origin.as_ref().is_some_and(|origin| origin.source == which)
    };
    loaded.extensions.iter().find(is_meant)
}

/// Removes an installed extension, given by name or by source, and returns its name; the target of a linked extension
/// stays.
///
/// # Errors
/// If there is none, or it can't be removed.
pub fn uninstall(which: &str, loaded: &LoadedConfig) -> Result<String, ExtensionError> {
    let mut hooks_files = Vec::new();
    let (name, home) = match find_extension(which, loaded) {
        Some(one) if one.owner == ExtensionOwner::Project => {
            return Err(ExtensionError::OwnedByProject { name: one.name.clone(), folder: one.install_dir.clone() });
        }
        Some(one) => {
            hooks_files = one.hooks_files();
            (one.name.clone(), one.install_dir.clone())
        }
        // An extension whose manifest cannot be read is found by its folder.
        None => {
            let home = draft::install_dir(&loaded.paths, which);
            if wrong_with_extension_name(which).is_some() || home.symlink_metadata().is_err() {
                return Err(ExtensionError::unknown(which, loaded));
            }
            (which.to_owned(), home)
        }
    };
    let _turn = InstallLock::acquire(&loaded.paths)?;
    draft::remove_installed(&loaded.paths, &home)?;
    forget_extension(&loaded.paths, &name)?;
    // The folder of a linked extension keeps its guards, but they must no longer be reported as missing.
    dismiss_guards(&loaded.paths, &hooks_files, Path::new("/"))?;
    Ok(name)
}
