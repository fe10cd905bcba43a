//! The file system inside a confinement: everything is read-only but the paths of the plan.
//!
//! Each step works on a mount namespace of its own, so that nothing of it is seen outside.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, move_mount, open_tree,
};

use super::kernel::add_mount_attributes;
use super::{ConfinementPlan, IgnoreFile, SetupError, SetupStep};

/// Attributes of every mount inside: no set-user-ID programs, no device files.
const COMMON_ATTRIBUTES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const READ_ONLY_ATTRIBUTES: u64 = COMMON_ATTRIBUTES | libc::MOUNT_ATTR_RDONLY;
/// Folders for temporary files, each empty and private inside.
pub(super) const PRIVATE_TEMP_DIRS: [&str; 2] = ["/tmp", "/var/tmp"];
/// Device files that exist inside.
pub(super) const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// A copy of a mount that is attached to no place yet.
struct DetachedMount {
    path: PathBuf,
    tree: OwnedFd,
}

impl DetachedMount {
    /// Copies the tree of mounts at a path, as it is now.
    fn copy(path: &Path) -> io::Result<DetachedMount> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        Ok(DetachedMount { path: path.to_owned(), tree: open_tree(CWD, path, flags)? })
    }

    /// Attaches the copy at its own path, with further attributes.
    fn attach(self, attributes: u64) -> io::Result<()> {
        let path = self.path.clone();
        self.attach_at(&path, attributes)
    }

    fn attach_at(self, path: &Path, attributes: u64) -> io::Result<()> {
        add_mount_attributes(self.tree.as_fd(), attributes)?;
        Ok(move_mount(&self.tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
    }
}

/// Makes the file system what the plan says.
pub(super) fn set_up(plan: &ConfinementPlan) -> Result<(), SetupError> {
    SetupStep::Mounts.run(|| {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        // Copied first, because they keep the attributes that they have now.
        let devices = DEVICES.iter().map(|name| DetachedMount::copy(&Path::new("/dev").join(name)));
        let devices = devices.collect::<io::Result<Vec<_>>>()?;
        let kept = kept_trees(plan)?;
        let root = open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
        let is_all_writable = plan.shares_folder(Path::new("/"));
        add_mount_attributes(root.as_fd(), if is_all_writable { COMMON_ATTRIBUTES } else { READ_ONLY_ATTRIBUTES })?;
        let is_private = |path: &&&str| Path::new(path).is_dir() && !plan.shares_folder(Path::new(path));
        for directory in PRIVATE_TEMP_DIRS.iter().filter(is_private) {
            mount_tmpfs(directory, c"mode=1777")?;
        }
        mount_devices(devices)?;
        // The attributes of the root reach what was mounted then, not these copies; a deeper one covers a higher one.
        for (tree, attributes) in kept {
            make_mount_point(&tree.path, &tree.tree)?;
            tree.attach(attributes)?;
        }
        protect(plan)
    })?;
    SetupStep::Processes.run(|| {
        mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?;
        limit_process_numbers(plan);
        let proc = open_tree(CWD, "/proc", OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
        add_mount_attributes(proc.as_fd(), READ_ONLY_ATTRIBUTES)
    })?;
    SetupStep::Mounts.run(|| {
        hide(&plan.hidden)?;
        plan.ignore_files.iter().try_for_each(|file| ignore_placeholders(file, &plan.placeholder_files))
    })
}

/// Bounds how many processes a storm can start until the supervisor counts them, also where no limit holds for root.
///
/// Before Linux 6.14 the setting is that of the whole machine, which must not change.
fn limit_process_numbers(plan: &ConfinementPlan) {
    /// The kernel gives the numbers below this one only once.
    const RESERVED_NUMBERS: u32 = 300;
    let Some(limit) = plan.limits.max_processes else { return };
    if super::kernel::version() >= Some((6, 14)) {
        // The count of processes is what ends the command.
        let most = limit.saturating_mul(2).saturating_add(RESERVED_NUMBERS);
        let _ = fs::write("/proc/sys/kernel/pid_max", most.to_string());
    }
}

/// Covers a file that says what git ignores with one that also names the placeholders in its folder.
fn ignore_placeholders(file: &IgnoreFile, placeholders: &[PathBuf]) -> io::Result<()> {
    const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;
    let inside = placeholders.iter().filter_map(|path| ignore_pattern(path.strip_prefix(&file.folder).ok()?));
    let patterns: String = inside.collect();
    if patterns.is_empty() {
        return Ok(());
    }
    // An earlier command may have put anything there.
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let Ok(opened) = options.open(&file.path) else { return Ok(()) };
    if !opened.metadata()?.is_file() {
        return Ok(());
    }
    let mut text = Vec::new();
    opened.take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut text)?;
    text.extend([b"\n", patterns.as_bytes()].concat());
    let cover = Path::new("/dev/shm/.hookwright-ignored");
    fs::write(cover, text)?;
    DetachedMount::copy(cover)?.attach_at(&file.path, READ_ONLY_ATTRIBUTES)?;
    fs::remove_file(cover)
}

/// Returns the line of an ignore file that names one path; `None` for a path that no line can name.
fn ignore_pattern(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| !text.contains(['\n', '\r']))?;
    let escaped: String =
        text.chars().flat_map(|char| "\\*?[ ".contains(char).then_some('\\').into_iter().chain([char])).collect();
    Some(format!("/{escaped}\n"))
}

/// Copies the writable trees, and the trees that a private folder would cover, higher ones first.
fn kept_trees(plan: &ConfinementPlan) -> io::Result<Vec<(DetachedMount, u64)>> {
    let is_private = |dir: &&&str| !plan.shares_folder(Path::new(dir));
    let is_covered = |path: &&PathBuf| PRIVATE_TEMP_DIRS.iter().filter(is_private).any(|dir| path.starts_with(dir));
    // The root is writable where it is.
    let below_root = plan.writable.iter().filter(|path| path.as_path() != Path::new("/"));
    let writable = below_root.map(|path| (path, COMMON_ATTRIBUTES));
    let visible = plan.visible.iter().filter(is_covered).map(|path| (path, READ_ONLY_ATTRIBUTES));
    let mut kept: Vec<(&PathBuf, u64)> = writable.chain(visible).collect();
    // A path that is writable and visible stays writable.
    kept.sort_by_key(|(path, attributes)| (path.components().count(), *path, *attributes));
    kept.dedup_by(|later, earlier| later.0 == earlier.0);
    kept.into_iter().map(|(path, attributes)| Ok((DetachedMount::copy(path)?, attributes))).collect()
}

/// Makes read-only copies of the protected paths cover them.
///
/// The folders between a path and its writable tree become mounts of their own: a mount can't be renamed, so that nothing
/// else can take the place of the path. Each is mounted once, higher ones first: a copy takes the mounts below it along,
/// so that mounting one again for every path would double them each time.
fn protect(plan: &ConfinementPlan) -> io::Result<()> {
    let mut mounts: BTreeMap<(usize, &Path), u64> = BTreeMap::new();
    let is_inside = |path: &Path, tree: &Path| path.starts_with(tree) && path != tree;
    for path in &plan.read_only {
        // What lies in a read-only folder is read-only with it.
        let is_covered = plan.read_only.iter().any(|above| is_inside(path, above));
        let tree = plan.writable.iter().filter(|tree| is_inside(path, tree)).max();
        let (false, Some(tree)) = (is_covered, tree) else { continue };
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != tree.as_path()) {
            mounts.entry((folder.components().count(), folder)).or_insert(COMMON_ATTRIBUTES);
        }
        mounts.insert((path.components().count(), path), READ_ONLY_ATTRIBUTES);
    }
    mounts.into_iter().try_for_each(|((_, path), attributes)| DetachedMount::copy(path)?.attach(attributes))
}

/// Covers each path with something of its kind that can't be opened.
fn hide(paths: &[PathBuf]) -> io::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    // That folder is always private.
    let cover = Path::new("/dev/shm/.hookwright-hidden");
    drop(fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(cover)?);
    for path in paths {
        let is_dir = match fs::symlink_metadata(path) {
            Ok(data) => data.is_dir(),
            // A private folder covers it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if is_dir {
            mount("hidden", path, "tmpfs", MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV, c"mode=0")?;
        } else {
            DetachedMount::copy(cover)?.attach_at(path, READ_ONLY_ATTRIBUTES)?;
        }
    }
    fs::remove_file(cover)
}

/// Gives the namespace a `/dev` of its own, with terminals of its own.
fn mount_devices(devices: Vec<DetachedMount>) -> io::Result<()> {
    mount_tmpfs("/dev", c"mode=755")?;
    for device in devices {
        drop(fs::File::create_new(&device.path)?);
        // A device file must work on this one mount.
        let path = device.path.clone();
        move_mount(&device.tree, "", CWD, &path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    fs::create_dir("/dev/pts")?;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    mount("devpts", "/dev/pts", "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options)?;
    fs::create_dir("/dev/shm")?;
    mount_tmpfs("/dev/shm", c"mode=1777")?;
    let links =
        [("pts/ptmx", "ptmx"), ("/proc/self/fd", "fd"), ("fd/0", "stdin"), ("fd/1", "stdout"), ("fd/2", "stderr")];
    for (target, name) in links {
        std::os::unix::fs::symlink(target, Path::new("/dev").join(name))?;
    }
    Ok(())
}

fn mount_tmpfs(path: &str, options: &std::ffi::CStr) -> io::Result<()> {
    Ok(mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?)
}

/// Creates the place for a mount if it is missing because a private folder covers it.
fn make_mount_point(path: &Path, tree: &OwnedFd) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    let is_directory = rustix::fs::fstat(tree).map(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFDIR)?;
    match path.parent() {
        _ if is_directory => fs::create_dir_all(path)?,
        Some(parent) => {
            fs::create_dir_all(parent)?;
            drop(fs::File::create_new(path)?);
        }
        None => {}
    }
    // The folders above it show nothing else.
    if is_directory { fs::set_permissions(path, fs::Permissions::from_mode(0o755)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_patterns_name_one_path() {
        assert_eq!(ignore_pattern(Path::new(".env")).unwrap(), "/.env\n");
        assert_eq!(ignore_pattern(Path::new("a b/[x]*?\\.txt")).unwrap(), "/a\\ b/\\[x]\\*\\?\\\\.txt\n");
        assert_eq!(ignore_pattern(Path::new("a\n!b")), None);
    }
}
