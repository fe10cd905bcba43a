//! The other paths under which mounts show a file: a folder that is bound to a second place has two names there.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MAX_MOUNT_TABLE_BYTES: u64 = 16 << 20;

/// The mounts of this process.
pub(super) struct MountTable(Vec<MountEntry>);

struct MountEntry {
    device: String,
    /// The folder of the file system that the mount shows.
    root: PathBuf,
    mount_point: PathBuf,
}

impl MountTable {
    /// # Errors
    /// If the table can't be read.
    pub(super) fn read() -> Result<MountTable, String> {
        let file = Path::new("/proc/self/mountinfo");
        let bytes = hookwright_disk::read(file, MAX_MOUNT_TABLE_BYTES, hookwright_disk::SymlinkPolicy::Follow);
        bytes.map(|bytes| MountTable::parse(&bytes)).map_err(|error| format!("{}: {error}", file.display()))
    }

    fn parse(bytes: &[u8]) -> MountTable {
        let entry = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
            Some(MountEntry { device, root: unescape(fields.next()?), mount_point: unescape(fields.next()?) })
        };
        MountTable(bytes.split(|byte| *byte == b'\n').filter_map(entry).collect())
    }

    /// Returns the other paths of a file or folder, and of what lies in it. The path need not exist; it has no links.
    pub(super) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let Some(inside) = self.path_in_file_system(path) else { return Vec::new() };
        let (device, inside) = inside;
        let same_device = self.0.iter().filter(|mount| mount.device == device);
        let pairs = same_device.filter_map(|mount| match inside.strip_prefix(&mount.root) {
            Ok(rest) => Some((join(&mount.mount_point, rest), path.to_owned())),
            // A part of the folder is bound to another place.
            Err(_) => {
                let part = mount.root.strip_prefix(&inside).ok()?;
                Some((mount.mount_point.clone(), path.join(part)))
            }
        });
        let mut aliases: Vec<PathBuf> =
            pairs.filter(|(alias, name)| alias != name && is_same_place(alias, name)).map(|(alias, _)| alias).collect();
        aliases.sort();
        aliases.dedup();
        aliases
    }

    fn path_in_file_system(&self, path: &Path) -> Option<(&str, PathBuf)> {
        // Of two mounts at one place the later one counts.
        let holding = self.0.iter().filter(|mount| path.starts_with(&mount.mount_point));
        let mount = holding.max_by_key(|mount| mount.mount_point.components().count())?;
        Some((&mount.device, join(&mount.root, path.strip_prefix(&mount.mount_point).ok()?)))
    }
}

/// Whether two paths, or the first existing folders above them, are the same file.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.symlink_metadata().ok().map(|data| (data.dev(), data.ino()));
    match (identity(one), identity(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) if one.file_name() == other.file_name() => match (one.parent(), other.parent()) {
            (Some(one), Some(other)) => is_same_place(one, other),
            _ => false,
        },
        _ => false,
    }
}

/// Joins without a slash at the end.
fn join(base: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { base.to_owned() } else { base.join(rest) }
}

/// Reads a field of the table, in which a few characters are written as `\` and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        match digits {
            Some(digits) => {
                bytes.push(digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_with_its_escapes() {
        let table =
            MountTable::parse(b"1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 8:1 /a\\040b /mnt/c\\134d rw - ext4 x rw\n");
        assert_eq!(table.0.len(), 2);
        assert_eq!((&*table.0[1].root, &*table.0[1].mount_point), (Path::new("/a b"), Path::new("/mnt/c\\d")));
        let inside = table.path_in_file_system(Path::new("/mnt/c\\d/e")).unwrap();
        assert_eq!(inside, ("8:1", PathBuf::from("/a b/e")));
    }
}
