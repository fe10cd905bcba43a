//! Updating: the source that an extension came from is looked at again, and what has changed is shown before it counts.

use hookwright_settings::{Extension, ExtensionOrigin, ExtensionOwner, LoadedConfig, OriginKind};

use crate::diff::ExtensionDiff;
use crate::error::ExtensionError;
use crate::fetch::Fetcher;
use crate::install::{PreparedExtension, ReplacedExtension, fetch_and_inspect};
use crate::source::ExtensionSource;
use crate::summary::ExtensionSummary;

/// What came of looking for an update.
pub enum UpdateStatus {
    /// There is nothing new.
    Current,
    /// It is linked: what it links to counts as it is.
    Linked,
    /// There is a new version, ready to be put in place.
    Ready(Box<PreparedExtension>),
}

/// Looks whether an installed extension has a newer version where it came from.
///
/// # Errors
/// If that is not known, can't be fetched, or is another extension by now.
pub async fn check_for_update(
    extension: &Extension,
    fetcher: &Fetcher<'_>,
    loaded: &LoadedConfig,
) -> Result<UpdateStatus, ExtensionError> {
    let not_updatable = |why: &str| ExtensionError::NotUpdatable { name: extension.name.clone(), why: why.to_owned() };
    if extension.owner == ExtensionOwner::Project {
        return Err(not_updatable("it came with the project"));
    }
    let Some(origin) = extension.origin.clone() else {
        return Err(not_updatable("nobody knows where it came from"));
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
        let why = format!("it calls itself `{}` there", prepared.summary.name);
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

/// Whether the repository that an extension came from has moved on, as far as that is known without fetching anything.
///
/// # Errors
/// If git can't tell.
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

/// Whether a repository is still at the commit that is here: then nothing need be fetched.
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
