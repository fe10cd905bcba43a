//! Errors of fetching, inspecting, installing, updating and removing extensions.

use std::io;
use std::path::{Path, PathBuf};

use hookwright_hooks::Diagnostic;
use hookwright_settings::administration::ActionError;
use hookwright_settings::edit::EditError;

/// Why an extension was not installed, updated or removed.
#[derive(Debug, thiserror::Error)]
pub enum ExtensionError {
    /// The given source is not a valid one.
    #[error("can't install from {source_text}: {why}")]
    Source {
        /// The source as the user gave it.
        source_text: String,
        why: String,
    },
    /// git failed to fetch the repository.
    #[error("git could not fetch {url}: {why}")]
    Git {
        url: String,
        /// The error line that git printed.
        why: String,
    },
    /// git was not found on `PATH`.
    #[error("git is not installed")]
    NoGit,
    /// The archive could not be downloaded.
    #[error("can't download {url}: {why}")]
    Download { url: String, why: String },
    /// The archive is broken or malicious.
    #[error("can't unpack this archive: {0}")]
    Archive(String),
    /// The extension contains a file that is not allowed in one.
    #[error("`{what}` is not allowed in an extension: {why}")]
    Rejected {
        /// Path of the file, relative to the extension.
        what: String,
        why: String,
    },
    /// The folder holds no usable manifest.
    #[error("it is not an extension: {}", .0.first().map_or_else(|| "it has no gemini-extension.json".to_owned(), |wrong| wrong.message.clone()))]
    NoManifest(Vec<Diagnostic>),
    /// An extension of that name is already installed.
    #[error("an extension called `{0}` is installed already")]
    Installed(String),
    /// A file or folder already stands at the install path.
    #[error("{} already exists", .0.display())]
    PathOccupied(PathBuf),
    /// The extension has changed since it was inspected.
    #[error("`{0}` was changed by another program in the meantime")]
    ConcurrentChange(String),
    /// No extension has that name.
    #[error("no extension is called `{name}`")]
    Unknown {
        name: String,
        /// The known name that is closest to it.
        near: Option<String>,
    },
    /// The extension belongs to a project.
    #[error("`{name}` belongs to the project, in {}", .folder.display())]
    OwnedByProject { name: String, folder: PathBuf },
    /// The extension cannot be updated.
    #[error("`{name}` can't be updated: {why}")]
    NotUpdatable { name: String, why: String },
    /// Another process holds the install lock.
    #[error("another program is installing an extension")]
    Locked,
    /// The settings could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A file system operation failed.
    #[error("{}: {cause}", .path.display())]
    Disk {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl ExtensionError {
    /// Returns the error for an unknown extension name, with the closest known name.
    pub fn unknown(name: &str, loaded: &hookwright_settings::LoadedConfig) -> Self {
        let known = loaded.extensions.iter().map(|one| one.name.as_str());
        ExtensionError::Unknown {
            name: name.to_owned(),
            near: hookwright_hooks::nearest_name(name, known).map(str::to_owned),
        }
    }

    pub(crate) fn disk_error(path: &Path) -> impl FnOnce(io::Error) -> ExtensionError {
        let path = path.to_owned();
        move |cause| ExtensionError::Disk { path, cause }
    }

    pub(crate) fn rejected(what: impl Into<String>, why: impl Into<String>) -> Self {
        ExtensionError::Rejected { what: what.into(), why: why.into() }
    }

    /// Returns advice on how to resolve the error, if there is any.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            ExtensionError::Source { .. } => {
                "give a folder, an archive (.tar.gz, .tgz, .zip), or an address such as https://github.com/OWNER/REPO"
                    .to_owned()
            }
            ExtensionError::Git { .. } => {
                "check the address, `--ref` and your access: `git ls-remote ADDRESS`".to_owned()
            }
            ExtensionError::NoGit => "install git, or install from a folder or an archive".to_owned(),
            ExtensionError::Installed(name) => {
                format!("`hookwright extensions update {name}` updates it, `uninstall {name}` removes it")
            }
            ExtensionError::PathOccupied(_) => "move it away, and try again".to_owned(),
            ExtensionError::ConcurrentChange(_) | ExtensionError::Locked => "try again".to_owned(),
            ExtensionError::Unknown { near: Some(near), .. } => format!("did you mean `{near}`?"),
            ExtensionError::Unknown { .. } => "`hookwright extensions list` shows them all".to_owned(),
            ExtensionError::OwnedByProject { .. } => "to remove it, delete its folder".to_owned(),
            ExtensionError::Edit(error) => return error.hint(),
            ExtensionError::Disk { cause, .. } => match cause.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space and try again".to_owned(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "check its permissions".to_owned()
                }
                _ => return None,
            },
            ExtensionError::NoManifest(_) => "`hookwright extensions validate PATH` lists all problems".to_owned(),
            ExtensionError::Download { .. }
            | ExtensionError::Archive(_)
            | ExtensionError::Rejected { .. }
            | ExtensionError::NotUpdatable { .. } => return None,
        })
    }
}

impl From<ExtensionError> for ActionError {
    fn from(error: ExtensionError) -> Self {
        match error {
            ExtensionError::Edit(error) => error.into(),
            error => ActionError::new(&error, error.hint()),
        }
    }
}
