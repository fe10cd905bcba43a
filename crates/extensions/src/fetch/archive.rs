//! Unpacks a tar or zip archive into an empty folder.
//!
//! Only files and folders whose paths stay inside the target are unpacked, up to a limit of entries, depth and bytes.
//! Pax headers are skipped; any other entry is an error.

use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::ExtensionError;
use crate::inspection::{ExtensionLimits, limits_message};

/// Unpacks an archive; the end of its name says whether it is a zip or a gzipped tar file.
pub(super) fn unpack(name: &str, bytes: &[u8], into: &Path, bounds: ExtensionLimits) -> Result<(), ExtensionError> {
    let mut unpacker = Unpacker { target: into, limits: bounds, bytes: 0, entries: 0 };
    match name.to_ascii_lowercase().ends_with(".zip") {
        true => unzip(bytes, &mut unpacker),
        false => untar(flate2::read::MultiGzDecoder::new(bytes), &mut unpacker),
    }
}

fn archive_error(error: impl std::fmt::Display) -> ExtensionError {
    ExtensionError::Archive(error.to_string())
}

fn untar(reader: impl Read, unpacker: &mut Unpacker<'_>) -> Result<(), ExtensionError> {
    use tar::EntryType;
    // Padding and trailing data are read too: at most twice the byte limit in all.
    let reader = reader.take(unpacker.limits.bytes.saturating_mul(2));
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(archive_error)? {
        let mut entry = entry.map_err(archive_error)?;
        let path = entry.path().map_err(archive_error)?.into_owned();
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        match entry.header().entry_type() {
            EntryType::Directory => unpacker.create_folder(&path)?,
            EntryType::Regular | EntryType::Continuous => unpacker.write_file(&path, executable, &mut entry)?,
            EntryType::XGlobalHeader | EntryType::XHeader => {}
            other => return Err(ExtensionError::rejected(escaped_path(&path), rejection_reason(other))),
        }
    }
    Ok(())
}

fn rejection_reason(kind: tar::EntryType) -> &'static str {
    use tar::EntryType;
    match kind {
        EntryType::Symlink => "it is a symbolic link, and links in archives are refused",
        EntryType::Link => "it is a hard link, and links in archives are refused",
        EntryType::Char | EntryType::Block => "it is a device",
        EntryType::Fifo => "it is a pipe",
        _ => "it is neither a file nor a folder",
    }
}

fn unzip(bytes: &[u8], unpacker: &mut Unpacker<'_>) -> Result<(), ExtensionError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(archive_error)?;
    // The reader shows only the last of two entries with one name.
    if archive.has_duplicate_names() {
        return Err(archive_error("a name is in the archive twice"));
    }
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(archive_error)?;
        let path = PathBuf::from(entry.name().map_err(archive_error)?.replace('\\', "/"));
        let mode = entry.unix_mode().unwrap_or(0);
        match mode & 0o170_000 {
            _ if entry.is_dir() => unpacker.create_folder(&path)?,
            0 | 0o100_000 => unpacker.write_file(&path, mode & 0o100 != 0, &mut entry)?,
            0o120_000 => {
                return Err(ExtensionError::rejected(escaped_path(&path), rejection_reason(tar::EntryType::Symlink)));
            }
            _ => return Err(ExtensionError::rejected(escaped_path(&path), "it is neither a file nor a folder")),
        }
    }
    Ok(())
}

/// The target folder and the part of the limits that is already used.
struct Unpacker<'r> {
    target: &'r Path,
    limits: ExtensionLimits,
    bytes: u64,
    entries: usize,
}

impl Unpacker<'_> {
    fn create_folder(&mut self, path: &Path) -> Result<(), ExtensionError> {
        let target = self.target_path(path)?;
        fs::create_dir_all(&target).map_err(ExtensionError::disk_error(&target))
    }

    fn write_file(&mut self, path: &Path, executable: bool, reader: &mut impl Read) -> Result<(), ExtensionError> {
        let target = self.target_path(path)?;
        if target == *self.target {
            return Err(ExtensionError::rejected(escaped_path(path), "it has no name"));
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(ExtensionError::disk_error(parent))?;
        }
        // A duplicate name may be an attack: the inspected file would not be the one that is installed.
        let made = File::options().write(true).create_new(true).open(&target);
        let mut file = made.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                ExtensionError::rejected(escaped_path(path), "it is in the archive twice")
            }
            _ => ExtensionError::disk_error(&target)(error),
        })?;
        let left = self.limits.bytes - self.bytes;
        // The size in the header is not trusted.
        let written = std::io::copy(&mut reader.take(left + 1), &mut file).map_err(archive_error)?;
        self.bytes += written;
        if written > left {
            return Err(ExtensionError::rejected(escaped_path(path), limits_message(self.limits)));
        }
        file.flush().map_err(ExtensionError::disk_error(&target))?;
        if executable { make_executable(&file, &target) } else { Ok(()) }
    }

    /// Returns the path to unpack an entry to, or an error if it is outside of the target or beyond the limits.
    fn target_path(&mut self, path: &Path) -> Result<PathBuf, ExtensionError> {
        self.entries += 1;
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !path.components().all(plain) {
            return Err(ExtensionError::rejected(escaped_path(path), "its path leads out of the archive"));
        }
        if path.to_string_lossy().chars().any(char::is_control) {
            return Err(ExtensionError::rejected(escaped_path(path), "its name has control characters"));
        }
        if self.entries > self.limits.entries || path.components().count() > self.limits.depth {
            return Err(ExtensionError::rejected(escaped_path(path), limits_message(self.limits)));
        }
        let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
        Ok(parts.fold(self.target.to_owned(), |target, part| target.join(part)))
    }
}

fn escaped_path(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

#[cfg(unix)]
fn make_executable(file: &File, path: &Path) -> Result<(), ExtensionError> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755)).map_err(ExtensionError::disk_error(path))
}

#[cfg(not(unix))]
fn make_executable(_: &File, _: &Path) -> Result<(), ExtensionError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    const SMALL_LIMITS: ExtensionLimits = ExtensionLimits { bytes: 1 << 20, entries: 20, depth: 8 };

    struct TarEntry<'e> {
        name: &'e str,
        kind: EntryType,
        link: &'e str,
        data: &'e [u8],
    }

    fn file_entry<'e>(name: &'e str, data: &'e [u8]) -> TarEntry<'e> {
        TarEntry { name, kind: EntryType::Regular, link: "", data }
    }

    /// Builds a tar archive; entry names are written unchanged, even invalid ones.
    fn build_tar(entries: &[TarEntry<'_>]) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for entry in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(entry.kind);
            header.set_size(entry.data.len() as u64);
            header.set_mode(0o755);
            let name = entry.name.as_bytes();
            header.as_old_mut().name[..name.len()].copy_from_slice(name);
            let link = entry.link.as_bytes();
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
            header.set_cksum();
            builder.append(&header, entry.data).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn unpack_tar(entries: &[TarEntry<'_>]) -> (tempfile::TempDir, Result<(), ExtensionError>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
        let done = unpack("x.tar.gz", &build_tar(entries), &folder.path().join("in"), SMALL_LIMITS);
        (folder, done)
    }

    #[test]
    fn plain_archives_are_unpacked_with_their_rights() {
        let folder = TarEntry { name: "x/", kind: EntryType::Directory, link: "", data: b"" };
        let (at, done) = unpack_tar(&[folder, file_entry("x/a.sh", b"a"), file_entry("./y/z/b", b"bb")]);
        done.unwrap();
        assert_eq!(hookwright_testkit::fs::read(at.path().join("in/y/z/b")).unwrap(), b"bb");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = at.path().join("in/x/a.sh").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
        }
    }

    #[test]
    fn entries_outside_the_target_and_special_files_are_refused() {
        let odd = |name, kind, link| TarEntry { name, kind, link, data: b"" };
        let cases: Vec<(TarEntry<'_>, &str)> = vec![
            (file_entry("../evil", b"x"), "leads out"),
            (file_entry("a/../../evil", b"x"), "leads out"),
            (file_entry("/etc/evil", b"x"), "leads out"),
            (odd("l", EntryType::Symlink, "/etc/passwd"), "symbolic link"),
            (odd("l", EntryType::Symlink, "inside"), "symbolic link"),
            (odd("l", EntryType::Link, "../../evil"), "hard link"),
            (odd("d", EntryType::Char, ""), "device"),
            (odd("d", EntryType::Block, ""), "device"),
            (odd("p", EntryType::Fifo, ""), "pipe"),
            (file_entry("a\nb", b"x"), "control characters"),
            (file_entry("a\u{1b}[2J", b"x"), "control characters"),
        ];
        for (entry, why) in cases {
            let name = entry.name.to_owned();
            let (at, done) = unpack_tar(&[file_entry("ok", b"fine"), entry]);
            let said = done.unwrap_err().to_string();
            assert!(said.contains(why), "{name}: {said}");
            assert_eq!(std::fs::read_dir(at.path()).unwrap().count(), 1, "{name} got out");
        }
        let (_at, done) = unpack_tar(&[file_entry("a", b"one"), file_entry("a", b"two")]);
        assert!(done.unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn archive_bombs_are_refused() {
        let zeros = vec![0_u8; 3 << 20];
        let (_at, done) = unpack_tar(&[file_entry("bomb", &zeros)]);
        assert!(done.unwrap_err().to_string().contains("limit of 1 MiB"));
        let names: Vec<String> = (0..30).map(|at| format!("f{at}")).collect();
        let many: Vec<_> = names.iter().map(|name| file_entry(name, b"")).collect();
        let (_at, done) = unpack_tar(&many);
        assert!(done.is_err());
        let deep = "d/".repeat(12) + "f";
        let (_at, done) = unpack_tar(&[file_entry(&deep, b"")]);
        assert!(done.is_err());
    }

    fn build_zip(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, mode, data) in entries {
            let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode);
            if mode & 0o170_000 == 0o120_000 {
                writer.add_symlink(*name, String::from_utf8_lossy(data), options).unwrap();
            } else {
                writer.start_file(*name, options).unwrap();
                writer.write_all(data).unwrap();
            }
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn zip_archives_have_the_same_limits() {
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("in");
        let try_zip = |entries: &[(&str, u32, &[u8])]| {
            let _ = std::fs::remove_dir_all(&into);
            std::fs::create_dir(&into).unwrap();
            unpack("x.zip", &build_zip(entries), &into, SMALL_LIMITS)
        };
        try_zip(&[("x/a.sh", 0o755, b"a"), ("b", 0o644, b"b")]).unwrap();
        assert_eq!(hookwright_testkit::fs::read(into.join("x/a.sh")).unwrap(), b"a");
        for (name, why) in
            [("../evil", "leads out"), ("/abs", "leads out"), ("a\\..\\..\\evil", "leads out"), ("a\nb", "control")]
        {
            let said = try_zip(&[(name, 0o644, b"x")]).unwrap_err().to_string();
            assert!(said.contains(why), "{name}: {said}");
        }
        let said = try_zip(&[("l", 0o120_777, b"/etc/passwd")]).unwrap_err().to_string();
        assert!(said.contains("symbolic link"), "{said}");
        let zeros = vec![0_u8; 3 << 20];
        assert!(try_zip(&[("bomb", 0o644, &zeros)]).unwrap_err().to_string().contains("limit of 1 MiB"));
        // The writer refuses duplicate names, so the second entry is renamed in the bytes.
        let mut twice = build_zip(&[("same-name", 0o644, b"one"), ("some-name", 0o644, b"two")]);
        for at in 0..twice.len() - 9 {
            if twice[at..].starts_with(b"some-name") {
                twice[at..at + 9].copy_from_slice(b"same-name");
            }
        }
        assert!(unpack("x.zip", &twice, &into, SMALL_LIMITS).unwrap_err().to_string().contains("twice"));
        assert!(unpack("x.zip", b"PK nonsense", &into, SMALL_LIMITS).is_err());
        assert!(unpack("x.tar.gz", b"nonsense", &into, SMALL_LIMITS).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something got out");
    }
}
