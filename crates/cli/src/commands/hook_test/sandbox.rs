//! The temporary project of a case: the copied files of the user's project, and the files that the test asks for.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};

use super::file::{HookTestCase, HookTestFile, HookTestSetup};

/// Packages are linked and not copied: there are many, and they lead to other folders.
const PACKAGES_DIR: &str = "node_modules";

/// Fills the project of a case: with the user's `.gemini`, `.hookwright` and packages where the test names no settings, then with the
/// files that the test asks for. Returns the entries that were skipped.
pub(super) fn populate_sandbox(
    file: &HookTestFile,
    case: &HookTestCase,
    test_dir: &Path,
    project: &Path,
    sandbox: &Path,
) -> anyhow::Result<Vec<String>> {
    let HookTestSetup { git, copy, files, .. } = &file.setup;
    let mut copying = SandboxCopier::new(project)?;
    match &file.settings {
        Some(settings) => copy_file(&test_dir.join(settings), &resolve_in_sandbox(sandbox, ".gemini/settings.json")?)?,
        None => {
            for folder in [".gemini", ".hookwright"] {
                copying.copy_folder_if_exists(&project.join(folder), &sandbox.join(folder))?;
            }
        }
    }
    for (target, source) in copy {
        copying.copy_requested(&test_dir.join(source), &resolve_in_sandbox(sandbox, target)?)?;
    }
    for (target, content) in files.iter().chain(&case.files) {
        let target = resolve_in_sandbox(sandbox, target)?;
        std::fs::create_dir_all(target.parent().unwrap_or(sandbox))?;
        std::fs::write(&target, content).with_context(|| format!("can't write {}", target.display()))?;
    }
    if *git {
        make_repository(sandbox)?;
    }
    let packages = project.join(PACKAGES_DIR);
    if file.settings.is_none() && packages.is_dir() && !sandbox.join(PACKAGES_DIR).exists() {
        link_folder(&packages, &sandbox.join(PACKAGES_DIR))?;
        if *git {
            // As in the user's repository, it is not committed.
            std::fs::create_dir_all(sandbox.join(".git/info"))?;
            std::fs::write(sandbox.join(".git/info/exclude"), format!("/{PACKAGES_DIR}\n"))?;
        }
    }
    Ok(copying.skipped)
}

/// Resolves a path in the sandbox; a test must not write anywhere else.
fn resolve_in_sandbox(sandbox: &Path, path: &str) -> anyhow::Result<PathBuf> {
    use std::path::Component;
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        bail!("`{path}` leaves the test's project");
    }
    // A link in the sandbox leads to the user's own files.
    let linked = relative.ancestors().skip(1).find(|above| sandbox.join(above).is_symlink());
    if let Some(linked) = linked {
        bail!("`{path}` would change your own {}, which a test's project has as a link", linked.display());
    }
    Ok(sandbox.join(relative))
}

fn copy_file(source: &Path, target: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(target.parent().unwrap_or(target))?;
    std::fs::copy(source, target).with_context(|| format!("can't copy {}", source.display()))?;
    Ok(())
}

fn link_folder(source: &Path, target: &Path) -> anyhow::Result<()> {
    let can_not = || format!("can't link {}", source.display());
    std::fs::create_dir_all(target.parent().unwrap_or(target))?;
    let source = source.canonicalize().with_context(can_not)?;
    make_link(&source, target).with_context(can_not)
}

#[cfg(unix)]
fn make_link(source: &Path, target: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(source, target)
}

#[cfg(windows)]
fn make_link(source: &Path, target: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(source, target)
}

/// Copies folders into the project of a case.
struct SandboxCopier {
    /// The resolved path of the user's project: links to folders outside of it are not followed.
    project: PathBuf,
    /// The folders that are being copied, outermost first: following a link to one of them would never end.
    open_folders: Vec<PathBuf>,
    copied_entries: usize,
    skipped: Vec<String>,
}

impl SandboxCopier {
    /// The limit of copied entries. A folder with more is most likely named by mistake.
    const MAX_COPIED_ENTRIES: usize = 20_000;

    fn new(project: &Path) -> anyhow::Result<SandboxCopier> {
        let project = project.canonicalize().with_context(|| format!("can't read {}", project.display()))?;
        Ok(SandboxCopier { project, open_folders: Vec::new(), copied_entries: 0, skipped: Vec::new() })
    }

    /// Copies a file or a folder that a test names.
    fn copy_requested(&mut self, source: &Path, target: &Path) -> anyhow::Result<()> {
        match source.is_dir() {
            true if source.file_name().is_some_and(|name| name == PACKAGES_DIR) => link_folder(source, target),
            true => self.copy_folder(source, target),
            false => copy_file(source, target),
        }
    }

    fn copy_folder_if_exists(&mut self, source: &Path, target: &Path) -> anyhow::Result<()> {
        if source.is_dir() { self.copy_folder(source, target) } else { Ok(()) }
    }

    fn copy_folder(&mut self, source: &Path, target: &Path) -> anyhow::Result<()> {
        let can_not = || format!("can't copy {}", source.display());
        let entries = source.read_dir().with_context(can_not)?;
        self.open_folders.push(source.canonicalize().with_context(can_not)?);
        std::fs::create_dir_all(target)?;
        for entry in entries {
            let entry = entry.with_context(can_not)?;
            self.copied_entries += 1;
            ensure!(
                self.copied_entries <= Self::MAX_COPIED_ENTRIES,
                "{} has more than {} files",
                source.display(),
                Self::MAX_COPIED_ENTRIES
            );
            self.copy_entry(&entry, &target.join(entry.file_name()))?;
        }
        self.open_folders.pop();
        Ok(())
    }

    fn copy_entry(&mut self, entry: &std::fs::DirEntry, target: &Path) -> anyhow::Result<()> {
        let (source, kind) = (entry.path(), entry.file_type()?);
        if source.is_dir() && entry.file_name() == PACKAGES_DIR {
            return link_folder(&source, target);
        }
        if kind.is_dir() {
            return self.copy_folder(&source, target);
        }
        if source.is_file() {
            return copy_file(&source, target);
        }
        let why = match source.canonicalize() {
            Ok(_) if !source.is_dir() => "it is neither a file nor a folder",
            Ok(real) if self.open_folders.iter().any(|open| open.starts_with(&real)) => {
                "it links back to its own folder"
            }
            Ok(real) if !real.starts_with(&self.project) => "it links to a folder outside the project",
            Ok(_) => return self.copy_folder(&source, target),
            Err(_) => "its target does not exist",
        };
        let shown = source.strip_prefix(&self.project).unwrap_or(&source);
        self.skipped.push(format!("{} ({why})", shown.display()));
        Ok(())
    }
}

fn make_repository(project: &Path) -> anyhow::Result<()> {
    let git = |args: &[&str]| -> anyhow::Result<()> {
        let identity =
            ["-c", "user.name=hooktest", "-c", "user.email=hooktest@localhost", "-c", "init.defaultBranch=main"];
        let mut git = std::process::Command::new("git");
        git.args(identity).args(args).current_dir(project);
        git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Spawned detached, so that git does not inherit the process mark of a hook that another case is starting.
        #[expect(clippy::disallowed_methods, reason = "the user waits for it, and can interrupt it")]
        let output = hookwright_process::spawn_detached(|| git.spawn())
            .and_then(std::process::Child::wait_with_output)
            .context("can't run git, which `setup.git` needs")?;
        if !output.status.success() {
            bail!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    };
    git(&["init", "--quiet"])?;
    git(&["add", "--all", "--force"])?;
    git(&["commit", "--quiet", "--allow-empty", "--no-verify", "--message", "first"])
}
