//! Files of the program's own that only their owner may read, whatever the umask.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::ExistingFileMode;

pub(crate) fn open_append(path: &Path, found: ExistingFileMode) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).mode(0o600);
    // Opening a pipe without a reader must not block.
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let (file, found) = match options.create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            // A dangling symbolic link counts as existing too.
            (options.create_new(false).create(true).open(path)?, found)
        }
        new => (new?, ExistingFileMode::MakePrivate),
    };
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    if found == ExistingFileMode::MakePrivate {
        make_private(&file)?;
    }
    Ok(file)
}

pub(crate) fn make_private(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    let is_ours = found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}

pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !directory_exists(folder)).collect();
    for folder in missing.into_iter().rev() {
        match builder.create(folder) {
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700))?,
            // Another program has created it meanwhile.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    if path.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) }
}

fn directory_exists(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}
