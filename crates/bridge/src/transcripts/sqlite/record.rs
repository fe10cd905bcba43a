//! A row of a table: its number and its columns, of which long ones continue on pages of their own.

use super::{SqliteError, SqliteFile, read_u32};

/// The size of a row up to which it is read.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// A row.
pub(crate) struct TableRow {
    /// The row's number.
    pub(crate) number: u64,
    /// The page that the row is on.
    page: u32,
    /// The part of the row that was read: at first the one on the row's own page.
    payload: Vec<u8>,
    total_bytes: u64,
    /// The page with the rest; 0 if there is none.
    overflow: u32,
}

impl TableRow {
    /// Parses the cell of a leaf page.
    pub(super) fn parse(bytes: &[u8], start: usize, usable: usize, page: u32) -> Result<TableRow, SqliteError> {
        let damaged = || SqliteError::Damaged(page);
        let cell = bytes.get(start..).ok_or_else(damaged)?;
        let (total_bytes, used) = read_varint(cell).ok_or_else(damaged)?;
        let (number, more) = read_varint(&cell[used..]).ok_or_else(damaged)?;
        let body = &cell[used + more..];
        let local = local_bytes(total_bytes, usable as u64);
        let length = usize::try_from(local).map_err(|_| damaged())?;
        let payload = body.get(..length).ok_or_else(damaged)?.to_vec();
        let overflow = if local < total_bytes { read_u32(body, length).ok_or_else(damaged)? } else { 0 };
        Ok(TableRow { number, page, payload, total_bytes, overflow })
    }

    /// Reads the rest of the row.
    pub(crate) fn load(&mut self, file: &mut SqliteFile) -> Result<(), SqliteError> {
        if self.total_bytes > MAX_ROW_BYTES {
            return Err(SqliteError::TooLarge);
        }
        while (self.payload.len() as u64) < self.total_bytes {
            let page = file.read_page(self.overflow)?;
            let wanted = self.total_bytes - self.payload.len() as u64;
            let length = usize::try_from(wanted).unwrap_or(usize::MAX).min(file.usable_bytes - 4);
            let damaged = || SqliteError::Damaged(self.page);
            self.payload.extend_from_slice(page.get(4..4 + length).ok_or_else(damaged)?);
            self.overflow = read_u32(&page, 0).ok_or_else(damaged)?;
        }
        Ok(())
    }

    /// Returns a column that is a whole number; `None` if it is something else, or missing.
    pub(crate) fn integer(&self, column: usize) -> Result<Option<i64>, SqliteError> {
        let Some((kind, bytes)) = self.column(column)? else { return Ok(None) };
        Ok(match kind {
            1..=6 => {
                let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
                let sign = if is_negative { -1 } else { 0 };
                Some(bytes.iter().fold(sign, |number: i64, byte| (number << 8) | i64::from(*byte)))
            }
            8 => Some(0),
            9 => Some(1),
            _ => None,
        })
    }

    /// Returns a column that is a text; `None` if it is something else, or missing.
    pub(crate) fn text(&self, column: usize) -> Result<Option<String>, SqliteError> {
        let Some((kind, bytes)) = self.column(column)? else { return Ok(None) };
        let is_text = kind >= 13 && kind % 2 == 1;
        Ok(is_text.then(|| String::from_utf8_lossy(bytes).into_owned()))
    }

    /// Returns the type and the bytes of a column; `None` for a column that was added to the table after the row.
    fn column(&self, wanted: usize) -> Result<Option<(u64, &[u8])>, SqliteError> {
        let damaged = || SqliteError::Damaged(self.page);
        let (header_bytes, mut at) = read_varint(&self.payload).ok_or_else(damaged)?;
        let header_end = usize::try_from(header_bytes).map_err(|_| damaged())?;
        let header = self.payload.get(..header_end).ok_or_else(damaged)?;
        let (mut column, mut start) = (0, header_end);
        while at < header.len() {
            let (kind, used) = read_varint(&header[at..]).ok_or_else(damaged)?;
            let length = usize::try_from(column_bytes(kind)).map_err(|_| damaged())?;
            let end = start.checked_add(length).ok_or_else(damaged)?;
            if column == wanted {
                return Ok(Some((kind, self.payload.get(start..end).ok_or_else(damaged)?)));
            }
            (at, start, column) = (at + used, end, column + 1);
        }
        Ok(None)
    }
}

/// Returns how many bytes of a row are on its own page.
fn local_bytes(total: u64, usable: u64) -> u64 {
    let most = usable - 35;
    if total <= most {
        return total;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let local = least + (total - least) % (usable - 4);
    if local <= most { local } else { least }
}

/// Returns the size of a column, by its type.
fn column_bytes(kind: u64) -> u64 {
    match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => 0,
        kind => (kind - 12) / 2,
    }
}

/// Reads a number of one to nine bytes, and returns it with its length.
fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        if at == 8 {
            return Some(((number << 8) | u64::from(*byte), 9));
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_one_to_nine_bytes() {
        assert_eq!(read_varint(&[0x05]), Some((5, 1)));
        assert_eq!(read_varint(&[0x81, 0x00]), Some((128, 2)));
        assert_eq!(read_varint(&[0xff; 9]), Some((u64::MAX, 9)));
        assert_eq!(read_varint(&[0x80]), None);
        assert_eq!(read_varint(&[]), None);
    }

    #[test]
    fn long_rows_keep_a_part_on_their_page() {
        assert_eq!(local_bytes(4061, 4096), 4061);
        assert_eq!(local_bytes(4062, 4096), 489);
        assert!(local_bytes(1 << 40, 4096) <= 4061);
    }
}
