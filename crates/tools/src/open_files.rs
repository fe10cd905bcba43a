//! Text files that a program outside of this one has open, such as an editor with unsaved changes.

use std::fmt;
use std::path::Path;

/// The files that a user's editor has open, or could open.
///
/// Its functions are called on threads that may block.
pub trait OpenFiles: fmt::Debug + Send + Sync {
    /// Returns the text of a file that exists; `None` if the editor does not say, so that the file on disk counts.
    fn read(&self, path: &Path) -> Option<String>;

    /// Replaces the text of a file that exists; `None` if the editor does not do so.
    ///
    /// # Errors
    /// If the editor refuses or fails; the text says why.
    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>>;
}
