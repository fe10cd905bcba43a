//! Files to mention: looked for beside the loop while somebody types, so that a large project holds up no key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Driver;
use crate::tui::{complete, files};

/// How old the list of files may be before it is made again.
const FILES_AGE: Duration = Duration::from_secs(10);

/// What was looked for beside the loop.
pub(super) enum Looked {
    /// The project's files.
    Listed(Arc<Vec<String>>),
    /// Those that fit what was typed.
    Found(String, Vec<String>),
}

impl Driver<'_> {
    /// Starts to look for files where somebody wants to mention one.
    pub(super) fn want_files(&mut self) {
        let before = &self.app.composer.text()[..self.app.composer.cursor()];
        if complete::mention(before).is_none() {
            return;
        }
        if let Some(typed) = self.app.names.wants(before).filter(|_| !self.finding) {
            self.finding = true;
            let (sender, files) = (self.files.0.clone(), self.app.names.files.clone());
            tokio::task::spawn_blocking(move || {
                let found = complete::search(&files, &typed);
                sender.send(Looked::Found(typed, found))
            });
        }
        if self.files_since.is_none_or(|since| since.elapsed() > FILES_AGE) {
            self.files_since = Some(Instant::now());
            let view = self.session.view();
            let (sender, root, filter) =
                (self.files.0.clone(), view.loaded.project.root.clone(), view.services.tool_context.filter);
            tokio::task::spawn_blocking(move || sender.send(Looked::Listed(files::list(&root, filter))));
        }
    }

    /// What was looked for is there; something else may have been typed meanwhile.
    pub(super) fn looked(&mut self, looked: Looked) {
        match looked {
            Looked::Listed(files) => (self.app.names.files, self.app.names.found) = (files, None),
            Looked::Found(typed, found) => {
                self.finding = false;
                self.app.names.found = Some((typed, found));
            }
        }
        self.app.completion = complete::Completion::find(&self.app.composer, &self.app.names);
        self.want_files();
    }
}
