//! A lazy scan of an agent's transcripts: finds the files, and reads one after another.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hookwright_disk::{SymlinkPolicy, open_regular, read};
use jiff::Timestamp;
use serde_json::Value;

use super::call::{TranscriptItem, TranscriptProblem};
use super::call_tracker::CallTracker;
use super::claude_code::ClaudeCodeFormat;
use super::codex::CodexFormat;
use super::copilot::CopilotFormat;
use super::gemini_cli::GeminiCliFormat;
use super::json_lines::{JsonLinesTranscript, LineFormat};
use super::location::{TranscriptFileKind, TranscriptLocation, classify_file, is_searched};
use super::opencode::{OpencodeDatabase, read_part};
use super::qwen::QwenFormat;
use super::sqlite::SqliteFile;
use super::zstd::{MAX_DECOMPRESSED_BYTES, ZstdReader};
use crate::host::Host;

/// The size of a transcript that is one document.
const MAX_DOCUMENT_BYTES: u64 = 64 << 20;
/// The depth of directories below an agent's own.
const MAX_DEPTH: usize = 8;
/// The number of files and directories that are looked at.
const MAX_ENTRIES: usize = 500_000;
/// A file that was last changed this long before the bound can hold no call after it, whatever the clock did.
const CLOCK_SLACK: Duration = Duration::from_secs(24 * 3600);

/// An iterator over the calls in an agent's transcripts, and over what could not be read.
pub struct TranscriptScan {
    agent: Host,
    since: Option<Timestamp>,
    files: VecDeque<(PathBuf, TranscriptFileKind)>,
    queue: VecDeque<TranscriptItem>,
    current: Option<OpenTranscript>,
    read_files: usize,
}

/// A transcript that is being read.
struct OpenTranscript {
    reader: TranscriptReader,
    calls: CallTracker,
}

enum TranscriptReader {
    Lines(Box<JsonLinesTranscript>),
    Database(Box<OpencodeDatabase>),
    Finished,
}

impl TranscriptScan {
    /// Creates a scan of the transcripts at a location, for calls at or after `since`.
    pub fn new(location: &TranscriptLocation, since: Option<Timestamp>) -> TranscriptScan {
        let mut finder = FileFinder::new(location.agent, since);
        for directory in &location.directories {
            finder.search(directory);
        }
        if let Some(file) = &location.database {
            finder.add_file(file, TranscriptFileKind::Database);
        }
        TranscriptScan {
            agent: location.agent,
            since,
            files: finder.files.into(),
            queue: finder.problems.into_iter().map(TranscriptItem::Problem).collect(),
            current: None,
            read_files: 0,
        }
    }

    /// Returns how many transcripts were opened so far.
    pub fn read_files(&self) -> usize {
        self.read_files
    }

    fn open_next(&mut self) -> bool {
        let Some((path, kind)) = self.files.pop_front() else { return false };
        let mut calls = CallTracker::new(self.agent, Arc::from(path.as_path()), self.since);
        self.read_files += 1;
        let reader = match kind {
            TranscriptFileKind::Lines | TranscriptFileKind::CompressedLines => self.open_lines(&path, kind, &mut calls),
            TranscriptFileKind::Database => self.open_database(&path, &mut calls),
            TranscriptFileKind::Document => {
                self.read_document(&path, &mut calls);
                TranscriptReader::Finished
            }
        };
        self.current = Some(OpenTranscript { reader, calls });
        true
    }

    fn open_lines(&self, path: &Path, kind: TranscriptFileKind, calls: &mut CallTracker) -> TranscriptReader {
        let format: Box<dyn LineFormat> = match self.agent {
            Host::ClaudeCode => Box::new(ClaudeCodeFormat),
            Host::Codex => Box::new(CodexFormat),
            Host::Copilot => Box::new(CopilotFormat::default()),
            Host::Qwen => Box::new(QwenFormat),
            _ => Box::new(GeminiCliFormat::new(path)),
        };
        let opened = open_regular(path, SymlinkPolicy::Follow).map_err(|error| error.to_string());
        let opened = opened.and_then(|(file, _)| match kind {
            TranscriptFileKind::CompressedLines => ZstdReader::new(BufReader::new(file), MAX_DECOMPRESSED_BYTES)
                .map(|text| Box::new(text) as Box<dyn Read>)
                .map_err(|error| error.to_string()),
            _ => Ok(Box::new(file) as Box<dyn Read>),
        });
        match opened {
            Ok(text) => TranscriptReader::Lines(Box::new(JsonLinesTranscript::new(text, format))),
            Err(error) => {
                calls.report(None, format!("can't be read: {error}"));
                TranscriptReader::Finished
            }
        }
    }

    fn open_database(&self, path: &Path, calls: &mut CallTracker) -> TranscriptReader {
        match SqliteFile::open(path).and_then(|file| OpencodeDatabase::open(file, self.since)) {
            Ok(database) => TranscriptReader::Database(Box::new(database)),
            Err(error) => {
                calls.report(None, format!("can't be read as a database: {error}"));
                TranscriptReader::Finished
            }
        }
    }

    fn read_document(&self, path: &Path, calls: &mut CallTracker) {
        let bytes = match read(path, MAX_DOCUMENT_BYTES, SymlinkPolicy::Follow) {
            Ok(bytes) => bytes,
            Err(error) => return calls.report(None, format!("can't be read: {error}")),
        };
        let Ok(document) = serde_json::from_slice::<Value>(&bytes) else {
            return calls.report(None, "is not JSON");
        };
        match self.agent {
            Host::Opencode => {
                calls.session.id = document["sessionID"].as_str().unwrap_or_default().to_owned();
                read_part(&document, 1, calls);
            }
            _ => GeminiCliFormat::new(path).read_document(&document, calls),
        }
    }
}

impl Iterator for TranscriptScan {
    type Item = TranscriptItem;

    fn next(&mut self) -> Option<TranscriptItem> {
        loop {
            if let Some(item) = self.queue.pop_front() {
                return Some(item);
            }
            let Some(current) = &mut self.current else {
                if !self.open_next() {
                    return None;
                }
                continue;
            };
            if let Some(item) = current.calls.pop() {
                return Some(item);
            }
            let has_more = match &mut current.reader {
                TranscriptReader::Lines(lines) => lines.read_step(&mut current.calls),
                TranscriptReader::Database(database) => database.read_step(&mut current.calls),
                TranscriptReader::Finished => {
                    self.current = None;
                    continue;
                }
            };
            if !has_more {
                current.reader = TranscriptReader::Finished;
            }
        }
    }
}

/// Finds the transcripts below an agent's directories. Links are followed, each directory is entered once.
struct FileFinder {
    agent: Host,
    changed_after: Option<SystemTime>,
    files: Vec<(PathBuf, TranscriptFileKind)>,
    problems: Vec<TranscriptProblem>,
    visited: HashSet<PathBuf>,
    entries: usize,
}

impl FileFinder {
    fn new(agent: Host, since: Option<Timestamp>) -> FileFinder {
        let changed_after = since.and_then(|since| SystemTime::from(since).checked_sub(CLOCK_SLACK));
        FileFinder {
            agent,
            changed_after,
            files: Vec::new(),
            problems: Vec::new(),
            visited: HashSet::new(),
            entries: 0,
        }
    }

    fn report(&mut self, path: &Path, problem: String) {
        self.problems.push(TranscriptProblem { agent: self.agent, file: path.to_owned(), line: None, problem });
    }

    fn search(&mut self, root: &Path) {
        let mut directories = vec![(root.to_owned(), 0)];
        while let Some((directory, depth)) = directories.pop() {
            let real = match directory.canonicalize() {
                Ok(real) => real,
                // An agent that was never used has no directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return,
                Err(error) => {
                    self.report(&directory, format!("can't be read: {error}"));
                    continue;
                }
            };
            if !self.visited.insert(real) {
                continue;
            }
            let found = self.list(&directory);
            for path in found.into_iter().rev() {
                if depth < MAX_DEPTH && is_searched(self.agent, root, &path) {
                    directories.push((path, depth + 1));
                }
            }
        }
    }

    /// Adds the transcripts in a directory, and returns the directories in it, sorted.
    fn list(&mut self, directory: &Path) -> Vec<PathBuf> {
        let mut directories = Vec::new();
        let entries = match fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => {
                self.report(directory, format!("can't be read: {error}"));
                return directories;
            }
        };
        self.entries += entries.len();
        if self.entries > MAX_ENTRIES {
            self.report(directory, format!("was not searched: there are more than {MAX_ENTRIES} files"));
            return directories;
        }
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        for path in paths {
            let kind = classify_file(self.agent, &path);
            match (fs::metadata(&path), kind) {
                (Ok(found), None) if found.is_dir() => directories.push(path),
                // The agent compresses a file into a second one, and then removes the first.
                (Ok(_), Some(TranscriptFileKind::CompressedLines)) if path.with_extension("").exists() => {}
                (_, Some(kind)) => self.add_file(&path, kind),
                (Ok(_) | Err(_), None) => {}
            }
        }
        directories
    }

    fn add_file(&mut self, path: &Path, kind: TranscriptFileKind) {
        let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        match path.canonicalize() {
            // A file that links lead to in two ways is read once.
            Ok(real) => {
                if self.visited.insert(real) && !self.is_too_old(path, kind) {
                    self.files.push((path.to_owned(), kind));
                }
            }
            // A file that was removed since is no transcript any more; a link may have led to one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_link => {}
            Err(error) => self.report(path, format!("can't be read: {error}")),
        }
    }

    /// Returns whether a file was last changed too early to hold a call that matters.
    fn is_too_old(&self, path: &Path, kind: TranscriptFileKind) -> bool {
        // A database writes into a second file first, and its rows have times.
        let has_own_time = kind == TranscriptFileKind::Database;
        let changed = fs::metadata(path).and_then(|found| found.modified());
        !has_own_time && changed.is_ok_and(|changed| self.changed_after.is_some_and(|after| changed < after))
    }
}
