//! The change that an edit makes: a unified diff, its size, and the changed lines for the model. It writes no files.

use serde::Serialize;
use serde_json::{Value, json};
use similar::{ChangeTag, DiffOp, TextDiff};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A changed file, or a file to be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The last component of the path.
    pub file_name: String,
    /// The path with symbolic links resolved.
    pub file_path: PathBuf,
    /// The path for display: relative to the project where it is inside.
    pub shown_path: String,
    /// The unified diff, with three lines of context.
    pub unified: String,
    /// The text before the change; `None` for a new file.
    pub original: Option<String>,
    /// The text after the change.
    pub new: String,
    pub stat: DiffStat,
}

/// The size of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DiffStat {
    pub added_lines: usize,
    pub removed_lines: usize,
    pub added_chars: usize,
    pub removed_chars: usize,
}

impl FileDiff {
    /// Compares two texts of one file, which is displayed as `shown_path`.
    pub(crate) fn new(path: &Path, shown_path: String, original: Option<String>, new: String) -> Self {
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let diff = line_diff(original.as_deref().unwrap_or_default(), &new);
        let mut stat = DiffStat::default();
        for change in diff.iter_all_changes() {
            let chars = change.value().trim_end_matches(['\r', '\n']).chars().count();
            match change.tag() {
                ChangeTag::Insert => {
                    stat.added_lines += 1;
                    stat.added_chars += chars;
                }
                ChangeTag::Delete => {
                    stat.removed_lines += 1;
                    stat.removed_chars += chars;
                }
                ChangeTag::Equal => {}
            }
        }
        let header = (format!("{file_name}\tCurrent"), format!("{file_name}\tProposed"));
        let body = diff.unified_diff().context_radius(3).header(&header.0, &header.1).to_string();
        let unified = format!("Index: {file_name}\n{}\n{body}", "=".repeat(67));
        Self { file_name, file_path: path.to_owned(), shown_path, unified, original, new, stat }
    }

    /// Compares two texts that are in no file.
    pub fn between(name: &str, before: String, after: String) -> Self {
        Self::new(Path::new(name), name.to_owned(), Some(before), after)
    }

    /// Returns whether the file is being created.
    pub fn is_new_file(&self) -> bool {
        self.original.is_none()
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "fileDiff": self.unified,
            "fileName": self.file_name,
            "filePath": self.file_path.to_string_lossy(),
            "originalContent": self.original.as_deref().unwrap_or_default(),
            "newContent": self.new,
            "diffStat": {
                "model_added_lines": self.stat.added_lines,
                "model_removed_lines": self.stat.removed_lines,
                "model_added_chars": self.stat.added_chars,
                "model_removed_chars": self.stat.removed_chars,
                "user_added_lines": 0,
                "user_removed_lines": 0,
                "user_added_chars": 0,
                "user_removed_chars": 0,
            },
            "isNewFile": self.is_new_file(),
        })
    }

    /// Returns the changed lines of the new text with some lines around them, at most `limit` lines.
    pub(crate) fn snippet(&self, around: usize, limit: usize) -> String {
        let diff = line_diff(self.original.as_deref().unwrap_or_default(), &self.new);
        let lines: Vec<&str> = self.new.lines().collect();
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for op in diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            let changed = op.new_range();
            let start = changed.start.saturating_sub(around);
            let end = (changed.end + around).min(lines.len());
            match ranges.last_mut() {
                Some(last) if start <= last.1 => last.1 = end.max(last.1),
                _ => ranges.push((start, end)),
            }
        }
        let mut text = String::new();
        let (mut shown, mut last_end) = (0, 0);
        for (start, end) in ranges {
            if start > last_end {
                text.push_str("...\n");
            }
            for line in &lines[start.min(end)..end] {
                if shown == limit {
                    text.push_str("...");
                    return text;
                }
                let _ = writeln!(text, "{line}");
                shown += 1;
            }
            last_end = end;
        }
        if last_end < lines.len() {
            text.push_str("...");
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }
}

/// Compares two texts line by line; past the deadline the diff is coarser, so that two large files do not delay an
/// edit.
fn line_diff<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure().timeout(Duration::from_millis(300)).diff_lines(old, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: Option<&str>, new: &str) -> FileDiff {
        FileDiff::new(Path::new("/w/src/a.rs"), "src/a.rs".to_owned(), old.map(str::to_owned), new.to_owned())
    }

    #[test]
    fn a_unified_diff_with_its_size() {
        let diff = diff(Some("a\nb\nc\n"), "a\nB!\nc\nd\n");
        assert!(diff.unified.contains("--- a.rs\tCurrent\n+++ a.rs\tProposed\n@@ -1,3 +1,4 @@\n a\n-b\n+B!\n c\n+d\n"));
        assert_eq!(diff.stat, DiffStat { added_lines: 2, removed_lines: 1, added_chars: 3, removed_chars: 1 });
        assert!(!diff.is_new_file());
        assert_eq!(diff.to_json()["diffStat"]["model_added_lines"], 2);
    }

    #[test]
    fn a_new_file_is_all_added() {
        let diff = diff(None, "x\ny");
        assert_eq!(diff.stat.added_lines, 2);
        assert!(diff.is_new_file() && diff.unified.contains("\\ No newline at end of file"));
        assert_eq!(diff.to_json()["isNewFile"], true);
    }

    #[test]
    fn the_snippet_shows_changed_places() {
        let old: String = (0..100).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n50\n", "\nfifty\n").replace("\n90\n", "\n");
        let snippet = diff(Some(&old), &new).snippet(1, 100);
        assert_eq!(snippet, "...\n49\nfifty\n51\n...\n89\n91\n...");
        assert_eq!(diff(Some(&old), &new).snippet(1, 2), "...\n49\nfifty\n...");
        assert_eq!(diff(Some("a\nb\n"), "").snippet(3, 9), "");
    }

    #[test]
    fn large_unlike_files_diff_in_time() {
        let old: String = (0..40_000_u64).map(|n| format!("{}\n", n * 7919 % 10_007)).collect();
        let new: String = (0..40_000_u64).map(|n| format!("{}\n", n * 104_729 % 10_009)).collect();
        let started = std::time::Instant::now();
        diff(Some(&old), &new);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}
