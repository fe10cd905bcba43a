//! Searches for files to mention in the background, so that a large project does not delay keys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ScreenDriver;
use crate::frontend::tui::{completion, project_files};

/// How old the list of files may be before it is rebuilt.
const MAX_FILE_LIST_AGE: Duration = Duration::from_secs(10);

/// The result of a background search.
pub(super) enum FileSearchResult {
    /// The project's files.
    Listed(Arc<Vec<String>>),
    /// The typed text, and the files that match it.
    Matched(String, Vec<String>),
}

impl ScreenDriver<'_> {
    /// Starts a search for files if the user is typing a mention.
    pub(super) fn request_files(&mut self) {
        let before = &self.app.composer.text()[..self.app.composer.cursor()];
        if completion::mention_start(before).is_none() {
            return;
        }
        if let Some(typed) = self.app.names.pending_search(before).filter(|_| !self.is_searching_files) {
            self.is_searching_files = true;
            let (sender, files) = (self.file_searches.0.clone(), self.app.names.files.clone());
            tokio::task::spawn_blocking(move || {
                let found = completion::search_files(&files, &typed);
                sender.send(FileSearchResult::Matched(typed, found))
            });
        }
        if self.files_listed_at.is_none_or(|since| since.elapsed() > MAX_FILE_LIST_AGE) {
            self.files_listed_at = Some(Instant::now());
            let view = self.session.view();
            let (sender, root, filter) =
                (self.file_searches.0.clone(), view.loaded.project.root.clone(), view.services.tool_context.filter);
            tokio::task::spawn_blocking(move || {
                sender.send(FileSearchResult::Listed(project_files::list_files(&root, filter)))
            });
        }
    }

    /// Applies a search result, and searches again if the text has changed meanwhile.
    pub(super) fn apply_file_search(&mut self, looked: FileSearchResult) {
        match looked {
            FileSearchResult::Listed(files) => (self.app.names.files, self.app.names.file_matches) = (files, None),
            FileSearchResult::Matched(typed, found) => {
                self.is_searching_files = false;
                self.app.names.file_matches = Some((typed, found));
            }
        }
        self.app.update_completion();
        self.request_files();
    }
}
