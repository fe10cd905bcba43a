//! Gets a source into an empty folder: git clones, archives are unpacked, folders are copied. Whether what comes is fit to be
//! an extension is `inspection.rs`.

mod archive;
mod copy;
mod git;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_model::ProxyOptions;
use hookwright_settings::ProcessEnv;
use hookwright_tools::{HttpAccess, HttpPolicy, PrivateAddresses};

use crate::error::ExtensionError;
use crate::inspection::EXTENSION_LIMITS;
use crate::source::ExtensionSource;

/// Takes words about what is under way.
pub type ProgressFn<'p> = &'p (dyn Fn(&str) + Sync);

/// The largest archive that is downloaded.
const MAX_DOWNLOAD_BYTES: usize = 128 << 20;
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(300);

/// What is needed to fetch.
pub struct Fetcher<'f> {
    /// Whose environment git runs in.
    pub process_env: &'f ProcessEnv,
    /// The proxy for downloads.
    pub proxy: Option<ProxyOptions>,
    /// Who hears what is under way.
    pub progress: ProgressFn<'f>,
}

/// What came.
pub(crate) struct FetchedSource {
    /// The folder that the extension is in: the one that was given, or the only one in it.
    pub(crate) root: PathBuf,
    /// The commit, of a repository.
    pub(crate) commit: Option<String>,
}

impl Fetcher<'_> {
    /// Gets a source into an empty folder.
    pub(crate) async fn fetch(&self, source: &ExtensionSource, into: &Path) -> Result<FetchedSource, ExtensionError> {
        (self.progress)(&format!("fetching {source}"));
        let mut commit = None;
        match source {
            ExtensionSource::Folder(path) => copy::copy_folder(path, into, EXTENSION_LIMITS)?,
            ExtensionSource::Archive(path) => {
                let read =
                    hookwright_disk::read(path, MAX_DOWNLOAD_BYTES as u64, hookwright_disk::SymlinkPolicy::Follow);
                let bytes = read.map_err(|error| ExtensionError::Archive(error.to_string()))?;
                archive::unpack(&path.to_string_lossy(), &bytes, into, EXTENSION_LIMITS)?;
            }
            ExtensionSource::RemoteArchive(url) => {
                let bytes = self.download(url).await?;
                let name = url.split(['?', '#']).next().unwrap_or(url);
                archive::unpack(name, &bytes, into, EXTENSION_LIMITS)?;
            }
            ExtensionSource::Git { url, reference } => {
                commit = Some(self.clone_repository(url, reference.as_deref(), into).await?)
            }
        }
        Ok(FetchedSource { root: sole_folder(into), commit })
    }

    async fn download(&self, url: &str) -> Result<Vec<u8>, ExtensionError> {
        let policy = HttpPolicy {
            // It is the user who names the address.
            private_addresses: PrivateAddresses::Allowed,
            timeout: DOWNLOAD_TIMEOUT,
            max_bytes: MAX_DOWNLOAD_BYTES,
            proxy: self.proxy.clone(),
            ..HttpPolicy::default()
        };
        let got = HttpAccess::new(policy).download(url).await;
        got.map_err(|why| ExtensionError::Download { url: url.to_owned(), why })
    }
}

/// Archives often hold everything in one folder.
fn sole_folder(folder: &Path) -> PathBuf {
    let entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    match entries.as_slice() {
        [sole]
            if sole.symlink_metadata().is_ok_and(|found| found.is_dir())
                && sole.join("gemini-extension.json").is_file() =>
        {
            sole.clone()
        }
        _ => folder.to_owned(),
    }
}
