//! The project of a case: what it holds of the user's, and what its test asks for.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};

use super::file::{Case, Setup, TestFile};

/// Packages are linked and not copied: there are many, and they lead to other folders.
const PACKAGES: &str = "node_modules";

/// Puts the files in place: the project's own `.gemini` and packages where the test names no settings, then what the test
/// asks for. Returns what was left out.
pub(super) fn lay_out(
    file: &TestFile,
    case: &Case,
    beside: &Path,
    project: &Path,
    sandbox: &Path,
) -> anyhow::Result<Vec<String>> {
    let Setup { git, copy, files, .. } = &file.setup;
    let mut copying = Copying::of(project)?;
    match &file.settings {
        Some(settings) => copy_file(&beside.join(settings), &inside(sandbox, ".gemini/settings.json")?)?,
        None => copying.folder_if_there(&project.join(".gemini"), &sandbox.join(".gemini"))?,
    }
    for (target, source) in copy {
        copying.asked_for(&beside.join(source), &inside(sandbox, target)?)?;
    }
    for (target, content) in files.iter().chain(&case.files) {
        let target = inside(sandbox, target)?;
        std::fs::create_dir_all(target.parent().unwrap_or(sandbox))?;
        std::fs::write(&target, content).with_context(|| format!("can't write {}", target.display()))?;
    }
    if *git {
        make_repository(sandbox)?;
    }
    let packages = project.join(PACKAGES);
    if file.settings.is_none() && packages.is_dir() && !sandbox.join(PACKAGES).exists() {
        link(&packages, &sandbox.join(PACKAGES))?;
        if *git {
            // It is no part of the repository, as in the user's.
            std::fs::create_dir_all(sandbox.join(".git/info"))?;
            std::fs::write(sandbox.join(".git/info/exclude"), format!("/{PACKAGES}\n"))?;
        }
    }
    Ok(copying.left_out)
}

/// A path of the sandbox; a test must not write anywhere else.
fn inside(sandbox: &Path, path: &str) -> anyhow::Result<PathBuf> {
    use std::path::Component;
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        bail!("`{path}` leaves the test's project");
    }
    // A link in there leads to the user's own files.
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

fn link(source: &Path, target: &Path) -> anyhow::Result<()> {
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

/// Folders on their way into a case's project.
struct Copying {
    /// The user's project, as it really is: links to folders outside of it are not followed.
    project: PathBuf,
    /// The folders that are being copied, from the outermost: a link to one of them would have no end.
    open: Vec<PathBuf>,
    entries: usize,
    left_out: Vec<String>,
}

impl Copying {
    /// More are no hook's files: somebody has named the wrong folder.
    const MOST: usize = 20_000;

    fn of(project: &Path) -> anyhow::Result<Copying> {
        let project = project.canonicalize().with_context(|| format!("can't read {}", project.display()))?;
        Ok(Copying { project, open: Vec::new(), entries: 0, left_out: Vec::new() })
    }

    /// A file or a folder that a test names.
    fn asked_for(&mut self, source: &Path, target: &Path) -> anyhow::Result<()> {
        match source.is_dir() {
            true if source.file_name().is_some_and(|name| name == PACKAGES) => link(source, target),
            true => self.folder(source, target),
            false => copy_file(source, target),
        }
    }

    fn folder_if_there(&mut self, source: &Path, target: &Path) -> anyhow::Result<()> {
        if source.is_dir() { self.folder(source, target) } else { Ok(()) }
    }

    fn folder(&mut self, source: &Path, target: &Path) -> anyhow::Result<()> {
        let can_not = || format!("can't copy {}", source.display());
        let entries = source.read_dir().with_context(can_not)?;
        self.open.push(source.canonicalize().with_context(can_not)?);
        std::fs::create_dir_all(target)?;
        for entry in entries {
            let entry = entry.with_context(can_not)?;
            self.entries += 1;
            ensure!(self.entries <= Self::MOST, "{} has more than {} files", source.display(), Self::MOST);
            self.entry(&entry, &target.join(entry.file_name()))?;
        }
        self.open.pop();
        Ok(())
    }

    fn entry(&mut self, entry: &std::fs::DirEntry, target: &Path) -> anyhow::Result<()> {
        let (source, kind) = (entry.path(), entry.file_type()?);
        if source.is_dir() && entry.file_name() == PACKAGES {
            return link(&source, target);
        }
        if kind.is_dir() {
            return self.folder(&source, target);
        }
        if source.is_file() {
            return copy_file(&source, target);
        }
        let why = match source.canonicalize() {
            Ok(_) if !source.is_dir() => "it is neither a file nor a folder",
            Ok(real) if self.open.iter().any(|open| open.starts_with(&real)) => "it leads back to where it stands",
            Ok(real) if !real.starts_with(&self.project) => "it leads to a folder outside of the project",
            Ok(_) => return self.folder(&source, target),
            Err(_) => "it leads nowhere",
        };
        let shown = source.strip_prefix(&self.project).unwrap_or(&source);
        self.left_out.push(format!("{} ({why})", shown.display()));
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
        // Nobody else's mark: hooks of other cases may be starting.
        #[expect(clippy::disallowed_methods, reason = "the user waits for it, and can interrupt it")]
        let output = hookwright_process::start_to_stay(|| git.spawn())
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
