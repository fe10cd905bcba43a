//! A planned change of one file: computed first, shown for approval, then written as a whole. Shared by the editing
//! tools.

use crate::context::ToolContext;
use crate::diff::FileDiff;
use crate::encoding::{Encoding, LineEnding};
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::file_io;
use crate::result::{ResultContent, ToolDisplay, ToolResult};
use crate::workspace::Workspace;
use std::path::PathBuf;

/// The number of unchanged lines that the model is shown around its change.
const SNIPPET_CONTEXT_LINES: usize = 5;
const MAX_SNIPPET_LINES: usize = 200;

/// The planned new content of a file.
#[derive(Debug)]
pub(super) struct PlannedEdit {
    pub(super) path: PathBuf,
    pub(super) encoding: Encoding,
    /// The current text; `None` if there is no file.
    pub(super) before: Option<String>,
    pub(super) after: String,
}

impl PlannedEdit {
    /// Plans to replace the file's text, keeping its encoding and line endings.
    pub(super) fn overwrite(path: PathBuf, content: &str, ctx: &ToolContext) -> Result<Self, ToolFailure> {
        let existing = file_io::read_text_if_exists(&path, ctx.open_files.as_deref())?;
        let ending = existing.as_ref().map_or(LineEnding::Lf, |existing| LineEnding::detect(&existing.text));
        let after = ending.apply(content);
        let encoding = existing.as_ref().map_or(Encoding::Utf8, |existing| existing.encoding);
        Ok(Self { path, encoding, before: existing.map(|existing| existing.text), after })
    }

    pub(super) fn into_diff(self, workspace: &Workspace) -> FileDiff {
        FileDiff::new(&self.path, workspace.shorten(&self.path), self.before, self.after)
    }

    pub(super) fn into_display(self, workspace: &Workspace) -> ToolDisplay {
        ToolDisplay::Diff(Box::new(self.into_diff(workspace)))
    }

    /// Refuses a change that differs from the one that the user approved, because the file has changed since.
    pub(super) fn check_matches_approved(&self, ctx: &ToolContext) -> Result<(), ToolFailure> {
        let Some(shown) = &ctx.approved_diff else { return Ok(()) };
        if shown.file_path == self.path && shown.original == self.before && shown.new == self.after {
            return Ok(());
        }
        let words =
            format!("{} has changed since the user was shown this change; nothing was written", self.path.display());
        Err(ToolFailure::new(ToolErrorKind::EditPreparationFailure, words).hint("Read it again before you change it."))
    }

    /// Writes the file, through the user's editor if it offers that: it may have unsaved changes. A new file is written
    /// on disk, with the directories that it needs.
    fn write(&self, ctx: &ToolContext) -> Result<(), ToolFailure> {
        let editor = ctx.open_files.as_ref().filter(|_| self.before.is_some());
        match editor.and_then(|editor| editor.write(&self.path, &self.after)) {
            Some(written) => written.map_err(|why| {
                let words = format!("the editor did not write {}: {why}", self.path.display());
                ToolFailure::new(ToolErrorKind::FileWriteFailure, words)
            }),
            None => {
                let write = if self.before.is_some() { file_io::rewrite } else { file_io::write_atomically };
                write(&self.path, &self.encoding.encode(&self.after))
            }
        }
    }

    /// Writes the file. The result for the model begins with `headline`; if the file existed, the changed lines follow.
    pub(super) fn apply(self, headline: String, ctx: &ToolContext) -> Result<ToolResult, ToolFailure> {
        self.check_matches_approved(ctx)?;
        self.write(ctx)?;
        let diff = self.into_diff(&ctx.workspace);
        let snippet =
            if diff.is_new_file() { String::new() } else { diff.snippet(SNIPPET_CONTEXT_LINES, MAX_SNIPPET_LINES) };
        let message =
            if snippet.is_empty() { headline } else { format!("{headline} Here is the updated code:\n{snippet}") };
        Ok(ToolResult::new(ResultContent::Text(message), ToolDisplay::Diff(Box::new(diff))))
    }
}
