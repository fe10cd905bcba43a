//! A reader of SQLite databases, for tables of an agent's transcripts: no queries, no indexes, no writing.
//!
//! It reads the file and its write-ahead log as a snapshot, without locks, so that the agent is never disturbed. Pages
//! that contradict one another are an error. The format is the one of <https://www.sqlite.org/fileformat2.html>.

mod record;
mod wal;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hookwright_disk::{ReadError, SymlinkPolicy, open_regular};

pub(super) use record::TableRow;
use wal::WriteAheadLog;

const HEADER_BYTES: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The depth of a tree: 2^32 pages have fewer levels.
const MAX_TREE_DEPTH: usize = 20;

/// Why a database can't be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Open(#[from] ReadError),
    /// The file has no header of a database.
    #[error("it is no SQLite database")]
    NoDatabase,
    /// The file uses something that this reader does not know.
    #[error("{0}")]
    Unknown(String),
    /// Pages contradict one another.
    #[error("its page {0} is damaged")]
    Damaged(u32),
    /// A row is larger than what is read.
    #[error("a row is too large")]
    TooLarge,
}

/// A database file with its write-ahead log.
pub(super) struct SqliteFile {
    path: PathBuf,
    file: File,
    changed: Option<(u64, SystemTime)>,
    wal: Option<WriteAheadLog>,
    page_bytes: usize,
    usable_bytes: usize,
}

/// A table: its first page and its columns.
pub(super) struct SqliteTable {
    pub(super) root: u32,
    pub(super) columns: Vec<String>,
}

impl SqliteFile {
    pub(super) fn open(path: &Path) -> Result<SqliteFile, SqliteError> {
        let (mut file, _) = open_regular(path, SymlinkPolicy::Follow)?;
        let changed = change_mark(path);
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| SqliteError::NoDatabase)?;
        if &header[..16] != MAGIC {
            return Err(SqliteError::NoDatabase);
        }
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65536,
            bytes => usize::from(bytes),
        };
        if !page_bytes.is_power_of_two() || page_bytes < 512 {
            return Err(SqliteError::NoDatabase);
        }
        let usable_bytes = page_bytes.saturating_sub(usize::from(header[20]));
        let encoding = u32::from_be_bytes([header[56], header[57], header[58], header[59]]);
        // An empty database has no encoding yet.
        if usable_bytes < 480 || encoding > 1 || header[19] > 2 {
            return Err(SqliteError::Unknown("it uses a form of SQLite's format that is not known".to_owned()));
        }
        let wal = WriteAheadLog::open(path, page_bytes)?;
        Ok(SqliteFile { path: path.to_owned(), file, changed, wal, page_bytes, usable_bytes })
    }

    /// Returns whether the file was written to since it was opened, so that pages of two states may have been read.
    pub(super) fn has_changed(&self) -> bool {
        change_mark(&self.path) != self.changed
    }

    /// Returns a table of the schema.
    pub(super) fn table(&mut self, name: &str) -> Result<SqliteTable, SqliteError> {
        let mut rows = TableRows::new(1);
        while let Some(mut row) = rows.next_row(self)? {
            row.load(self)?;
            if row.text(0)?.as_deref() != Some("table") || row.text(1)?.as_deref() != Some(name) {
                continue;
            }
            let root = row.integer(3)?.and_then(|root| u32::try_from(root).ok()).ok_or(SqliteError::Damaged(1))?;
            let columns = column_names(&row.text(4)?.unwrap_or_default());
            return Ok(SqliteTable { root, columns });
        }
        Err(SqliteError::Unknown(format!("it has no table `{name}`")))
    }

    /// Returns how many pages the database can have at most.
    fn max_pages(&self) -> u64 {
        let in_file = self.file.metadata().map_or(0, |found| found.len()) / self.page_bytes as u64;
        in_file + self.wal.as_ref().map_or(0, WriteAheadLog::page_count) + 1
    }

    fn read_page(&mut self, number: u32) -> Result<Vec<u8>, SqliteError> {
        if number == 0 {
            return Err(SqliteError::Damaged(number));
        }
        let mut page = vec![0; self.page_bytes];
        if let Some(wal) = &mut self.wal
            && wal.read_page(number, &mut page)?
        {
            return Ok(page);
        }
        self.file.seek(SeekFrom::Start(u64::from(number - 1) * self.page_bytes as u64))?;
        self.file.read_exact(&mut page).map_err(|_| SqliteError::Damaged(number))?;
        Ok(page)
    }
}

/// Returns the size and time of a file's last change.
fn change_mark(path: &Path) -> Option<(u64, SystemTime)> {
    let found = path.metadata().ok()?;
    Some((found.len(), found.modified().ok()?))
}

/// Returns the names of a table's columns, in order, from the statement that created it.
fn column_names(statement: &str) -> Vec<String> {
    let Some((_, body)) = statement.split_once('(') else { return Vec::new() };
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, char) in body.char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => {
                parts.push(&body[start..at]);
                break;
            }
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
    let first_word = |part: &&str| part.split_ascii_whitespace().next().unwrap_or_default().to_owned();
    let names = parts.iter().map(first_word).filter(|word| !CONSTRAINTS.contains(&word.to_ascii_uppercase().as_str()));
    names.map(|word| word.trim_matches(['`', '"', '[', ']', '\'']).to_owned()).collect()
}

/// An iterator over the rows of a table, from the smallest number to the largest.
pub(super) struct TableRows {
    /// The pages from the root to the current leaf, each with the next cell to visit.
    path: Vec<(TreePage, usize)>,
    root: Option<u32>,
    visited_pages: u64,
}

impl TableRows {
    pub(super) fn new(root: u32) -> TableRows {
        TableRows { path: Vec::new(), root: Some(root), visited_pages: 0 }
    }

    pub(super) fn next_row(&mut self, file: &mut SqliteFile) -> Result<Option<TableRow>, SqliteError> {
        if let Some(root) = self.root.take() {
            self.enter(file, root)?;
        }
        loop {
            let Some((page, at)) = self.path.last_mut() else { return Ok(None) };
            let cell = *at;
            *at += 1;
            if page.is_leaf {
                match page.cell(cell)? {
                    Some(start) => {
                        return TableRow::parse(&page.bytes, start, file.usable_bytes, page.number).map(Some);
                    }
                    None => drop(self.path.pop()),
                }
                continue;
            }
            match page.child(cell)? {
                Some(child) => self.enter(file, child)?,
                None => drop(self.path.pop()),
            }
        }
    }

    fn enter(&mut self, file: &mut SqliteFile, number: u32) -> Result<(), SqliteError> {
        self.visited_pages += 1;
        // A damaged tree can lead back to itself.
        if self.path.len() >= MAX_TREE_DEPTH || self.visited_pages > file.max_pages() {
            return Err(SqliteError::Damaged(number));
        }
        let page = TreePage::parse(number, file.read_page(number)?)?;
        self.path.push((page, 0));
        Ok(())
    }
}

/// A page of a table's tree.
struct TreePage {
    number: u32,
    bytes: Vec<u8>,
    is_leaf: bool,
    cells: usize,
    /// The offset of the list of cells.
    list: usize,
    /// The page behind the last cell, on a page that is no leaf.
    last_child: u32,
}

impl TreePage {
    fn parse(number: u32, bytes: Vec<u8>) -> Result<TreePage, SqliteError> {
        // The first page has the header of the file before its own.
        let start = if number == 1 { HEADER_BYTES } else { 0 };
        let is_leaf = match bytes.get(start) {
            Some(0x0d) => true,
            Some(0x05) => false,
            _ => return Err(SqliteError::Damaged(number)),
        };
        let cells = read_u16(&bytes, start + 3).ok_or(SqliteError::Damaged(number))?;
        let last_child = if is_leaf { 0 } else { read_u32(&bytes, start + 8).ok_or(SqliteError::Damaged(number))? };
        let list = start + if is_leaf { 8 } else { 12 };
        Ok(TreePage { number, bytes, is_leaf, cells: usize::from(cells), list, last_child })
    }

    /// Returns the offset of a cell.
    fn cell(&self, at: usize) -> Result<Option<usize>, SqliteError> {
        if at >= self.cells {
            return Ok(None);
        }
        let start = read_u16(&self.bytes, self.list + 2 * at).ok_or(SqliteError::Damaged(self.number))?;
        Ok(Some(usize::from(start)))
    }

    /// Returns the page below a cell, or below the end of the list.
    fn child(&self, at: usize) -> Result<Option<u32>, SqliteError> {
        match self.cell(at)? {
            Some(start) => read_u32(&self.bytes, start).map(Some).ok_or(SqliteError::Damaged(self.number)),
            None => Ok((at == self.cells).then_some(self.last_child)),
        }
    }
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::column_names;

    #[test]
    fn columns_are_read_from_the_statement() {
        let statement = "CREATE TABLE `part` (\n `id` text PRIMARY KEY,\n \"a b\" int DEFAULT (1, 2),\n [data] text NOT NULL,\n \
                         CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `m`(`id`)\n)";
        assert_eq!(column_names(statement)[..1], ["id"]);
        assert_eq!(column_names(statement)[2], "data");
        assert_eq!(column_names(statement).len(), 3);
        assert!(column_names("CREATE TABLE x").is_empty());
        assert_eq!(column_names("CREATE TABLE x (a, b"), ["a"]);
    }
}
