//! The write-ahead log of a database: newer versions of its pages, up to the last commit.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use hookwright_disk::{ReadError, SymlinkPolicy, open_regular};

use super::{SqliteError, read_u32};

const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The magic numbers of logs whose checksums are over little-endian and big-endian words.
const LITTLE_ENDIAN_MAGIC: u32 = 0x377f_0682;
const BIG_ENDIAN_MAGIC: u32 = 0x377f_0683;

/// The log of one database.
pub(super) struct WriteAheadLog {
    file: File,
    /// The offset of the newest committed version of each page.
    pages: HashMap<u32, u64>,
}

impl WriteAheadLog {
    /// Opens the log of a database; `None` if there is none, or none that counts.
    pub(super) fn open(database: &Path, page_bytes: usize) -> Result<Option<WriteAheadLog>, SqliteError> {
        let mut name = OsString::from(database.as_os_str());
        name.push("-wal");
        let file = match open_regular(Path::new(&name), SymlinkPolicy::Follow) {
            Ok((file, _)) => file,
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut reader = BufReader::new(file);
        let mut header = [0; LOG_HEADER_BYTES];
        if !read_whole(&mut reader, &mut header)? {
            return Ok(None);
        }
        let word = |at: usize| read_u32(&header, at).unwrap_or_default();
        let is_big_endian = match word(0) {
            LITTLE_ENDIAN_MAGIC => false,
            BIG_ENDIAN_MAGIC => true,
            _ => return Ok(None),
        };
        let sum = add_checksum((0, 0), &header[..24], is_big_endian);
        if sum != (word(24), word(28)) || word(8) as usize != page_bytes {
            return Ok(None);
        }
        let pages = read_frames(&mut reader, &header, sum, page_bytes, is_big_endian)?;
        Ok(Some(WriteAheadLog { file: reader.into_inner(), pages }))
    }

    pub(super) fn page_count(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Reads a page; returns whether the log has it.
    pub(super) fn read_page(&mut self, number: u32, page: &mut [u8]) -> io::Result<bool> {
        let Some(offset) = self.pages.get(&number) else { return Ok(false) };
        self.file.seek(SeekFrom::Start(*offset))?;
        self.file.read_exact(page)?;
        Ok(true)
    }
}

/// Returns the offsets of all pages up to the last commit. A frame with another salt or a wrong checksum is left over from
/// before, or is being written: it ends the log.
fn read_frames(
    reader: &mut impl Read,
    log_header: &[u8],
    mut sum: (u32, u32),
    page_bytes: usize,
    is_big_endian: bool,
) -> Result<HashMap<u32, u64>, SqliteError> {
    let (mut pages, mut uncommitted) = (HashMap::new(), Vec::new());
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
    let mut offset = LOG_HEADER_BYTES as u64;
    while read_whole(reader, &mut frame)? {
        let word = |at: usize| read_u32(&frame, at).unwrap_or_default();
        sum = add_checksum(sum, &frame[..8], is_big_endian);
        sum = add_checksum(sum, &frame[FRAME_HEADER_BYTES..], is_big_endian);
        if frame[8..16] != log_header[16..24] || sum != (word(16), word(20)) {
            break;
        }
        uncommitted.push((word(0), offset + FRAME_HEADER_BYTES as u64));
        // A frame that ends a transaction has the size of the database.
        if word(4) != 0 {
            pages.extend(uncommitted.drain(..));
        }
        offset += frame.len() as u64;
    }
    Ok(pages)
}

/// Fills the buffer; returns whether the file had enough.
fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Continues a checksum over bytes whose number is a multiple of eight.
fn add_checksum(sum: (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let read = |word: &[u8]| {
        let word = [word[0], word[1], word[2], word[3]];
        if is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    bytes.chunks_exact(8).fold(sum, |(first, second), words| {
        let first = first.wrapping_add(read(&words[..4])).wrapping_add(second);
        let second = second.wrapping_add(read(&words[4..])).wrapping_add(first);
        (first, second)
    })
}
