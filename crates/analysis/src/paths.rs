//! Paths: without `.` and `..`, and with the links on them followed.

use std::path::{Component, Path, PathBuf};

use crate::disk::{Disk, FileKind};

/// The number of links after which a path counts as leading nowhere, as in Linux.
const MAX_LINKS: usize = 40;

/// The path without `.` and `..`, without looking at the disk.
pub fn normalized(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut out, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
        out
    })
}

/// Where a path leads to, link by link, as the kernel resolves it; what is not there is where it would be.
pub fn physical(disk: &(impl Disk + ?Sized), path: &Path) -> PathBuf {
    follow(disk, PathBuf::new(), path, 0)
}

/// Follows the rest of a path from a directory that is physical already.
pub fn physical_from(disk: &(impl Disk + ?Sized), directory: PathBuf, rest: &Path) -> PathBuf {
    follow(disk, directory, rest, 0)
}

fn follow(disk: &(impl Disk + ?Sized), mut done: PathBuf, path: &Path, links: usize) -> PathBuf {
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                done.pop();
            }
            Component::Normal(name) => {
                done.push(name);
                if links < MAX_LINKS
                    && let Some(target) = disk.read_link(&done)
                {
                    done.pop();
                    return follow(disk, done, &target.join(parts.as_path()), links + 1);
                }
            }
            root => done.push(root),
        }
    }
    done
}

/// Whether a directory is there, links followed.
pub fn is_directory(disk: &(impl Disk + ?Sized), path: &Path) -> bool {
    disk.kind(&physical(disk, path)) == Some(FileKind::Directory)
}

/// Whether reading or writing it changes nothing and tells nothing.
pub fn is_device(path: &Path) -> bool {
    const NAMES: [&str; 9] = ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty"];
    let Ok(rest) = normalized(path).strip_prefix("/dev").map(Path::to_owned) else { return false };
    let rest = rest.to_string_lossy();
    let numbered = rest.strip_prefix("fd/").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    NAMES.contains(&rest.as_ref()) || numbered
}

/// The host of `/dev/tcp/HOST/PORT`, which bash connects to.
pub fn network_device(path: &Path) -> Option<String> {
    let path = normalized(path);
    let rest = ["/dev/tcp", "/dev/udp"].iter().find_map(|device| path.strip_prefix(device).ok())?;
    Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned())
}

/// Whether every process sees something else there: `/proc/self/cwd/x`.
pub fn is_per_process(path: &Path) -> bool {
    normalized(path).strip_prefix("/proc").is_ok_and(|rest| {
        let first = rest.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        first.is_some_and(|name| name.ends_with("self") || name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
