//! The prompts of this and earlier sessions: stepped through, searched, and kept in a file of the user's own.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hookwright_disk::{Found, Lasting, add, open_own, overwrite, own_directory};

use super::fuzzy::{Fit, Fitting};

/// How many prompts are kept.
const MOST: usize = 1000;
/// The most that is read of them.
const LARGEST: u64 = 16 << 20;

/// Earlier prompts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    file: Option<PathBuf>,
    prompts: Vec<String>,
    /// Which one is shown, and what was being written before.
    at: Option<(usize, String)>,
    /// Whether it was said that prompts are not kept.
    said: bool,
}

impl History {
    /// Reads the file; a missing or damaged one is a short history. Each line is a JSON string.
    pub(crate) fn open(file: PathBuf) -> Self {
        let text = hookwright_disk::read_text(&file, LARGEST).unwrap_or_default();
        let mut prompts: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if prompts.len() > MOST * 2 {
            prompts.drain(..prompts.len() - MOST);
            let kept: String = prompts.iter().map(|prompt| format!("{}\n", serde_json::json!(prompt))).collect();
            // Only a matter of size; the next start tries again.
            let _ = overwrite(&file, kept.as_bytes(), Lasting::No);
        }
        History { file: Some(file), prompts, at: None, said: false }
    }

    /// Adds a prompt, unless it repeats the last one. What to say if it can't be kept; once, for it ends nothing.
    #[must_use]
    pub(crate) fn add(&mut self, prompt: &str) -> Option<String> {
        self.at = None;
        if prompt.trim().is_empty() || self.prompts.last().is_some_and(|last| last == prompt) {
            return None;
        }
        self.prompts.push(prompt.to_owned());
        let error = self.append(prompt).err().filter(|_| !self.said)?;
        self.said = true;
        let file = self.file.as_deref().unwrap_or(Path::new("")).display();
        Some(format!("your prompts are not kept for the next session: {file} can't be written: {error}"))
    }

    fn append(&self, prompt: &str) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            own_directory(folder)?;
        }
        add(&open_own(file, Found::Tightened)?, format!("{}\n", serde_json::json!(prompt)).as_bytes())
    }

    /// The prompt before the one that is shown; `now` comes back at the other end.
    pub(crate) fn older(&mut self, now: &str) -> Option<String> {
        let (at, draft) = match self.at.take() {
            Some((at, draft)) => (at, draft),
            None => (self.prompts.len(), now.to_owned()),
        };
        let older = at.checked_sub(1);
        self.at = Some((older.unwrap_or(at), draft)).filter(|(at, _)| *at < self.prompts.len());
        older.and_then(|older| self.prompts.get(older).cloned())
    }

    /// The prompt after the one that is shown, and at the end what was being written.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let (at, draft) = self.at.take()?;
        match self.prompts.get(at + 1) {
            Some(prompt) => {
                self.at = Some((at + 1, draft));
                Some(prompt.clone())
            }
            None => Some(draft),
        }
    }

    /// The `skip`-th prompt that fits: those that hold the text, the newest first, then those with its letters in that order.
    pub(crate) fn find(&self, text: &str, skip: usize) -> Option<&str> {
        let mut fitting = Fitting::new(text);
        let mut seen = HashSet::new();
        let newest_first = self.prompts.iter().rev().map(String::as_str).filter(|prompt| seen.insert(*prompt));
        let rank = |prompt| match fitting.of(prompt)? {
            letters @ Fit::Letters(_) => Some((letters, prompt)),
            _ => Some((Fit::Begins, prompt)),
        };
        let mut found: Vec<(Fit, &str)> = newest_first.filter_map(rank).collect();
        found.sort_by_key(|(fit, _)| *fit);
        found.get(skip).map(|(_, prompt)| *prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_that_cannot_be_kept_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "").unwrap();
        let mut history = History::open(folder.path().join("f/history"));
        assert!(history.add("one").unwrap().contains("f/history can't be written"));
        assert_eq!(history.add("two"), None);
        assert_eq!(history.older("").as_deref(), Some("two"));
    }

    #[test]
    fn steps_back_and_forth_and_keeps_the_draft() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/history");
        let mut history = History::open(file.clone());
        for prompt in ["one", "two\nlines", "two\nlines", " "] {
            assert_eq!(history.add(prompt), None);
        }
        let mut history = History::open(file);
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
