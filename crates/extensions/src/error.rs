//! Why an extension was not fetched, looked at or put in place. What was there before is there still.

use std::io;
use std::path::{Path, PathBuf};

use hookwright_hooks::Diagnostic;
use hookwright_settings::edit::EditError;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum ExtensionError {
    /// The source can't be one.
    #[error("{source_text} is nothing to install from: {why}")]
    Source {
        /// What was given.
        source_text: String,
        /// What is wrong with it.
        why: String,
    },
    /// git did not do it.
    #[error("git could not fetch {url}: {why}")]
    Git {
        /// From where.
        url: String,
        /// Its last words.
        why: String,
    },
    /// There is no git.
    #[error("git is not installed")]
    NoGit,
    /// It could not be downloaded.
    #[error("can't download {url}: {why}")]
    Download {
        /// From where.
        url: String,
        /// Why.
        why: String,
    },
    /// The archive is broken, or means harm.
    #[error("this archive is not unpacked: {0}")]
    Archive(String),
    /// Something in it has no business in an extension.
    #[error("`{what}` has no business in an extension: {why}")]
    Rejected {
        /// The file, from the extension.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no usable manifest.
    #[error("there is no extension in it: {}", .0.first().map_or_else(|| "it has no gemini-extension.json".to_owned(), |wrong| wrong.message.clone()))]
    NoManifest(Vec<Diagnostic>),
    /// One of that name is there.
    #[error("an extension called `{0}` is installed already")]
    Installed(String),
    /// Something else is in the way.
    #[error("{} is in the way", .0.display())]
    PathOccupied(PathBuf),
    /// It has changed since it was looked at.
    #[error("`{0}` was changed by somebody else meanwhile")]
    ConcurrentChange(String),
    /// There is none of that name.
    #[error("no extension is called `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The one that was meant, most likely.
        near: Option<String>,
    },
    /// It came with a project.
    #[error("`{name}` came with the project, in {}", .folder.display())]
    OwnedByProject {
        /// Its name.
        name: String,
        /// Where it is.
        folder: PathBuf,
    },
    /// It can't be updated.
    #[error("`{name}` can't be updated: {why}")]
    NotUpdatable {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// Another program installs something.
    #[error("another program is putting an extension in place")]
    Locked,
    /// The settings could not be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The disk refuses.
    #[error("{}: {cause}", .path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl ExtensionError {
    /// There is no extension of that name.
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

    /// What to do about it.
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
            ExtensionError::OwnedByProject { .. } => "remove its folder to be rid of it".to_owned(),
            ExtensionError::Edit(error) => return error.hint(),
            ExtensionError::Disk { cause, .. } => match cause.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space and try again".to_owned(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "check its permissions".to_owned()
                }
                _ => return None,
            },
            ExtensionError::NoManifest(_) => {
                "`hookwright extensions validate PATH` says everything that is wrong".to_owned()
            }
            ExtensionError::Download { .. }
            | ExtensionError::Archive(_)
            | ExtensionError::Rejected { .. }
            | ExtensionError::NotUpdatable { .. } => return None,
        })
    }
}
