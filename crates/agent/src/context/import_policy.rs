//! Decides which files context files may import with `@path`, and why others are refused.
//!
//! Imports pass no hook, so they reach notes and nothing that could be a secret.

use std::path::{Component, Path, PathBuf};

use hookwright_tools::{FileFilter, Workspace};

use super::memory::{ContextFileOwner, MemoryOptions, project_top, real_path};

/// The rules for imports.
pub(super) struct ImportPolicy {
    user_dir: PathBuf,
    /// The project's settings directory, which may contain notes.
    project_dir: PathBuf,
    /// The outermost directory of the project.
    project_top: PathBuf,
    /// The workspace whose ignore files apply; without one, every file counts as ignored.
    workspace: Option<Workspace>,
    filter: FileFilter,
}

impl ImportPolicy {
    pub(super) fn new(options: &MemoryOptions<'_>) -> Self {
        let top = real_path(&project_top(options.project_root, options.cwd));
        let workspace = Workspace::new(options.project_root, [top.clone()]).ok();
        let project_dir = real_path(options.project_root).join(".gemini");
        ImportPolicy {
            user_dir: real_path(options.home_gemini_dir),
            project_dir,
            project_top: top,
            workspace,
            filter: options.filter,
        }
    }

    /// Returns why a context file of this owner may not import a file; `None` if it may.
    pub(super) fn refusal_reason(&self, owner: &ContextFileOwner, real: &Path) -> Option<&'static str> {
        match owner {
            ContextFileOwner::User if !real.starts_with(&self.user_dir) => Some("which is not below ~/.gemini"),
            ContextFileOwner::User if !has_extension(real, &["md"]) => Some("which is not a .md file"),
            ContextFileOwner::User => None,
            ContextFileOwner::Extension(directory) if !real.starts_with(directory) => {
                Some("which is outside of its extension")
            }
            ContextFileOwner::Extension(_) if !has_extension(real, &["md", "txt"]) => {
                Some("which is neither .md nor .txt")
            }
            ContextFileOwner::Extension(_) => None,
            ContextFileOwner::Project => self.project_refusal_reason(real),
        }
    }

    fn project_refusal_reason(&self, real: &Path) -> Option<&'static str> {
        let Ok(below) = real.strip_prefix(&self.project_top) else { return Some("which is outside of the project") };
        // Notes are often kept beside the project's settings; in a home directory that would be the user's settings.
        let notes = real.strip_prefix(&self.project_dir).ok().filter(|_| self.project_dir != self.user_dir);
        let notes = notes.filter(|_| has_extension(real, &["md"]));
        if notes.unwrap_or(below).components().any(is_protected_component) {
            return Some("which is protected");
        }
        if !has_extension(real, &["md", "txt"]) {
            return Some("which is neither .md nor .txt");
        }
        let is_ignored = |workspace: &Workspace| self.filter.is_ignored(real, workspace);
        self.workspace.as_ref().is_none_or(is_ignored).then_some("which is ignored")
    }

    /// Returns why a symbolic link with the name of a context file is refused; `None` if it is not.
    ///
    /// Shared notes may lie elsewhere, but a link must not turn any file into a context file.
    pub(super) fn link_refusal_reason(
        &self,
        owner: &ContextFileOwner,
        path: &Path,
        real: &Path,
    ) -> Option<&'static str> {
        let is_itself = real.file_name() == path.file_name();
        if !matches!(owner, ContextFileOwner::Project)
            || has_extension(real, &["md"])
            || (is_itself && real.starts_with(&self.project_top))
        {
            return None;
        }
        if !real.starts_with(&self.project_top) {
            return Some("leads out of the project");
        }
        self.project_refusal_reason(real).map(|_| "leads to a file that context files may not import")
    }
}

/// Returns whether a path component is protected: settings, git's directory, and files of environment variables.
fn is_protected_component(component: Component<'_>) -> bool {
    let name = component.as_os_str().to_string_lossy().to_lowercase();
    [".gemini", ".hookwright", ".git"].contains(&name.as_str()) || name.starts_with(".env")
}

fn has_extension(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|extension| endings.iter().any(|ending| extension.eq_ignore_ascii_case(ending)))
}
