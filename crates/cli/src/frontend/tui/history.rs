//! The history of prompts in this and earlier sessions, which the user can step through and search.
//!
//! It is kept in a private file of the user's.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hookwright_disk::{
    Durability, ExistingFileMode, append_all, create_private_directory, open_append, write_atomic_private,
};

use super::fuzzy::{FuzzyMatcher, MatchRank};

/// The number of prompts that are left when the file is trimmed, at twice as many.
const MAX_PROMPTS: usize = 1000;
/// The most that is read of the history file.
const MAX_HISTORY_BYTES: u64 = 16 << 20;

/// Earlier prompts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PromptHistory {
    file: Option<PathBuf>,
    prompts: Vec<String>,
    /// The index of the prompt that is shown, and the draft from before.
    position: Option<(usize, String)>,
    /// Whether the user was warned that prompts are not saved.
    has_warned: bool,
}

impl PromptHistory {
    /// Reads the file, in which each line is a JSON string; unreadable lines are skipped.
    pub(crate) fn open(file: PathBuf) -> Self {
        let text = hookwright_disk::read_text(&file, MAX_HISTORY_BYTES).unwrap_or_default();
        let mut prompts: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if prompts.len() > MAX_PROMPTS * 2 {
            prompts.drain(..prompts.len() - MAX_PROMPTS);
            let kept: String = prompts.iter().map(|prompt| format!("{}\n", serde_json::json!(prompt))).collect();
            // The rewrite only saves space; the next start tries again.
            let _ = write_atomic_private(&file, kept.as_bytes(), Durability::Unsynced);
        }
        PromptHistory { file: Some(file), prompts, position: None, has_warned: false }
    }

    /// Adds a prompt, unless it repeats the last one.
    ///
    /// Returns a warning the first time that it cannot be saved.
    #[must_use]
    pub(crate) fn add(&mut self, prompt: &str) -> Option<String> {
        self.position = None;
        if prompt.trim().is_empty() || self.prompts.last().is_some_and(|last| last == prompt) {
            return None;
        }
        self.prompts.push(prompt.to_owned());
        let error = self.append(prompt).err().filter(|_| !self.has_warned)?;
        self.has_warned = true;
        let file = self.file.as_deref().unwrap_or(Path::new("")).display();
        Some(format!("your prompts are not kept for the next session: {file} can't be written: {error}"))
    }

    fn append(&self, prompt: &str) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            create_private_directory(folder)?;
        }
        append_all(
            &open_append(file, ExistingFileMode::MakePrivate)?,
            format!("{}\n", serde_json::json!(prompt)).as_bytes(),
        )
    }

    /// Returns the prompt before the one that is shown.
    ///
    /// `now` is the draft, which [`newer`](Self::newer) returns at the end.
    pub(crate) fn older(&mut self, now: &str) -> Option<String> {
        let (at, draft) = match self.position.take() {
            Some((at, draft)) => (at, draft),
            None => (self.prompts.len(), now.to_owned()),
        };
        let older = at.checked_sub(1);
        self.position = Some((older.unwrap_or(at), draft)).filter(|(at, _)| *at < self.prompts.len());
        older.and_then(|older| self.prompts.get(older).cloned())
    }

    /// Returns the prompt after the one that is shown, and at the end the draft.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.position.take()?;
        match self.prompts.get(at + 1) {
            Some(prompt) => {
                self.position = Some((at + 1, draft));
                Some(prompt.clone())
            }
            None => Some(draft),
        }
    }

    /// Returns the `skip`-th prompt that matches: those that contain the text, newest first, then subsequence matches.
    pub(crate) fn find(&self, text: &str, skip: usize) -> Option<&str> {
        let mut fitting = FuzzyMatcher::new(text);
        let mut seen = HashSet::new();
        let newest_first = self.prompts.iter().rev().map(String::as_str).filter(|prompt| seen.insert(*prompt));
        let rank = |prompt| match fitting.rank(prompt)? {
            letters @ MatchRank::Subsequence(_) => Some((letters, prompt)),
            _ => Some((MatchRank::Prefix, prompt)),
        };
        let mut found: Vec<(MatchRank, &str)> = newest_first.filter_map(rank).collect();
        found.sort_by_key(|(fit, _)| *fit);
        found.get(skip).map(|(_, prompt)| *prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_that_cannot_be_saved_warns_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "").unwrap();
        let mut history = PromptHistory::open(folder.path().join("f/history"));
        assert!(history.add("one").unwrap().contains("f/history can't be written"));
        assert_eq!(history.add("two"), None);
        assert_eq!(history.older("").as_deref(), Some("two"));
    }

    #[test]
    fn steps_back_and_forth_and_keeps_the_draft() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/history");
        let mut history = PromptHistory::open(file.clone());
        for prompt in ["one", "two\nlines", "two\nlines", " "] {
            assert_eq!(history.add(prompt), None);
        }
        let mut history = PromptHistory::open(file);
        assert_eq!(history.older("draft").as_deref(), Some("two\nlines"));
        assert_eq!(history.older("").as_deref(), Some("one"));
        assert_eq!(history.older(""), None);
        assert_eq!(history.newer().as_deref(), Some("two\nlines"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.find("LINES", 0), Some("two\nlines"));
        assert_eq!(history.find("o", 1), Some("one"));
        assert_eq!(history.find("twlin", 0), Some("two\nlines"));
        assert_eq!(history.find("xyz", 0), None);
    }
}
