//! A file's new content on its way into place: without a name where the system can do that (Linux), so that a program that
//! is killed leaves nothing behind, else under a temporary one.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::Privacy;

/// New content that is not in its place yet.
pub(crate) enum Draft {
    /// It is gone with the program.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// It is gone with this value.
    Named(NamedTempFile),
}

impl Draft {
    /// An empty draft in the directory that it is for.
    pub(crate) fn new(directory: &Path, privacy: Privacy) -> io::Result<Draft> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(directory, privacy) {
            return Ok(Draft::Unnamed(file));
        }
        let mut builder = builder();
        #[cfg(unix)]
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode(privacy));
        #[cfg(unix)]
        builder.permissions(mode);
        #[cfg(not(unix))]
        let _ = privacy;
        builder.tempfile_in(directory).map(Draft::Named)
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) => file,
            Draft::Named(file) => file.as_file(),
        }
    }

    /// Puts it where it belongs, in place of what is there.
    pub(crate) fn put(self, directory: &Path, path: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) => match link(&file, path) {
                // A link takes nobody's place; a rename does, and needs a name for that moment.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let named = builder().make_in(directory, |name| link(&file, name))?;
                    named.persist(path).map_err(|error| error.error)
                }
                done => done,
            },
            Draft::Named(file) => {
                let _ = directory;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hookwright-").suffix(".tmp");
    builder
}

#[cfg(unix)]
fn mode(privacy: Privacy) -> u32 {
    if privacy == Privacy::Private { 0o600 } else { 0o666 }
}

/// A file without a name; nothing where the file system has none, or names can't be given through `/proc`.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path, privacy: Privacy) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, access, openat};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = openat(CWD, directory, flags, Mode::from_raw_mode(mode(privacy))).ok()?;
    access(name_by_descriptor(&file).as_str(), rustix::fs::Access::EXISTS).ok()?;
    Some(file.into())
}

#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, name_by_descriptor(file).as_str(), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(target_os = "linux")]
fn name_by_descriptor(file: &impl std::os::fd::AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
