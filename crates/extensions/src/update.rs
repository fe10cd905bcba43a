//! Updating: the source that an extension came from is looked at again, and what has changed is shown before it counts.

use hookwright_settings::{Extension, ExtensionOwner, Loaded, Origin, OriginKind};

use crate::brings::Brings;
use crate::difference::Difference;
use crate::error::ExtensionError;
use crate::fetch::Fetcher;
use crate::install::{Prepared, Replaced, fetch};
use crate::source::Source;

/// What came of looking for an update.
pub enum Update {
    /// There is nothing new.
    Current,
    /// It is linked: what it links to counts as it is.
    Linked,
    /// There is a new version, ready to be put in place.
    Ready(Box<Prepared>),
}

/// Looks whether an installed extension has a newer version where it came from.
///
/// # Errors
/// If that is not known, can't be fetched, or is another extension by now.
pub async fn look_for_update(
    extension: &Extension,
    fetcher: &Fetcher<'_>,
    loaded: &Loaded,
) -> Result<Update, ExtensionError> {
    let not_updatable = |why: &str| ExtensionError::NotUpdatable { name: extension.name.clone(), why: why.to_owned() };
    if extension.owner == ExtensionOwner::Project {
        return Err(not_updatable("it came with the project"));
    }
    let Some(origin) = extension.origin.clone() else {
        return Err(not_updatable("nobody knows where it came from"));
    };
    if origin.kind == OriginKind::Link {
        return Ok(Update::Linked);
    }
    let source = Source::of(&origin, &loaded.paths.home)?;
    if is_current(&origin, &source, fetcher, loaded).await? {
        return Ok(Update::Current);
    }
    let replaced = Replaced { extension: extension.clone(), origin: Some(origin.clone()) };
    let mut prepared = fetch(&source, origin.auto_update, fetcher, loaded, Some(replaced)).await?;
    if prepared.brings.name != extension.name {
        let why = format!("it calls itself `{}` there", prepared.brings.name);
        return Err(not_updatable(&why));
    }
    let old = Brings::of(&extension.home, loaded)?;
    let difference = Difference::between((&old, &extension.home), (&prepared.brings, prepared.root()));
    if difference.is_empty() {
        return Ok(Update::Current);
    }
    prepared.difference = Some(difference);
    Ok(Update::Ready(Box::new(prepared)))
}

/// Whether the repository that an extension came from has moved on, as far as that is known without fetching anything.
///
/// # Errors
/// If git can't tell.
pub async fn is_behind(extension: &Extension, fetcher: &Fetcher<'_>, loaded: &Loaded) -> Result<bool, ExtensionError> {
    match &extension.origin {
        Some(origin) if origin.kind == OriginKind::Git && origin.commit.is_some() => {
            let source = Source::of(origin, &loaded.paths.home)?;
            Ok(!is_current(origin, &source, fetcher, loaded).await?)
        }
        _ => Ok(false),
    }
}

/// Whether a repository is still at the commit that is here: then nothing need be fetched.
async fn is_current(
    origin: &Origin,
    source: &Source,
    fetcher: &Fetcher<'_>,
    loaded: &Loaded,
) -> Result<bool, ExtensionError> {
    let (Source::Git { url, reference }, Some(here)) = (source, &origin.commit) else { return Ok(false) };
    let newest = fetcher.newest(url, reference.as_deref(), &loaded.paths.extensions).await?;
    Ok(newest.as_ref() == Some(here))
}
