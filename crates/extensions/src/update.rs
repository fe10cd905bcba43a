//! Updates: the source of an extension is fetched again, and the changes can be reviewed before they are installed.

use std::path::PathBuf;

use hookwright_settings::{Extension, ExtensionOrigin, ExtensionOwner, LoadedConfig, OriginKind};
use serde::Serialize;

use crate::diff::ExtensionDiff;
use crate::error::ExtensionError;
use crate::fetch::Fetcher;
use crate::install::{PreparedExtension, ReplacedExtension, fetch_and_inspect};
use crate::source::ExtensionSource;
use crate::summary::ExtensionSummary;

/// Result of the check for an update.
pub enum UpdateStatus {
    /// The installed version is the newest.
    Current,
    /// The extension is linked, so changes in its folder take effect without an update.
    Linked,
    /// A new version is ready to be installed.
    Ready(Box<PreparedExtension>),
}

/// What the user is told about updates of extensions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ExtensionUpdateReport {
    /// No installed extension can be updated.
    NoneUpdatable,
    /// An update is being looked for.
    Lookup {
        /// The extension's name.
        name: String,
    },
    /// The installed version is the newest.
    Current {
        /// The extension's name.
        name: String,
        /// Its version.
        version: String,
    },
    /// The extension is linked, so that its folder is used as it is.
    Linked {
        /// The extension's name.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The extension says that it has moved to another place.
    Moved {
        /// The extension's name.
        name: String,
        /// The place.
        to: String,
    },
    /// A new version was fetched, and differs from the installed one.
    Difference {
        /// The extension's name.
        name: String,
        /// The differences.
        diff: ExtensionDiff,
    },
    /// The new version waits for the user's consent.
    AwaitsConsent {
        /// The extension's name.
        name: String,
    },
    /// The user agreed to an update that was not shown.
    NotShown {
        /// The extension's name.
        name: String,
    },
    /// There is a newer version, which was not fetched.
    Newer {
        /// The extension's name.
        name: String,
    },
    /// The new version is installed.
    Updated {
        /// The extension's name.
        name: String,
        /// Its version.
        version: String,
    },
}

/// Returns the extensions that can be updated: the user's own, unless they are linked.
pub fn updatable_extensions(loaded: &LoadedConfig) -> Vec<&Extension> {
    let is_from_elsewhere = |one: &&Extension| {
        one.owner == ExtensionOwner::User && one.origin.as_ref().is_some_and(|origin| origin.kind != OriginKind::Link)
    };
    loaded.extensions.iter().filter(is_from_elsewhere).collect()
}

/// Checks whether there is a newer version of an installed extension at its source.
///
/// # Errors
/// If its source is unknown, can't be fetched, or holds another extension now.
pub async fn check_for_update(
    extension: &Extension,
    fetcher: &Fetcher<'_>,
    loaded: &LoadedConfig,
) -> Result<UpdateStatus, ExtensionError> {
    let not_updatable = |why: &str| ExtensionError::NotUpdatable { name: extension.name.clone(), why: why.to_owned() };
    if extension.owner == ExtensionOwner::Project {
        return Err(not_updatable("it belongs to the project"));
    }
    let Some(origin) = extension.origin.clone() else {
        return Err(not_updatable("its origin is not recorded"));
    };
    if origin.kind == OriginKind::Link {
        return Ok(UpdateStatus::Linked);
    }
    let source = ExtensionSource::from_origin(&origin, &loaded.paths.home)?;
    if is_at_remote_commit(&origin, &source, fetcher, loaded).await? {
        return Ok(UpdateStatus::Current);
    }
    let replaced = ReplacedExtension { extension: extension.clone(), origin: Some(origin.clone()) };
    let mut prepared = fetch_and_inspect(&source, origin.auto_update, fetcher, loaded, Some(replaced)).await?;
    if prepared.summary.name != extension.name {
        let why = format!("the new version is called `{}`", prepared.summary.name);
        return Err(not_updatable(&why));
    }
    let old = ExtensionSummary::read(&extension.install_dir, loaded)?;
    let difference = ExtensionDiff::between((&old, &extension.install_dir), (&prepared.summary, prepared.root()));
    if difference.is_empty() {
        return Ok(UpdateStatus::Current);
    }
    prepared.diff = Some(difference);
    Ok(UpdateStatus::Ready(Box::new(prepared)))
}

/// Whether the remote repository has another commit than the installed one; false where that cannot be known without
/// fetching.
///
/// # Errors
/// If git fails.
pub async fn has_newer_commit(
    extension: &Extension,
    fetcher: &Fetcher<'_>,
    loaded: &LoadedConfig,
) -> Result<bool, ExtensionError> {
    match &extension.origin {
        Some(origin) if origin.kind == OriginKind::Git && origin.commit.is_some() => {
            let source = ExtensionSource::from_origin(origin, &loaded.paths.home)?;
            Ok(!is_at_remote_commit(origin, &source, fetcher, loaded).await?)
        }
        _ => Ok(false),
    }
}

/// Whether the remote repository is still at the installed commit, so that nothing needs to be fetched.
async fn is_at_remote_commit(
    origin: &ExtensionOrigin,
    source: &ExtensionSource,
    fetcher: &Fetcher<'_>,
    loaded: &LoadedConfig,
) -> Result<bool, ExtensionError> {
    let (ExtensionSource::Git { url, reference }, Some(here)) = (source, &origin.commit) else { return Ok(false) };
    let newest = fetcher.remote_commit(url, reference.as_deref(), &loaded.paths.extensions).await?;
    Ok(newest.as_ref() == Some(here))
}
