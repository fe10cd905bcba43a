//! How far imports of context files reach: which files may be read in the place of an `@path`, and why others may not. They
//! pass no hook, so they reach notes and nothing that could be a secret.

use std::path::{Component, Path, PathBuf};

use hookwright_tools::{FileFilter, Workspace};

use super::memory::{MemoryOptions, Owner, project_top, real};

/// What files may be imported.
pub(super) struct Reach {
    user_dir: PathBuf,
    /// The project's own directory of settings, in which notes may be too.
    project_dir: PathBuf,
    /// The outermost directory of the project.
    top: PathBuf,
    /// Where ignore files count; if there is none, nothing is known not to be ignored.
    workspace: Option<Workspace>,
    filter: FileFilter,
}

impl Reach {
    pub(super) fn new(options: &MemoryOptions<'_>) -> Self {
        let top = real(&project_top(options.project_root, options.cwd));
        let workspace = Workspace::new(options.project_root, [top.clone()]).ok();
        let project_dir = real(options.project_root).join(".gemini");
        Reach { user_dir: real(options.home_gemini_dir), project_dir, top, workspace, filter: options.filter }
    }

    /// Why a file of that owner may not have this one read in its place, if it may not.
    pub(super) fn refuses(&self, owner: &Owner, real: &Path) -> Option<&'static str> {
        match owner {
            Owner::User if !real.starts_with(&self.user_dir) => Some("which is not below ~/.gemini"),
            Owner::User if !has_ending(real, &["md"]) => Some("which is no .md file"),
            Owner::User => None,
            Owner::Extension(directory) if !real.starts_with(directory) => Some("which is outside of its extension"),
            Owner::Extension(_) if !has_ending(real, &["md", "txt"]) => Some("which is neither .md nor .txt"),
            Owner::Extension(_) => None,
            Owner::Project => self.refuses_project(real),
        }
    }

    fn refuses_project(&self, real: &Path) -> Option<&'static str> {
        let Ok(below) = real.strip_prefix(&self.top) else { return Some("which is outside of the project") };
        // Notes are often kept beside the settings; in a home directory, those of the user would be there too.
        let notes = real.strip_prefix(&self.project_dir).ok().filter(|_| self.project_dir != self.user_dir);
        let notes = notes.filter(|_| has_ending(real, &["md"]));
        if notes.unwrap_or(below).components().any(is_protected) {
            return Some("which is protected");
        }
        if !has_ending(real, &["md", "txt"]) {
            return Some("which is neither .md nor .txt");
        }
        let is_ignored = |workspace: &Workspace| self.filter.is_ignored(real, workspace);
        self.workspace.as_ref().is_none_or(is_ignored).then_some("which is ignored")
    }

    /// Why a link by the name of a context file leads nowhere, if it does not. Shared notes may be elsewhere, but not just
    /// anything becomes a context file by being linked to.
    pub(super) fn refuses_link(&self, owner: &Owner, path: &Path, real: &Path) -> Option<&'static str> {
        let is_itself = real.file_name() == path.file_name();
        if !matches!(owner, Owner::Project) || has_ending(real, &["md"]) || (is_itself && real.starts_with(&self.top)) {
            return None;
        }
        if !real.starts_with(&self.top) {
            return Some("leads out of the project");
        }
        self.refuses_project(real).map(|_| "leads to what no context file may import")
    }
}

/// Settings, what git knows, and variables.
fn is_protected(component: Component<'_>) -> bool {
    let name = component.as_os_str().to_string_lossy().to_lowercase();
    [".gemini", ".hookwright", ".git"].contains(&name.as_str()) || name.starts_with(".env")
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|extension| endings.iter().any(|ending| extension.eq_ignore_ascii_case(ending)))
}
