//! The directory in which a session's hooks run, held open so that a move of it is noticed. `event/input.rs` has the
//! events.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_process::{DirectoryHandle, DirectoryLocation};

use crate::event::input::Session;

/// A session and its directory, as they were at its start.
#[derive(Clone, Debug)]
pub(crate) struct SessionDir {
    session: Arc<Session>,
    directory: DirectoryHandle,
}

/// A session at one moment, with its current paths.
#[derive(Clone, Debug)]
pub(crate) struct SessionSnapshot {
    session: Arc<Session>,
    pub(crate) directory: DirectoryHandle,
    pub(crate) directory_location: DirectoryLocation,
}

impl SessionDir {
    pub(crate) fn new(session: Session) -> Self {
        let directory = DirectoryHandle::open(&session.cwd);
        SessionDir { session: Arc::new(session), directory }
    }

    /// Switches to another session; if it has the same directory, the open handle is kept.
    pub(crate) fn for_session(&self, session: Session) -> Self {
        match session.cwd == self.session.cwd {
            true => SessionDir { session: Arc::new(session), directory: self.directory.clone() },
            false => SessionDir::new(session),
        }
    }

    /// The session without reading the disk, as if the directory had not moved.
    pub(crate) fn assumed_snapshot(&self) -> SessionSnapshot {
        SessionSnapshot {
            session: self.session.clone(),
            directory: self.directory.clone(),
            directory_location: DirectoryLocation::Unmoved,
        }
    }

    /// The session with the current location of its directory.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        let standing = self.directory.locate();
        let session = match &standing {
            DirectoryLocation::Moved(to) => Arc::new(self.session.with_root_moved(self.directory.path(), to)),
            DirectoryLocation::Unmoved | DirectoryLocation::Gone => self.session.clone(),
        };
        SessionSnapshot { session, directory: self.directory.clone(), directory_location: standing }
    }
}

impl SessionSnapshot {
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The current problem with the directory, if there is one; it may explain why a hook could not start.
    pub(crate) fn directory_problem(&self) -> Option<String> {
        let path = self.directory.path().display();
        match self.directory.locate() {
            DirectoryLocation::Unmoved if self.directory.is_searchable() => None,
            DirectoryLocation::Unmoved => Some(format!("the working directory {path} can't be entered")),
            DirectoryLocation::Moved(to) => Some(format!("the working directory {path} was moved to {}", to.display())),
            DirectoryLocation::Gone => Some(format!("the working directory {path} does not exist")),
        }
    }
}

impl Deref for SessionSnapshot {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Session {
    /// The same session after its directory was moved.
    fn with_root_moved(&self, from: &Path, to: &Path) -> Session {
        let follow = |path: &PathBuf| match path.strip_prefix(from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
            Ok(rest) => to.join(rest),
            Err(_) => path.clone(),
        };
        Session {
            id: self.id.clone(),
            transcript_path: follow(&self.transcript_path),
            cwd: follow(&self.cwd),
            project_dir: follow(&self.project_dir),
            plans_dir: follow(&self.plans_dir),
        }
    }
}
