//! Where a session's hooks run: its directory, held open, and what the session is called there by now. What the words of
//! an event are is `input.rs`.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_process::{DirectoryHandle, DirectoryLocation};

use crate::event::input::Session;

/// A session and its directory, as they were when it began.
#[derive(Clone, Debug)]
pub(crate) struct SessionDir {
    session: Arc<Session>,
    directory: DirectoryHandle,
}

/// A session as it is at one moment: its paths are those of now.
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

    /// Another session; in the same directory, if it is called the same, wherever it is by now.
    pub(crate) fn for_session(&self, session: Session) -> Self {
        match session.cwd == self.session.cwd {
            true => SessionDir { session: Arc::new(session), directory: self.directory.clone() },
            false => SessionDir::new(session),
        }
    }

    /// Where it was, without a look at the disk.
    pub(crate) fn assumed_snapshot(&self) -> SessionSnapshot {
        SessionSnapshot {
            session: self.session.clone(),
            directory: self.directory.clone(),
            directory_location: DirectoryLocation::Unmoved,
        }
    }

    /// Where it is now: one look at the path, unless it was moved.
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

    /// What is wrong with the directory at this moment, if anything is: whoever could not start may owe it to that.
    pub(crate) fn directory_problem(&self) -> Option<String> {
        let path = self.directory.path().display();
        match self.directory.locate() {
            DirectoryLocation::Unmoved if self.directory.is_searchable() => None,
            DirectoryLocation::Unmoved => Some(format!("the working directory {path} lets nobody in")),
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
    /// The same session, after its directory was moved.
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
