//! Where a session's hooks run: its directory, held open, and what the session is called there by now. What the words of
//! an event are is `input.rs`.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_process::{Directory, Standing};

use crate::input::Session;

/// A session and its directory, as they were when it began.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    session: Arc<Session>,
    directory: Directory,
}

/// A session as it is at one moment: its paths are those of now.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    session: Arc<Session>,
    pub(crate) directory: Directory,
    pub(crate) standing: Standing,
}

impl Home {
    pub(crate) fn new(session: Session) -> Self {
        let directory = Directory::open(&session.cwd);
        Home { session: Arc::new(session), directory }
    }

    /// Another session; in the same directory, if it is called the same, wherever it is by now.
    pub(crate) fn moved_into(&self, session: Session) -> Self {
        match session.cwd == self.session.cwd {
            true => Home { session: Arc::new(session), directory: self.directory.clone() },
            false => Home::new(session),
        }
    }

    /// Where it was, without a look at the disk.
    pub(crate) fn assumed_spot(&self) -> Spot {
        Spot { session: self.session.clone(), directory: self.directory.clone(), standing: Standing::InPlace }
    }

    /// Where it is now: one look at the path, unless it was moved.
    pub(crate) fn spot(&self) -> Spot {
        let standing = self.directory.standing();
        let session = match &standing {
            Standing::Moved(to) => Arc::new(self.session.with_root_moved(self.directory.path(), to)),
            Standing::InPlace | Standing::Gone => self.session.clone(),
        };
        Spot { session, directory: self.directory.clone(), standing }
    }
}

impl Spot {
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// What is wrong with the directory at this moment, if anything is: whoever could not start may owe it to that.
    pub(crate) fn complaint(&self) -> Option<String> {
        let path = self.directory.path().display();
        match self.directory.standing() {
            Standing::InPlace if self.directory.lets_in() => None,
            Standing::InPlace => Some(format!("the working directory {path} lets nobody in")),
            Standing::Moved(to) => Some(format!("the working directory {path} was moved to {}", to.display())),
            Standing::Gone => Some(format!("the working directory {path} does not exist")),
        }
    }
}

impl Deref for Spot {
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
