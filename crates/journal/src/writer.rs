//! Appends lines, under a lock that all processes share.
//!
//! The file `head` has the number and digest of the last line and the length of the open segment. A process that is
//! killed between a line and the head leaves a line that the next writer adopts; half a line is cut off. If the segment
//! is shorter than the head says, that goes on record as a gap.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_disk::{ExistingFileMode, append_all, create_private_directory, open_append};
use hookwright_settings::JournalSettings;
use serde_json::{Map, Value};

use crate::chain::{Digest, SplitLine, build_line, merkle_root};
use crate::content::{ContentLevel, Redactor};
use crate::entry::Entry;
use crate::forget::drop_old_segments;
use crate::index::write_index;
use crate::segment::{JournalError, Segment, list_segments, plain_path, sync_directory};

/// The bounds of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// The size of all files at which the oldest segments are removed.
    pub max_bytes: u64,
    /// The age in days at which a segment is removed.
    pub keep_days: u64,
    /// The length at which the open segment is closed.
    pub segment_bytes: u64,
    /// Whether every line is written to the disk before it counts; otherwise whole segments are.
    pub sync_every_line: bool,
}

impl Default for JournalOptions {
    fn default() -> Self {
        JournalOptions { max_bytes: 256 << 20, keep_days: 90, segment_bytes: 4 << 20, sync_every_line: false }
    }
}

impl JournalOptions {
    /// Returns the bounds that the settings ask for.
    pub fn from_settings(settings: &JournalSettings) -> JournalOptions {
        JournalOptions {
            max_bytes: settings.max_mb.saturating_mul(1 << 20),
            keep_days: settings.keep_days,
            sync_every_line: settings.sync_every_line,
            ..JournalOptions::default()
        }
    }
}

/// How long a writer waits for another process's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two attempts to get the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_micros(100);
/// How long a command waits until another process has compressed a segment.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(20);
const MAINTENANCE_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// The length of the head file. It has one length, so that one write replaces it whole.
const HEAD_BYTES: usize = 192;
const HEAD_VERSION: &str = "hookwright-journal-1";

/// A journal that is open for appending.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    options: JournalOptions,
    /// The head file, which is the lock too.
    head: File,
    segment: Option<OpenSegment>,
}

#[derive(Debug)]
struct OpenSegment {
    number: u64,
    file: File,
}

/// The state of a journal after its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last line.
    pub(crate) seq: u64,
    pub(crate) digest: Digest,
    /// The number of the open segment.
    pub(crate) segment: u64,
    /// The length of the open segment in bytes.
    pub(crate) length: u64,
}

impl Head {
    fn encode(&self) -> Vec<u8> {
        let Head { seq, digest, segment, length } = self;
        let mut text = format!("{HEAD_VERSION} {seq} {digest} {segment} {length}").into_bytes();
        text.resize(HEAD_BYTES - 1, b' ');
        text.push(b'\n');
        text
    }

    fn parse(text: &str) -> Option<Head> {
        let mut words = text.split_whitespace();
        let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
        if words.next()? != HEAD_VERSION {
            return None;
        }
        let seq = number(words.next())?;
        let digest = Digest::from_hex(words.next()?)?;
        Some(Head { seq, digest, segment: number(words.next())?, length: number(words.next())? })
    }

    /// Reads the head of a journal; `None` if there is none, or if it can't be read.
    pub(crate) fn read(dir: &Path) -> Option<Head> {
        Head::parse(&hookwright_disk::read_text(&head_path(dir), 4096).ok()?)
    }
}

pub(crate) fn head_path(dir: &Path) -> PathBuf {
    dir.join("head")
}

impl Journal {
    /// Opens the journal in a directory, and creates it if it is missing.
    ///
    /// # Errors
    /// If the directory or its head file cannot be created or opened.
    pub fn open(dir: &Path, options: JournalOptions) -> Result<Journal, JournalError> {
        create_private_directory(dir).map_err(JournalError::io(dir))?;
        Ok(Journal { dir: dir.to_owned(), options, head: open_head(dir)?, segment: None })
    }

    /// The directory of the journal.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends a line, and returns its number.
    ///
    /// # Errors
    /// If the line cannot be written. The journal stays usable.
    pub fn append(&mut self, entry: &Entry, content: Option<&str>) -> Result<u64, JournalError> {
        let text = entry_text(entry);
        let (seq, is_rotated) = self.locked(|journal| {
            let head = journal.current_head()?;
            let head = journal.write_line(head, &text, content)?;
            let is_full = head.length >= journal.options.segment_bytes;
            if is_full {
                journal.rotate(head)?;
            }
            Ok((head.seq, is_full))
        })?;
        if is_rotated && let Err(error) = self.maintain() {
            // The line is written; the next full segment is another occasion.
            tracing::warn!(%error, "can't compress or remove segments of the journal");
        }
        Ok(seq)
    }

    /// Appends a line whose content is prepared first: secrets are removed, large parts are stored apart.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn append_with_content(
        &mut self,
        redactor: &Redactor,
        mut entry: Entry,
        content: Option<Map<String, Value>>,
    ) -> Result<u64, JournalError> {
        if let Entry::Event(event) = &mut entry {
            redactor.redact_names(event);
            if redactor.level == ContentLevel::None {
                event.withheld.get_or_insert_with(|| "journal.content is none".to_owned());
            }
        }
        let content = content.and_then(|content| redactor.encode(&self.dir, content));
        self.append(&entry, content.as_deref())
    }

    /// Closes the open segment.
    pub(crate) fn close_segment(&mut self) -> Result<(), JournalError> {
        self.locked(|journal| {
            let head = journal.current_head()?;
            journal.rotate(head).map(|_| ())
        })
    }

    /// Compresses and indexes closed segments, and removes segments that are too old or too many.
    ///
    /// # Errors
    /// If a segment cannot be read or written.
    pub fn maintain(&mut self) -> Result<(), JournalError> {
        let lock = self.maintenance_file()?;
        // Another process is at it.
        if lock.try_lock().is_err() {
            return Ok(());
        }
        self.compress_closed()?;
        drop_old_segments(self, &self.options.clone())
    }

    /// Runs work on closed segments while no other process changes them.
    pub(crate) fn maintaining<T>(
        &mut self,
        work: impl FnOnce(&mut Journal) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let lock = self.maintenance_file()?;
        let deadline = Instant::now() + MAINTENANCE_TIMEOUT;
        while lock.try_lock().is_err() {
            if Instant::now() >= deadline {
                return Err(JournalError::Locked);
            }
            std::thread::sleep(MAINTENANCE_RETRY_INTERVAL);
        }
        self.compress_closed()?;
        work(self)
    }

    fn maintenance_file(&self) -> Result<File, JournalError> {
        let path = self.dir.join("maintenance");
        open_append(&path, ExistingFileMode::MakePrivate).map_err(JournalError::io(&path))
    }

    fn compress_closed(&self) -> Result<(), JournalError> {
        let Some(head) = Head::read(&self.dir) else { return Ok(()) };
        let is_closed = |segment: &&Segment| !segment.compressed && segment.number < head.segment;
        for segment in list_segments(&self.dir)?.iter().filter(is_closed) {
            // The index is there before the segment is compressed, so that a reader never misses both.
            write_index(&self.dir, segment)?;
            segment.compress(&self.dir)?;
        }
        Ok(())
    }

    /// Runs work while no other process writes.
    fn locked<T>(&mut self, work: impl FnOnce(&mut Journal) -> Result<T, JournalError>) -> Result<T, JournalError> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match self.head.try_lock() {
                // The directory may have been removed meanwhile: then this lock is not the one of the others.
                Ok(()) if is_unlinked(&self.head) => {
                    create_private_directory(&self.dir).map_err(JournalError::io(&self.dir))?;
                    (self.head, self.segment) = (open_head(&self.dir)?, None);
                }
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(JournalError::Locked),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
                Err(TryLockError::Error(error)) => return Err(JournalError::io(&head_path(&self.dir))(error)),
            }
        }
        let done = work(self);
        let _ = self.head.unlock();
        done
    }

    /// Returns the state after the last line, with the open segment at hand. What a killed process or another program
    /// left behind is repaired first.
    fn current_head(&mut self) -> Result<Head, JournalError> {
        let stored = self.read_head()?;
        let head = match stored {
            Some(head) => head,
            None => self.rebuild_head()?,
        };
        self.open_segment(head.segment)?;
        let length = self.segment_length()?;
        if stored.is_some() && length == head.length {
            return Ok(head);
        }
        self.repair(head, length, stored.is_some())
    }

    fn read_head(&mut self) -> Result<Option<Head>, JournalError> {
        let path = head_path(&self.dir);
        let mut text = [0; HEAD_BYTES];
        self.head.seek(SeekFrom::Start(0)).map_err(JournalError::io(&path))?;
        let mut read = 0;
        while read < text.len() {
            match self.head.read(&mut text[read..]).map_err(JournalError::io(&path))? {
                0 => break,
                more => read += more,
            }
        }
        Ok(std::str::from_utf8(&text[..read]).ok().and_then(Head::parse))
    }

    fn write_head(&mut self, head: &Head) -> Result<(), JournalError> {
        let path = head_path(&self.dir);
        self.head.seek(SeekFrom::Start(0)).map_err(JournalError::io(&path))?;
        self.head.write_all(&head.encode()).map_err(JournalError::io(&path))?;
        if self.options.sync_every_line {
            self.head.sync_data().map_err(JournalError::io(&path))?;
        }
        Ok(())
    }

    /// Returns the state from which the last segment is read again, where there is no head.
    fn rebuild_head(&self) -> Result<Head, JournalError> {
        let Some(last) = list_segments(&self.dir)?.pop() else {
            return Ok(Head { segment: 1, ..Head::default() });
        };
        let mut head = Head { segment: last.number, ..Head::default() };
        if let Some(Ok(first)) = last.lines()?.next()
            && let Some(line) = SplitLine::parse(&first.text)
        {
            (head.seq, head.digest) = (line.seq.saturating_sub(1), line.prev);
        }
        if last.compressed {
            for line in last.lines()? {
                if let Some(line) = SplitLine::parse(&line?.text) {
                    (head.seq, head.digest) = (line.seq, line.digest);
                }
            }
            head.segment += 1;
        }
        Ok(head)
    }

    fn open_segment(&mut self, number: u64) -> Result<(), JournalError> {
        let is_open = |open: &OpenSegment| open.number == number && !is_unlinked(&open.file);
        if !self.segment.as_ref().is_some_and(is_open) {
            let path = plain_path(&self.dir, number);
            let file = open_append(&path, ExistingFileMode::MakePrivate).map_err(JournalError::io(&path))?;
            self.segment = Some(OpenSegment { number, file });
        }
        Ok(())
    }

    fn segment_file(&self) -> Result<(&File, PathBuf), JournalError> {
        let open = self.segment.as_ref().ok_or_else(|| JournalError::damaged(&self.dir, "no segment is open"))?;
        Ok((&open.file, plain_path(&self.dir, open.number)))
    }

    fn segment_length(&self) -> Result<u64, JournalError> {
        let (file, path) = self.segment_file()?;
        Ok(file.metadata().map_err(JournalError::io(&path))?.len())
    }

    /// Brings head and segment together: adopts lines that follow the head, cuts off what is no line, and puts on record
    /// what is missing.
    fn repair(&mut self, mut head: Head, length: u64, had_head: bool) -> Result<Head, JournalError> {
        let is_new = !had_head && length == 0 && head.seq == 0;
        let missing = head.length.saturating_sub(length);
        if length > head.length {
            self.adopt_lines(&mut head)?;
        } else {
            head.length = length;
        }
        let (file, path) = self.segment_file()?;
        let cut = length.saturating_sub(head.length);
        if cut > 0 {
            file.set_len(head.length).map_err(JournalError::io(&path))?;
        }
        let problem = match (is_new, had_head) {
            (true, _) => {
                let start = Entry::Start { version: env!("CARGO_PKG_VERSION").to_owned() };
                return self.write_line(head, &entry_text(&start), None);
            }
            (_, false) => "the head file was missing or damaged".to_owned(),
            _ if missing > 0 => format!("the segment is {missing} bytes shorter than the head says"),
            _ if cut > 0 => format!("{cut} bytes that are no line of this journal were removed"),
            _ => {
                self.write_head(&head)?;
                return Ok(head);
            }
        };
        self.write_line(head, &entry_text(&Entry::Gap { problem }), None)
    }

    /// Moves the head over the whole lines that follow it and continue its chain.
    fn adopt_lines(&self, head: &mut Head) -> Result<(), JournalError> {
        let (_, path) = self.segment_file()?;
        let segment = Segment { number: head.segment, path: path.clone(), compressed: false };
        for line in segment.lines()? {
            let line = line?;
            if line.offset < head.length {
                continue;
            }
            let Some(next) = SplitLine::parse(&line.text).filter(|_| line.complete) else { break };
            if next.seq != head.seq + 1 || next.prev != head.digest {
                break;
            }
            let length = line.offset + line.text.len() as u64 + 1;
            *head = Head { seq: next.seq, digest: next.digest, length, ..*head };
        }
        Ok(())
    }

    fn write_line(&mut self, head: Head, entry: &str, content: Option<&str>) -> Result<Head, JournalError> {
        let seq = head.seq + 1;
        let time = format!("{:.3}", jiff::Timestamp::now());
        let (mut line, digest) = build_line(seq, head.digest, &time, entry, content);
        line.push('\n');
        let (file, path) = self.segment_file()?;
        append_all(file, line.as_bytes()).map_err(JournalError::io(&path))?;
        if self.options.sync_every_line {
            file.sync_data().map_err(JournalError::io(&path))?;
        }
        let head = Head { seq, digest, length: head.length + line.len() as u64, ..head };
        self.write_head(&head)?;
        Ok(head)
    }

    /// Closes the open segment and starts the next one with its seal.
    fn rotate(&mut self, head: Head) -> Result<Head, JournalError> {
        let (file, path) = self.segment_file()?;
        file.sync_all().map_err(JournalError::io(&path))?;
        let segment = Segment { number: head.segment, path, compressed: false };
        let mut digests = Vec::new();
        for line in segment.lines()? {
            digests.extend(SplitLine::parse(&line?.text).map(|line| line.digest));
        }
        let next = head.segment + 1;
        let seal =
            Entry::Seal { segment: head.segment, lines: digests.len() as u64, root: merkle_root(digests).to_string() };
        self.open_segment(next)?;
        // A process that was killed here before may have written a seal without moving the head.
        let (file, path) = self.segment_file()?;
        file.set_len(0).map_err(JournalError::io(&path))?;
        let head = self.write_line(Head { segment: next, length: 0, ..head }, &entry_text(&seal), None)?;
        let (file, path) = self.segment_file()?;
        file.sync_all().map_err(JournalError::io(&path))?;
        self.head.sync_data().map_err(JournalError::io(&head_path(&self.dir)))?;
        sync_directory(&self.dir);
        Ok(head)
    }
}

fn entry_text(entry: &Entry) -> String {
    // An entry has no maps with other keys than text, so that it is always JSON.
    serde_json::to_string(entry).unwrap_or_else(|_| r#"{"kind":"gap","problem":"the entry is no JSON"}"#.to_owned())
}

fn open_head(dir: &Path) -> Result<File, JournalError> {
    let path = head_path(dir);
    let open = || {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        hookwright_disk::make_private(&file)?;
        Ok(file)
    };
    open().map_err(JournalError::io(&path))
}

#[cfg(unix)]
fn is_unlinked(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|meta| meta.nlink() == 0)
}

#[cfg(not(unix))]
fn is_unlinked(_: &File) -> bool {
    false
}
