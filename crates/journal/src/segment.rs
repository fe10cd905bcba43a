//! The files of a journal: numbered segments, plain while they are open and compressed once they are closed.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use hookwright_disk::{FilePrivacy, ReadError, SymlinkPolicy};

/// The bound of one line. A writer keeps its lines far below it.
pub(crate) const MAX_LINE_BYTES: u64 = 4 << 20;
/// The bound of a decompressed segment that is held in memory.
const MAX_SEGMENT_TEXT_BYTES: u64 = 256 << 20;

/// Why the journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system returned an error.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The user wants no journal.
    #[error("`journal.enabled` is false")]
    Disabled,
    /// Another process has held the lock for too long.
    #[error("another process holds the lock of the journal")]
    Locked,
    /// A file is not what the journal writes.
    #[error("{path}: {problem}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl JournalError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> JournalError + use<> {
        let path = path.to_owned();
        move |source| JournalError::Io { path, source }
    }

    pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> JournalError {
        JournalError::Damaged { path: path.to_owned(), problem: problem.into() }
    }
}

impl From<(&Path, ReadError)> for JournalError {
    fn from((path, error): (&Path, ReadError)) -> Self {
        match error {
            ReadError::Io(source) => JournalError::Io { path: path.to_owned(), source },
            other => JournalError::damaged(path, other.to_string()),
        }
    }
}

/// One segment on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) compressed: bool,
}

const PLAIN_SUFFIX: &str = ".jsonl";
const COMPRESSED_SUFFIX: &str = ".jsonl.zst";

pub(crate) fn plain_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}{PLAIN_SUFFIX}"))
}

fn compressed_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}{COMPRESSED_SUFFIX}"))
}

pub(crate) fn index_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.index"))
}

/// Lists the segments of a journal in order. A segment that was compressed counts once.
pub(crate) fn list_segments(dir: &Path) -> Result<Vec<Segment>, JournalError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JournalError::io(dir)(error)),
    };
    let mut segments: Vec<Segment> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(JournalError::io(dir))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let (number, compressed) = match (name.strip_suffix(COMPRESSED_SUFFIX), name.strip_suffix(PLAIN_SUFFIX)) {
            (Some(number), _) => (number, true),
            (_, Some(number)) => (number, false),
            _ => continue,
        };
        if let Ok(number) = number.parse() {
            segments.push(Segment { number, path: entry.path(), compressed });
        }
    }
    // The compressed file is complete as soon as it has its name, so it stands for both.
    segments.sort_by_key(|segment| (segment.number, !segment.compressed));
    segments.dedup_by_key(|segment| segment.number);
    Ok(segments)
}

impl Segment {
    /// Opens the text of the segment.
    pub(crate) fn open(&self) -> Result<Box<dyn BufRead>, JournalError> {
        let (file, _) = hookwright_disk::open_regular(&self.path, SymlinkPolicy::Refuse)
            .map_err(|error| JournalError::from((self.path.as_path(), error)))?;
        match self.compressed {
            false => Ok(Box::new(BufReader::with_capacity(1 << 16, file))),
            true => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(BufReader::with_capacity(1 << 16, file))
                    .map_err(|error| JournalError::damaged(&self.path, format!("it can't be decompressed: {error}")))?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)))
            }
        }
    }

    /// Reads the whole text of the segment.
    pub(crate) fn read_text(&self) -> Result<Vec<u8>, JournalError> {
        let mut bytes = Vec::new();
        let opened = self.open()?;
        opened.take(MAX_SEGMENT_TEXT_BYTES + 1).read_to_end(&mut bytes).map_err(JournalError::io(&self.path))?;
        if bytes.len() as u64 > MAX_SEGMENT_TEXT_BYTES {
            return Err(JournalError::damaged(&self.path, "the segment is too large"));
        }
        Ok(bytes)
    }

    /// Returns the lines of the segment, each without its newline. Bytes that are not UTF-8 are replaced.
    pub(crate) fn lines(&self) -> Result<SegmentLines, JournalError> {
        Ok(SegmentLines { reader: self.open()?, path: self.path.clone(), offset: 0 })
    }

    /// Compresses the segment, and removes the plain file once the compressed one is on disk.
    pub(crate) fn compress(&self, dir: &Path) -> Result<(), JournalError> {
        self.rewrite(dir, &self.read_text()?)
    }

    /// Replaces the text of a closed segment.
    pub(crate) fn rewrite(&self, dir: &Path, text: &[u8]) -> Result<(), JournalError> {
        let path = compressed_path(dir, self.number);
        hookwright_disk::write_atomic(&path, &compress(text), FilePrivacy::Private, SymlinkPolicy::Refuse)
            .map_err(JournalError::io(&path))?;
        fs::remove_file(plain_path(dir, self.number)).or_else(ignore_missing).map_err(JournalError::io(&self.path))
    }

    /// The size of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }
}

/// Compresses a text.
pub(crate) fn compress(text: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::with_capacity(text.len() / 4);
    ruzstd::encoding::compress(text, &mut compressed, ruzstd::encoding::CompressionLevel::Fastest);
    compressed
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The lines of a segment, with the position of each.
pub(crate) struct SegmentLines {
    reader: Box<dyn BufRead>,
    path: PathBuf,
    offset: u64,
}

/// A line of a segment, and the offset at which it starts.
pub(crate) struct RawLine {
    pub(crate) offset: u64,
    pub(crate) text: String,
    /// Whether the line ends with a newline; the last one may be cut off.
    pub(crate) complete: bool,
}

impl Iterator for SegmentLines {
    type Item = Result<RawLine, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        let read = match self.reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(read) => read,
            Err(error) => return Some(Err(JournalError::io(&self.path)(error))),
        };
        let offset = self.offset;
        self.offset += read as u64;
        let complete = bytes.last() == Some(&b'\n');
        if complete {
            bytes.pop();
        }
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Some(Ok(RawLine { offset, text, complete }))
    }
}

/// Syncs a directory, where the system can.
pub(crate) fn sync_directory(dir: &Path) {
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
}
