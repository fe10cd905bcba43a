//! Where the session is: folder and branch, for the line at the foot.

use hookwright_settings::Loaded;

use super::app::Status;

/// Where the session is.
pub(crate) fn place(loaded: &Loaded) -> Status {
    let root = &loaded.project.root;
    let folder = match root.strip_prefix(&loaded.paths.home) {
        Ok(inner) if inner.as_os_str().is_empty() => "~".to_owned(),
        Ok(inner) => format!("~/{}", inner.display()),
        Err(_) => root.display().to_string(),
    };
    Status { folder, branch: branch(loaded), ..Status::default() }
}

/// The branch that is checked out.
pub(crate) fn branch(loaded: &Loaded) -> Option<String> {
    hookwright_agent::session::branch(&loaded.project.root)
}
