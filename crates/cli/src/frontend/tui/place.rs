//! The session's folder and branch, for the status line.

use hookwright_settings::LoadedConfig;

use super::app::StatusLine;

/// Returns a status line with the session's folder and branch.
pub(crate) fn initial_location(loaded: &LoadedConfig) -> StatusLine {
    let root = &loaded.project.root;
    let folder = match root.strip_prefix(&loaded.paths.home) {
        Ok(inner) if inner.as_os_str().is_empty() => "~".to_owned(),
        Ok(inner) => format!("~/{}", inner.display()),
        Err(_) => root.display().to_string(),
    };
    StatusLine { folder, branch: current_branch(loaded), ..StatusLine::default() }
}

/// Returns the branch that is checked out.
pub(crate) fn current_branch(loaded: &LoadedConfig) -> Option<String> {
    hookwright_agent::session::current_git_branch(&loaded.project.root)
}
