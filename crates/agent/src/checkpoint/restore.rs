//! Brings files and a conversation back. What is there first becomes a checkpoint of its own, so that every restore can be
//! undone; what can't be kept so is left alone. Every act is by a path without links, in a directory that is held open: a
//! link that turns up on the way is refused, whoever put it there.

use std::io;
use std::path::Path;

use hookwright_disk::{Links, Privacy};
use jiff::Timestamp;

use super::What;
use super::look::{State, look, state};
use super::plan::{Change, Deed, Plan, Roots};
use super::store::{Checkpoint, CheckpointError, KeptFile, Kind, Mark, Store};
use crate::transcript::{self, Entry, Transcript};

/// What becomes of files that somebody has changed since the agent did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// They stay as they are.
    Keep,
    /// They are overwritten.
    Overwrite,
}

/// What came of a restore.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The checkpoint that undoes it.
    pub undo: u64,
    /// The files that are as they were.
    pub files: Vec<String>,
    /// Those that are not, and why.
    pub left: Vec<(String, String)>,
    /// Whether the conversation was brought back.
    pub conversation: bool,
}

impl Store {
    /// Brings back what a plan says, as things are now. `here` is where the conversation stands that a restore leaves.
    ///
    /// # Errors
    /// If what is there can't be kept first; then nothing has changed.
    pub fn restore(
        &self,
        number: u64,
        what: What,
        since: Since,
        roots: &Roots<'_>,
        here: Option<Mark>,
    ) -> Result<Restored, CheckpointError> {
        let plan = self.plan(number, roots)?;
        if what.conversation() && plan.checkpoint.conversation.is_none() {
            return Err(CheckpointError::NoConversation(number));
        }
        let mut undo = self.begin(Checkpoint {
            number: 0,
            kind: Kind::Restore,
            session: plan.checkpoint.session.clone(),
            prompt: format!("restored {number}: {}", first_line(&plan.checkpoint.prompt)),
            time: Timestamp::now(),
            conversation: here,
            files: Vec::new(),
            notes: Vec::new(),
        })?;
        let mut restored =
            Restored { undo: undo.number, files: Vec::new(), left: Vec::new(), conversation: what.conversation() };
        if what.files() {
            self.keep_first(&plan, &mut undo)?;
            let done = self.bring_all_back(&plan.changes, since);
            for (change, done) in plan.changes.iter().zip(done) {
                match done {
                    Ok(()) => restored.files.push(change.shown.clone()),
                    Err(why) => {
                        undo.files.retain(|file| file.path != change.path);
                        restored.left.push((change.shown.clone(), why));
                    }
                }
            }
            self.write(&undo)?;
        }
        Ok(restored)
    }

    /// What stands there now, before anything of it is changed.
    fn keep_first(&self, plan: &Plan, undo: &mut Checkpoint) -> Result<(), CheckpointError> {
        for change in plan.changes.iter().filter(|change| change.deed.is_done()) {
            let (state, bytes) = look(&change.path);
            if let (State::File { sha256, .. }, Some(bytes)) = (&state, bytes) {
                self.keep(sha256, &bytes)?;
            }
            undo.files.push(KeptFile { path: change.path.clone(), before: state, after: change.target.clone() });
        }
        self.write(undo)
    }

    /// Brings files back, in the order that lets none lead another elsewhere: what is new goes first, what is deepest before
    /// what holds it, then files come back, and links last. What came of each, in the order of the changes.
    fn bring_all_back(&self, changes: &[Change], since: Since) -> Vec<Result<(), String>> {
        let rank = |change: &Change| match change.target {
            State::Missing { .. } => 0,
            State::File { .. } | State::Unkept { .. } => 1,
            State::Link { .. } => 2,
        };
        let mut order: Vec<usize> = (0..changes.len()).rev().collect();
        order.sort_by_key(|at| rank(&changes[*at]));
        let mut done: Vec<Result<(), String>> = vec![Ok(()); changes.len()];
        for at in order {
            done[at] = self.bring_back(&changes[at], since);
        }
        done
    }

    pub(super) fn bring_back(&self, change: &Change, since: Since) -> Result<(), String> {
        if let Deed::Refused(why) = &change.deed {
            return Err(why.clone());
        }
        if change.changed_since && since == Since::Keep {
            return Err("it was changed since".to_owned());
        }
        if state(&change.path) != change.now {
            return Err("it has just changed".to_owned());
        }
        let done = match &change.target {
            State::Missing { parents } => remove(&change.path, *parents),
            State::Link { to } => hookwright_disk::replace_by_link(&change.path, to),
            State::File { sha256, mode, .. } => {
                let content = self.content(&change.path, sha256).map_err(|error| error.to_string())?;
                write(&change.path, &content, *mode, &change.deed)
            }
            State::Unkept { why } => return Err(why.clone()),
        };
        done.map_err(|error| error.to_string())
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// Gives a file its former content and mode, which it has from the first moment on.
fn write(path: &Path, content: &[u8], mode: u32, deed: &Deed) -> io::Result<()> {
    #[cfg(unix)]
    if *deed == Deed::Mode {
        use std::os::unix::fs::PermissionsExt;
        let (file, _) = hookwright_disk::open_regular(path, Links::Refuse).map_err(io::Error::other)?;
        return file.set_permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = deed;
    hookwright_disk::replace(path, content, Privacy::Mode(mode), Links::Refuse)
}

/// Removes a file or a link, and so many of the folders above it as were made for it and are empty.
fn remove(path: &Path, parents: u32) -> io::Result<()> {
    hookwright_disk::remove_file(path)?;
    for folder in path.ancestors().skip(1).take(parents as usize) {
        if hookwright_disk::remove_directory(folder).is_err() {
            break;
        }
    }
    Ok(())
}

impl Checkpoint {
    /// Brings back the conversation of a session that is not running.
    ///
    /// # Errors
    /// If it runs, or its transcript can't be used.
    pub fn restore_conversation(&self) -> Result<(), CheckpointError> {
        let mark = self.conversation.as_ref().ok_or(CheckpointError::NoConversation(self.number))?;
        let history = transcript::load_until(&mark.transcript, mark.at)?.history;
        let mut transcript = Transcript::open(&mark.transcript)?;
        Ok(transcript.append(&Entry::Rewound { history })?)
    }

    /// Where the conversation stands by now whose place this names.
    pub fn conversation_now(&self) -> Option<Mark> {
        let transcript = self.conversation.as_ref()?.transcript.clone();
        let at = transcript.metadata().ok()?.len();
        Some(Mark { transcript, at })
    }
}
