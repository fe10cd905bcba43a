//! Fetches a source into an empty folder: repositories are cloned, archives unpacked, folders copied. `inspection.rs`
//! then checks what was fetched.

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

/// Callback that receives progress messages.
pub type ProgressFn<'p> = &'p (dyn Fn(&str) + Sync);

/// Largest archive that is downloaded or read.
const MAX_DOWNLOAD_BYTES: usize = 128 << 20;
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(300);

/// The environment, proxy and progress callback of a fetch.
pub struct Fetcher<'f> {
    /// Environment that git runs in.
    pub process_env: &'f ProcessEnv,
    pub proxy: Option<ProxyOptions>,
    /// Callback for progress messages.
    pub progress: ProgressFn<'f>,
}

/// A fetched source.
pub(crate) struct FetchedSource {
    /// Folder of the extension: the target folder, or the only folder in it.
    pub(crate) root: PathBuf,
    /// The commit, if the source is a repository.
    pub(crate) commit: Option<String>,
}

impl Fetcher<'_> {
    /// Fetches a source into an empty folder.
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
            // The user gave the address.
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

/// Returns the only folder in this one if it is an extension, as in many archives; otherwise the folder itself.
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
